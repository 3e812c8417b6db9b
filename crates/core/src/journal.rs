//! Where events are kept.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{BlobId, Event, Fut, Seq};

/// How safe an event must be before it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Written.
    Written,
    /// Written, and safe against a crash of the machine.
    Synced,
}

/// The journal could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalError(pub String);

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the journal failed: {}", self.0)
    }
}

impl std::error::Error for JournalError {}

/// Keeps events, and payloads that are too large for them.
pub trait Journal: Send + Sync {
    /// Appends events, in order.
    fn append<'a>(&'a self, events: &'a [Event], durability: Durability)
    -> Fut<'a, Result<(), JournalError>>;

    /// Reads at most `max` events from a position on.
    fn read(&self, from: Seq, max: usize) -> Fut<'_, Result<Vec<Event>, JournalError>>;

    /// Keeps a large payload.
    fn put_blob<'a>(&'a self, blob: &'a BlobId, text: &'a str) -> Fut<'a, Result<(), JournalError>>;

    /// Reads a large payload.
    fn blob<'a>(&'a self, blob: &'a BlobId) -> Fut<'a, Result<String, JournalError>>;
}

/// A journal in memory: for sessions that nobody wants to bring back, and for tests.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    events: Vec<Event>,
    blobs: HashMap<BlobId, String>,
}

impl MemoryJournal {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn append<'a>(
        &'a self,
        events: &'a [Event],
        _durability: Durability,
    ) -> Fut<'a, Result<(), JournalError>> {
        self.kept().events.extend_from_slice(events);
        Box::pin(async { Ok(()) })
    }

    fn read(&self, from: Seq, max: usize) -> Fut<'_, Result<Vec<Event>, JournalError>> {
        let kept = self.kept();
        let start = kept.events.partition_point(|e| e.seq < from);
        let events = kept.events.iter().skip(start).take(max).cloned().collect();
        Box::pin(async { Ok(events) })
    }

    fn put_blob<'a>(&'a self, blob: &'a BlobId, text: &'a str) -> Fut<'a, Result<(), JournalError>> {
        self.kept().blobs.insert(blob.clone(), text.to_owned());
        Box::pin(async { Ok(()) })
    }

    fn blob<'a>(&'a self, blob: &'a BlobId) -> Fut<'a, Result<String, JournalError>> {
        let found = self.kept().blobs.get(blob).cloned();
        Box::pin(async move { found.ok_or_else(|| JournalError(format!("there is no payload {blob}"))) })
    }
}
