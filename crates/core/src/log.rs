//! The record of what an agent did, and its readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use jiff::Timestamp;
use junto_llm::{CallId, SessionId};
use tokio::sync::Mutex;

use crate::journal::whole_blob;
use crate::live::Live;
use crate::{
    AgentId, Body, Delta, Durability, Event, Journal, JournalError, MemoryJournal, Payload, Seq, Spool,
    Subscription, VERSION,
};

/// The clock that stamps events.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// An append-only record of events. Every event is in the journal before any reader sees it, readers
/// go by position, and a slow one catches up from the journal: no event is ever lost.
///
/// Clones are the same log. A child agent writes to its parent's log through [`EventLog::child`].
#[derive(Clone)]
pub struct EventLog {
    shared: Arc<Shared>,
    agent: AgentId,
    parent: Option<AgentId>,
    /// The parent's call that the agent was started by.
    parent_call: Option<CallId>,
    /// The call for which children are made through this handle.
    call: Option<CallId>,
    turn: Arc<AtomicU32>,
}

pub(crate) struct Shared {
    session: SessionId,
    pub(crate) journal: Arc<dyn Journal>,
    clock: Clock,
    /// Held while an event is given its position and written, so that order in the journal, order of
    /// positions and order of delivery are one.
    writing: Mutex<()>,
    /// The last position that was written.
    pub(crate) last: AtomicU64,
    pub(crate) live: Live,
}

/// What a reader gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// An event.
    Event(Arc<Event>),
    /// A piece of a segment, for whoever reads along live. A reader that fell behind misses deltas,
    /// never events; of a text it gets none behind one that it missed.
    Delta(Delta),
}

/// The position of an event that is safely in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed(Seq);

impl Committed {
    /// The position.
    pub fn seq(self) -> Seq {
        self.0
    }
}

impl EventLog {
    /// A log over a journal, which may hold earlier events of the session: `last` is the position of
    /// the last of them.
    pub fn new(session: SessionId, journal: Arc<dyn Journal>, last: Seq, clock: Clock) -> Self {
        let shared = Shared {
            session,
            journal,
            clock,
            writing: Mutex::new(()),
            last: AtomicU64::new(last.0),
            live: Live::new(),
        };
        Self {
            shared: Arc::new(shared),
            agent: AgentId::fresh(),
            parent: None,
            parent_call: None,
            call: None,
            turn: Arc::default(),
        }
    }

    /// A new log in memory.
    pub fn in_memory(clock: Clock) -> Self {
        Self::new(SessionId::fresh(), Arc::new(MemoryJournal::default()), Seq(0), clock)
    }

    /// The same log, as a child of this agent writes to it.
    pub fn child(&self) -> Self {
        Self {
            agent: AgentId::fresh(),
            parent: Some(self.agent.clone()),
            parent_call: self.call.clone(),
            call: None,
            turn: Arc::default(),
            ..self.clone()
        }
    }

    /// The same log, as the agent that wrote this event goes on writing to it. The event is its last: its
    /// inputs are numbered on from there.
    #[must_use]
    pub fn rejoin(&self, last: &Event) -> Self {
        Self {
            agent: last.agent.clone(),
            parent: last.parent.clone(),
            parent_call: last.parent_call.clone(),
            call: None,
            turn: Arc::new(AtomicU32::new(last.turn)),
            ..self.clone()
        }
    }

    /// The time, by the clock that stamps events.
    pub fn now(&self) -> Timestamp {
        (self.shared.clock)()
    }

    /// The same log, for making children that a tool call of this agent asks for: their events name it.
    #[must_use]
    pub fn for_call(&self, call: CallId) -> Self {
        Self { call: Some(call), ..self.clone() }
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.shared.session
    }

    /// The agent that writes through this handle.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// The agent's parent, if it is a child.
    pub fn parent(&self) -> Option<&AgentId> {
        self.parent.as_ref()
    }

