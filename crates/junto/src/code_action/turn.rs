//! One turn: the prompt goes in, its events come out.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt, stream};
use junto_agent::Session;
use junto_core::{
    Agent, AgentError, AgentErrorKind, Body, Command, EndReason, EventError, Input, Item, Reply, Subscription,
};
use tokio::sync::oneshot;
use tokio_util::sync::DropGuard;

use super::supervise::supervise;
use super::turns::{Ticket, Turns};
use super::view::{View, input_end};
use super::{AgentEvent, Phase};

/// What a turn works with.
pub(super) struct Stage {
    pub(super) session: Session,
    pub(super) turns: Arc<Turns>,
    /// What the agent calls itself.
    pub(super) name: String,
    pub(super) images_dir: PathBuf,
}

/// A turn of an agent: the events from the prompt to the end, in order. Nothing happens before it is first polled.
///
/// It ends when the model responds without calling tools, at the limit of rounds, when a call is rejected, or when it
/// is cancelled; [`Turn::ended`] says which. What fails is an error, and the last item. Dropped in the middle, it
/// cancels the turn: the agent takes the next prompt once that is over.
#[must_use = "nothing happens before it is polled"]
pub struct Turn {
    events: Pin<Box<dyn Stream<Item = Result<AgentEvent, AgentError>> + Send>>,
    ended: Arc<OnceLock<EndReason>>,
}

impl Turn {
    /// The next event; none when the turn is over.
    pub async fn next(&mut self) -> Option<Result<AgentEvent, AgentError>> {
        self.events.next().await
    }

    /// Why the turn ended; none as long as it has not.
    pub fn ended(&self) -> Option<&EndReason> {
        self.ended.get()
    }

    /// A turn that begins on a stage, or the reason why there is none.
    pub(super) fn new(stage: Result<Stage, AgentError>, input: Input, max_turns: Option<u32>) -> Self {
        let ended = Arc::new(OnceLock::new());
        let begin = State::Begin { stage, input, max_turns, ended: Arc::clone(&ended) };
        let events = stream::unfold(begin, |state| async move {
            let (item, state) = state.next().await;
            Some((item?, state))
        });
        Self { events: Box::pin(events), ended }
    }
}

impl Stream for Turn {
    type Item = Result<AgentEvent, AgentError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_next_unpin(cx)
    }
}

/// How far a turn is.
enum State {
    Begin {
        stage: Result<Stage, AgentError>,
        input: Input,
        max_turns: Option<u32>,
        ended: Arc<OnceLock<EndReason>>,
    },
    Going(Box<Going>),
    Over,
}

struct Going {
    stage: Stage,
    ticket: Ticket,
    /// Leaving the turn cancels it.
    _leaves: DropGuard,
    events: Subscription,
    view: View,
    /// What went on last, or when the turn was cancelled.
    phase: Phase,
    ready: VecDeque<AgentEvent>,
    ended: Arc<OnceLock<EndReason>>,
}

type Next = (Option<Result<AgentEvent, AgentError>>, State);

impl State {
    async fn next(self) -> Next {
        match self {
            Self::Begin { stage, input, max_turns, ended } => {
                let began = match stage {
                    Ok(stage) => Going::begin(stage, input, max_turns, ended).await,
                    Err(error) => Err(error),
                };
                match began {
                    Ok(going) => Box::new(going).next().await,
                    Err(error) => (Some(Err(error)), Self::Over),
                }
            }
            Self::Going(going) => going.next().await,
            Self::Over => (None, Self::Over),
        }
    }
}

impl Going {
    async fn begin(
        stage: Stage,
        input: Input,
        max_turns: Option<u32>,
        ended: Arc<OnceLock<EndReason>>,
    ) -> Result<Self, AgentError> {
        if max_turns == Some(0) {
            let message = "a turn without any round of tools was asked for";
            return Err(AgentError::new(AgentErrorKind::Invalid, message)
                .with_hint("leave max_turns out for as many as it takes"));
        }
        let ticket = stage.turns.enter().await?;
        // From here on, whoever goes away leaves the turn.
        let leaves = ticket.left.clone().drop_guard();
        let (began, begins) = oneshot::channel();
        let (session, turns) = (stage.session.clone(), Arc::clone(&stage.turns));
        stage.turns.tasks.spawn(supervise(session, turns, ticket.clone(), (input, max_turns), began));
        let events = stage.session.log().subscribe(stage.turns.seen());
        begins.await.unwrap_or_else(|_| Err(AgentError::closed()))?;
        let agent: Arc<dyn Agent> = Arc::new(stage.session.clone());
        let view = View::new(agent, stage.name.clone(), stage.images_dir.clone());
        let (phase, ready) = (Phase::BetweenTurns, VecDeque::new());
        Ok(Self { stage, ticket, _leaves: leaves, events, view, phase, ready, ended })
    }

    async fn next(mut self: Box<Self>) -> Next {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return (Some(Ok(event)), State::Going(self));
            }
            if self.ended.get().is_some() {
                // So that the next turn can begin at once.
                self.ticket.over.cancelled().await;
                return (None, State::Over);
            }
            if let Err(error) = self.more().await {
                return (Some(Err(error)), State::Over);
            }
        }
    }

    /// Takes what comes next.
    ///
    /// # Errors
    /// As [`Self::take`]; `closed` if the session is over and never said how the turn ended.
    async fn more(&mut self) -> Result<(), AgentError> {
        tokio::select! {
            biased;
            item = self.events.next() => self.take(item?).await,
            () = self.ticket.over.cancelled() => {
                for event in self.events.rest().await? {
                    self.take(Item::Event(Arc::new(event))).await?;
                }
                if self.ended.get().is_some() { Ok(()) } else { Err(AgentError::closed()) }
            }
        }
    }

    /// # Errors
    /// If the turn, or the journal, failed.
    async fn take(&mut self, item: Item) -> Result<(), AgentError> {
        self.view.take(&item, &mut self.ready).await?;
        let Item::Event(event) = &item else { return Ok(()) };
        self.stage.turns.saw(event.seq);
        if !self.ticket.was_cancelled_before(event.seq) {
            self.phase = self.view.phase();
        }
        if let Body::Question { ask, .. } = &event.body {
            let reason = "nobody can be asked here; decide yourself, and say in the end what you assumed";
            let reply = Reply::Declined { reason: Some(reason.to_owned()) };
            // One that was answered meanwhile needs no other.
            let _ = self.stage.session.send(Command::Reply { ask: ask.clone(), reply }).await;
        }
        let Some(reason) = input_end(&self.stage.session, &item) else { return Ok(()) };
        // Only this end is noted, so it is the first.
        let _ = self.ended.set(reason.clone());
        match reason {
            EndReason::Interrupted => {
                self.ready.push_back(self.view.cancelled(self.phase));
                Ok(())
            }
            EndReason::Failed { error } => {
                self.ticket.over.cancelled().await;
                Err(failure(error))
            }
            EndReason::Done | EndReason::AwaitingInput | EndReason::Limit | EndReason::Rejected => Ok(()),
        }
    }
}

fn failure(error: EventError) -> AgentError {
    let EventError { kind, message, hint } = error;
    // A kind that is no agent's is the provider's.
    let kind = serde_json::from_value(kind.into()).unwrap_or(AgentErrorKind::Provider);
    let failure = AgentError::new(kind, message);
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
