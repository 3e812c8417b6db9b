//! What the files were at the beginning and at the end of each turn.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use junto_core::{BlobId, Body, Durability, Event, Fut, Journal, JournalError, Seq};
use junto_store::{Error, ErrorKind, Extent, Result, Snapshots, Undone};

/// Whether the files of sessions that are kept are snapshotted, and who hears that they cannot be.
#[derive(Clone)]
pub struct SnapshotPolicy {
    /// How large a folder may be.
    pub extent: Extent,
    /// Hears once for each session why its files are not snapshotted. The session goes on.
    pub on_fault: Arc<dyn Fn(&Error) + Send + Sync>,
}

/// A journal that has the files snapshotted before a turn of the session's own agent begins, and when it has
/// ended: before the event that says so is written, so that nothing is done meanwhile.
pub(crate) struct Snapshotting {
    journal: Arc<dyn Journal>,
    turns: Turns,
    policy: SnapshotPolicy,
    /// Set when a snapshot failed: then no other is tried.
    given_up: Mutex<bool>,
}

impl Snapshotting {
    pub(crate) fn new(journal: Arc<dyn Journal>, snapshots: Snapshots, policy: SnapshotPolicy) -> Self {
        Self { journal, turns: Turns::new(snapshots), policy, given_up: Mutex::new(false) }
    }

    async fn snapshot(&self, event: &Event) {
        let name = match &event.body {
            _ if event.parent.is_some() => return,
            Body::UserInput { .. } => before(event.turn),
            Body::InputEnd { .. } => after(event.turn),
            _ => return,
        };
        if *self.given_up.lock().unwrap_or_else(PoisonError::into_inner) {
            return;
        }
        if let Err(error) = self.turns.snapshots.take(&name).await {
            *self.given_up.lock().unwrap_or_else(PoisonError::into_inner) = true;
            (self.policy.on_fault)(&error);
        }
    }
}

impl Journal for Snapshotting {
    fn append<'a>(
        &'a self,
        events: &'a [Event],
        durability: Durability,
    ) -> Fut<'a, std::result::Result<(), JournalError>> {
        Box::pin(async move {
            for event in events {
                self.snapshot(event).await;
            }
            self.journal.append(events, durability).await
        })
    }

    fn read(&self, from: Seq, max: usize) -> Fut<'_, std::result::Result<Vec<Event>, JournalError>> {
        self.journal.read(from, max)
    }

    fn extend_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        piece: Bytes,
    ) -> Fut<'a, std::result::Result<(), JournalError>> {
        self.journal.extend_blob(blob, piece)
    }

    fn read_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        from: u64,
        max: usize,
    ) -> Fut<'a, std::result::Result<Vec<u8>, JournalError>> {
        self.journal.read_blob(blob, from, max)
    }
}

/// The snapshots that were taken at the turns of a session.
#[derive(Debug)]
pub struct Turns {
    snapshots: Snapshots,
}

/// Whether files are changed, or it is only told what would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// They are.
    Really,
    /// It is only told.
    Dry,
}

impl Turns {
    /// Those that these snapshots have.
    pub fn new(snapshots: Snapshots) -> Self {
        Self { snapshots }
    }

    /// Takes back what a turn did to the files.
    ///
    /// # Errors
    /// `not_found` if the turn was not snapshotted; else as [`Snapshots::undo`].
    pub async fn undo(&self, turn: u32, doing: Doing) -> Result<Undone> {
        self.between(&before(turn), &after(turn), doing).await
    }

    /// Takes back what was done to the files after a turn had ended, up to the end of a later one; 0 is
    /// before the first.
    ///
    /// # Errors
    /// As [`Turns::undo`].
    pub async fn rewind(&self, to: u32, from: u32, doing: Doing) -> Result<Undone> {
        let then = if to == 0 { before(1) } else { after(to) };
        self.between(&then, &after(from), doing).await
    }

    async fn between(&self, from: &str, to: &str, doing: Doing) -> Result<Undone> {
        let missing =
            |name: &str| Error::new(ErrorKind::NotFound, name, "the files were not snapshotted then");
        let then = self.snapshots.find(from).await?.ok_or_else(|| missing(from))?;
        let now = self.snapshots.find(to).await?.ok_or_else(|| missing(to))?;
        self.snapshots.undo(&then, &now, doing == Doing::Dry).await
    }
}

fn before(turn: u32) -> String {
    format!("turn-{turn}-begin")
}

fn after(turn: u32) -> String {
    format!("turn-{turn}-end")
}
