//! What the files were at the beginning and at the end of each turn.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use junto_core::{BlobId, Body, Durability, Event, Fut, Journal, JournalError, Seq};
use junto_store::{Error, ErrorKind, Extent, Result, Snapshots, Tree, Undone};

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
        let (begin, end) = (self.tree(&before(turn)).await?, self.tree(&after(turn)).await?);
        self.snapshots.undo(&begin, &end, doing == Doing::Dry).await
    }

    /// Takes back what was done to the files after a turn had ended, up to the end of a later one; 0 is
    /// before the first.
    ///
    /// # Errors
    /// As [`Turns::undo`].
    pub async fn rewind(&self, to: u32, from: u32, doing: Doing) -> Result<Undone> {
        let then = self.tree(&if to == 0 { before(1) } else { after(to) }).await?;
        let mut undone = Undone::default();
        // A file is the session's, and nobody else's, if it is as one of these turns left it: the files may
        // have gone back before.
        for turn in (to.saturating_add(1)..=from).rev() {
            let Some(end) = self.snapshots.find(&after(turn)).await? else { continue };
            let Undone { files, left } = self.snapshots.undo(&then, &end, doing == Doing::Dry).await?;
            undone.files.extend(files);
            undone.left.extend(left);
        }
        let mut told = HashSet::new();
        undone.files.retain(|change| told.insert(change.path.clone()));
        // Left alone is what is still different.
        let now = self.snapshots.take("now").await?;
        let different = self.snapshots.changes(&then, &now).await?;
        let different: HashSet<String> = different.into_iter().map(|change| change.path).collect();
        undone.left.retain(|path| different.contains(path) && told.insert(path.clone()));
        Ok(undone)
    }

    async fn tree(&self, name: &str) -> Result<Tree> {
        let missing = || Error::new(ErrorKind::NotFound, name, "the files were not snapshotted then");
        self.snapshots.find(name).await?.ok_or_else(missing)
    }
}

fn before(turn: u32) -> String {
    format!("turn-{turn}-begin")
}

fn after(turn: u32) -> String {
    format!("turn-{turn}-end")
}
