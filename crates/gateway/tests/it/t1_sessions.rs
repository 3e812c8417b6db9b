//! What a session may use, and what it is told when that is used up.

use std::sync::Arc;

use http::HeaderMap;
use http_body_util::BodyExt as _;
use junto_gateway::{Builder, CallEnd, CallReport, Gateway, SessionFile, Settings, Target};
use junto_llm::{Allowance, Error, ErrorKind, Message, Request, StreamEvent, Usage, Usd, Wire};
use junto_twin::{Options, Play, Twin};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::scripted::{Cue, Scripted, answer, shared, start, text};
use crate::support::{House, Reports, SOON, Way, ask, model, path, post, raw, target};

fn council(provider: &Arc<Scripted>) -> Builder {
    Gateway::builder().route("*", Target::new("council", provider.clone()).counts_turns())
}

fn turns(most: u32) -> Settings {
    Settings { session_turns: Some(most), ..Settings::default() }
}

/// The second turn of a conversation, which tells it from others.
fn second_turn(asked: &str) -> Request {
    let said = [Message::user(asked), Message::assistant("hello"), Message::user("and now?")];
    Request::of(said).model("m")
}

/// The cap is told in an ordinary answer, on every wire and both ways; the council is not asked again.
#[tokio::test]
async fn a_session_has_so_many_turns_with_a_council() {
    for wire in Wire::ALL {
        for way in Way::BOTH {
            let provider = shared(answer([], "the council's answer"));
            let reports = Reports::default();
            let builder = council(&provider).settings(turns(2)).on_call(reports.sink());
            let house = House::open(&builder.build().unwrap()).await;
            let client = house.client(wire);
            let ask = async |asked: &str| way.ask(&client, second_turn(asked)).await.unwrap();
            for _ in 0..2 {
                assert_eq!(ask("hi").await.text(), "the council's answer");
            }
            for _ in 0..2 {
                let capped = ask("hi").await;
                assert!(capped.text().contains("all of its 2 turns"), "{wire:?} {way:?}: {}", capped.text());
                assert_eq!(capped.usage.total, 0, "{wire:?} {way:?}");
            }
            assert_eq!(ask("something else").await.text(), "the council's answer");
            assert_eq!(provider.asked().len(), 3, "{wire:?} {way:?}");
            house.close().await;
            let reports = reports.all();
            assert_eq!(reports.len(), 5);
            assert!(reports.iter().all(|report| matches!(report.end, CallEnd::Complete)), "{reports:?}");
            let session = |at: usize| reports[at].session.clone().unwrap();
            assert!(session(0) == session(1) && session(0) == session(3) && session(0) != session(4));
        }
    }
}

#[tokio::test]
async fn only_a_councils_turns_are_counted_and_only_those_with_an_answer() {
    let ask_often = async |builder: Builder, request: Request| {
        let house = House::open(&builder.settings(turns(1)).build().unwrap()).await;
        let mut answers = Vec::new();
        for _ in 0..3 {
            answers.push(Way::Whole.ask(&house.client(Wire::Anthropic), request.clone()).await);
        }
        answers
    };
    let yes = || shared(answer([], "yes"));
    let plain = Gateway::builder().route("*", Target::new("model", yes()));
    for answer in ask_often(plain, second_turn("hi")).await {
        assert_eq!(answer.unwrap().text(), "yes", "a model's turns are as many as one likes");
    }
    let probe = Request { max_tokens: Some(1), ..second_turn("hi") };
    for answer in ask_often(council(&yes()), probe).await {
        assert_eq!(answer.unwrap().text(), "yes", "a client's chores are no turns");
    }
    let failing = shared([Cue::Fail(Error::new(ErrorKind::Server, "it burst"))]);
    for answer in ask_often(council(&failing), second_turn("hi")).await {
        assert!(answer.is_err(), "a turn without an answer is none");
    }
    assert_eq!(failing.asked().len(), 3);
}

/// The smallest second turn of each wire, as JSON.
fn body(wire: Wire) -> Value {
    let turn = |role: &str, said: &str| json!({"role": role, "content": said});
    let turns = [turn("user", "hi"), turn("assistant", "hello"), turn("user", "and now?")];
    match wire {
        Wire::Anthropic => json!({"model": model(wire), "max_tokens": 9, "messages": turns}),
        Wire::Chat => json!({"model": model(wire), "messages": turns}),
        Wire::Responses => json!({"model": model(wire), "input": turns}),
        Wire::Gemini => {
            let turn = |role: &str, said: &str| json!({"role": role, "parts": [{"text": said}]});
            json!({"contents": [turn("user", "hi"), turn("model", "hello"), turn("user", "and now?")]})
        }
    }
}

