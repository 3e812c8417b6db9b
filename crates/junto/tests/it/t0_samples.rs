//! Journals that earlier versions wrote are opened, read, gone on with, indexed and exported. What must come of
//! them is pinned beside them, in `expected.json`; `tests/samples/README.md` tells how a sample is made.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use junto::agent::{Past, Session, SessionConfig};
use junto::core::{BlobId, Body, Command, Event, EventLog, Item, Payload, Seq};
use junto::env::LocalEnvironment;
use junto::llm::{
    CallCx, Content, Error, ErrorKind, EventStream, Fut, Message, Provider, Request, Response, SessionId,
};
use junto::prelude::Agent as _;
use junto::store::{By, Filter, Format, Options, Store};
use serde_json::{Value, json};

/// Set, to write what comes of the samples instead of comparing it.
const BLESS: &str = "JUNTO_BLESS";

fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/samples/journal");
    let mut samples: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    samples.sort();
    assert!(!samples.is_empty());
    samples
}

/// A copy of a sample: to open it may change it.
fn opened(sample: &Path) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    for session in fs::read_dir(sample.join("sessions")).unwrap() {
        let session = session.unwrap().path();
        let to = folder.path().join("sessions").join(session.file_name().unwrap());
        fs::create_dir_all(to.join("blobs")).unwrap();
        fs::copy(session.join("journal.jsonl"), to.join("journal.jsonl")).unwrap();
        for blob in fs::read_dir(session.join("blobs")).into_iter().flatten() {
            let blob = blob.unwrap();
            fs::copy(blob.path(), to.join("blobs").join(blob.file_name())).unwrap();
        }
    }
    let store = Store::open(folder.path(), Options::default()).unwrap();
    (folder, store)
}

/// Keeps what it is asked, and answers nothing.
#[derive(Default)]
struct Ear(Mutex<Vec<Message>>);

impl Provider for Ear {
    fn complete<'a>(&'a self, request: Request, _: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        *self.0.lock().unwrap() = request.messages.iter().cloned().collect();
        Box::pin(async { Err(Error::new(ErrorKind::InvalidRequest, "nothing is answered")) })
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async { self.complete(request, cx).await.map(|_| panic!("nothing is answered")) })
    }
}

/// What the model is shown when the session goes on with another input.
async fn next_request(store: &Store, id: &SessionId) -> Vec<String> {
    let opened = store.open_session(id).unwrap();
    let past = Past::new(store.read(id).unwrap().events);
    let workplace = tempfile::tempdir().unwrap();
    let env = Arc::new(LocalEnvironment::new(workplace.path()).unwrap());
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let log = EventLog::new(id.clone(), opened.journal, opened.last, clock);
    let ear = Arc::new(Ear::default());
    let config = SessionConfig::new(Arc::clone(&ear) as Arc<dyn Provider>, env, log.clone());
    let session = Session::resume(config, past).await.unwrap();
    let mut reader = log.subscribe(opened.last.next());
    session.send(Command::Submit { input: "And now?".into() }).await.unwrap();
    loop {
        match reader.next().await.unwrap() {
            Item::Event(event) if event.body.name() == "input_end" => break,
            _ => {}
        }
    }
    session.close().await;
    let place = workplace.path().canonicalize().unwrap().display().to_string();
    let messages = ear.0.lock().unwrap().clone();
    // The folder of the sample is nowhere, so the model is told where it is now.
    messages.iter().map(|message| told(message).replace(&place, "ELSEWHERE")).collect()
}

/// A message for people: who, and the kinds and beginnings of what was said.
fn told(message: &Message) -> String {
    let cut = |text: &str| {
        let text = text.trim();
        format!("{} characters: {:.60}", text.chars().count(), text.replace('\n', " "))
    };
    let part = |content: &Content| match content {
        Content::Text(text) => cut(text),
        Content::Thinking(thinking) => {
            format!(
                "thought{}, {}",
                if thinking.signature.is_some() { " (signed)" } else { "" },
                cut(&thinking.text)
            )
        }
        Content::ToolCall(call) => format!("calls {} with {}", call.name, cut(&call.raw_arguments)),
        Content::ToolResult(result) => {
            format!(
                "{}, {}",
                if result.is_error { "failed" } else { "result" },
                cut(&result.output.to_text())
            )
        }
        other => format!("{other:?}"),
    };
    let parts: Vec<String> = message.content.iter().map(|p| part(p.content())).collect();
    format!("{:?}: {}", message.role, parts.join(" | "))
}

