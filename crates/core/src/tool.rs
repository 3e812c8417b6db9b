//! The contract of everything a model can call.

use std::collections::HashMap;
use std::sync::Arc;

use junto_env::{ExecutionEnvironment, Jobs, RealPath, SeenFiles, Stamp};
use junto_llm::{Media, ToolCall, ToolSpec};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{Action, Alone, Caller, Fut, Permit, ToolOutput, Via};

/// Something a model can call.
///
/// Contract: `actions` changes nothing; `run` does what `actions` said and nothing else, takes its
/// arguments from the permit only, stops soon when the token is cancelled, and never panics on bad
/// arguments: failures are outcomes the model sees.
pub trait Tool: Send + Sync {
    /// How the model sees it.
    fn spec(&self) -> &ToolSpec;

    /// What this call would do.
    ///
    /// # Errors
    /// Arguments that make no sense; the model is told.
    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>>;

    /// Where code finds it, and what it gives there. Models are told nothing of this.
    fn listing(&self) -> Listing {
        Listing::default()
    }

    /// Does it.
    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome>;
}

/// Where code finds a tool, and what it gives there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Whose tool it is; absent for the host's own.
    pub origin: Option<Origin>,
    /// The JSON Schema of the data it gives; absent if it gives text.
    pub output: Option<Arc<Value>>,
}

/// Whose tool it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The server, as the user calls it.
    pub server: String,
    /// What the tool is called there.
    pub tool: String,
}

/// A tool as code sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// How it is called.
    pub spec: ToolSpec,
    /// Where it is found, and what it gives.
    pub listing: Listing,
}

/// What a tool works with.
#[derive(Clone)]
pub struct ToolCx {
    /// Where it acts.
    pub env: Arc<dyn ExecutionEnvironment>,
    /// Ends the call.
    pub cancel: CancellationToken,
    /// Whom it works for.
    pub caller: Arc<dyn Caller>,
    /// Commands that run on after the call that started them. They end with the session.
    pub jobs: Arc<Jobs>,
    /// What files were like when the model saw them last.
    pub seen: Arc<SeenFiles>,
    /// What the files to be written were like when somebody was asked about this call; `None` of one that was
    /// not there. What was said yes to is a change of these, so they must be like that still.
    pub shown: Arc<HashMap<RealPath, Option<Stamp>>>,
    /// Whether a file may be changed that the model has never read.
    pub unread: Unread,
}

/// Whether a file may be changed that the model has never read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unread {
    /// It may. One that was changed by somebody else since it was read is left alone all the same.
    #[default]
    Allowed,
    /// It must be read first. New files can be written.
    Refused,
}

impl ToolCx {
    /// How many commands of one session may run in the background at once.
    pub const MOST_JOBS: usize = 16;
    /// Of how many files a session remembers what they were like.
    pub const MOST_SEEN: usize = 1024;

    /// For a tool that runs without a session.
    pub fn alone(env: Arc<dyn ExecutionEnvironment>) -> Self {
        let jobs = Arc::new(Jobs::new(Self::MOST_JOBS));
        let seen = Arc::new(SeenFiles::new(Self::MOST_SEEN));
        let (shown, unread) = (Arc::default(), Unread::default());
        Self { env, cancel: CancellationToken::new(), caller: Arc::new(Alone), jobs, seen, shown, unread }
    }
}

/// Why a call makes no sense; told to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError(pub String);

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<junto_env::Error> for ToolError {
    fn from(error: junto_env::Error) -> Self {
        Self(error.to_string())
    }
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutcome {
    /// The whole output. What the model sees of it is cut by the loop. A tool whose output may be large
    /// writes it to the [`crate::Spool`] of its caller.
    pub output: ToolOutput,
    /// Whether it failed.
    pub is_error: bool,
    /// Pictures for models that see.
    pub images: Vec<Media>,
    /// The same as data, for code, where the tool says what its data are like ([`Listing::output`]). The output
    /// has it as text.
    pub data: Option<Arc<Value>>,
    /// Whether it was not run at all, because it was not allowed. Then it is an error, too.
    pub is_rejected: bool,
}

impl ToolOutcome {
    /// It worked.
    pub fn ok(output: impl Into<ToolOutput>) -> Self {
        Self { output: output.into(), is_error: false, images: Vec::new(), data: None, is_rejected: false }
    }

    /// It failed.
    pub fn error(output: impl Into<ToolOutput>) -> Self {
        Self { is_error: true, ..Self::ok(output) }
    }

    /// It was not allowed.
    pub fn rejected(output: impl Into<ToolOutput>) -> Self {
        Self { is_rejected: true, ..Self::error(output) }
    }
}

impl From<String> for ToolOutcome {
    fn from(output: String) -> Self {
        Self::ok(output)
    }
}

impl From<&str> for ToolOutcome {
    fn from(output: &str) -> Self {
        Self::ok(output)
    }
}

impl From<ToolOutput> for ToolOutcome {
    fn from(output: ToolOutput) -> Self {
        Self::ok(output)
    }
}

impl<E: std::fmt::Display> From<Result<String, E>> for ToolOutcome {
    fn from(result: Result<String, E>) -> Self {
        match result {
            Ok(output) => Self::ok(output),
            Err(error) => Self::error(error.to_string()),
        }
    }
}

/// Tools that come and go while a session runs: those of servers that start slowly, or that say that theirs are others.
///
/// A session asks before each model call, so neither `version` nor `offer` waits for anything.
pub trait ToolSource: Send + Sync {
    /// Another number whenever [`ToolSource::offer`] may be another. What has to be started is started by this.
    fn version(&self) -> u64;

    /// What there is now.
    fn offer(&self) -> Offer;

    /// Waits, for a bounded time, until no more tools are on their way. It is asked only by who has a call to make
    /// whose tool is not there yet: a session that was brought back, and was cut off before the call.
    fn settled(&self) -> Fut<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What a [`ToolSource`] has at a moment.
#[derive(Clone, Default)]
pub struct Offer {
    /// What the model is told of.
    pub declared: Vec<Arc<dyn Tool>>,
    /// What it is not told of, but can call by name.
    pub behind: Vec<Arc<dyn Tool>>,
}

/// Tools that somebody other than the loop may call: the kernel's socket, an MCP server. Each call
/// is judged and journaled like any other.
pub trait ToolHost: Send + Sync {
    /// What there is.
    fn specs(&self) -> Vec<ToolSpec>;

    /// What there is for code: also what no model is told of because there is too much of it.
    fn catalog(&self) -> Vec<Listed> {
        let listed = |spec| Listed { spec, listing: Listing::default() };
        self.specs().into_iter().map(listed).collect()
    }

    /// Calls a tool.
    fn call(&self, call: ToolCall, via: Via) -> Fut<'_, ToolOutcome>;
}
