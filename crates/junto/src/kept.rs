//! A session that was kept, opened to go on with.

use std::sync::Arc;

use junto_agent::Past;
use junto_core::{Journal, Seq};
use junto_llm::SessionId;
use junto_store::{Opened, Recovery, Result, Store};

/// A session that was kept, opened to go on with: as long as this, or the agent that is made of it, is
/// there, nobody else can write it.
#[derive(Debug)]
pub struct Kept {
    session: SessionId,
    opened: Opened,
    /// What happened in it, and how it is to be gone on with.
    pub past: Past,
}

impl Kept {
    /// Opens a session, and brings its journal in order where it was cut off.
    ///
    /// # Errors
    /// If there is no such session, another process writes it, it is of a newer version, or it cannot be
    /// read.
    pub fn reopen(store: &Store, session: &SessionId) -> Result<Self> {
        let mut opened = store.open_session(session)?;
        let read = store.read(session)?;
        // Who opens a journal does not look into its events. Who reads them finds all that is damaged, and those
        // besides that this version does not know.
        opened.recovery.damaged = read.recovery.damaged;
        opened.recovery.more_damaged = read.recovery.more_damaged;
        let past = Past::new(read.events);
        Ok(Self { session: session.clone(), opened, past })
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The last position that is taken: by the last event, or by what is damaged after it.
    pub fn last(&self) -> Seq {
        self.opened.last
    }

    /// What was wrong with its journal.
    pub fn recovery(&self) -> &Recovery {
        &self.opened.recovery
    }

    /// The journal that goes on, and what it holds.
    pub(crate) fn into_parts(self) -> (Arc<dyn Journal>, Past) {
        (self.opened.journal, self.past)
    }
}
