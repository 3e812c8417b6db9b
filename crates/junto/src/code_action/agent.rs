//! The agent.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use junto_agent::{OnOpen, Session, SessionConfig};
use junto_core::{Agent as _, AgentError, AgentErrorKind, AgentSpec, Command, Input, OnReject, Policy};
use junto_env::Sandbox;
use junto_llm::SessionId;
use junto_mcp::{Hub, Places, Status};
use junto_policy::Mode;
use junto_store::ErrorKind;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::turn::{Stage, Turn};
use super::turns::Turns;
use super::{AskAlways, Config, Options};
use crate::workshop::not_kept;
use crate::{Enforcement, Guard, Kept, Kind, Native, Workshop};

/// What the agent's events call it, unless somebody says otherwise.
const NAME: &str = "main";
/// The kind of agent it is, in the workshop that makes it and its subagents.
const KIND: &str = "native";

/// An agent that acts by writing Python, which runs in a kernel of its own, and by calling tools.
///
/// Between [`Agent::start`] and [`Agent::stop`] it takes prompts, one after another. Dropped without a stop it ends
/// all the same, with its kernel and servers, but nobody waits for that.
pub struct Agent {
    config: Config,
    name: String,
    session_id: Option<SessionId>,
    guard: Option<Guard>,
    /// Held while it starts or stops.
    changing: tokio::sync::Mutex<()>,
    running: RwLock<Option<Running>>,
}

/// An agent that was started.
#[derive(Clone)]
struct Running {
    session: Session,
    hub: Option<Hub>,
    images_dir: PathBuf,
    turns: Arc<Turns>,
    /// Ends the session, whoever else has a handle of it.
    _cancel: Arc<DropGuard>,
}

impl Agent {
    /// An agent that has not started. Nothing is opened but the file of a sandbox, and nothing runs.
    ///
    /// # Errors
    /// `invalid` if a session is named while none is kept, if a sandbox is described and not wanted, or if the file that
    /// describes it cannot be read.
    pub fn new(config: Config, options: Options) -> Result<Self, AgentError> {
        let invalid = |message: &str| AgentError::new(AgentErrorKind::Invalid, message);
        let session_id = match (&config.persistence, options.session_id) {
            (Some(_), given) => Some(given.unwrap_or_else(SessionId::fresh)),
            (None, Some(_)) => {
                return Err(invalid("a session is named, and sessions are not kept")
                    .with_hint("set `persistence`, or name no session"));
            }
            (None, None) => None,
        };
        let guard = match (options.sandbox, options.sandbox_config) {
            (false, Some(_)) => {
                return Err(invalid("a sandbox is described, and none is wanted").with_hint("set `sandbox`"));
            }
            (false, None) => None,
            (true, sandbox) => Some(Guard {
                enforcement: Enforcement::Whole,
                sandbox: match sandbox {
                    Some(described) => described.sandbox().map_err(|error| unusable(&error))?,
                    None => Sandbox::default(),
                },
                means: config.means.clone(),
                ..Guard::new(Mode::Ask)
            }),
        };
        let name = options.agent_id.unwrap_or_else(|| NAME.to_owned());
        let (changing, running) = (tokio::sync::Mutex::default(), RwLock::default());
        Ok(Self { config, name, session_id, guard, changing, running })
    }

    /// What its events call it.
    pub fn agent_id(&self) -> &str {
        &self.name
    }

    /// The session it works in, or will; none if sessions are not kept.
    pub fn session_id(&self) -> Option<&SessionId> {
        self.session_id.as_ref()
    }

    /// How its MCP servers stand; empty while it is not started.
    pub fn servers(&self) -> Vec<Status> {
        self.running().and_then(|running| running.hub).map(|hub| hub.statuses()).unwrap_or_default()
    }

    /// Begins its session, or goes on with the one that was kept, and starts its MCP servers; the kernel starts with
    /// the first cell. A turn that was cut off in that session is over. Started already, it does nothing.
    ///
    /// Python is there when this returns; where it has to be made first, that takes its time. Servers are not waited for
    /// ([`Config::await_servers`]): tools that come later are there from the next model call on. A server that does not
    /// come up keeps nobody from working: [`Agent::servers`] tells.
    ///
    /// # Errors
    /// `process` if there is no Python for the kernel; `unsupported` if the sandbox cannot be had; `journal` if the session cannot be opened, as when another process
    /// works in it; `invalid` if the directory is none.
    pub async fn start(&self) -> Result<(), AgentError> {
        let _changing = self.changing.lock().await;
        if self.running().is_some() {
            return Ok(());
        }
        let hub = self.hub()?;
        let workshop = self.workshop(hub.as_ref())?;
        if let Some(hub) = hub.as_ref().filter(|_| self.config.await_servers) {
            hub.ready().await;
        }
        let cancel = CancellationToken::new();
        let ends = Arc::new(cancel.clone().drop_guard());
        let session = self.begin(&workshop, cancel).await?;
        if let Err(error) = session.ready().await {
            session.close().await;
            if let Some(hub) = hub {
                hub.close().await;
            }
            return Err(error);
        }
        let turns = Arc::new(Turns::from(session.log().last()));
        let folder =
            self.config.persistence.as_ref().and_then(|store| store.folder(session.log().session()).ok());
        let images_dir = self.config.code.images_dir(folder.as_deref());
        let running = Running { session, hub, images_dir, turns, _cancel: ends };
        *self.running.write().unwrap_or_else(PoisonError::into_inner) = Some(running);
        Ok(())
    }

