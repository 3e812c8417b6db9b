//! The handle of a session.

use std::sync::Arc;

use junto_core::{
    Abilities, Ack, Agent, AgentError, AgentId, Body, Command, Companion, EndReason, EventError, EventLog,
    Fut, Outcome, SessionState, Tool, ToolHost,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::family::{Family, Subagent};
use crate::frame::{ABILITIES, Frame, Mind};
use crate::history::History;
use crate::hooks::Source;
use crate::host::{Door, SessionTools};
use crate::prompt::{self, Built};
use crate::task::Order;
use crate::toolbox::Toolbox;
use crate::{SessionConfig, ToolRegistry, profile};

/// Our own agent: a model that calls tools until it is done.
///
/// Clones are handles of one session. It ends with [`Agent::close`], with [`Command::Abort`], when
/// its token is cancelled, or when the last handle is dropped; only `close` waits for the end.
///
/// How it takes commands:
/// - `Submit` begins an input, and is refused while one is under way. `FollowUp` is queued then, and
///   worked on afterwards as an input of its own; to an idle session both are the same.
/// - `Steer` reaches the model after the current step, which `Now` cuts short. What the model had said
///   by then is kept; calls it had made get a result that says so. An idle session keeps the message
///   for its next input. A message that comes during the last answer keeps the input going.
/// - `Interrupt` ends the input under way, and what children work on, also while the session itself is
///   idle. The session goes on, with the next queued input if there is one. `Abort` ends the session;
///   inputs that are still queued end as interrupted.
/// - `Compact` makes the conversation shorter before the next model call ([`crate::Compaction`] says how),
///   also where [`crate::Overflow`] does not say that this is done by itself.
/// - `Configure` holds from the next model call on, and a `configured` event tells of it. A provider that
///   is not there, a model that is known to be another's, or a directory that cannot be worked in is an
///   error, and nothing changes then.
///
/// [`Session::state`] is `Processing` from `user_input` to `input_end`, and on through the inputs that are
/// queued; `AwaitingInput` meanwhile while a tool waits for the user's reply, and afterwards if the answer
/// ends in a question and the host wanted to know; `Idle` otherwise, and `Closed` in the end. Each of
/// them is there before the event that goes with it.
///
/// When the model's provider fails for good, the input ends as failed and the session takes the next
/// one: a model that is overloaded now need not be so later. Only a refused key ends the session, a
/// conversation that has become too long for the model ([`crate::Overflow`]), and a journal that cannot
/// be written.
///
/// A session whose process went away is brought back with [`Session::resume`].
#[derive(Clone)]
pub struct Session(Arc<Handle>);

/// What the handles of a session share.
pub(crate) struct Handle {
    pub(crate) log: EventLog,
    pub(crate) orders: mpsc::Sender<Order>,
    /// Ends the session's task and everything below it; cancelled when the last handle is dropped.
    pub(crate) cancel: CancellationToken,
    /// The outcome, once the task has ended.
    pub(crate) outcome: watch::Receiver<Option<Outcome>>,
    pub(crate) state: watch::Receiver<SessionState>,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) family: Arc<Family>,
    /// Who lives beside the session.
    pub(crate) companions: Vec<Arc<dyn Companion>>,
    pub(crate) door: Arc<Door>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Session {
    /// Starts a session. Must be called within a Tokio runtime, which runs it.
    ///
    /// # Errors
    /// `invalid` if a tool's schema has no object at its root; `journal` if the log cannot be written.
    pub async fn start(config: SessionConfig) -> Result<Self, AgentError> {
        let frame = Frame::new(profile::apply(config))?;
        let config = &frame.config;
        let (context, told) = frame.hooks.begin(Source::Startup, &config.env, &frame.cancel).await;
        let Built { text: system, warnings } = {
            let kit = frame.toolbox.kit();
            prompt::of_session(config, kit.registry().definitions(), context).await
        };
        frame.log().emit(config.session_start(&system)).await?;
        let coded = |code: &str, message| Body::Warning { code: code.to_owned(), message };
        let warnings = warnings.into_iter().map(|message| coded("prompt", message));
        for warning in warnings.chain(told.into_iter().map(|message| coded("hook", message))) {
            frame.log().emit(warning).await?;
        }
        let mind = Mind::new(config, History::new(&system));
        Ok(frame.begin(mind))
    }

    pub(crate) fn of(handle: Handle) -> Self {
        Self(Arc::new(handle))
    }

    /// Waits until those who live beside it can do what they are for. Inputs wait for that, too; whoever asks before the
    /// first one learns of what is wrong before there is any.
    ///
    /// # Errors
    /// What one of them lacks.
    pub async fn ready(&self) -> Result<(), AgentError> {
        for companion in &self.0.companions {
            companion.ready().await?;
        }
        Ok(())
    }

    /// What it is doing.
    pub fn state(&self) -> SessionState {
        *self.0.state.borrow()
    }

    /// What it is doing, as it changes. Of changes in quick succession only the last may be seen.
    pub fn watch_state(&self) -> watch::Receiver<SessionState> {
        self.0.state.clone()
    }

    /// Adds a tool, or puts it in the place of the one with its name, which is returned. The model sees it
    /// from its next call on; calls under way go on. Providers have to read the whole conversation anew
    /// then, because what they keep of it begins with the tools.
    ///
    /// # Errors
    /// `invalid` if the tool's schema has no object at its root; the tools are as before then.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<Option<Arc<dyn Tool>>, AgentError> {
        self.0.toolbox.change(|tools| tools.register(tool))
    }

    /// Removes a tool, and returns it if there was one; otherwise as [`Session::register`].
    pub fn unregister(&self, name: &str) -> Option<Arc<dyn Tool>> {
        // What is left was valid before.
        self.0.toolbox.change(|tools| tools.unregister(name)).ok().flatten()
    }

    /// The tools as they are now.
    pub fn tools(&self) -> ToolRegistry {
        self.0.toolbox.kit().registry().clone()
    }

    /// The children that were started and not closed, and how each stands. Their events are in this
    /// session's log; [`Agent::child`] finds one by its id.
    pub fn subagents(&self) -> Vec<Subagent> {
        self.0.family.all().iter().map(|child| child.subagent()).collect()
    }

    /// The session's tools, for a kernel, an MCP server or another process to call: each call is
    /// judged, journaled and shown like the model's own. Calls that are under way when an input ends
    /// end with it. What somebody refuses to code ([`junto_core::Via::Cell`]) while a tool of the model runs counts as if
    /// the model had been refused it: if that ends the turn, it does so when the round of tools is over, whatever the
    /// code makes of the refusal. The host does not keep the session alive.
    pub fn tool_host(&self) -> Arc<dyn ToolHost> {
        let (toolbox, door) = (Arc::clone(&self.0.toolbox), Arc::clone(&self.0.door));
        Arc::new(SessionTools { toolbox, door })
    }
}

impl Agent for Session {
    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    fn log(&self) -> &EventLog {
        &self.0.log
    }

    fn send(&self, command: Command) -> Fut<'_, Result<Ack, AgentError>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let order = Order { command, reply };
            self.0.orders.send(order).await.map_err(|_| AgentError::closed())?;
            answer.await.unwrap_or_else(|_| Err(AgentError::closed()))
        })
    }

    fn close(&self) -> Fut<'_, Outcome> {
        Box::pin(async move {
            self.0.cancel.cancel();
            self.ended().await
        })
    }

    fn ended(&self) -> Fut<'_, Outcome> {
        Box::pin(async move {
            let mut outcome = self.0.outcome.clone();
            let ended = outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
            ended.unwrap_or_else(|| Outcome {
                reason: EndReason::Failed {
                    error: EventError {
                        kind: "panic".to_owned(),
                        message: "the session crashed".to_owned(),
                        hint: None,
                    },
                },
                text: String::new(),
            })
        })
    }

    fn child(&self, id: &AgentId) -> Option<Arc<dyn Agent>> {
        self.0.family.descendant(id)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("log", &self.0.log).finish_non_exhaustive()
    }
}
