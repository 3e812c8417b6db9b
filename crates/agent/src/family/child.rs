//! One child.

use std::fmt;
use std::sync::Arc;

use junto_core::{
    Ack, Agent, AgentError, AgentErrorKind, AgentId, AgentSpec, Command, EndReason, EventError, Input, Steer,
    When,
};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::follow::Followed;
use super::state::State;
use crate::panics::caught;

/// A session's child, for whoever looks at it from outside.
#[derive(Clone)]
pub struct Subagent {
    /// What the model calls it.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// What it was started for.
    pub task: String,
    /// How it stands.
    pub status: SubagentStatus,
    /// How many model calls its log shows. A command-line agent reports its calls when it has ended, one
    /// for each model it used.
    pub turns_used: u32,
    /// The agent itself: its log, its id, and where to send it commands.
    pub agent: Arc<dyn Agent>,
}

impl fmt::Debug for Subagent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subagent")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("status", &self.status)
            .field("turns_used", &self.turns_used)
            .finish_non_exhaustive()
    }
}

/// How a child stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubagentStatus {
    /// It works.
    Running,
    /// It has done what it was told, and can be told more.
    Completed,
    /// Its last input did not come to a good end: it failed, reached a limit, was refused or interrupted.
    Failed,
    /// Its session is over.
    Closed,
}

impl fmt::Display for SubagentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Closed => "closed",
        })
    }
}

/// What becomes of a message to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It works, and reads it between two steps.
    Steered,
    /// It works and cannot be steered: the message is its next input.
    Queued,
    /// It was idle, and works on it.
    Started,
}

/// A child of a session.
pub(crate) struct Child {
    agent: Arc<dyn Agent>,
    name: String,
    spec: AgentSpec,
    task: String,
    state: watch::Sender<State>,
    /// Tells the follower that no more events will come.
    gone: DropGuard,
    /// Given back when the child is dropped.
    _place: OwnedSemaphorePermit,
}

impl Child {
    pub(crate) fn new(
        agent: Arc<dyn Agent>,
        name: String,
        spec: AgentSpec,
        task: String,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let gone = CancellationToken::new().drop_guard();
        Self { agent, name, spec, task, state: watch::Sender::default(), gone, _place: place }
    }

    pub(crate) fn agent(&self) -> &Arc<dyn Agent> {
        &self.agent
    }

    pub(crate) fn id(&self) -> &AgentId {
        self.agent.log().agent()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn spec(&self) -> &AgentSpec {
        &self.spec
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state.borrow().is_running()
    }

    /// What its follower works with.
    pub(super) fn followed(&self) -> Followed {
        Followed {
            agent: Arc::clone(&self.agent),
            state: self.state.clone(),
            gone: self.gone.token().clone(),
        }
    }

    /// Gives it the task it was started for.
    pub(super) async fn begin(&self) -> Result<(), AgentError> {
        let input = Input::text(&self.task);
        self.give(Command::Submit { input }).await.map(drop)
    }

    /// Sends it an input; it counts as running from before it hears of it.
    async fn give(&self, command: Command) -> Result<Ack, AgentError> {
        self.state.send_modify(State::announce);
        let sent = self.send(command).await;
        if sent.is_err() {
            self.state.send_modify(State::withdraw);
        }
        sent
    }

    /// Tells it something: what it works on is changed, or it begins to work.
    ///
    /// # Errors
    /// If it takes no messages (any more).
    pub(crate) async fn tell(&self, message: &str, when: When) -> Result<Taken, AgentError> {
        let input = Input::text(message);
        if self.agent.abilities().steer == Steer::No {
            let queued = self.is_running();
            self.give(Command::FollowUp { input }).await?;
            return Ok(if queued { Taken::Queued } else { Taken::Started });
        }
        // Decided in one step with what the follower sees: no message falls between two inputs.
        let mut working = false;
        self.state.send_modify(|state| working = state.address());
        if !working {
            self.give(Command::FollowUp { input }).await?;
            return Ok(Taken::Started);
        }
        let sent = self.send(Command::Steer { input, when }).await;
        if sent.is_err() {
            self.state.send_modify(State::unaddress);
        }
        sent.map(|_| Taken::Steered)
    }

    /// An agent that panics has failed, and its parent has not.
    async fn send(&self, command: Command) -> Result<Ack, AgentError> {
        let sent = caught(self.agent.send(command)).await;
        sent.unwrap_or_else(|panic| Err(AgentError::new(AgentErrorKind::Process, crashed(&panic))))
    }

    /// Waits until it has nothing to do.
    pub(crate) async fn idle(&self) {
        self.until(|state| !state.is_running()).await;
    }

    async fn until(&self, is: impl FnMut(&State) -> bool) {
        // The sender lives in `self`.
        let _ = self.state.subscribe().wait_for(is).await;
    }

    /// Ends it, and waits until its end is known.
    pub(super) async fn close(&self) {
        if let Err(panic) = caught(self.agent.close()).await {
            let error = EventError { kind: "panic".to_owned(), message: crashed(&panic), hint: None };
            self.state.send_modify(|state| state.lose(error));
        }
        self.gone.token().cancel();
        self.until(State::is_over).await;
    }

    /// How it stands, for hosts.
    pub(crate) fn subagent(&self) -> Subagent {
        let state = self.state.borrow();
        Subagent {
            name: self.name.clone(),
            kind: self.spec.kind.clone(),
            task: self.task.clone(),
            status: state.status(),
            turns_used: state.turns(),
            agent: Arc::clone(&self.agent),
        }
    }

    /// How it stands, in a few words.
    pub(crate) fn line(&self) -> String {
        format!("{} ({})", self.name, self.state.borrow().status())
    }

    /// How it stands.
    pub(crate) fn report(&self) -> Report {
        let state = self.state.borrow();
        let (text, reason) = match state.last() {
            Some(ended) if !state.is_running() => (ended.text.preview(), Some(ended.reason.clone())),
            _ => (String::new(), None),
        };
        Report { name: self.name.clone(), status: state.status(), turns_used: state.turns(), text, reason }
    }
}

fn crashed(panic: &str) -> String {
    format!("the agent crashed: {panic}")
}

/// What came of a child's last input, or that there is nothing yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) name: String,
    pub(crate) status: SubagentStatus,
    pub(crate) turns_used: u32,
    /// Its answer, or as much of it as there is.
    pub(crate) text: String,
    /// Why its last input ended; absent while it works.
    reason: Option<EndReason>,
}

impl Report {
    /// Whether it did what it was told.
    pub(crate) fn success(&self) -> bool {
        self.reason.as_ref().is_some_and(EndReason::is_answer)
    }

    /// Why there is no success.
    pub(crate) fn why(&self) -> Option<String> {
        match self.reason.as_ref()? {
            EndReason::Done | EndReason::AwaitingInput => None,
            EndReason::Limit => Some("reached its limit before it was done".to_owned()),
            EndReason::Interrupted => Some("was interrupted".to_owned()),
            EndReason::Rejected => Some("wanted something that was refused".to_owned()),
            EndReason::Failed { error } => Some(format!("failed: {}", error.message)),
        }
    }
}

#[cfg(test)]
impl Report {
    /// Of a child that has answered.
    pub(super) fn done(name: &str, text: &str) -> Self {
        let (name, text) = (name.to_owned(), text.to_owned());
        Self { name, status: SubagentStatus::Completed, turns_used: 1, text, reason: Some(EndReason::Done) }
    }
}
