//! What an agent is made of.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto_core::Policy;
use junto_env::{LocalBuilder, LocalEnvironment, Means, Sandbox};
use junto_llm::SessionId;
use junto_mcp::config::ServerConfig;
use junto_store::Store;

use crate::{Code, Native, sandbox_from_file};

/// Describes the environment for a directory.
pub type Local = Arc<dyn Fn(&Path) -> LocalBuilder + Send + Sync>;

/// What an agent is made of. [`Config::new`] takes what has no default; the rest is set field by field.
#[derive(Clone)]
pub struct Config {
    /// Who answers, with its model and its prompt.
    pub native: Native,
    /// Its kernel: by which Python, with which variables, how long a cell may take, where images go, what becomes of
    /// its state when a session is resumed.
    pub code: Code,
    /// Where the agent works.
    pub workdir: PathBuf,
    /// Describes the environment for a directory: its variables, above all. By default it has none but the usual
    /// search path.
    pub local: Local,
    /// Where sessions are kept, so that they can be resumed; absent: they are not.
    pub persistence: Option<Store>,
    /// Decides what may be done, and about what somebody is asked. Absent: about every call, reading included
    /// ([`AskAlways`](super::AskAlways)).
    pub policy: Option<Arc<dyn Policy>>,
    /// How long a request for approval waits for its answer; absent: for ever. One that nobody answers in time is not
    /// approved, and the model goes on.
    pub approval_timeout: Option<Duration>,
    /// The MCP servers whose tools the model, and its code, can call.
    pub mcp_servers: Vec<ServerConfig>,
    /// Whether [`Agent::start`](super::Agent::start) waits until each of them has come up, or has not.
    pub await_servers: bool,
    /// Whether the agent may have subagents. Each has a kernel of its own.
    pub enable_subagents: bool,
    /// How many at once.
    pub max_subagents: usize,
    /// What this machine has to confine commands with, where that is known already.
    pub means: Option<Means>,
}

impl Config {
    /// This agent in this directory. Its sessions are not kept, every call is asked about, no server is waited for, and
    /// there may be five subagents.
    pub fn new(native: Native, code: Code, workdir: impl Into<PathBuf>) -> Self {
        Self {
            native,
            code,
            workdir: workdir.into(),
            local: Arc::new(|directory| LocalEnvironment::builder(directory)),
            persistence: None,
            policy: None,
            approval_timeout: None,
            mcp_servers: Vec::new(),
            await_servers: false,
            enable_subagents: true,
            max_subagents: 5,
            means: None,
        }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("model", &self.native.model)
            .field("code", &self.code)
            .field("workdir", &self.workdir)
            .field("is_kept", &self.persistence.is_some())
            .finish_non_exhaustive()
    }
}

/// Which agent it is, and how its kernel is held.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What the agent's events call it; absent: `main`.
    pub agent_id: Option<String>,
    /// The session to go on with, or to begin by this id. Absent: a new one, if sessions are kept.
    pub session_id: Option<SessionId>,
    /// Whether its kernels, and what cells start, are in the sandbox. Tools and MCP servers are outside of it, behind
    /// the policy. Where this machine cannot hold a kernel without a gap, the agent does not start.
    pub sandbox: bool,
    /// How the sandbox is, if not as it is by default: nobody is reached, and only the working directory and temporary
    /// files are changed.
    pub sandbox_config: Option<SandboxConfig>,
}

/// How a sandbox is described.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one for an agent, and it is soon taken apart")]
pub enum SandboxConfig {
    /// By a value.
    Is(Sandbox),
    /// By a file, see [`sandbox_from_file`].
    File(PathBuf),
}

impl SandboxConfig {
    /// The sandbox that is meant.
    pub(super) fn sandbox(self) -> Result<Sandbox, junto_env::Error> {
        match self {
            Self::Is(sandbox) => Ok(sandbox),
            Self::File(path) => sandbox_from_file(&path, Sandbox::default()),
        }
    }
}

impl From<Sandbox> for SandboxConfig {
    fn from(sandbox: Sandbox) -> Self {
        Self::Is(sandbox)
    }
}

impl From<PathBuf> for SandboxConfig {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}
