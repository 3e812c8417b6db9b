//! What the files were at the beginning and at the end of each turn that could change them.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use junto_core::{BlobId, Body, Durability, Event, Fut, Journal, JournalError, Seq};
use junto_llm::SessionId;
use junto_store::{Error, ErrorKind, Extent, Result, Snapshots, Tree, Undone};

/// Whether the files of sessions that are kept are snapshotted, and who hears that they cannot be.
#[derive(Clone)]
pub struct SnapshotPolicy {
    /// How large a folder may be.
    pub extent: Extent,
    /// Hears once for each session why its files are not snapshotted. The session goes on.
    pub on_fault: Arc<dyn Fn(&Error) + Send + Sync>,
}

/// When the files of a turn are snapshotted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eve {
    /// Before the first tool call runs that may change something. A turn without one has no snapshots.
    Call,
    /// Before the agent hears of it: it acts by itself, and tells afterwards.
    Input,
}

/// A journal that has the files snapshotted before a turn of the session's own agent changes any, and when it
/// has ended: before the event is written that lets it act, or says that it has ended, so that nothing is done
/// meanwhile.
pub(crate) struct Snapshotting {
    journal: Arc<dyn Journal>,
    turns: Turns,
    policy: SnapshotPolicy,
    eve: Eve,
    state: Mutex<State>,
}

/// What is known of the turn under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing: the session was brought back in the middle of it.
    Unknown,
    /// It has begun, and nothing was snapshotted.
    Begun { turn: u32 },
    /// It was snapshotted before it did anything.
    Taken,
    /// A snapshot failed: no other is tried.
    GivenUp,
}