    /// Counts a new input; its events carry the number.
    pub fn begin_turn(&self) -> u32 {
        self.turn.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Writes an event; readers see it after that.
    ///
    /// # Errors
    /// If the journal cannot be written. The event did not happen then.
    pub async fn emit(&self, body: Body) -> Result<Seq, JournalError> {
        self.write(body, None, Durability::Written).await
    }

    /// Writes an event that belongs to a model call.
    ///
    /// # Errors
    /// As [`EventLog::emit`].
    pub async fn emit_for(&self, call: &CallId, body: Body) -> Result<Seq, JournalError> {
        self.write(body, Some(call.clone()), Durability::Written).await
    }

    /// Writes an event, and returns when it would survive a crash of the machine: for what comes before a
    /// side effect, and for the end of a turn. Readers see it once it is written. Those who wait at the same
    /// time wait for one sync of the disk.
    ///
    /// # Errors
    /// If the journal cannot be written: then the event did not happen. If the disk fails after that: then it
    /// is in the log, nothing may be done that relies on it, and nothing more can be written.
    pub async fn commit(&self, body: Body) -> Result<Committed, JournalError> {
        self.write(body, None, Durability::Synced).await.map(Committed)
    }

    /// Writes an event of which it is enough that it survives a crash of the machine soon: for what comes before
    /// something that has no effect.
    ///
    /// # Errors
    /// As [`EventLog::emit`].
    pub async fn emit_soon(&self, body: Body) -> Result<Seq, JournalError> {
        self.write(body, None, Durability::Soon).await
    }

    /// Hands a piece of a segment to whoever reads along live.
    pub fn delta(&self, delta: Delta) {
        self.shared.live.delta(delta);
    }

    /// Hands a piece of the output of a tool call, by the position of its start, to whoever reads along
    /// live. Left out while a reader is many megabytes behind: a tool may say any amount, and what is
    /// read late is read from the end of the call.
    pub fn output_delta(&self, of: Seq, text: &str) {
        self.shared.live.output(of, text);
    }

    /// The last position that was written; 0 if there is none.
    pub fn last(&self) -> Seq {
        Seq(self.shared.last.load(Ordering::Acquire))
    }

    /// A reader from this position on. Dropping it changes nothing for anybody.
    pub fn subscribe(&self, from: Seq) -> Subscription {
        Subscription::new(Arc::clone(&self.shared), from)
    }

    /// Takes a text of any size for one of this log's events.
    pub fn spool(&self) -> Spool {
        Spool::new(Arc::clone(&self.shared.journal))
    }

    /// The whole of a payload.
    ///
    /// # Errors
    /// If the journal cannot be read, or has something else than what was written.
    pub async fn read(&self, payload: &Payload) -> Result<String, JournalError> {
        match payload {
            Payload::Inline(text) => Ok(text.clone()),
            Payload::Spilled { blob, .. } => {
                let whole = whole_blob(&*self.shared.journal, blob).await?;
                match payload.fault_of(whole.as_bytes()) {
                    Some(fault) => Err(JournalError(format!("payload {blob} is damaged: {fault}"))),
                    None => Ok(whole),
                }
            }
        }
    }

    /// At most `max` bytes of a payload from this byte on: fewer only where it ends, and none beyond
    /// that. A part need not begin or end with a whole character.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn read_part(&self, payload: &Payload, from: u64, max: usize) -> Result<Vec<u8>, JournalError> {
        match payload {
            Payload::Inline(text) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX);
                let rest = text.as_bytes().get(from..).unwrap_or_default();
                Ok(rest.get(..max).unwrap_or(rest).to_owned())
            }
            Payload::Spilled { blob, .. } => self.shared.journal.read_blob(blob, from, max).await,
        }
    }

    async fn write(
        &self,
        mut body: Body,
        corr: Option<CallId>,
        durability: Durability,
    ) -> Result<Seq, JournalError> {
        if let Some(fault) = self.spill(&mut body).await {
            let message = format!("the middle of a long text of {} is lost: {fault}", body.name());
            self.append(Body::Warning { code: "payload_lost".to_owned(), message }, None, durability).await?;
        }
        self.append(body, corr, durability).await
    }

    async fn append(
        &self,
        body: Body,
        corr: Option<CallId>,
        durability: Durability,
    ) -> Result<Seq, JournalError> {
        let waits = durability == Durability::Synced;
        let now = if waits { Durability::Written } else { durability };
        let seq = self.append_next(body, corr, now).await?;
        if waits {
            // Without the lock, so that all who wait for the disk share what it does for them, and those who
            // need not wait go on.
            self.shared.journal.append(&[], durability).await?;
        }
        Ok(seq)
    }

    /// Gives an event its position, writes it and shows it.
    async fn append_next(
        &self,
        body: Body,
        corr: Option<CallId>,
        durability: Durability,
    ) -> Result<Seq, JournalError> {
        let _writing = self.shared.writing.lock().await;
        let seq = self.last().next();
        let event = Event {
            v: VERSION,
            seq,
            at: self.now(),
            session: self.shared.session.clone(),
            agent: self.agent.clone(),
            parent: self.parent.clone(),
            parent_call: self.parent_call.clone(),
            turn: self.turn.load(Ordering::Relaxed),
            corr,
            body,
        };
        self.shared.journal.append(std::slice::from_ref(&event), durability).await?;
        self.shared.last.store(seq.0, Ordering::Release);
        self.shared.live.event(Item::Event(Arc::new(event)));
        Ok(seq)
    }

    /// Keeps what is too large beside the journal. Where that fails the event happens all the same, with
    /// the ends of the text; the first failure is returned.
    async fn spill(&self, body: &mut Body) -> Option<JournalError> {
        let mut lost = None;
        for payload in body.payloads_mut() {
            let Payload::Inline(text) = &payload else { continue };
            if text.len() <= Payload::INLINE_LIMIT {
                continue;
            }
            let mut spool = self.spool();
            spool.push(text).await;
            let output = spool.finish().await;
            *payload = Payload::from(&output);
            lost = lost.or(output.fault().cloned());
        }
        lost
    }
}

impl std::fmt::Debug for EventLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventLog")
            .field("session", &self.shared.session)
            .field("agent", &self.agent)
            .field("last", &self.last())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
