use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};

use super::*;
use crate::catalog::Catalog;
use crate::{Client, Cost, ErrorKind, Finish, FinishReason, Message, SegmentId, Usd};

/// Answers `text`, or fails while `failing` is above zero, or never; counts its calls.
#[derive(Default)]
struct Fake {
    calls: AtomicU32,
    failing: AtomicU32,
    hanging: AtomicBool,
}

impl Fake {
    fn outcome(&self) -> Result<(), Error> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        match self.failing.load(Ordering::SeqCst) {
            0 => Ok(()),
            n => {
                self.failing.store(n - 1, Ordering::SeqCst);
                Err(Error::new(ErrorKind::Server, "down"))
            }
        }
    }
}

impl Provider for Fake {
    fn complete<'a>(&'a self, request: Request, _cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            self.outcome()?;
            if self.hanging.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            let mut response = Response::empty("fake", request.model.unwrap_or_default());
            response.message = Message::assistant("text");
            response.usage = Usage::new(100, 10);
            Ok(response)
        })
    }

    fn stream<'a>(&'a self, _request: Request, _cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            self.outcome()?;
            let id = SegmentId(0);
            Ok(EventStream::new(stream::iter([
                Ok(StreamEvent::TextStart { id }),
                Ok(StreamEvent::TextDelta { id, text: "text".into() }),
                Ok(StreamEvent::TextEnd { id, raw: None }),
                Ok(StreamEvent::Finish {
                    reason: FinishReason::new(Finish::Stop),
                    usage: Usage::new(100, 10),
                    response: None,
                }),
            ])))
        })
    }
}

const MODEL: &str = r#"
[[model]]
id = "m"
provider = "fake"
name = "M"
context_window = 1000
max_output = 100
released = "2026-01-01"
price = { input = 10.0, output = 100.0 }
"#;

fn client(fake: &Arc<Fake>, layers: Vec<Arc<dyn Middleware>>) -> Client {
    let mut builder =
        Client::builder().provider("fake", fake.clone()).catalog(Catalog::parse(MODEL).unwrap());
    for layer in layers {
        builder = builder.middleware(layer);
    }
    builder.build().unwrap()
}

async fn drain(events: EventStream) -> Vec<Result<StreamEvent, Error>> {
    events.collect().await
}

#[tokio::test]
async fn layers_run_in_order_inwards_and_in_reverse_outwards() {
    struct Tag(&'static str, Arc<Mutex<Vec<String>>>);
    impl Middleware for Tag {
        fn complete<'a>(
            &'a self,
            request: Request,
            cx: &'a CallCx,
            next: Next<'a>,
        ) -> Fut<'a, Result<Response, Error>> {
            Box::pin(async move {
                self.1.lock().unwrap().push(format!("{} in", self.0));
                let result = next.complete(request, cx).await;
                self.1.lock().unwrap().push(format!("{} out", self.0));
                result
            })
        }
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let layers: Vec<Arc<dyn Middleware>> =
        vec![Arc::new(Tag("a", seen.clone())), Arc::new(Tag("b", seen.clone()))];
    client(&Arc::default(), layers).complete(Request::prompt("x"), &CallCx::new()).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["a in", "b in", "b out", "a out"]);
}

#[tokio::test]
async fn the_ledger_has_one_row_per_call_however_it_ends() {
    let rows = Arc::new(Mutex::new(Vec::new()));
    let sink = rows.clone();
    let ledger = Ledger::new(Catalog::parse(MODEL).unwrap(), move |e| sink.lock().unwrap().push(e));
    let fake = Arc::new(Fake::default());
    let client = client(&fake, vec![Arc::new(ledger)]);
    let cx = CallCx::new();
    client.complete(Request::prompt("x"), &cx).await.unwrap();
    drain(client.stream(Request::prompt("x"), &cx).await.unwrap()).await;
    drop(client.stream(Request::prompt("x"), &cx).await.unwrap());
    fake.hanging.store(true, Ordering::SeqCst);
    let dropped = tokio::time::timeout(Duration::ZERO, client.complete(Request::prompt("x"), &cx)).await;
    assert!(dropped.is_err(), "the caller did not wait");
    fake.hanging.store(false, Ordering::SeqCst);
    fake.failing.store(1, Ordering::SeqCst);
    client.stream(Request::prompt("x"), &cx).await.unwrap_err();
    let rows = rows.lock().unwrap();
    let costs: Vec<Cost> = rows.iter().map(|r| r.cost).collect();
    let two_mills = Cost::Estimated(Usd::from_dollars(0.002));
    assert_eq!(costs, [two_mills, two_mills, Cost::Unknown, Cost::Unknown, Cost::Unknown]);
    assert!(rows.iter().all(|r| r.provider == "fake" && r.model == "m" && r.call == cx.call));
    assert_eq!(rows[4].error.as_ref().unwrap().kind(), ErrorKind::Server);
}