impl Snapshotting {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        snapshots: Snapshots,
        policy: SnapshotPolicy,
        eve: Eve,
    ) -> Self {
        let (turns, state) = (Turns::new(snapshots), Mutex::new(State::Unknown));
        Self { journal, turns, policy, eve, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what has to be done before an event. A call of which it is enough that the disk has it soon changes nothing.
    async fn prepare(&self, event: &Event, durability: Durability) {
        if durability == Durability::Soon {
            return;
        }
        let known = *self.state();
        let next = match self.take_before(event, known).await {
            Ok(next) => next,
            Err(error) => {
                (self.policy.on_fault)(&error);
                State::GivenUp
            }
        };
        *self.state() = next;
    }

    /// Takes a snapshot if there must be one before this event; what is known then.
    async fn take_before(&self, event: &Event, known: State) -> Result<State> {
        let (is_own, turn) = (event.parent.is_none(), event.turn);
        match (&event.body, known) {
            (_, State::GivenUp) => Ok(known),
            (Body::UserInput { .. }, _) if is_own => {
                let begun = State::Begun { turn };
                if self.eve == Eve::Input { self.begin(begun, turn).await } else { Ok(begun) }
            }
            // Children act in the turn of the session's own agent, which is known from its input, or else from
            // its own calls.
            (Body::ToolCallStart { .. }, State::Begun { turn }) => self.begin(known, turn).await,
            (Body::ToolCallStart { .. }, State::Unknown) if is_own => self.begin(known, turn).await,
            (Body::InputEnd { .. }, State::Taken | State::Unknown) if is_own => {
                let acted =
                    known != State::Unknown || self.turns.snapshots.find(&before(turn)).await?.is_some();
                if acted {
                    self.turns.snapshots.take(&after(turn)).await?;
                }
                Ok(known)
            }
            _ => Ok(known),
        }
    }

    /// Snapshots the files before a turn does anything, unless that was done before it was cut off.
    async fn begin(&self, known: State, turn: u32) -> Result<State> {
        let name = before(turn);
        if known != State::Unknown || self.turns.snapshots.find(&name).await?.is_none() {
            self.turns.snapshots.take(&name).await?;
        }
        Ok(State::Taken)
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
                self.prepare(event, durability).await;
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

    fn end_blob<'a>(&'a self, blob: &'a BlobId) -> Fut<'a, std::result::Result<Option<u32>, JournalError>> {
        self.journal.end_blob(blob)
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

    /// Snapshots the files for the end of a turn that was cut off before there was one. What was changed since it
    /// began, by whomever, counts as its doing then. Whether that was so: one that did nothing has no snapshots. It
    /// is taken anew each time, since such a turn may have gone on.
    ///
    /// # Errors
    /// As [`Snapshots::take`].
    pub async fn end_cut_off(&self, turn: u32) -> Result<bool> {
        let acted = self.snapshots.find(&before(turn)).await?.is_some();
        if acted {
            self.snapshots.take(&after(turn)).await?;
        }
        Ok(acted)
    }

    /// Takes back what a turn did to the files.
    ///
    /// # Errors
    /// `not_found` if the turn was not snapshotted; else as [`Snapshots::undo`].
    pub async fn undo(&self, turn: u32, doing: Doing) -> Result<Undone> {
        let (begin, end) = (self.tree(&before(turn)).await?, self.tree(&after(turn)).await?);
        self.snapshots.undo(&begin, &end, doing == Doing::Dry).await
    }

    /// Takes back what the turns after this one, up to a later one, did to the files; 0 is before the first. What was
    /// changed between turns was changed by others, and stays.
    ///
    /// # Errors
    /// As [`Turns::undo`], also if it is only the end of one of them that was not snapshotted. Nothing was done then.
    pub async fn rewind(&self, to: u32, from: u32) -> Result<Undone> {
        self.check(to, from).await?;
        // Before anything is done: what one of them did may not be known.
        let mut turns = Vec::new();
        for turn in to.saturating_add(1)..=from {
            if let Some(begin) = self.snapshots.find(&before(turn)).await? {
                turns.push((begin, self.tree(&after(turn)).await?));
            }
        }
        let start = self.snapshots.take("now").await?;
        let (mut left, mut older, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
        // From the last to the first, so that each finds what it left behind. Where it does not, the files went back
        // before, and an earlier turn finds them; or somebody has changed them since.
        for (begin, end) in turns.into_iter().rev() {
            let undone = self.snapshots.undo(&begin, &end, false).await?;
            left.push((begin, undone.left));
            older.extend(undone.older);
            beyond.extend(undone.beyond);
        }
        let now = self.snapshots.take("now").await?;
        let files = self.snapshots.changes(&now, &start).await?;
        // What is as a turn found it is not left, but went back before.
        let mut told: HashSet<String> = files.iter().map(|change| change.path.clone()).collect();
        for (begin, paths) in left.iter().filter(|(_, paths)| !paths.is_empty()) {
            let different = self.snapshots.changes(begin, &now).await?;
            let different: HashSet<String> = different.into_iter().map(|change| change.path).collect();
            told.extend(paths.iter().filter(|path| !different.contains(*path)).cloned());
        }
        let mut left: Vec<String> = left.into_iter().flat_map(|(_, paths)| paths).collect();
        left.retain(|path| told.insert(path.clone()));
        older.retain(|path| told.insert(path.clone()));
        beyond.retain(|path| told.insert(path.clone()));
        Ok(Undone { files, left, older, beyond, ..Undone::default() })
    }

    /// Takes over the snapshots of a session that this one began with the turns of, up to the end of a turn. If it
    /// has none, nothing is done.
    ///
    /// # Errors
    /// As [`Snapshots::take_over`].
    pub async fn take_over(&self, from: &SessionId, last: u32) -> Result<()> {
        let is_shared = |name: &str| turn_of(name).is_some_and(|turn| turn <= last);
        self.snapshots.take_over(from, is_shared).await
    }

    /// That the files were snapshotted when a turn had ended, or later.
    async fn check(&self, turn: u32, last: u32) -> Result<()> {
        let names =
            (turn > 0).then(|| after(turn)).into_iter().chain((turn.saturating_add(1)..=last).map(before));
        for name in names {
            if self.snapshots.find(&name).await?.is_some() {
                return Ok(());
            }
        }
        self.tree(&after(turn)).await.map(|_| ())
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

/// The turn of such a name.
fn turn_of(name: &str) -> Option<u32> {
    let (turn, _) = name.strip_prefix("turn-")?.split_once('-')?;
    turn.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_turn() {
        for name in [before(12), after(12)] {
            assert_eq!(turn_of(&name), Some(12), "{name}");
        }
        assert_eq!((turn_of("now"), turn_of("turn-x-end")), (None, None));
    }
}