/// Asks until it is refused: how many answers there were, the status, and the error's name for it.
async fn until_refused(gateway: &Gateway, wire: Wire) -> (usize, u16, Value) {
    let path = path(wire, model(wire), Way::Whole);
    for answers in 0..10 {
        let raw = raw(ask(gateway, post(&path, body(wire).to_string())).await).await;
        if raw.status != 200 {
            let message = raw.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains("used up its budget"), "{message}");
            let name = match wire {
                Wire::Anthropic => "type",
                Wire::Gemini => "status",
                Wire::Responses | Wire::Chat => "code",
            };
            return (answers, raw.status, raw.json()["error"][name].clone());
        }
    }
    panic!("never refused");
}

/// Each answer uses seven tokens. The refusal is what each wire says when an account has nothing left.
#[tokio::test]
async fn a_budget_that_is_used_up_is_a_matter_of_billing() {
    for (wire, status, name) in [
        (Wire::Anthropic, 402, "billing_error"),
        (Wire::Responses, 429, "insufficient_quota"),
        (Wire::Chat, 429, "insufficient_quota"),
        (Wire::Gemini, 429, "RESOURCE_EXHAUSTED"),
    ] {
        let cent = Usd::from_dollars(0.01);
        for (budget, answers) in [
            (Allowance::tokens(7), 1),
            (Allowance::tokens(15), 3),
            (Allowance::usd(Usd::from_dollars(0.02)), 2),
            (Allowance { usd: Some(cent), tokens: Some(100) }, 1),
        ] {
            let provider = shared(answer([], "yes"));
            let settings = Settings { session_budget: budget, ..Settings::default() };
            let builder = Gateway::builder().route("*", Target::new("s", provider.clone()));
            let gateway = builder.settings(settings).prices(move |_| Some(cent)).build().unwrap();
            let found = until_refused(&gateway, wire).await;
            assert_eq!(found, (answers, status, json!(name)), "{wire:?} {budget}");
            assert_eq!(provider.asked().len(), answers, "{wire:?} {budget}");
        }
    }
}

/// What goes through by bytes is paid too.
#[tokio::test]
async fn calls_by_bytes_are_on_the_same_budget() {
    let whole = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"yes"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}"#;
    let chunks = http::Response::builder()
        .header("content-type", "application/json")
        .body(vec![Ok(whole.into())])
        .unwrap();
    let provider = Arc::new(Scripted::new([]).with_bytes(Wire::Anthropic, chunks));
    let settings = Settings { session_budget: Allowance::tokens(18), ..Settings::default() };
    let builder = Gateway::builder().route("*", Target::new("s", provider.clone()));
    let gateway = builder.settings(settings).build().unwrap();
    assert_eq!(until_refused(&gateway, Wire::Anthropic).await, (2, 402, json!("billing_error")));
    assert_eq!(provider.sent().len(), 2);
}

/// Clients of Chat Completions are told the usage of a stream only if they ask for it: most do not.
#[tokio::test]
async fn a_stream_that_does_not_tell_its_usage_is_on_the_budget_too() {
    let cent = Usd::from_dollars(0.01);
    for (budget, answers) in
        [(Allowance::tokens(10), 1), (Allowance::tokens(40), 2), (Allowance::usd(Usd::from_dollars(9.0)), 1)]
    {
        let twin = Twin::start(Play::text("yes"), Options::default()).unwrap();
        let reports = Reports::default();
        let settings = Settings { session_budget: budget, ..Settings::default() };
        let builder = Gateway::builder().route("*", target(&twin, Wire::Chat)).settings(settings);
        let gateway = builder.prices(move |_| Some(cent)).on_call(reports.sink()).build().unwrap();
        let mut body = body(Wire::Chat);
        body["stream"] = true.into();
        let mut statuses = Vec::new();
        for _ in 0..=answers {
            let path = path(Wire::Chat, model(Wire::Chat), Way::Streamed);
            statuses.push(raw(ask(&gateway, post(&path, body.to_string())).await).await.status);
        }
        assert_eq!(statuses.split_last(), Some((&429, &*vec![200; answers])), "{budget}");
        let told = reports.all();
        assert!(matches!(told[0].end, CallEnd::Complete) && told[0].is_untold(), "{:?}", told[0]);
        assert_eq!(told[0].usage.total, 0, "what was counted here was not told");
    }
}

