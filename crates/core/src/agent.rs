//! The contract of everything that acts.

use std::path::PathBuf;
use std::sync::Arc;

use junto_env::ExecutionEnvironment;
use junto_llm::Effort;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{Ack, AgentError, AgentId, Command, EventLog, Fut};

/// Something that acts: an input goes in, a stream of typed events comes out while it works, and it
/// can be steered, interrupted and closed.
///
/// Contract, checked by [`crate::grammar`]: `session_start` is the first event, each accepted input
/// ends in exactly one `input_end`, and `session_end` is the last event and comes once, after the
/// ends of all children: also when the agent crashes, stalls, is refused or is cancelled.
pub trait Agent: Send + Sync {
    /// What it can be asked to do. A host looks here before it offers anything.
    fn abilities(&self) -> Abilities;

    /// What it did and does.
    fn log(&self) -> &EventLog;

    /// Tells it something. What it cannot do is an error, never a silent queue.
    fn send(&self, command: Command) -> Fut<'_, Result<Ack, AgentError>>;

    /// Ends it: work under way is stopped, children are closed, processes reaped. Returns after all
    /// of that; a second call returns the same.
    fn close(&self) -> Fut<'_, Outcome>;

    /// Ends it without grace: what it runs is killed, and its log comes to its end at once. False, and nothing is done, for
    /// agents that know no such thing; whoever does not wait for those leaves them.
    fn kill(&self) -> bool {
        false
    }

    /// Waits until it has ended, be it by itself, and gives what [`Agent::close`] does. Events tell of the end, too,
    /// but not where the journal takes no more. Waits for ever for agents that never end by themselves.
    fn ended(&self) -> Fut<'_, Outcome> {
        Box::pin(std::future::pending())
    }

    /// The agent of this id among its children and theirs, while it lives: a host steers, interrupts
    /// and closes it like any other. None for agents that have no children.
    fn child(&self, id: &AgentId) -> Option<Arc<dyn Agent>> {
        let _ = id;
        None
    }
}

/// What an agent can be asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is an ability of its own")]
pub struct Abilities {
    /// Whether it takes messages while it works.
    pub steer: Steer,
    /// Whether a host can decide about its actions.
    pub approve: Approve,
    /// Whether a handle of an earlier session brings it back.
    pub resume: bool,
    /// Whether it can be interrupted and go on with another input.
    pub interrupt: bool,
    /// Whether it takes another input after the first.
    pub follow_up: bool,
    /// Whether it can be told to make its conversation shorter.
    #[serde(default)]
    pub compact: bool,
}

/// When a steering message takes effect at the earliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Steer {
    /// Never.
    No,
    /// After the current round of tools.
    Round,
    /// At once.
    Now,
}

/// How a host decides about actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approve {
    /// Not at all.
    No,
    /// Once, before it starts.
    Preset,
    /// For each call.
    PerCall,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Why its last input ended; `done` if there was none.
    pub reason: crate::EndReason,
    /// The last answer's text.
    pub text: String,
}

/// What a session is doing, as its handle shows it.
///
/// ```text
/// Idle ──submit──▶ Processing ──▶ Idle                the input is done, or a limit was reached
///                  Processing ◀─▶ AwaitingInput       the model asks; the answer lets it go on
/// any ──▶ Closed                                      closed, aborted, or failed for good
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// It waits for an input.
    Idle,
    /// It works on one.
    Processing,
    /// The model asked the user something: through a tool that waits for the reply, or with an answer
    /// that ends in a question, to which the next input is the reply.
    AwaitingInput,
    /// It is over.
    Closed,
}

impl SessionState {
    /// Whether a session may go from this state to that one in one step.
    pub fn can_become(self, next: Self) -> bool {
        use SessionState::{AwaitingInput, Closed, Idle, Processing};
        match self {
            Idle => matches!(next, Processing | Closed),
            Processing => matches!(next, Idle | AwaitingInput | Closed),
            AwaitingInput => matches!(next, Processing | Closed),
            Closed => false,
        }
    }
}

/// Makes agents of every kind.
pub trait Spawner: Send + Sync {
    /// Starts an agent.
    ///
    /// # Errors
    /// `invalid` for a kind it does not know; `limit` beyond the allowed depth; else what kept the
    /// agent from starting.
    fn spawn(&self, spec: AgentSpec, parent: Parent) -> Fut<'_, Result<Arc<dyn Agent>, AgentError>>;

    /// The kinds of agents it makes, as a model that may start one is told. Empty: it does not say.
    fn kinds(&self) -> Vec<AgentKind> {
        Vec::new()
    }
}

/// A kind of agent, for whoever chooses among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentKind {
    /// What [`AgentSpec::kind`] calls it.
    pub name: String,
    /// What is special about it, in one sentence.
    pub description: String,
}

/// Who asks for an agent.
#[derive(Clone)]
pub struct Parent {
    /// The log of the agent that asks, if it is one: its child writes there too.
    pub log: Option<EventLog>,
    /// Where the new agent works, if whoever asks has seen to that: the environment of a parent, or the
    /// part of it that the spec's directory is. Absent: what the spec says is to be made.
    pub env: Option<Arc<dyn ExecutionEnvironment>>,
    /// How many agents are above the new one.
    pub depth: u8,
    /// The new agent ends with this.
    pub cancel: CancellationToken,
    /// What may be spent.
    pub budget: Arc<dyn junto_llm::Budget>,
}

impl std::fmt::Debug for Parent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parent").field("log", &self.log).field("depth", &self.depth).finish_non_exhaustive()
    }
}

/// Which agent, where, with what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentSpec {
    /// The kind: `native`, `claude`, a name from the configuration.
    pub kind: String,
    /// The model; absent: the kind's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard it thinks; absent: the kind's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub effort: Option<Effort>,
    /// What it is told whatever its input is, beside what its kind tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Where it works.
    pub workdir: Workdir,
    /// Folders beside that one that it may work in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<PathBuf>,
    /// What it may do.
    pub mode: Mode,
    /// When it must stop.
    pub limits: Limits,
    /// The session to go on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeHandle>,
}

/// Where an agent works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Workdir {
    /// Where its parent works.
    #[default]
    Shared,
    /// In this directory.
    Path(PathBuf),
}

/// What an agent may do to the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Look.
    ReadOnly,
    /// Change what is in the working directory.
    #[default]
    WorkspaceWrite,
    /// Anything.
    Full,
}

/// When an agent must stop. Zero is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Limits {
    /// Turns in the whole session. What is said to the agent is one, and so is each answer of its model, the
    /// results of each round of tools, and each message that steers it. A command-line agent counts as it
    /// does.
    pub max_turns: u32,
    /// Rounds of tools for one input.
    pub max_tool_rounds: u32,
}

/// What brings a session back. Opaque to all but its maker; emitted as an event when it is first
/// known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResumeHandle {
    /// The kind of agent that made it.
    pub kind: String,
    /// The version of `data`.
    pub v: u32,
    /// What the maker needs.
    pub data: Value,
}
