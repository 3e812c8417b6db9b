//! The thread that writes the index, so that no session waits for it.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::TransactionBehavior;

use super::apply::{Feed, apply};
use super::database::{Database, Place, Renewed};
use super::note::Note;
use super::pages;
use super::queue::{Batch, Queue};
use crate::{Error, Result};

/// Notes go in; a thread of its own writes them. Dropping it writes what is left, if something was written before,
/// and ends the thread.
pub(super) struct Writer {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    trouble: Arc<Mutex<Trouble>>,
}

/// What went wrong, for whoever asks.
#[derive(Default)]
pub(super) struct Trouble {
    pub(super) fault: Option<Error>,
    pub(super) renewed: Option<Renewed>,
}

impl Writer {
    pub(super) fn start(place: Place) -> Self {
        let queue = Arc::new(Queue::default());
        let trouble = Arc::new(Mutex::new(Trouble::default()));
        let worker = Worker { place, database: None, trouble: Arc::clone(&trouble) };
        let thread = std::thread::Builder::new().name("junto-index".to_owned());
        let batches = Arc::clone(&queue);
        let thread = thread.spawn(move || worker.run(&Served(&batches)));
        if let Err(error) = &thread {
            let fault = Error::io(std::path::Path::new("the thread of the index"), clone(error));
            trouble.lock().unwrap_or_else(PoisonError::into_inner).fault = Some(fault);
        }
        Self { queue, thread: thread.ok(), trouble }
    }

    /// Hands a note on. Never waits.
    pub(super) fn note(&self, note: Note) {
        self.queue.note(note);
    }

    /// Tells that the book of calls has grown. Never waits.
    pub(super) fn book(&self) {
        self.queue.book();
    }

    /// Waits until everything that was handed on before is written.
    pub(super) fn flush(&self) -> Result<()> {
        let (done, wait) = sync_channel(1);
        if self.thread.is_some() {
            self.queue.flush(done);
            if let Ok(result) = wait.recv() {
                return result;
            }
        }
        self.trouble(|trouble| trouble.fault.clone()).map_or(Ok(()), Err)
    }

    pub(super) fn trouble<T>(&self, look: impl FnOnce(&mut Trouble) -> T) -> T {
        look(&mut self.trouble.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn clone(error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), error.to_string())
}

/// A queue as long as somebody takes from it, also if that ends in a panic.
struct Served<'a>(&'a Queue);

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

struct Worker {
    place: Place,
    database: Option<Database>,
    trouble: Arc<Mutex<Trouble>>,
}

impl Worker {
    fn run(mut self, queue: &Served<'_>) {
        while let Some(batch) = queue.0.next() {
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