/// An answer whose provider does not say what it used.
fn untold() -> Vec<Cue> {
    let mut cues = answer([], "yes");
    for cue in &mut cues {
        if let Cue::Event(event) = cue {
            match &mut **event {
                StreamEvent::StreamStart { usage, .. } => *usage = None,
                StreamEvent::Finish { usage, .. } => *usage = Usage::default(),
                _ => {}
            }
        }
    }
    cues
}

/// The same where the provider is asked anew, and does not say it either.
#[tokio::test]
async fn an_answer_without_usage_is_on_the_budget_too() {
    for (wire, way) in Wire::ALL.into_iter().flat_map(|wire| Way::BOTH.map(|way| (wire, way))) {
        let settings = Settings { session_budget: Allowance::tokens(5), ..Settings::default() };
        let builder = Gateway::builder().route("*", Target::new("s", shared(untold()))).settings(settings);
        let house = House::open(&builder.build().unwrap()).await;
        let client = house.client(wire);
        assert_eq!(way.ask(&client, second_turn("hi")).await.unwrap().text(), "yes");
        let refused = way.ask(&client, second_turn("hi")).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Quota, "{wire:?} {way:?}: {refused}");
        house.close().await;
    }
}

/// The first pieces of an answer that does not end, whose provider has said at its beginning what it has read: five tokens.
async fn leave(
    provider: Arc<Scripted>,
    wire: Wire,
    budget: Option<Allowance>,
    pieces: usize,
) -> (Gateway, Reports) {
    let reports = Reports::default();
    let budget = budget.unwrap_or(Allowance::UNLIMITED);
    let builder = Gateway::builder().route("*", Target::new("s", provider));
    let builder = builder.settings(Settings { session_budget: budget, ..Settings::default() });
    let price = |report: &CallReport| report.usage.total.try_into().ok().map(Usd);
    let gateway = builder.prices(price).on_call(reports.sink()).build().unwrap();
    let mut body = body(wire);
    if wire != Wire::Gemini {
        body["stream"] = true.into();
    }
    let mut answer = ask(&gateway, post(&path(wire, model(wire), Way::Streamed), body.to_string())).await;
    assert_eq!(answer.status(), 200);
    for _ in 0..pieces {
        answer.frame().await.unwrap().unwrap();
    }
    drop(answer);
    (gateway, reports)
}

/// A provider that begins a long answer: in events for any wire, and in the bytes of Anthropic's.
fn endless() -> [(Arc<Scripted>, Vec<Wire>, usize); 2] {
    let said = "word ".repeat(1000);
    let mut cues = vec![start()];
    cues.extend(text(&said));
    cues.push(Cue::Hang);
    let usage = json!({"input_tokens": 5, "output_tokens": 0});
    let events = [
        json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage,
        }}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": said}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "more"}}),
    ];
    let bytes = events
        .map(|event| Ok(format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()).into()));
    let bytes = http::Response::builder().header("content-type", "text/event-stream").body(bytes.to_vec());
    let by_bytes = Scripted::new([]).with_bytes(Wire::Anthropic, bytes.unwrap());
    [(shared(cues), Wire::ALL.to_vec(), 1), (Arc::new(by_bytes), vec![Wire::Anthropic], 3)]
}

/// What a provider says at the beginning is not all: what the client has got counts, too.
#[tokio::test]
async fn an_answer_that_is_left_is_on_the_budget_as_far_as_it_came() {
    for (provider, wires, pieces) in endless() {
        for wire in wires {
            for budget in [Allowance::tokens(900), Allowance::usd(Usd(900))] {
                let (gateway, reports) = leave(provider.clone(), wire, Some(budget), pieces).await;
                let refused = timeout(SOON, until_refused(&gateway, wire)).await.expect("it is not made");
                assert_eq!(refused.0, 0, "{wire:?} {budget}");
                let [report, ..] = &*reports.all() else { panic!("no report") };
                let (usage, end) = (&report.usage, &report.end);
                assert_eq!((usage.input, usage.output), (5, 0), "what was counted here was not told");
                assert!(matches!(end, CallEnd::BrokenOff), "{end:?}");
            }
        }
    }
}

