//! A key is nowhere but on the wire: not in errors, logs, recordings or debug output.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use junto_llm::http::{Auth, Endpoint, HttpProvider};
use junto_llm::middleware::{Log, Record};
use junto_llm::{CallCx, Client, Error, Request, Secret, Timeouts, Wire};
use junto_twin::{After, Fault, Options, Play, Step, Twin};
use serde_json::json;

use crate::support::model;

const SECRET: &str = "sk-live-THIS-MUST-NOT-LEAK-4711";

/// Collects everything that is logged, at every level.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<String>>);

impl tracing::Subscriber for Sink {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        write!(self.0.lock().unwrap(), "{span:?}").unwrap();
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        write!(self.0.lock().unwrap(), "{values:?}").unwrap();
    }
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        write!(self.0.lock().unwrap(), "{event:?}").unwrap();
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

/// Everything an error can show.
fn shown(error: &Error) -> String {
    let mut text = format!("{error} {error:?} {error:#?} {:?} {:?}", error.body(), error.hint());
    text += &serde_json::to_string(error).unwrap();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        write!(text, " {cause} {cause:?}").unwrap();
        source = cause.source();
    }
    text
}

#[tokio::test]
async fn no_failure_shows_the_key() {
    let sink = Sink::default();
    let _guard = tracing::subscriber::set_default(sink.clone());
    let dir = tempfile::tempdir().unwrap();
    let recording = dir.path().join("calls.jsonl");
    let echo = |status| Fault {
        body: Some(
            json!({"error": {"message": format!("bad key {SECRET}"), "type": SECRET, "code": SECRET}}),
        ),
        ..Fault::status(status)
    };
    let faults = [
        echo(400),
        echo(401),
        echo(403),
        echo(404),
        echo(429),
        echo(500),
        Fault { drop_after_bytes: Some(After(40)), ..Fault::default() },
        Fault { stall: Some(After(40)), ..Fault::default() },
        Fault { malformed_frame: Some(After(1)), ..Fault::default() },
        Fault { truncated_json: Some(After(1)), ..Fault::default() },
        Fault { content_type: Some("text/html".into()), ..Fault::default() },
        Fault {
            error_event: Some(After(2)),
            message: Some(format!("you sent {SECRET}")),
            ..Fault::default()
        },
        Fault { slow_headers_ms: Some(60_000), ..Fault::default() },
    ];
    let mut failures = 0;
    for wire in Wire::ALL {
        for fault in &faults {
            for auth in [Auth::Key(Secret::new(SECRET)), Auth::Bearer(Secret::new(SECRET))] {
                let options = Options {
                    fault: Some(fault.clone()),
                    key: SECRET.into(),
                    record: Some(dir.path().join("twin")),
                    ..Options::default()
                };
                let twin = Twin::start(Play::of([Step::text("text ".repeat(50))]), options).unwrap();
                let short = Duration::from_millis(150);
                let timeouts = Timeouts { request: short, idle: short, ..Timeouts::default() };
                let endpoint =
                    Endpoint { auth, ..Endpoint::new("p", wire, twin.base_url(wire)).timeouts(timeouts) };
                assert!(!format!("{endpoint:?}").contains(SECRET));
                let client = Client::builder()
                    .provider("p", Arc::new(HttpProvider::new(endpoint).unwrap()))
                    .middleware(Arc::new(Log))
                    .middleware(Arc::new(Record::to(&recording).unwrap()))
                    .build()
                    .unwrap();
                let ask = || Request::prompt("hi").model(model(wire));
                let mut errors = Vec::new();
                errors.extend(client.complete(ask(), &CallCx::new()).await.err());
                match client.stream(ask(), &CallCx::new()).await {
                    Err(error) => errors.push(error),
                    Ok(events) => {
                        errors.extend(events.collect::<Vec<_>>().await.into_iter().filter_map(Result::err));
                    }
                }
                for error in &errors {
                    assert!(!shown(error).contains(SECRET), "{wire:?} {fault:?}: {}", shown(error));
                }
                failures += errors.len();
            }
        }
    }
    assert!(failures > 100, "the faults did fail: {failures}");
    let mut files = 0;
    for path in walk(dir.path()) {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        // The twin's replies repeat what the fault made it say; everything we write must be clean.
        if !path.to_string_lossy().contains("reply") {
            assert!(!text.contains(SECRET), "{}", path.display());
        }
        files += 1;
    }
    assert!(files >= 3, "the recording, a request and a reply: {files}");
    let logged = sink.0.lock().unwrap();
    assert!(!logged.contains(SECRET));
    assert!(logged.contains("failed"), "the log did see the failures");
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}