    /// Ends its session, with the turn under way, the kernel and the MCP servers: their processes are gone when this
    /// returns. It can be started again, and goes on where it was if its session is kept.
    pub async fn stop(&self) {
        let _changing = self.changing.lock().await;
        let running = self.running.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Running { session, hub, turns, .. }) = running else { return };
        turns.cancelling(session.log().last());
        session.close().await;
        turns.tasks.close();
        turns.tasks.wait().await;
        if let Some(hub) = hub {
            hub.close().await;
        }
    }

    /// Runs a turn: asks the model, and lets it call tools, until it responds without calling any. A prompt is a text,
    /// or an [`Input`] with pictures. `max_turns` is how many rounds of tools there may be; absent: as many as it
    /// takes.
    ///
    /// Each code action and tool call yields an [`ApprovalRequest`](super::ApprovalRequest), unless a policy says
    /// otherwise, and waits until that is answered. Errors are items of the turn: `wrong_state` if the agent is not
    /// started, or works on another prompt; `invalid` if the prompt says nothing or has a picture that cannot be read.
    pub fn stream(&self, prompt: impl Into<Input>, max_turns: Option<u32>) -> Turn {
        let stage = self.running().ok_or_else(not_started).map(|running| Stage {
            session: running.session,
            turns: running.turns,
            name: self.name.clone(),
            images_dir: running.images_dir,
        });
        Turn::new(stage, prompt.into(), max_turns)
    }

    /// Cancels the turn under way, which ends with [`Cancelled`](super::AgentEventKind::Cancelled); the agent goes on
    /// with the next prompt. If there is none, nothing is done.
    pub async fn cancel(&self) {
        if let Some(running) = self.running() {
            running.turns.cancelling(running.session.log().last());
            // There was nothing to cancel, or it is over: what was wanted is so.
            let _ = running.session.send(Command::Interrupt).await;
        }
    }

    fn running(&self) -> Option<Running> {
        self.running.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The servers, where they run: never in the sandbox of the kernel.
    fn hub(&self) -> Result<Option<Hub>, AgentError> {
        if self.config.mcp_servers.is_empty() {
            return Ok(None);
        }
        let env = (self.config.local)(&self.config.workdir).build().map_err(|error| unusable(&error))?;
        Ok(Some(Hub::new(self.config.mcp_servers.clone(), Places::open(Arc::new(env)))))
    }

    fn workshop(&self, hub: Option<&Hub>) -> Result<Workshop, AgentError> {
        let Config { native, code, workdir, local, persistence, policy, .. } = &self.config;
        // A guard that holds nothing leaves everything to the policy below.
        let guard = self
            .guard
            .clone()
            .unwrap_or_else(|| Guard { enforcement: Enforcement::Off, ..Guard::new(Mode::Ask) });
        let local = Arc::clone(local);
        let builder = Workshop::guarded(workdir, guard, move |dir| local(dir)).map_err(|e| unusable(&e))?;
        let policy = policy.clone().unwrap_or_else(|| Arc::new(AskAlways) as Arc<dyn Policy>);
        let mut builder = builder
            .policy(policy, OnReject::EndUnlessTold)
            .approval_timeout(self.config.approval_timeout)
            .kind(KIND, Kind::Native(self.with_subagents(native.clone())))
            .code(code.clone());
        if !self.config.enable_subagents {
            builder = builder.max_depth(0);
        }
        if let Some(store) = persistence {
            builder = builder.store(store.clone());
        }
        if let Some(hub) = hub {
            let hub = hub.clone();
            builder = builder.late_tools(move || hub.tools_for_session());
        }
        Ok(builder.build())
    }

    /// The loop with as many subagents as there may be.
    fn with_subagents(&self, native: Native) -> Native {
        let (most, adjust) = (self.config.max_subagents, native.adjust.clone());
        native.adjusted(move |config| {
            let config = SessionConfig { max_children: most, ..config };
            match &adjust {
                Some(adjust) => adjust(config),
                None => config,
            }
        })
    }

    /// Begins the session, or goes on with it if it is there.
    async fn begin(&self, workshop: &Workshop, cancel: CancellationToken) -> Result<Session, AgentError> {
        let spec = AgentSpec { kind: KIND.to_owned(), ..AgentSpec::default() };
        let (Some(store), Some(id)) = (&self.config.persistence, &self.session_id) else {
            return workshop.start_session(spec, cancel).await;
        };
        match Kept::reopen(store, id) {
            Ok(mut kept) => {
                // Nobody waits any more for what was cut off.
                kept.past = kept.past.on_open(OnOpen::End);
                workshop.resume_session(spec, kept, cancel).await
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                workshop.start_session_as(id.clone(), spec, cancel).await
            }
            Err(error) => Err(not_kept(&error)),
        }
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("agent_id", &self.name)
            .field("session_id", &self.session_id)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

fn not_started() -> AgentError {
    AgentError::new(AgentErrorKind::WrongState, "the agent is not started").with_hint("call `start` first")
}

fn unusable(error: &junto_env::Error) -> AgentError {
    let kind = match error.kind() {
        junto_env::ErrorKind::Unsupported => AgentErrorKind::Unsupported,
        _ => AgentErrorKind::Invalid,
    };
    AgentError::new(kind, error.to_string())
}