/// Where nothing is counted, what it cost is not known.
#[tokio::test]
async fn an_answer_that_is_left_is_not_told_to_cost_what_its_beginning_does() {
    for (provider, wires, pieces) in endless() {
        for wire in wires {
            let (gateway, _) = leave(provider.clone(), wire, None, pieces).await;
            let status = http::Request::get("/status.json").body(axum::body::Body::empty()).unwrap();
            let status = raw(ask(&gateway, status).await).await.json();
            let session = &status["sessions"][0];
            assert_eq!((&session["tokens"], &session["cost"]["basis"]), (&json!(5), &json!("unknown")));
            assert_eq!(status["targets"][0]["unpriced_calls"], 1, "{wire:?}");
        }
    }
}

/// Whoever waits for no answer has asked all the same: what was asked counts, or is not known to be nothing.
#[tokio::test]
async fn a_call_whose_client_does_not_wait_for_the_answer_is_not_free() {
    for wire in Wire::ALL {
        for budget in [Some(Allowance::tokens(3)), Some(Allowance::usd(Usd(3))), None] {
            let provider = shared([Cue::Hang]);
            let session_budget = budget.unwrap_or(Allowance::UNLIMITED);
            let settings = Settings { session_budget, ..Settings::default() };
            let builder =
                Gateway::builder().route("*", Target::new("s", provider.clone())).settings(settings);
            let price = |report: &CallReport| report.usage.total.try_into().ok().map(Usd);
            let gateway = builder.prices(price).build().unwrap();
            let call = post(&path(wire, model(wire), Way::Whole), body(wire).to_string());
            let asking = tokio::spawn({
                let gateway = gateway.clone();
                async move { ask(&gateway, call).await.status() }
            });
            provider.wait_running(1).await;
            asking.abort();
            asking.await.unwrap_err();
            if budget.is_some() {
                let refused = timeout(SOON, until_refused(&gateway, wire)).await.expect("it is not made");
                assert_eq!(refused.0, 0, "{wire:?}");
            } else {
                let status = http::Request::get("/status.json").body(axum::body::Body::empty()).unwrap();
                let status = raw(ask(&gateway, status).await).await.json();
                assert_eq!(status["sessions"][0]["cost"]["basis"], "unknown", "{wire:?}");
            }
        }
    }
}

/// To count takes long where much is said; whoever else is served does not wait for it, and the budget does.
#[tokio::test]
async fn what_takes_long_to_count_is_counted_apart_and_on_the_budget_in_time() {
    let settings = Settings { session_budget: Allowance::tokens(9000), ..Settings::default() };
    let (tell, told) = std::sync::mpsc::sync_channel(9);
    let tell = move |_: CallReport| tell.send(std::thread::current().id()).unwrap();
    let builder = Gateway::builder().route("*", Target::new("s", shared(untold()))).settings(settings);
    let gateway = builder.on_call(tell).build().unwrap();
    let mut long = body(Wire::Anthropic);
    long["messages"][0]["content"] = "word ".repeat(10_000).into();
    let ask_long = async || raw(ask(&gateway, post("/v1/messages", long.to_string())).await).await.status;
    assert_eq!((ask_long().await, ask_long().await), (200, 402));
    assert_ne!(told.recv().unwrap(), std::thread::current().id());
}

/// Here the books wait for a host that takes its time. Nobody else does, but who wants to see them.
#[tokio::test]
async fn only_who_looks_at_the_books_waits_for_them() {
    let (tell, mut told) = tokio::sync::mpsc::channel(1);
    let (go_on, wait) = std::sync::mpsc::sync_channel::<()>(0);
    let wait = std::sync::Mutex::new(wait);
    let sink = move |_| {
        tell.blocking_send(()).unwrap();
        wait.lock().unwrap().recv_timeout(2 * SOON).unwrap_err();
    };
    let twin = Twin::start(Play::text("yes"), Options::default()).unwrap();
    let gateway =
        Gateway::builder().route("*", target(&twin, Wire::Anthropic)).on_call(sink).build().unwrap();
    let house = House::open(&gateway).await;
    house.send(Wire::Anthropic, HeaderMap::new(), body(Wire::Anthropic).to_string()).await;
    told.recv().await.unwrap();
    let get = |path: &str| http::Request::get(path).body(axum::body::Body::empty()).unwrap();
    let books = tokio::spawn({
        let (gateway, request) = (gateway.clone(), get("/status.json"));
        async move { raw(ask(&gateway, request).await).await.json() }
    });
    for path in ["/v1/models", "/api/hello", "/openapi.json", "/healthz"] {
        assert_eq!(ask(&gateway, get(path)).await.status(), 200, "{path}");
    }
    assert!(!books.is_finished());
    drop(go_on);
    let books = timeout(SOON, books).await.expect("it comes").unwrap();
    assert_eq!(books["sessions"].as_array().unwrap().len(), 1, "{books}");
    house.close().await;
}

