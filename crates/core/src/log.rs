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
mod tests {
    use super::*;
    use crate::live::BEHIND;

    fn log() -> EventLog {
        EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH))
    }

    fn progress(n: usize) -> Body {
        Body::Progress { text: n.to_string() }
    }

    async fn events(reader: &mut Subscription, count: usize) -> Vec<u64> {
        let mut seen = Vec::new();
        while seen.len() < count {
            if let Item::Event(event) = reader.next().await.unwrap() {
                seen.push(event.seq.0);
            }
        }
        seen
    }

    #[tokio::test]
    async fn readers_see_every_event_once_and_in_order() {
        let log = log();
        let mut early = log.subscribe(Seq::START);
        for n in 0..10 {
            log.emit(progress(n)).await.unwrap();
        }
        let mut late = log.subscribe(Seq(4));
        for n in 10..20 {
            log.emit(progress(n)).await.unwrap();
        }
        assert_eq!(events(&mut early, 20).await, (1..=20).collect::<Vec<_>>());
        assert_eq!(events(&mut late, 17).await, (4..=20).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn an_agent_that_was_gone_writes_on_as_itself() {
        let parent = log();
        let child = parent.for_call(CallId("c".into())).child();
        child.begin_turn();
        child.emit(progress(1)).await.unwrap();
        let past = parent.subscribe(Seq::START).rest().await.unwrap();
        let again = parent.rejoin(&past[0]);
        again.begin_turn();
        again.emit(progress(2)).await.unwrap();
        let events = parent.subscribe(Seq::START).rest().await.unwrap();
        let who = |n: usize| (&events[n].agent, &events[n].parent, &events[n].parent_call);
        assert_eq!((who(0), events[0].turn), (who(1), 1));
        assert_eq!((events[1].turn, events[1].seq), (2, Seq(2)));
    }

    #[tokio::test]
    async fn a_slow_reader_loses_deltas_and_no_event() {
        let log = log();
        let mut slow = log.subscribe(Seq::START);
        let of = log.emit(Body::AssistantTextStart {}).await.unwrap();
        for n in 0..3 * BEHIND {
            log.delta(Delta::AssistantTextDelta { of, text: n.to_string() });
            log.emit(progress(n)).await.unwrap();
        }
        assert_eq!(events(&mut slow, 1 + 3 * BEHIND).await, (1..=1 + 3 * BEHIND as u64).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_text_of_which_a_piece_was_missed_goes_no_further() {
        let log = log();
        let mut slow = log.subscribe(Seq::START);
        let of = log.emit(Body::AssistantTextStart {}).await.unwrap();
        let mut whole = String::new();
        let mut say = |text: String| {
            whole.push_str(&text);
            log.delta(Delta::AssistantTextDelta { of, text });
        };
        say("first ".to_owned());
        let mut heard = String::new();
        let mut hear = async |slow: &mut Subscription, until: &str| {
            loop {
                match slow.next().await.unwrap() {
                    Item::Delta(Delta::AssistantTextDelta { text, .. }) => heard.push_str(&text),
                    Item::Event(event) if event.body.name() == until => return heard.clone(),
                    _ => {}
                }
            }
        };
        hear(&mut slow, "assistant_text_start").await;
        for n in 0..3 * BEHIND {
            say(n.to_string());
        }
        log.emit(Body::AssistantTextEnd { of, text: whole.clone().into() }).await.unwrap();
        let heard_of_it = hear(&mut slow, "assistant_text_end").await;
        assert!(whole.starts_with(&heard_of_it), "{heard_of_it}");
        // The next one is heard again.
        let of = log.emit(Body::AssistantTextStart {}).await.unwrap();
        log.delta(Delta::AssistantTextDelta { of, text: "next".into() });
        log.emit(Body::AssistantTextEnd { of, text: "next".into() }).await.unwrap();
        assert_eq!(hear(&mut slow, "assistant_text_end").await, format!("{heard_of_it}next"));
    }

    #[tokio::test]
    async fn deltas_come_between_their_start_and_their_end() {
        let log = log();
        // Written before the reader came, so that it has to begin with the journal.
        log.emit(progress(0)).await.unwrap();
        let mut reader = log.subscribe(Seq::START);
        let of = log.emit(Body::AssistantTextStart {}).await.unwrap();
        for text in ["a", "b", "c"] {
            log.delta(Delta::AssistantTextDelta { of, text: text.into() });
        }
        log.emit(Body::AssistantTextEnd { of, text: "abc".into() }).await.unwrap();
        let mut joined = String::new();
        loop {
            match reader.next().await.unwrap() {
                Item::Delta(Delta::AssistantTextDelta { text, .. }) => joined += &text,
                Item::Event(e) if e.body.name() == "assistant_text_end" => break,
                _ => {}
            }
        }
        assert_eq!(joined, "abc");
    }

    #[tokio::test]
    async fn a_flood_of_output_does_not_pile_up_for_a_slow_reader() {
        let log = log();
        let mut reader = log.subscribe(Seq::START);
        let of = log.emit(progress(0)).await.unwrap();
        let piece = "x".repeat(64 * 1024);
        for _ in 0..1000 {
            log.output_delta(of, &piece);
        }
        log.emit(progress(1)).await.unwrap();
        let mut heard = 0;
        loop {
            match reader.next().await.unwrap() {
                Item::Delta(delta) => heard += delta.text().len(),
                Item::Event(event) if event.seq > of => break,
                Item::Event(_) => {}
            }
        }
        assert!((1..=8 * 1024 * 1024).contains(&heard), "{heard}");
        // Once it has caught up, it hears again.
        log.output_delta(of, "more");
        assert_eq!(
            reader.next().await.unwrap(),
            Item::Delta(Delta::ToolCallOutputDelta { of, text: "more".into() })
        );
    }

    #[tokio::test]
    async fn many_writers_get_positions_without_gaps() {
        let log = log();
        let child = log.child();
        let writers = (0..8).map(|n| {
            let log = if n % 2 == 0 { log.clone() } else { child.clone() };
            tokio::spawn(async move {
                for i in 0..50 {
                    log.emit(progress(i)).await.unwrap();
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        let all = log.subscribe(Seq::START).rest().await.unwrap();
        assert_eq!(all.iter().map(|e| e.seq.0).collect::<Vec<_>>(), (1..=400).collect::<Vec<_>>());
        assert!(all.iter().any(|e| e.parent.as_ref() == Some(log.agent())));
    }

    #[tokio::test]
    async fn large_payloads_spill_and_can_be_read_whole() {
        let log = log();
        let text = "é".repeat(Payload::INLINE_LIMIT);
        log.emit(Body::AssistantTextEnd { of: Seq(1), text: text.clone().into() }).await.unwrap();
        let event = log.subscribe(Seq::START).rest().await.unwrap().remove(0);
        let Body::AssistantTextEnd { text: payload, .. } = &event.body else { panic!("{event:?}") };
        assert!(matches!(payload, Payload::Spilled { bytes, .. } if *bytes == text.len() as u64));
        assert!(serde_json::to_string(&event).unwrap().len() < 100_000);
        assert_eq!(log.read(payload).await.unwrap(), text);
        let inline = Payload::from("0123456789");
        let spilled = payload.clone();
        let check = async |payload: &Payload, from, max, expected: &str| {
            assert_eq!(log.read_part(payload, from, max).await.unwrap(), expected.as_bytes());
        };
        check(&inline, 3, 4, "3456").await;
        check(&inline, 8, 4, "89").await;
        check(&inline, 11, 4, "").await;
        check(&spilled, text.len() as u64 - 4, 100, "\u{e9}\u{e9}").await;
        check(&spilled, u64::MAX, 1, "").await;
    }
}
