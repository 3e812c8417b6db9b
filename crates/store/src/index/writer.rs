//! The thread that writes the index, so that no session waits for it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::TransactionBehavior;

use super::apply::{Feed, apply};
use super::database::{Database, Place, Renewed};
use super::note::Note;
use super::pages;
use crate::{Error, Result};

/// How many notes may wait. What finds no room is read from the journal later.
const QUEUE: usize = 1024;
/// The most notes that are written at once.
const BATCH: usize = 512;
/// How long a note waits for others that are written with it.
const DELAY: Duration = Duration::from_millis(50);

enum Message {
    Note(Box<Note>),
    /// There is something new in the book of calls.
    Book,
    /// Tells the sender when everything before it is written.
    Flush(SyncSender<Result<()>>),
}

/// Notes go in; a thread of its own writes them. Dropping it writes what is left and ends the thread.
pub(super) struct Writer {
    /// Gone when the thread shall end.
    sender: Option<SyncSender<Message>>,
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
        let (sender, receiver) = sync_channel(QUEUE);
        let trouble = Arc::new(Mutex::new(Trouble::default()));
        let worker = Worker { place, database: None, trouble: Arc::clone(&trouble) };
        let thread = std::thread::Builder::new().name("junto-index".to_owned());
        let thread = thread.spawn(move || worker.run(&receiver));
        if let Err(error) = &thread {
            let fault = Error::io(std::path::Path::new("the thread of the index"), clone(error));
            trouble.lock().unwrap_or_else(PoisonError::into_inner).fault = Some(fault);
        }
        Self { sender: Some(sender), thread: thread.ok(), trouble }
    }

    /// Hands a note on. Never waits.
    pub(super) fn note(&self, note: Note) {
        self.send(Message::Note(Box::new(note)));
    }

    /// Tells that the book of calls has grown. Never waits.
    pub(super) fn book(&self) {
        self.send(Message::Book);
    }

    fn send(&self, message: Message) {
        if let Some(sender) = &self.sender {
            // A note that is left out leaves a gap, and the session is read from its journal later.
            match sender.try_send(message) {
                Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
            }
        }
    }

    /// Waits until everything that was handed on before is written.
    pub(super) fn flush(&self) -> Result<()> {
        let (done, wait) = sync_channel(1);
        if let Some(sender) = &self.sender
            && sender.send(Message::Flush(done)).is_ok()
            && let Ok(result) = wait.recv()
        {
            return result;
        }
        match self.trouble.lock().unwrap_or_else(PoisonError::into_inner).fault.clone() {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    pub(super) fn trouble<T>(&self, look: impl FnOnce(&mut Trouble) -> T) -> T {
        look(&mut self.trouble.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn clone(error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), error.to_string())
}

struct Worker {
    place: Place,
    /// Opened when there is something to write.
    database: Option<Database>,
    trouble: Arc<Mutex<Trouble>>,
}

/// What is written at once.
#[derive(Default)]
struct Batch {
    notes: Vec<Note>,
    book: bool,
    waiting: Vec<SyncSender<Result<()>>>,
}

impl Batch {
    fn take(&mut self, message: Message) {
        match message {
            Message::Note(note) => self.notes.push(*note),
            Message::Book => self.book = true,
            Message::Flush(done) => self.waiting.push(done),
        }
    }

    fn is_due(&self) -> bool {
        self.notes.len() >= BATCH || !self.waiting.is_empty()
    }
}

impl Worker {
    fn run(mut self, receiver: &Receiver<Message>) {
        while let Ok(first) = receiver.recv() {
            let mut batch = Batch::default();
            batch.take(first);
            while !batch.is_due() {
                match receiver.recv_timeout(DELAY) {
                    Ok(message) => batch.take(message),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                }
            }
            let result = self.write(&batch);
            if let Err(error) = &result {
                self.trouble.lock().unwrap_or_else(PoisonError::into_inner).fault = Some(error.clone());
                self.database = None;
            }
            for waiting in batch.waiting {
                let _ = waiting.send(result.clone());
            }
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