/// Money whose amount nobody knows could be any amount.
#[tokio::test]
async fn without_a_price_money_does_not_reach_far() {
    let budget = Allowance::usd(Usd::from_dollars(1000.0));
    let settings = || Settings { session_budget: budget, ..Settings::default() };
    let builder =
        || Gateway::builder().route("*", Target::new("s", shared(answer([], "yes")))).settings(settings());
    let gateway = builder().prices(|_| None).build().unwrap();
    assert_eq!(until_refused(&gateway, Wire::Anthropic).await.0, 1);
    let error = builder().build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
}

#[tokio::test]
async fn a_client_names_its_sessions_and_its_agents_have_their_own() {
    let provider = shared(answer([], "the council's answer"));
    let house = House::open(&council(&provider).settings(turns(1)).build().unwrap()).await;
    let ask = async |headers: &[(&'static str, &'static str)], asked: &str| {
        let headers = headers.iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap()));
        let body = json!({
            "model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": asked}],
        });
        let raw = house.send(Wire::Anthropic, headers.collect::<HeaderMap>(), body.to_string()).await;
        raw.json()["content"][0]["text"].as_str().unwrap().contains("all of its 1 turn ")
    };
    let session = ("x-claude-code-session-id", "s-1");
    assert!(!ask(&[session], "hi").await);
    assert!(ask(&[session], "something else").await, "whatever it asks, it is the same session");
    assert!(!ask(&[session, ("x-claude-code-agent-id", "a-1")], "hi").await);
    assert!(ask(&[session, ("x-claude-code-agent-id", "a-1")], "hi").await);
    assert!(!ask(&[("x-claude-code-session-id", "s-2")], "hi").await);
    assert!(!ask(&[], "hi").await);
    assert!(!ask(&[], "hi").await, "two that begin alike are two until they go on");
}

/// The first answer of a conversation counts for it, and a gateway that is started anew goes on counting.
#[tokio::test]
async fn what_was_used_outlives_the_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.json");
    let provider = shared(answer([], "hello"));
    let open = async || {
        let builder = council(&provider).settings(turns(2)).session_store(SessionFile::new(&file));
        House::open(&builder.build().unwrap()).await
    };
    let ask = async |house: &House, request: Request| {
        Way::Streamed.ask(&house.client(Wire::Responses), request).await.unwrap().text()
    };
    let house = open().await;
    assert_eq!(ask(&house, Request::prompt("hi").model("m")).await, "hello");
    house.close().await;
    let house = open().await;
    assert_eq!(ask(&house, second_turn("hi")).await, "hello");
    house.close().await;
    let house = open().await;
    assert!(ask(&house, second_turn("hi")).await.contains("2 turns"));
    house.close().await;

    std::fs::write(&file, "not what was saved").unwrap();
    let error = council(&provider).session_store(SessionFile::new(&file)).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
}

#[tokio::test]
async fn sessions_are_forgotten_when_there_are_too_many() {
    let provider = shared(answer([], "the council's answer"));
    let settings = Settings { sessions: 3, ..turns(1) };
    let house = House::open(&council(&provider).settings(settings).build().unwrap()).await;
    let ask = async |asked: &str| {
        Way::Whole
            .ask(&house.client(Wire::Chat), second_turn(asked))
            .await
            .unwrap()
            .text()
            .contains("all of its 1 turn ")
    };
    for asked in ["a", "b", "c"] {
        assert!(!ask(asked).await);
    }
    assert!(ask("a").await);
    assert!(!ask("d").await);
    assert!(ask("a").await, "it was used since");
    assert!(!ask("b").await, "it was not");
}
