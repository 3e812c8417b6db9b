//! A session that was kept, opened to go on with.

use junto_core::{Body, Clock, Event, EventLog, Seq};
use junto_llm::SessionId;
use junto_store::{Opened, Recovery, Result, Store};

/// A session that was kept, opened to go on with: as long as this, or the agent that is made of it, is
/// there, nobody else can write it.
#[derive(Debug)]
pub struct Kept {
    session: SessionId,
    opened: Opened,
    events: Vec<Event>,
}

impl Kept {
    /// Opens a session, and brings its journal in order where it was cut off.
    ///
    /// # Errors
    /// If there is no such session, another process writes it, it is of a newer version, or it cannot be
    /// read.
    pub fn reopen(store: &Store, session: &SessionId) -> Result<Self> {
        let opened = store.open_session(session)?;
        let events = store.read(session)?.events;
        Ok(Self { session: session.clone(), opened, events })
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// What happened in it so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The position of the last event.
    pub fn last(&self) -> Seq {
        self.opened.last
    }

    /// What was wrong with its journal.
    pub fn recovery(&self) -> &Recovery {
        &self.opened.recovery
    }

    /// Whether it stopped in the midst of an input of its own agent.
    pub fn is_cut_off(&self) -> bool {
        let own = self.events.first().map(|event| &event.agent);
        let of_inputs = self.events.iter().rev().filter(|event| Some(&event.agent) == own);
        let mut last = of_inputs.filter_map(|event| match event.body {
            Body::UserInput { .. } => Some(true),
            Body::InputEnd { .. } | Body::Rewound { .. } => Some(false),
            _ => None,
        });
        last.next().unwrap_or(false)
    }

    /// The log that goes on, and what it holds.
    pub(crate) fn into_log(self, clock: Clock) -> (EventLog, Vec<Event>) {
        let Self { session, opened, events } = self;
        (EventLog::new(session, opened.journal, opened.last, clock), events)
    }
}
