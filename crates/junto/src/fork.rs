//! A new session with the first turns of another.

use std::collections::BTreeSet;

use bytes::Bytes;
use jiff::Timestamp;
use junto_agent::Past;
use junto_core::{BlobId, Body, Durability, EndReason, Event, Journal, Payload, Seq};
use junto_llm::SessionId;
use junto_store::{Error, ErrorKind, Result, Store};
use serde_json::Value;

/// How many events are copied at once.
const BATCH: usize = 256;
/// How much of a payload is copied at once.
const PIECE: usize = 1024 * 1024;

/// Makes a new session that begins as another one did, up to the end of a turn: without one, of the last that
/// has ended, or to where the conversation was rewound after it; with 0, of none. It begins now, and has ended as
/// that turn did. The other session is only read, whoever writes it meanwhile.
///
/// # Errors
/// `not_found` if there is no such session, or it has no such turn, or that has not ended; else what keeps the
/// new one from being written. What was written of it then is removed.
pub async fn fork(store: &Store, from: &SessionId, at: Option<u32>) -> Result<SessionId> {
    let mut events = store.read(from)?.events;
    events.truncate(end_of(&events, at).ok_or_else(|| no_turn(from, &events, at))?);
    let session = SessionId::fresh();
    let copied = copy(store, from, &session, events).await;
    if copied.is_err()
        && let Ok(folder) = store.folder(&session)
    {
        // Best effort: the failure that is told is the first one.
        let _ = std::fs::remove_dir_all(folder);
    }
    copied.map(|()| session)
}

/// How many events there are up to the end of a turn of the session's own agent.
fn end_of(events: &[Event], at: Option<u32>) -> Option<usize> {
    let own = &events.first()?.agent;
    let is_own = |event: &&(usize, &Event)| event.1.agent == *own;
    let numbered: Vec<(usize, &Event)> = events.iter().enumerate().collect();
    if at == Some(0) {
        let first = numbered.iter().filter(is_own).find(|(_, e)| matches!(e.body, Body::UserInput { .. }));
        return Some(first.map_or(events.len(), |(place, _)| *place));
    }
    let is_end = |body: &Body| match body {
        Body::InputEnd { .. } => true,
        // What was rewound does not come back.
        Body::Rewound { .. } => at.is_none(),
        _ => false,
    };
    let ends = numbered.iter().filter(is_own).filter(|(_, event)| is_end(&event.body));
    let mut wanted = ends.rev().filter(|(_, event)| at.is_none_or(|turn| event.turn == turn));
    wanted.next().map(|(place, _)| place + 1)
}

fn no_turn(session: &SessionId, events: &[Event], at: Option<u32>) -> Error {
    let message = match at {
        Some(turn) => {
            let own = events.first().map(|first| &first.agent);
            let last = events.iter().rev().find(|event| Some(&event.agent) == own).map_or(0, |e| e.turn);
            format!("it has no turn {turn} that has ended; its last is turn {last}")
        }
        None => "it has no turn that has ended".to_owned(),
    };
    Error::new(ErrorKind::NotFound, session, message)
}

async fn copy(store: &Store, from: &SessionId, to: &SessionId, mut events: Vec<Event>) -> Result<()> {
    let opened = store.create(to)?;
    let failed = |error: junto_core::JournalError| Error::new(ErrorKind::Io, to, error.to_string());
    for blob in blobs(&events) {
        let mut place = 0;
        let mut was = crc32fast::Hasher::new();
        loop {
            let piece = match store.read_blob(from, &blob, place, PIECE) {
                Ok(piece) => piece,
                // What the other session has lost, this one has lost as well.
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            };
            if piece.is_empty() {
                break;
            }
            place += piece.len() as u64;
            was.update(&piece);
            opened.journal.extend_blob(&blob, Bytes::from(piece)).await.map_err(failed)?;
        }
        if let Some(now) = opened.journal.end_blob(&blob).await.map_err(failed)? {
            renew(&mut events, &blob, was.finalize(), now);
        }
    }
    let made = store.events(to, Seq::START)?.header().created;
    for event in &mut events {
        event.session = to.clone();
        if let Body::SessionStart { setup, .. } = &mut event.body
            && event.parent.is_none()
        {
            event.at = made.unwrap_or(event.at);
            if let Some(setup) = setup {
                setup.forked_from = Some(from.clone());
            }
        }
    }
    events.extend(end(&events, made));
    for batch in events.chunks(BATCH) {
        opened.journal.append(batch, Durability::Synced).await.map_err(failed)?;
    }
    Ok(())
}

/// Gives the texts that are this payload its checksum of now, if they had that which it had: more of it may be masked now. One
/// that was damaged stays so.
fn renew(events: &mut [Event], payload: &BlobId, was: u32, now: u32) {
    for text in events.iter_mut().flat_map(|event| event.body.payloads_mut()) {
        if let Payload::Spilled { blob, crc: Some(crc), .. } = text
            && blob == payload
            && *crc == was
        {
            *crc = now;
        }
    }
}

/// That the session has ended, after these events. Without it the session would be one that was cut off.
fn end(events: &[Event], at: Option<Timestamp>) -> Option<Event> {
    let (first, last) = (events.first()?, events.last()?);
    let own = || events.iter().rev().filter(|event| event.agent == first.agent);
    let reason = own().find_map(|event| match &event.body {
        Body::InputEnd { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    let turn = own().next().map_or(0, |event| event.turn);
    let calls: Vec<Event> =
        events.iter().filter(|event| matches!(event.body, Body::Call { .. })).cloned().collect();
    let (usage, cost) = Past::new(calls).spent();
    let body = Body::SessionEnd { reason: reason.unwrap_or(EndReason::Done), usage, cost };
    let (seq, at) = (last.seq.next(), at.unwrap_or(last.at));
    Some(Event { seq, at, turn, corr: None, body, ..first.clone() })
}

/// The payloads that events name.
fn blobs(events: &[Event]) -> BTreeSet<BlobId> {
    let mut found = BTreeSet::new();
    for event in events {
        // Events are written to journals this way, so that it does not fail.
        collect(&serde_json::to_value(event).unwrap_or_default(), &mut found);
    }
    found
}

fn collect(value: &Value, found: &mut BTreeSet<BlobId>) {
    match value {
        Value::Object(fields) => {
            if let (Some(Value::String(blob)), true) = (fields.get("blob"), fields.contains_key("bytes")) {
                found.insert(BlobId(blob.clone()));
            }
            fields.values().for_each(|field| collect(field, found));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}
