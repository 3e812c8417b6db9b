//! Sessions, their turns, agents and calls in tables, so that they are found without reading journals.
//!
//! The index knows nothing that the journals and the book of calls do not say, and can be made from them
//! at any time: by [`Index::rebuild`] wholly, by [`Index::refresh`] as far as it is behind. A session at work
//! feeds it event by event; a thread writes what comes, many events at once, and keeps nobody waiting.
//! What it misses, since it is behind by too much or cannot write, leaves a gap in the positions of that
//! session, after which it takes nothing more of it until it is brought up to date.
//!
//! Any number of processes may write and read at once. A file that is damaged is put aside, one of another
//! version replaced.

mod apply;
mod database;
mod note;
mod open;
mod pages;
mod query;
mod queue;
mod refresh;
mod rows;
mod tables;
mod tail;
mod title;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use junto_core::Event;
use junto_llm::SessionId;
use rusqlite::Connection;
use serde_json::Value;

use self::database::Place;
use self::note::Note;
use self::refresh::Trust;
use self::writer::Writer;
use crate::ledger::{By, CallRow, CostRow, DeliberationRow, table};
use crate::{Error, Redactor, Result, Store, Watch};

pub use self::database::Renewed;
pub use self::refresh::Refreshed;
pub use self::rows::{CallFilter, Filter, RunRow, SessionRow, Standing, TurnRow};

/// The index of a store. Clones are the same index. All functions but [`Index::note`] block on files.
#[derive(Clone)]
pub struct Index {
    inner: Arc<Inner>,
}

struct Inner {
    place: Place,
    redact: Redactor,
    /// Made when there is something to write.
    writer: OnceLock<Writer>,
    /// Why the index was made anew, until somebody asks.
    renewed: Mutex<Option<Renewed>>,
}

impl Index {
    /// The index of the store in this folder. Nothing is opened until it is used. The redactor takes out of
    /// what is noted what it takes out of the journals.
    pub fn open(root: &Path, redact: Redactor) -> Self {
        let (writer, renewed) = (OnceLock::new(), Mutex::default());
        Self { inner: Arc::new(Inner { place: Place::new(root), redact, writer, renewed }) }
    }

    fn writer(&self) -> &Writer {
        self.inner.writer.get_or_init(|| Writer::new(self.inner.place.clone()))
    }

    /// Takes note of an event that was written to a journal. Never waits, and never fails: what is missed
    /// is read from the journal later.
    pub fn note(&self, event: &Event) {
        self.writer().note(Note::of(event, &self.inner.redact));
    }

    /// The book of calls has something new.
    pub(crate) fn book_has_grown(&self) {
        self.writer().book();
    }

    /// Waits until what was noted so far is written.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn flush(&self) -> Result<()> {
        self.inner.writer.get().map_or(Ok(()), Writer::flush)
    }

    /// Why the last thing that was noted could not be written, if so. Told once.
    pub fn take_fault(&self) -> Option<Error> {
        self.inner.writer.get().and_then(|writer| writer.trouble(|trouble| trouble.fault.take()))
    }

    /// Brings the index up to date: sessions that have events it does not know are read from where it
    /// ends, those that are gone are taken out. A damaged index is put aside and made anew.
    ///
    /// # Errors
    /// If the index can be neither read nor made. A session that cannot be read is no error.
    pub fn refresh(&self, store: &Store) -> Result<Refreshed> {
        self.renew(store, Trust::Known)
    }

    /// Makes the index anew from all journals, whatever it holds.
    ///
    /// # Errors
    /// As [`Index::refresh`].
    pub fn rebuild(&self, store: &Store) -> Result<Refreshed> {
        self.renew(store, Trust::Nothing)
    }

    fn renew(&self, store: &Store, trust: Trust) -> Result<Refreshed> {
        // What could not be written is read from the journals.
        let _ = self.flush();
        let refreshed = refresh::refresh(&self.inner.place, store, trust)?;
        if let Some(renewed) = &refreshed.renewed {
            *self.renewed() = Some(renewed.clone());
        }
        Ok(refreshed)
    }

    /// Why the index was made anew since somebody asked last, if it was.
    pub fn take_renewed(&self) -> Option<Renewed> {
        let by_writer = self.inner.writer.get().and_then(|writer| writer.trouble(|t| t.renewed.take()));
        by_writer.or_else(|| self.renewed().take())
    }

    fn renewed(&self) -> MutexGuard<'_, Option<Renewed>> {
        self.inner.renewed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sessions, the one with the latest event first.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn sessions(&self, filter: &Filter) -> Result<Vec<SessionRow>> {
        let is_open = |session: &SessionId| open::is_open(self.inner.place.root(), session);
        self.ask(|db| query::sessions(db, filter, &is_open))
    }

    /// The agents of a session, in the order they began: its own and its children.
    ///
    /// # Errors
    /// As [`Index::sessions`].
    pub fn runs(&self, session: &SessionId) -> Result<Vec<RunRow>> {
        self.ask(|db| query::runs(db, session))
    }

    /// The inputs of a session.
    ///
    /// # Errors
    /// As [`Index::sessions`].
    pub fn turns(&self, session: &SessionId) -> Result<Vec<TurnRow>> {
        self.ask(|db| query::turns(db, session))
    }

    /// Model calls, in the order they were made in.
    ///
    /// # Errors
    /// As [`Index::sessions`].
    pub fn calls(&self, filter: &CallFilter) -> Result<Vec<CallRow>> {
        let mut calls = Vec::new();
        self.ask(|db| query::each_call(db, filter, |call| calls.push(call)))?;
        Ok(calls)
    }

    /// How councils came to their answers, in the order of their ends.
    ///
    /// # Errors
    /// As [`Index::sessions`].
    pub fn deliberations(&self, filter: &CallFilter) -> Result<Vec<DeliberationRow>> {
        self.ask(|db| query::deliberations(db, filter))
    }

    /// The same without secrets, as the journals have it.
    pub(crate) fn masked(&self, minutes: &Value) -> Value {
        note::masked(minutes, &self.inner.redact)
    }

    /// What all calls used and cost, summed up.
    ///
    /// # Errors
    /// As [`Index::sessions`].
    pub fn cost(&self, by: By) -> Result<Vec<CostRow>> {
        self.cost_of(by, &CallFilter::default())
    }

    /// What some calls used and cost, summed up.
    ///
    /// # Errors
    /// As [`Index::sessions`].
    pub fn cost_of(&self, by: By, filter: &CallFilter) -> Result<Vec<CostRow>> {
        Ok(table(self.calls(filter)?, by))
    }

    /// Asks a connection of its own, so that it sees what is there and not what was there once.
    fn ask<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let _ = self.flush();
        let db = self.inner.place.read()?;
        question(&db).map_err(|error| self.inner.place.fault(error))
    }
}

impl Watch for Index {
    fn written(&self, event: &Event) {
        self.note(event);
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("root", &self.inner.place.root()).finish_non_exhaustive()
    }
}
