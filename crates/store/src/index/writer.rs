//! The thread that writes the index, so that no session waits for it.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use rusqlite::TransactionBehavior;

use super::apply::{Feed, apply};
use super::database::{Database, Place, Renewed};
use super::note::Note;
use super::pages;
use super::queue::{Batch, Queue};
use crate::{Error, ErrorKind, Result};

/// Notes go in; a thread of its own writes them, which starts once there is something that has waited for a while: most
/// commands are over sooner. Dropping it writes what is left, if something was written before, and ends the thread.
pub(super) struct Writer {
    place: Place,
    queue: Arc<Queue>,
    /// Absent within: it could not be started.
    thread: OnceLock<Option<JoinHandle<()>>>,
    trouble: Arc<Mutex<Trouble>>,
}

/// What went wrong, for whoever asks.
#[derive(Default)]
pub(super) struct Trouble {
    pub(super) fault: Option<Error>,
    pub(super) renewed: Option<Renewed>,
}

/// Lets other threads go first: what the index is told it can also be told later, and whoever works meanwhile may have
/// somebody who waits.
fn stand_back() {
    // Only here is it this thread, and not the whole process. If it is refused, nothing is lost.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 5);
}

impl Writer {
    pub(super) fn new(place: Place) -> Self {
        Self { place, queue: Arc::default(), thread: OnceLock::new(), trouble: Arc::default() }
    }

    /// Whether there is a thread; it is started if there was none.
    fn is_at_work(&self) -> bool {
        let start = || {
            let trouble = Arc::clone(&self.trouble);
            let worker = Worker { place: self.place.clone(), database: None, trouble };
            let (batches, trouble) = (Arc::clone(&self.queue), Arc::clone(&self.trouble));
            let thread = std::thread::Builder::new().name("junto-index".to_owned());
            let work = move || {
                stand_back();
                worker.run(&Served { queue: &batches, trouble: &trouble });
            };
            match thread.spawn(work) {
                Ok(thread) => Some(thread),
                Err(error) => {
                    let fault = Error::io(std::path::Path::new("the thread of the index"), error);
                    self.trouble(|trouble| trouble.fault = Some(fault));
                    self.queue.abandon();
                    None
                }
            }
        };
        self.thread.get_or_init(start).is_some()
    }

    /// Hands a note on. Never waits.
    pub(super) fn note(&self, note: Note) {
        if self.queue.note(note) {
            self.is_at_work();
        }
    }

    /// Tells that the book of calls has grown. Never waits.
    pub(super) fn book(&self) {
        if self.queue.book() {
            self.is_at_work();
        }
    }

    /// Waits until everything that was handed on before is written.
    pub(super) fn flush(&self) -> Result<()> {
        let (done, wait) = sync_channel(1);
        if self.is_at_work() {
            self.queue.flush(done);
            if let Ok(result) = wait.recv() {
                return result;
            }
        }
        // Nobody writes any more, whether or not somebody was told why.
        Err(self.trouble(|trouble| trouble.fault.clone()).unwrap_or_else(gone))
    }

    pub(super) fn trouble<T>(&self, look: impl FnOnce(&mut Trouble) -> T) -> T {
        look(&mut self.trouble.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take().flatten() {
            let _ = thread.join();
        }
    }
}

/// A queue as long as somebody takes from it, also if that ends in a panic.
struct Served<'a> {
    queue: &'a Queue,
    trouble: &'a Mutex<Trouble>,
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.trouble.lock().unwrap_or_else(PoisonError::into_inner).fault.get_or_insert_with(gone);
        }
        self.queue.abandon();
    }
}

/// That the one who writes is gone.
fn gone() -> Error {
    Error::new(ErrorKind::Io, "the thread of the index", "it broke off, and writes nothing more")
}

struct Worker {
    place: Place,
    database: Option<Database>,
    trouble: Arc<Mutex<Trouble>>,
}

impl Worker {
    fn run(mut self, queue: &Served<'_>) {
        while let Some(batch) = queue.queue.next() {
            // A command that is over so soon does not open the index for what it did: who looks next reads that from
            // the journal.
            if batch.is_last && batch.flushes.is_empty() && self.database.is_none() {
                break;
            }
            let result = self.write(&batch);
            if let Err(error) = &result {
                self.trouble.lock().unwrap_or_else(PoisonError::into_inner).fault = Some(error.clone());
                self.database = None;
            }
            for flush in batch.flushes {
                let _ = flush.send(result.clone());
            }
        }
        if let Some(database) = &self.database {
            database.tidy(&self.place);
        }
    }

    fn write(&mut self, batch: &Batch) -> Result<()> {
        if batch.notes.is_empty() && !batch.book {
            return Ok(());
        }
        let place = self.place.clone();
        let fault = |error| place.fault(error);
        let database = self.open()?;
        let transaction = database.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = transaction.map_err(fault)?;
        apply(&transaction, &batch.notes, Feed::Live).map_err(fault)?;
        transaction.commit().map_err(fault)?;
        if batch.book {
            pages::read(&mut database.connection, &place)?;
        }
        Ok(())
    }

    /// The file may have been lost, or put aside by another process.
    fn open(&mut self) -> Result<&mut Database> {
        if self.database.as_ref().is_some_and(|database| !self.place.is(database)) {
            self.database = None;
        }
        match &mut self.database {
            Some(database) => Ok(database),
            empty => {
                let mut opened = self.place.open()?;
                if let Some(renewed) = opened.renewed.take() {
                    self.trouble.lock().unwrap_or_else(PoisonError::into_inner).renewed = Some(renewed);
                }
                Ok(empty.insert(opened))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_that_it_is_written_when_the_writer_broke_off() {
        let dir = tempfile::tempdir().unwrap();
        let writer = Writer::new(Place::new(dir.path()));
        let (queue, trouble) = (Arc::clone(&writer.queue), Arc::clone(&writer.trouble));
        let thread = std::thread::spawn(move || {
            let served = Served { queue: &queue, trouble: &trouble };
            let _batch = served.queue.next();
            panic!("it breaks off");
        });
        assert!(writer.thread.set(Some(thread)).is_ok());
        assert!(writer.flush().is_err());
        // The fault may have been told before.
        writer.trouble(|trouble| trouble.fault = None);
        assert!(writer.flush().is_err());
    }
}
