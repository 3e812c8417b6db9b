//! The handle of a session.

use std::sync::Arc;

use junto_core::{
    Abilities, Ack, Agent, AgentError, AgentId, Approve, Body, Command, EndReason, EventError, EventLog, Fut,
    Gate, Outcome, SessionState, Setup, Steer, Tool, ToolHost,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::compact::Shortening;
use crate::context::Gauge;
use crate::desk::{Desk, Settings};
use crate::family::{Family, Home, Subagent, TOO_DEEP};
use crate::history::History;
use crate::host::{Door, SessionTools};
use crate::loops::{Loops, Rules};
use crate::output::OutputLimits;
use crate::prompt::{self, Built};
use crate::state::State;
use crate::status::Status;
use crate::task::{Life, Order, Reception};
use crate::toolbox::Toolbox;
use crate::totals::Totals;
use crate::{SessionConfig, ToolRegistry, profile, tools};

/// How many commands may wait for the session's ear.
const ORDERS: usize = 32;

const ABILITIES: Abilities = Abilities {
    steer: Steer::Now,
    approve: Approve::PerCall,
    resume: false,
    interrupt: true,
    follow_up: true,
    compact: true,
};

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
#[derive(Clone)]
pub struct Session(Arc<Handle>);

struct Handle {
    log: EventLog,
    orders: mpsc::Sender<Order>,
    /// Ends the session's task and everything below it; cancelled when the last handle is dropped.
    cancel: CancellationToken,
    /// The outcome, once the task has ended.
    outcome: watch::Receiver<Option<Outcome>>,
    state: watch::Receiver<SessionState>,
    toolbox: Arc<Toolbox>,
    family: Arc<Family>,
    door: Arc<Door>,
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
    /// `invalid` if a tool's schema is none; `journal` if the log cannot be written.
    pub async fn start(config: SessionConfig) -> Result<Self, AgentError> {
        let config = profile::apply(config);
        let SessionConfig { log, env, .. } = &config;
        let (log, env) = (log.clone(), Arc::clone(env));
        let cancel = config.cancel.child_token();
        let totals = Arc::new(Totals::default());
        let family = Arc::new(Family::new(Home {
            spawner: config.spawner.clone(),
            log: log.clone(),
            depth: config.depth,
            max_depth: config.max_depth,
            max_children: config.max_children,
            budget: Arc::clone(&config.budget),
            totals: Arc::clone(&totals),
            cancel: cancel.clone(),
        }));
        let mut tools = ToolRegistry::default();
        if family.spawner().is_some() {
            tools.extend(tools::family(&family, &config.kind));
        }
        if let Some(profile) = &config.profile {
            tools = profile.in_dialect(&tools);
        }
        tools.extend(config.tools.iter().cloned());
        let Built { text: system, warnings } = prompt::of_session(&config, tools.definitions()).await;
        let gate = Gate::new(config.policy, log.clone());
        let limits = OutputLimits { chars: config.tool_output_limits, lines: config.tool_line_limits };
        let status = Arc::new(Status::new());
        let mut toolbox =
            Toolbox::new(tools, Arc::clone(&env), gate, log.clone(), Arc::clone(&status), limits)?;
        if family.is_too_deep() {
            toolbox.withhold(tools::FAMILY, TOO_DEEP);
        }
        let toolbox = Arc::new(toolbox);

        let model = config.model.clone();
        let workdir = Some(env.facts().cwd.to_string());
        let setup = Setup {
            system: system.clone().into(),
            provider: config.provider_name.clone(),
            effort: config.effort.as_ref().map(|effort| effort.as_str().to_owned()),
            profile: config.profile.as_ref().map(|profile| profile.id.clone()),
            dialect: config.profile.as_ref().map(|profile| profile.dialect().name().to_owned()),
            limits: config.limits,
        };
        let start = Body::SessionStart {
            kind: config.kind,
            model,
            workdir,
            abilities: ABILITIES,
            setup: Some(setup),
        };
        log.commit(start).await?;
        for message in warnings {
            log.emit(Body::Warning { code: "prompt".to_owned(), message }).await?;
        }

        let settings = Settings {
            provider: config.provider_name,
            model: config.model,
            effort: config.effort,
            limits: config.limits,
            env,
        };
        let loops = Loops::new(Rules {
            enabled: config.enable_loop_detection,
            window: config.loop_detection_window,
            stop: config.stop_on_loop,
        });
        let desk = Arc::new(Desk::new(cancel.clone(), settings));
        let door = Arc::new(Door::new(cancel.clone()));
        let (orders, received) = mpsc::channel(ORDERS);
        let life = Life {
            state: State {
                log: log.clone(),
                desk: Arc::clone(&desk),
                toolbox: Arc::clone(&toolbox),
                history: History::new(&system),
                on_reject: config.on_reject,
                text: String::new(),
                provider: Arc::clone(&config.provider),
                profile: config.profile,
                catalog: config.catalog,
                retry: config.retry,
                budget: config.budget,
                totals,
                loops,
                gauge: Gauge::default(),
                context_window: config.context_window,
                on_overflow: config.on_overflow,
                compaction: config.compaction,
                shortening: Shortening::default(),
                status: Arc::clone(&status),
                ask_on_question: config.ask_on_question,
                depth: config.depth,
                turns: 0,
                answered_by: None,
            },
            reception: Reception {
                desk,
                toolbox: Arc::clone(&toolbox),
                family: Arc::clone(&family),
                provider: config.provider,
                environments: config.environments,
            },
            door: Arc::clone(&door),
            status: Arc::clone(&status),
            orders: received,
        };
        let (ended, outcome) = watch::channel(None);
        // Owned by the handle: its token ends the task, and `close` waits for what it sends last.
        tokio::spawn(async move {
            let outcome = life.run().await;
            let _ = ended.send(Some(outcome));
        });
        let state = status.watch();
        Ok(Self(Arc::new(Handle { log, orders, cancel, outcome, state, toolbox, family, door })))
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
    /// `invalid` if the tool's schema is none; the tools are as before then.
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
    /// end with it. The host does not keep the session alive.
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
