//! Who answers when one of several command-line agents cannot.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use junto::llm::{
    CallCx, Error, ErrorKind, EventStream, Finish, FinishReason, Fut, Provider, Request, Response, SegmentId,
    StreamEvent, Usage,
};
use junto::runner::failure::Class;
use junto::store::{Agents, Options, Store};
use junto::{LastResort, Relay, Runner};

const NOW: &str = "2026-11-15T10:00:00Z";

/// What one that is asked does.
enum Act {
    /// Nothing begins.
    Fails(Error),
    /// It tells of retries, and then fails.
    FailsLater(u32, Error),
    /// It says something, and then fails.
    BreaksOff(Error),
    Answers,
}

/// One that can be asked, and which models it was asked for.
struct Fake {
    name: &'static str,
    acts: Mutex<VecDeque<Act>>,
    asked: Mutex<Vec<Option<String>>>,
}

impl Fake {
    fn new(name: &'static str, acts: impl IntoIterator<Item = Act>) -> Arc<Self> {
        Arc::new(Self { name, acts: Mutex::new(acts.into_iter().collect()), asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<Option<String>> {
        self.asked.lock().unwrap().clone()
    }

    fn events(&self) -> Result<Vec<Result<StreamEvent, Error>>, Error> {
        let id = SegmentId(0);
        let text = || {
            let text = format!("I am {}.", self.name);
            [StreamEvent::TextStart { id }, StreamEvent::TextDelta { id, text }]
        };
        let start = StreamEvent::StreamStart {
            id: String::new(),
            model: "m".to_owned(),
            provider: self.name.to_owned(),
            origin: None,
            usage: None,
            warnings: Vec::new(),
            rate_limit: None,
        };
        let mut events = vec![Ok(start)];
        match self.acts.lock().unwrap().pop_front().unwrap_or(Act::Answers) {
            Act::Fails(error) => return Err(error),
            Act::FailsLater(retries, error) => {
                let retry = |number| Ok(StreamEvent::Progress { text: format!("retry {number}") });
                events.extend((1..=retries).map(retry));
                events.push(Err(error));
            }
            Act::BreaksOff(error) => {
                events.extend(text().map(Ok));
                events.push(Err(error));
            }
            Act::Answers => {
                events.extend(text().map(Ok));
                events.push(Ok(StreamEvent::TextEnd { id, raw: None }));
                let reason = FinishReason { unified: Finish::Stop, raw: None };
                let usage = Usage::default();
                events.push(Ok(StreamEvent::Finish { reason, usage, response: None }));
            }
        }
        Ok(events)
    }
}

impl Provider for Fake {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move { self.stream(request, cx).await?.into_response().await })
    }

    fn stream<'a>(&'a self, request: Request, _: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(request.model);
            Ok(EventStream::new(futures_util::stream::iter(self.events()?)))
        })
    }
}

struct Stage {
    _folder: tempfile::TempDir,
    agents: Agents,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let agents = Store::open(folder.path(), Options::default()).unwrap().agents().unwrap();
        Self { _folder: folder, agents }
    }

    fn relay(&self, fakes: &[&Arc<Fake>], last_resort: LastResort) -> Relay {
        let runner = |fake: &&Arc<Fake>| Runner {
            name: fake.name.to_owned(),
            provider: Arc::clone(fake) as Arc<dyn Provider>,
        };
        let zone = TimeZone::get("Europe/Paris").unwrap();
        let now = Arc::new(move || NOW.parse::<Timestamp>().unwrap().to_zoned(zone.clone()));
        let runners = fakes.iter().map(runner).collect();
        Relay::new(runners, Some(self.agents.clone()), last_resort, now)
    }

    /// Who is left alone, why, and until when.
    fn aside(&self) -> Vec<(String, String, String)> {
        let aside = self.agents.suppressed(NOW.parse().unwrap()).unwrap();
        aside.into_iter().map(|one| (one.provider, one.class, one.until.to_string())).collect()
    }
}

fn request() -> Request {
    Request::prompt("Who are you?").model("asked-1")
}

async fn whole(relay: &Relay) -> Result<Response, Error> {
    relay.complete(request(), &CallCx::new()).await
}

/// Everything that is handed on: texts and narration in words, the start by whose it is.
async fn streamed(relay: &Relay) -> (Vec<String>, Option<Error>) {
    let mut events = match relay.stream(request(), &CallCx::new()).await {
        Ok(events) => events,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(StreamEvent::StreamStart { provider, .. }) => told.push(format!("start {provider}")),
            Ok(StreamEvent::TextDelta { text, .. } | StreamEvent::Progress { text }) => told.push(text),
            Ok(_) => {}
            Err(error) => return (told, Some(error)),
        }
    }
    (told, None)
}

fn limit() -> Error {
    Class::UsageLimit.error("usage limit reached, resets 3pm")
}

