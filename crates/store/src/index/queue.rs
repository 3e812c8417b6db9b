//! What waits to be written to the index.

use std::sync::mpsc::SyncSender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::note::Note;
use crate::Result;

/// How many notes may wait. What finds no room is read from the journal later.
const ROOM: usize = 1024;
/// With so many notes the wait for others is over.
const ENOUGH: usize = 512;
/// How long a note waits at most for others that are written with it.
const DELAY: Duration = Duration::from_millis(250);
/// How long word of the book waits, if there is nothing else: whoever looks reads the book first, and a gateway that has
/// many calls needs its cores for them.
const BOOK_DELAY: Duration = Duration::from_secs(5);

/// What waits to be written. Adding to it never waits, and wakes the one who writes only if there was
/// nothing before, if this waits less long than what was there, or if there is enough now: a session adds a note for each
/// event, and to wake a thread costs more than to write the event.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// There is something, or something that waits less long, or there is enough.
    changed: Condvar,
    book_delay: Duration,
}

impl Default for Queue {
    fn default() -> Self {
        Self { waiting: Mutex::default(), changed: Condvar::new(), book_delay: BOOK_DELAY }
    }
}

#[derive(Default)]
struct Waiting {
    batch: Batch,
    /// When the first of it came.
    since: Option<Instant>,
    /// Nothing comes any more.
    is_closed: bool,
    /// Nobody writes any more.
    is_abandoned: bool,
}

/// What is written at once.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) notes: Vec<Note>,
    /// There is something new in the book of calls.
    pub(super) book: bool,
    /// Want to know when it is written.
    pub(super) flushes: Vec<SyncSender<Result<()>>>,
    /// Nothing comes after it.
    pub(super) is_last: bool,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.notes.is_empty() && !self.book && self.flushes.is_empty()
    }

    fn is_due(&self) -> bool {
        self.notes.len() >= ENOUGH || !self.flushes.is_empty()
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long this may wait for more.
    fn delay(&self, batch: &Batch) -> Duration {
        if batch.notes.is_empty() { self.book_delay } else { DELAY }
    }

    /// Adds something, and says whether it is time to write what waits.
    fn add(&self, change: impl FnOnce(&mut Batch)) -> bool {
        let mut waiting = self.lock();
        if waiting.is_abandoned {
            return false;
        }
        let (was_empty, was_due) = (waiting.batch.is_empty(), waiting.batch.is_due());
        let delay = self.delay(&waiting.batch);
        change(&mut waiting.batch);
        let (is_due, is_sooner) = (waiting.batch.is_due(), self.delay(&waiting.batch) < delay);
        let is_old = waiting.since.get_or_insert_with(now).elapsed() >= DELAY;
        drop(waiting);
        if was_empty || is_sooner || is_due && !was_due {
            self.changed.notify_one();
        }
        is_due || is_old
    }

    /// Adds a note, if there is room, and says whether it is time to write what waits.
    pub(super) fn note(&self, note: Note) -> bool {
        self.add(|batch| {
            // A note that is left out leaves a gap, and the session is read from its journal later.
            if batch.notes.len() < ROOM {
                batch.notes.push(note);
            }
        })
    }

    /// The book of calls has grown; whether it is time to write that.
    pub(super) fn book(&self) -> bool {
        self.add(|batch| batch.book = true)
    }

    /// Somebody wants to know when everything before is written.
    pub(super) fn flush(&self, done: SyncSender<Result<()>>) {
        self.add(move |batch| batch.flushes.push(done));
    }

    /// Nothing comes any more.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
    }

    /// Nobody writes any more, and nobody shall wait for it.
    pub(super) fn abandon(&self) {
        let mut waiting = self.lock();
        waiting.is_abandoned = true;
        waiting.batch = Batch::default();
    }

    /// What is to be written next; waits for it, and then a while for more. None at the end.
    pub(super) fn next(&self) -> Option<Batch> {
        let mut waiting = self.lock();
        while waiting.batch.is_empty() {
            if waiting.is_closed {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        let begin = now();
        loop {
            let left = self.delay(&waiting.batch).saturating_sub(begin.elapsed());
            if waiting.batch.is_due() || waiting.is_closed || left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(waiting, left);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.since = None;
        let is_last = waiting.is_closed;
        Some(Batch { is_last, ..std::mem::take(&mut waiting.batch) })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long to wait for more; nothing that is kept depends on it"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use jiff::Timestamp;
    use junto_core::{AgentId, Body, Event, Seq, VERSION};
    use junto_llm::SessionId;

    use super::*;
    use crate::Redactor;

    fn note(seq: u64) -> Note {
        let event = Event {
            v: VERSION,
            seq: Seq(seq),
            at: Timestamp::UNIX_EPOCH,
            session: SessionId("s".to_owned()),
            agent: AgentId("a".to_owned()),
            parent: None,
            parent_call: None,
            turn: 0,
            corr: None,
            body: Body::AssistantTextStart {},
        };
        Note::of(&event, &Redactor::off())
    }

    #[test]
    fn what_comes_together_is_written_together_up_to_the_end() {
        let queue = Queue::default();
        (1..=3).for_each(|seq| assert!(!queue.note(note(seq))));
        queue.book();
        queue.close();
        let batch = queue.next().unwrap();
        assert_eq!((batch.notes.len(), batch.book), (3, true));
        assert!(queue.next().is_none());
    }

    #[test]
    fn there_is_room_for_so_many() {
        let queue = Queue::default();
        let due = (1..=5000).filter(|seq| queue.note(note(*seq))).count();
        assert!(due > 5000 - ENOUGH, "{due}");
        let notes = queue.next().unwrap().notes;
        assert_eq!(
            notes.iter().map(|note| note.seq).collect::<Vec<_>>(),
            (1..=ROOM as u64).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_note_that_comes_later_wakes_the_one_who_writes() {
        let queue = Queue::default();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| queue.next().map(|batch| batch.flushes.len()));
            queue.flush(sync_channel(1).0);
            assert_eq!(writer.join().unwrap(), Some(1));
        });
    }

    #[test]
    fn word_of_the_book_does_not_hold_up_a_note() {
        // As good as never.
        let queue = Queue { book_delay: Duration::from_hours(24), ..Queue::default() };
        std::thread::scope(|scope| {
            queue.book();
            let writer = scope.spawn(|| queue.next().map(|batch| (batch.notes.len(), batch.book)));
            queue.note(note(1));
            assert_eq!(writer.join().unwrap(), Some((1, true)));
        });
    }

    #[test]
    fn nobody_waits_for_one_who_is_gone() {
        let queue = Queue::default();
        let (done, early) = sync_channel::<Result<()>>(1);
        queue.flush(done);
        queue.abandon();
        let (done, late) = sync_channel::<Result<()>>(1);
        queue.flush(done);
        assert!(early.recv().is_err() && late.recv().is_err());
    }
}