/// The blobs that events name, and how many bytes each says it has.
fn blobs(events: &[Event]) -> BTreeMap<String, u64> {
    fn collect(value: &Value, found: &mut BTreeMap<String, u64>) {
        if let (Some(blob), Some(bytes)) = (value["blob"].as_str(), value["bytes"].as_u64()) {
            found.insert(blob.to_owned(), bytes);
        }
        match value {
            Value::Object(fields) => fields.values().for_each(|field| collect(field, found)),
            Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    for event in events {
        collect(&json!(event), &mut found);
    }
    found
}

/// Everything that is pinned of one session.
async fn session(store: &Store, id: &SessionId) -> Value {
    let recorded = store.read(id).unwrap();
    assert!(recorded.recovery.is_clean(), "{}", recorded.recovery);
    let events = recorded.events;
    // What was read is what was written, to the last field.
    let text = fs::read_to_string(store.folder(id).unwrap().join("journal.jsonl")).unwrap();
    let written = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap()["e"].clone());
    assert_eq!(written.collect::<Vec<_>>(), events.iter().map(|event| json!(event)).collect::<Vec<_>>());

    for (blob, bytes) in blobs(&events) {
        let whole = store.read_blob(id, &BlobId(blob), 0, usize::MAX).unwrap();
        assert_eq!(whole.len() as u64, bytes);
    }
    let mut types: BTreeMap<&str, u32> = BTreeMap::new();
    for event in &events {
        *types.entry(event.body.name()).or_default() += 1;
    }
    let spilled =
        |event: &&Event| matches!(&event.body, Body::ToolCallEnd { output: Payload::Spilled { .. }, .. });
    let past = Past::new(events.clone());
    let index = store.index().unwrap();
    let mut exports = BTreeMap::new();
    for (name, format) in [("markdown", Format::Markdown), ("json", Format::Json), ("html", Format::Html)] {
        let mut out = Vec::new();
        store.export(id, format, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        let said = ["Find out what is in the ledger.", "It has twelve pages.", "it is the only one"];
        exports.insert(name, said.map(|part| out.contains(part)));
    }
    let mut pinned = json!({
        "events": events.len(),
        "types": types,
        "outputs_beside_the_journal": events.iter().filter(spilled).count(),
        "setup": past.setup().map(|setup| json!({"provider": setup.provider, "forked_from": setup.forked_from})),
        "model": past.model(),
        "workdir": past.workdir(),
        "plan": past.plan(),
        "open_input": past.open_input(),
        "spent": past.spent(),
        "turns": index.turns(id).unwrap(),
        "agents": index.runs(id).unwrap(),
        "exports": exports,
    });
    pinned["next_request"] = json!(next_request(store, id).await);
    pinned
}

#[tokio::test]
async fn journals_of_earlier_versions_are_opened() {
    for sample in samples() {
        let (_folder, store) = opened(&sample);
        let index = store.index().unwrap();
        let rows = index.sessions(&Filter::default()).unwrap();
        let cost = index.cost(By::Model).unwrap();
        let mut sessions = serde_json::Map::new();
        for id in store.sessions().unwrap() {
            sessions.insert(id.0.clone(), session(&store, &id).await);
        }
        let found = json!({"index": rows, "cost": cost, "sessions": sessions});
        let expected = sample.join("expected.json");
        if std::env::var_os(BLESS).is_some() {
            fs::write(&expected, format!("{found:#}\n")).unwrap();
        }
        let pinned: Value = serde_json::from_str(&fs::read_to_string(&expected).unwrap()).unwrap();
        assert_eq!(found, pinned, "{}", sample.display());
    }
}

/// A sample has what there is to have: else it proves little.
#[tokio::test]
async fn the_samples_have_everything() {
    for sample in samples() {
        let (_folder, store) = opened(&sample);
        let mut seen = BTreeMap::new();
        for id in store.sessions().unwrap() {
            for event in store.read(&id).unwrap().events {
                *seen.entry(event.body.name()).or_insert(0) += 1;
            }
            assert!(store.events(&id, Seq::START).unwrap().count() > 10);
        }
        for name in [
            "session_start",
            "session_resumed",
            "user_input",
            "reasoning_end",
            "assistant_text_end",
            "call",
            "tool_call_start",
            "tool_call_end",
            "ask",
            "answered",
            "question",
            "replied",
            "plan",
            "steering_injected",
            "configured",
            "compacted",
            "retry",
            "child",
            "rewound",
            "input_end",
            "session_end",
        ] {
            assert!(seen.contains_key(name), "{}: no {name}", sample.display());
        }
    }
}
