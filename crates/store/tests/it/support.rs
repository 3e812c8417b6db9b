//! What these tests share: stores in memory, and events.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use junto_core::{AgentId, BlobId, Body, Durability, Event, Journal, Payload, Seq, VERSION};
use junto_llm::SessionId;
use junto_store::files::Faulty;
use junto_store::{Options, Store, Watch};

/// Where the stores are.
pub(crate) const ROOT: &str = "/state";

/// The session that tests write.
pub(crate) fn session() -> SessionId {
    SessionId("0190f3c1a2b37c4d8e5f6a7b8c9d0e1f".to_owned())
}

/// The journal of that session.
pub(crate) fn journal_path() -> PathBuf {
    PathBuf::from(ROOT).join("sessions").join(session().0).join("journal.jsonl")
}

/// Options that do not depend on the time. Nobody hears of events: what is on other files than those of
/// the disk is none of the index's business.
pub(crate) fn options() -> Options {
    Options { clock: Arc::new(|| Timestamp::UNIX_EPOCH), watch: Some(Arc::new(Deaf)), ..Options::default() }
}

struct Deaf;

impl Watch for Deaf {
    fn written(&self, _event: &Event) {}
}

/// A store on these files.
pub(crate) fn store(files: &Faulty) -> Store {
    Store::on(Arc::new(files.clone()), ROOT, options()).unwrap()
}

/// An event of the session.
pub(crate) fn event(seq: u64, body: Body) -> Event {
    Event {
        v: VERSION,
        seq: Seq(seq),
        // A clock that goes backwards is no reason to lose anything.
        at: Timestamp::from_second(1_000_000 - i64::try_from(seq).unwrap()).unwrap(),
        session: session(),
        agent: AgentId("a".to_owned()),
        parent: None,
        parent_call: None,
        turn: 1,
        corr: None,
        body,
    }
}

/// A short event.
pub(crate) fn line(seq: u64) -> Event {
    event(seq, Body::Progress { text: format!("line {seq} \"é\" \\ \n") })
}

/// An event that names a payload.
pub(crate) fn naming(seq: u64, blob: &BlobId, bytes: u64) -> Event {
    let text = Payload::Spilled { head: "a".into(), tail: "z".into(), bytes, blob: blob.clone(), crc: None };
    event(seq, Body::AssistantTextEnd { of: Seq(1), text })
}

/// Appends events, each by itself.
pub(crate) async fn append(journal: &dyn Journal, events: impl IntoIterator<Item = Event>) {
    for event in events {
        journal.append(std::slice::from_ref(&event), Durability::Written).await.unwrap();
    }
}

/// The positions of events.
pub(crate) fn positions(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.seq.0).collect()
}

/// The bytes of a journal with these events.
pub(crate) async fn journal_of(events: impl IntoIterator<Item = Event>) -> Vec<u8> {
    let files = Faulty::default();
    let opened = store(&files).create(&session()).unwrap();
    append(&*opened.journal, events).await;
    files.bytes(&journal_path()).unwrap()
}

/// Files on which this is the session's journal.
pub(crate) fn with_journal(bytes: &[u8]) -> Faulty {
    let files = Faulty::default();
    files.put(&journal_path(), bytes);
    files
}