#[tokio::test]
async fn the_next_takes_the_same_call_and_the_first_is_left_alone() {
    let stage = Stage::new();
    let (first, spare) = (Fake::new("first", [Act::Fails(limit())]), Fake::new("spare", []));
    let relay = stage.relay(&[&first, &spare], LastResort::AskFirst);
    let response = whole(&relay).await.unwrap();
    assert_eq!((response.text().as_str(), response.provider.as_str()), ("I am spare.", "spare"));
    let said: Vec<&str> = response.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(said, ["first cannot answer (usage-limit); spare takes over"]);
    // Three in the afternoon where the user is.
    let until = ("first".to_owned(), "usage-limit".to_owned(), "2026-11-15T14:00:00Z".to_owned());
    assert_eq!(stage.aside(), [until]);
    let (told, error) = streamed(&relay).await;
    assert!(error.is_none(), "{error:?}");
    let aside = "first is left alone until 2026-11-15 14:00:00 UTC (usage-limit)";
    assert_eq!(told, ["start spare", aside, "I am spare."]);
    // A model is that of the one it was named for.
    assert_eq!((first.asked(), spare.asked()), (vec![Some("asked-1".to_owned())], vec![None, None]));
}

#[tokio::test]
async fn a_stream_goes_over_before_anything_was_said_and_not_after() {
    let stage = Stage::new();
    let (first, spare) = (Fake::new("first", [Act::FailsLater(3, limit())]), Fake::new("spare", []));
    let (told, error) = streamed(&stage.relay(&[&first, &spare], LastResort::AskFirst)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(told, ["start spare", "first cannot answer (usage-limit); spare takes over", "I am spare."]);
    // Who narrates at length is followed as it does, and can give way all the same.
    let stage = Stage::new();
    let (first, spare) = (Fake::new("first", [Act::FailsLater(20, limit())]), Fake::new("spare", []));
    let (told, error) = streamed(&stage.relay(&[&first, &spare], LastResort::AskFirst)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!((told[0].as_str(), told.last().map(String::as_str)), ("start first", Some("I am spare.")));
    assert_eq!(told.iter().filter(|line| line.starts_with("start")).count(), 1);
    // What was said cannot be taken back.
    let stage = Stage::new();
    let (first, spare) = (Fake::new("first", [Act::BreaksOff(limit())]), Fake::new("spare", []));
    let (told, error) = streamed(&stage.relay(&[&first, &spare], LastResort::AskFirst)).await;
    assert_eq!(told, ["start first", "I am first."]);
    assert!(error.is_some_and(|error| error.is_after_content()));
    assert_eq!((spare.asked().len(), stage.aside().len()), (0, 0));
}

#[tokio::test]
async fn what_is_no_fault_of_the_provider_stays_with_it() {
    for error in [
        Error::new(ErrorKind::Quota, "the budget of the session is spent"),
        Class::ContextLength.error("too long"),
        Class::Refused.error("no"),
        Class::Crashed.error("gone"),
        Class::Cancelled.error("stopped"),
    ] {
        let stage = Stage::new();
        let kind = error.kind();
        let (first, spare) = (Fake::new("first", [Act::Fails(error)]), Fake::new("spare", []));
        let failed = whole(&stage.relay(&[&first, &spare], LastResort::AskFirst)).await.unwrap_err();
        assert_eq!((failed.kind(), spare.asked().len(), stage.aside().len()), (kind, 0, 0));
    }
}

#[tokio::test]
async fn one_that_is_not_installed_gives_way_and_is_looked_for_again() {
    let stage = Stage::new();
    let missing = || Act::Fails(Class::NotInstalled.error("no such program"));
    let (first, spare) = (Fake::new("first", [missing(), missing()]), Fake::new("spare", []));
    let relay = stage.relay(&[&first, &spare], LastResort::AskFirst);
    for asked in 1..=2 {
        assert_eq!(whole(&relay).await.unwrap().text(), "I am spare.");
        assert_eq!(first.asked().len(), asked);
    }
    assert_eq!(stage.aside(), []);
    assert_eq!(whole(&relay).await.unwrap().text(), "I am first.");
}

#[tokio::test]
async fn when_everybody_is_left_alone() {
    let stage = Stage::new();
    let fails = || Act::Fails(Class::Auth.error("who are you?"));
    let (first, spare) = (Fake::new("first", [fails()]), Fake::new("spare", [fails()]));
    let relay = stage.relay(&[&first, &spare], LastResort::AskFirst);
    assert_eq!(whole(&relay).await.unwrap_err().class(), Some("auth"));
    assert_eq!(stage.aside().len(), 2);
    // Who was named may have been mended meanwhile.
    assert_eq!(whole(&relay).await.unwrap().text(), "I am first.");
    let strict = stage.relay(&[&first], LastResort::Refuse);
    let refused = whole(&strict).await.unwrap_err();
    assert!(refused.message().contains("first is left alone until"), "{refused}");
    assert_eq!((refused.class(), refused.is_retryable()), (Some("auth"), false));
    assert_eq!(streamed(&strict).await.1.unwrap().class(), Some("auth"));
    assert_eq!(first.asked().len(), 2, "nobody was asked");
}
