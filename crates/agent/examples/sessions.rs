//! What sessions cost, for `cargo xtask bench loop`:
//!
//! - `sessions idle N` keeps N sessions in this process, each of which has answered once and waits;
//! - `sessions memory N` works through N inputs in one session, with a model in memory that answers at once;
//! - `sessions twin N` does the same through HTTP and a strict twin.
//!
//! Each prints one line of JSON.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program for measuring: it prints, takes the time, and stops at the first thing that is wrong"
)]

use std::sync::Arc;
use std::time::Instant;

use futures_util::stream;
use junto_agent::profile::Profile;
use junto_agent::{Session, SessionConfig};
use junto_core::{Agent, Body, Command, EndReason, EventLog, Item, Seq};
use junto_env::LocalEnvironment;
use junto_llm::http::{Endpoint, HttpProvider};
use junto_llm::{
    CallCx, Client, Error, EventStream, Finish, FinishReason, Fut, Provider, Request, Response, SegmentId,
    StreamEvent, Usage, Wire,
};
use junto_twin::{DEFAULT_KEY, Options, Play, Twin};
use serde_json::{Value, json};

const MODEL: &str = "gpt-5.5";

/// A model in memory that says the same to everything, at once.
struct Parrot;

impl Provider for Parrot {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move { self.stream(request, cx).await?.into_response().await })
    }

    fn stream<'a>(&'a self, _: Request, _: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        let id = SegmentId(0);
        let events = [
            StreamEvent::StreamStart {
                id: "r".into(),
                model: MODEL.into(),
                provider: "parrot".into(),
                origin: None,
                usage: None,
                warnings: vec![],
                rate_limit: None,
            },
            StreamEvent::TextStart { id },
            StreamEvent::TextDelta { id, text: "It is as you say.".into() },
            StreamEvent::TextEnd { id, raw: None },
            StreamEvent::Finish {
                reason: FinishReason::new(Finish::Stop),
                usage: Usage::new(10, 5),
                response: None,
            },
        ];
        Box::pin(async move { Ok(EventStream::new(stream::iter(events.into_iter().map(Ok)))) })
    }
}

/// A session in a directory of its own.
async fn session(provider: Arc<dyn Provider>, dir: &std::path::Path) -> Session {
    let env = LocalEnvironment::builder(dir).variables([("PATH", "/usr/bin:/bin")]).build().unwrap();
    let log = EventLog::in_memory(Arc::new(jiff::Timestamp::now));
    let config = SessionConfig {
        profile: Some(Profile::openai()),
        model: Some(MODEL.into()),
        ..SessionConfig::new(provider, Arc::new(env), log)
    };
    Session::start(config).await.unwrap()
}

/// So many inputs, one after another, each with its answer.
async fn converse(session: &Session, inputs: usize) {
    let mut events = session.log().subscribe(Seq::START);
    for number in 0..inputs {
        let input = format!("This is input number {number}, and it is as short as most are.");
        session.send(Command::Submit { input: input.as_str().into() }).await.unwrap();
        loop {
            let Item::Event(event) = events.next().await.unwrap() else { continue };
            if let Body::InputEnd { reason, .. } = &event.body {
                assert_eq!(*reason, EndReason::Done, "input {number}");
                break;
            }
        }
    }
}

async fn idle(count: usize) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let mut sessions = Vec::with_capacity(count);
    for number in 0..count {
        let own = dir.path().join(number.to_string());
        std::fs::create_dir(&own).unwrap();
        let session = session(Arc::new(Parrot), &own).await;
        converse(&session, 1).await;
        sessions.push(session);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    for session in &sessions {
        session.close().await;
    }
    json!({"sessions": sessions.len(), "peak_kib": kib})
}

async fn memory(inputs: usize) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let session = session(Arc::new(Parrot), dir.path()).await;
    let start = Instant::now();
    converse(&session, inputs).await;
    let seconds = start.elapsed().as_secs_f64();
    session.close().await;
    json!({"turns": inputs, "seconds": seconds})
}

async fn twin(inputs: usize) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let twin = Twin::start(Play::text("It is as you say."), Options::default()).unwrap();
    let wire = Wire::Responses;
    let endpoint = Endpoint::new("openai", wire, twin.base_url(wire)).key(DEFAULT_KEY);
    let provider = Arc::new(HttpProvider::new(endpoint).unwrap());
    let client = Client::builder().provider("openai", provider).build().unwrap();
    let session = session(Arc::new(client), dir.path()).await;
    let start = Instant::now();
    converse(&session, inputs).await;
    let seconds = start.elapsed().as_secs_f64();
    session.close().await;
    let last = twin.requests().pop().unwrap();
    let bytes = last.body["input"].to_string().len();
    twin.close().await;
    json!({"turns": inputs, "seconds": seconds, "requests": last.number, "last_conversation_bytes": bytes})
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let usage = "sessions idle|memory|twin N";
    let [_, what, count] = &args[..] else { panic!("{usage}") };
    let count = count.parse().unwrap();
    let figures = match what.as_str() {
        "idle" => idle(count).await,
        "memory" => memory(count).await,
        "twin" => twin(count).await,
        _ => panic!("{usage}"),
    };
    println!("{figures}");
}
