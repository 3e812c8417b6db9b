//! The model and the tools of a recorded session, and a journal for it in memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use junto_agent::{Session, ToolRegistry};
use junto_core::{
    Action, Agent as _, BlobId, Command, Durability, Event, Journal, JournalError, MemoryJournal, Permit,
    Seq, Tool, ToolCx, ToolError, ToolOutcome, When,
};
use junto_llm::{
    CallCx, Error, ErrorKind, EventStream, Fut, Provider, Replay, Request, Response, SessionId, StreamEvent,
    ToolCall, ToolSpec,
};
use junto_store::Store;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::record::{Outcomes, Recorded, Turn};

/// Answers what was answered.
#[derive(Default)]
pub(super) struct Player {
    calls: Mutex<VecDeque<Recorded>>,
    /// Whether there was no answer left when it was asked.
    is_asked_more: AtomicBool,
    session: OnceLock<Session>,
    /// Cancelled when the session is there.
    seated: CancellationToken,
}

impl Player {
    /// Puts the answers of a turn in the place of what was left of the one before.
    pub(super) fn load(&self, turn: &Turn) {
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner) = turn.calls.iter().cloned().collect();
        self.is_asked_more.store(false, Ordering::Release);
    }

    /// Whether it was asked more in this turn than was recorded.
    pub(super) fn is_asked_more(&self) -> bool {
        self.is_asked_more.load(Ordering::Acquire)
    }

    /// Says whose model this is.
    pub(super) fn seat(&self, session: Session) {
        let _ = self.session.set(session);
        self.seated.cancel();
    }

    async fn next(&self) -> Result<Response, Error> {
        let next = self.calls.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(Recorded { answer, said, .. }) = next else {
            self.is_asked_more.store(true, Ordering::Release);
            return Err(Error::new(ErrorKind::InvalidRequest, "the recorded session asked no more"));
        };
        self.seated.cancelled().await;
        if let Some(session) = self.session.get() {
            for input in said {
                // A session that is over hears nothing, and then asks nothing.
                let _ = session.send(Command::Steer { input, when: When::Round }).await;
            }
        }
        answer
    }
}

impl Provider for Player {
    fn complete<'a>(&'a self, _request: Request, _cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(self.next())
    }

    fn stream<'a>(&'a self, _request: Request, _cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let response = self.next().await?;
            let start = StreamEvent::StreamStart {
                id: response.id.clone(),
                model: response.model.clone(),
                provider: response.provider.clone(),
                origin: None,
                usage: None,
                warnings: Vec::new(),
                rate_limit: None,
            };
            Ok(EventStream::new(stream::iter([Ok(start)]).chain(stream::iter(Replay::new(response).map(Ok)))))
        })
    }
}

/// Tools that say what they said.
pub(super) fn tools(outcomes: &Outcomes) -> ToolRegistry {
    let mut names: BTreeMap<&str, Outcomes> = BTreeMap::new();
    for (call, (name, outcome)) in outcomes {
        let outcomes = names.entry(name).or_default();
        outcomes.insert(call.clone(), (name.clone(), outcome.clone()));
    }
    let tools = names.into_iter().map(|(name, outcomes)| {
        let anything = json!({"type": "object", "additionalProperties": true});
        let spec = ToolSpec::foreign(name, "Says what it said.", anything);
        Arc::new(Said { spec, outcomes }) as Arc<dyn Tool>
    });
    tools.collect()
}

/// A tool that says what it said.
struct Said {
    spec: ToolSpec,
    outcomes: Outcomes,
}

impl Tool for Said {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(
        &'a self,
        _call: &'a ToolCall,
        _cx: &'a ToolCx,
    ) -> junto_core::Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn run<'a>(&'a self, permit: Permit, _cx: &'a ToolCx) -> junto_core::Fut<'a, ToolOutcome> {
        Box::pin(async move {
            match self.outcomes.get(&permit.call().id) {
                Some((_, outcome)) => outcome.clone(),
                None => ToolOutcome::error("the recorded session made no such call"),
            }
        })
    }
}

/// A journal in memory, for a session whose past has payloads in a store. The store is not written.
pub(super) struct Beside {
    memory: MemoryJournal,
    store: Store,
    session: SessionId,
}

impl Beside {
    pub(super) fn new(store: &Store, session: &SessionId) -> Self {
        Self { memory: MemoryJournal::default(), store: store.clone(), session: session.clone() }
    }
}

impl Journal for Beside {
    fn append<'a>(
        &'a self,
        events: &'a [Event],
        durability: Durability,
    ) -> junto_core::Fut<'a, Result<(), JournalError>> {
        self.memory.append(events, durability)
    }

    fn read(&self, from: Seq, max: usize) -> junto_core::Fut<'_, Result<Vec<Event>, JournalError>> {
        self.memory.read(from, max)
    }

    fn extend_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        piece: Bytes,
    ) -> junto_core::Fut<'a, Result<(), JournalError>> {
        self.memory.extend_blob(blob, piece)
    }

    fn read_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        from: u64,
        max: usize,
    ) -> junto_core::Fut<'a, Result<Vec<u8>, JournalError>> {
        Box::pin(async move {
            if let Ok(piece) = self.memory.read_blob(blob, from, max).await {
                return Ok(piece);
            }
            let kept = self.store.read_blob(&self.session, blob, from, max);
            kept.map_err(|error| JournalError(error.to_string()))
        })
    }
}