#[tokio::test]
async fn the_cache_asks_once_and_stays_small() {
    let fake = Arc::new(Fake::default());
    let client = client(&fake, vec![Arc::new(ResponseCache::new(2))]);
    for (prompt, expected) in [("a", 1), ("a", 1), ("b", 2), ("c", 3), ("c", 3), ("a", 4)] {
        client.complete(Request::prompt(prompt), &CallCx::new()).await.unwrap();
        assert_eq!(fake.calls.load(Ordering::SeqCst), expected, "{prompt}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_breaker_opens_and_lets_one_try() {
    let fake = Arc::new(Fake::default());
    let client = client(&fake, vec![Arc::new(CircuitBreaker::new(2, Duration::from_secs(10)))]);
    let ask = async || client.complete(Request::prompt("x"), &CallCx::new()).await.map(drop);
    fake.failing.store(3, Ordering::SeqCst);
    for _ in 0..3 {
        ask().await.unwrap_err();
    }
    assert_eq!(fake.calls.load(Ordering::SeqCst), 2, "the third call was not made");
    tokio::time::advance(Duration::from_secs(11)).await;
    ask().await.unwrap_err();
    ask().await.unwrap_err();
    assert_eq!(fake.calls.load(Ordering::SeqCst), 3, "one trial");
    tokio::time::advance(Duration::from_secs(11)).await;
    ask().await.unwrap();
    ask().await.unwrap();
    assert_eq!(fake.calls.load(Ordering::SeqCst), 5);
}

#[tokio::test(start_paused = true)]
async fn what_the_caller_breaks_off_says_nothing_about_the_provider() {
    let fake = Arc::new(Fake::default());
    let client = client(&fake, vec![Arc::new(CircuitBreaker::new(2, Duration::from_secs(10)))]);
    let ask = async || client.complete(Request::prompt("x"), &CallCx::new()).await;
    fake.failing.store(1, Ordering::SeqCst);
    ask().await.unwrap_err();
    drop(client.stream(Request::prompt("x"), &CallCx::new()).await.unwrap());
    fake.failing.store(1, Ordering::SeqCst);
    ask().await.unwrap_err();
    let calls = fake.calls.load(Ordering::SeqCst);
    ask().await.unwrap_err();
    assert_eq!(fake.calls.load(Ordering::SeqCst), calls, "two failures with a dropped call between them");
}

#[tokio::test(start_paused = true)]
async fn the_throttle_spaces_calls_and_can_be_cancelled() {
    let fake = Arc::new(Fake::default());
    let client = client(&fake, vec![Arc::new(Throttle::new(1, Duration::from_secs(5)))]);
    let begin = tokio::time::Instant::now();
    for _ in 0..3 {
        client.complete(Request::prompt("x"), &CallCx::new()).await.unwrap();
    }
    assert_eq!(begin.elapsed().as_secs(), 10);
    let held = client.stream(Request::prompt("x"), &CallCx::new()).await.unwrap();
    let cx = CallCx::new();
    cx.cancel.cancel();
    assert_eq!(client.complete(Request::prompt("x"), &cx).await.unwrap_err().kind(), ErrorKind::Aborted);
    drop(held);
    client.complete(Request::prompt("x"), &CallCx::new()).await.unwrap();
}

#[tokio::test]
async fn a_recording_replays_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("calls.jsonl");
    let fake = Arc::new(Fake::default());
    let cx = CallCx::new();
    let run = async |client: Client| {
        let mut seen = Vec::new();
        for prompt in ["a", "a", "b"] {
            seen.push(serde_json::to_string(&client.complete(Request::prompt(prompt), &cx).await).unwrap());
            match client.stream(Request::prompt(prompt), &cx).await {
                Ok(events) => seen.push(serde_json::to_string(&drain(events).await).unwrap()),
                Err(error) => seen.push(serde_json::to_string(&error).unwrap()),
            }
        }
        seen
    };
    fake.failing.store(1, Ordering::SeqCst);
    let first = run(client(&fake, vec![Arc::new(Record::to(&path).unwrap())])).await;
    assert!(first[0].contains("down") && first[1].contains("text"));
    // A crash tore the last line: everything before it still counts.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"v\":1,\"key\":\"x");
    std::fs::write(&path, bytes).unwrap();
    let calls = fake.calls.load(Ordering::SeqCst);
    let replay = client(&fake, vec![Arc::new(Replay::from(&path).unwrap())]);
    assert_eq!(run(replay.clone()).await, first);
    assert_eq!(fake.calls.load(Ordering::SeqCst), calls, "nothing was asked");
    let error = replay.complete(Request::prompt("new"), &cx).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
}
