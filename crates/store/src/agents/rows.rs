//! What is kept of inputs, runs, conversations and providers that are set aside.

use jiff::Timestamp;
use junto_core::ResumeHandle;
use junto_llm::{Cost, SessionId, Usage};
use serde::Serialize;

/// Names an input of all agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct InputId(pub i64);

/// Names a run of all agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct RunId(pub i64);

/// Something that an agent was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentInput {
    /// Its name.
    pub id: InputId,
    /// What was said.
    pub text: String,
    /// When it was said.
    pub queued: Timestamp,
    /// When it is taken at the earliest.
    pub due: Timestamp,
    /// How many of its runs failed, or ended with their process.
    pub attempts: u32,
    /// Where it stands.
    pub state: InputState,
}

/// Where an input stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InputState {
    /// It waits for its turn.
    Waiting,
    /// A run works on it.
    Leased,
    /// It was worked on to the end.
    Done,
    /// Somebody stopped the work on it, or took it out of the queue.
    Cancelled,
    /// It failed too often. It is kept until somebody wants it tried again.
    GivenUp,
}

impl InputState {
    /// As it is kept.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Leased => "leased",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::GivenUp => "given_up",
        }
    }

    pub(super) fn named(name: &str) -> Self {
        let all = [Self::Leased, Self::Done, Self::Cancelled, Self::GivenUp];
        all.into_iter().find(|state| state.as_str() == name).unwrap_or(Self::Waiting)
    }
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It is under way.
    Running,
    /// The input was worked on to the end.
    Completed,
    /// It failed, or its process ended without a word.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

impl RunStatus {
    /// As it is kept.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub(super) fn named(name: &str) -> Self {
        let all = [Self::Running, Self::Completed, Self::Cancelled];
        all.into_iter().find(|status| status.as_str() == name).unwrap_or(Self::Failed)
    }
}

/// One run of an agent: one input given to one provider.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentRun {
    /// Its name.
    pub id: RunId,
    /// Whose it is.
    pub agent: String,
    /// What it works on.
    pub input: InputId,
    /// How it stands.
    pub status: RunStatus,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Who did the work.
    pub provider: String,
    /// The model it was asked for; absent: the provider's default.
    pub model: Option<String>,
    /// Why it began a conversation of its own; absent if it went on with one.
    pub fresh: Option<String>,
    /// The session of ours that has its events.
    pub journal: Option<SessionId>,
    /// What it left behind.
    #[serde(flatten)]
    pub result: RunResult,
    /// The number of the process that runs it, or did.
    pub pid: Option<u32>,
}

/// What a run left behind. What is absent is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunResult {
    /// The provider's own name for the conversation.
    pub session: Option<String>,
    /// How long the last model call was, in tokens; only of a run that was completed.
    pub context: Option<u64>,
    /// What the run used.
    pub usage: Option<Usage>,
    /// What it cost.
    pub cost: Option<Cost>,
    /// The status its program ended with.
    pub exit: Option<i32>,
    /// The class of its failure.
    pub class: Option<String>,
    /// What went wrong, or why it was stopped.
    pub error: Option<String>,
    /// The answer.
    pub text: String,
}

/// What brings an agent's conversation with a provider back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentSession {
    /// The provider.
    pub provider: String,
    /// What it needs; the totals of the conversation so far are in it, where the provider counts so.
    pub handle: ResumeHandle,
    /// When the conversation began.
    pub created: Timestamp,
    /// When its last run ended.
    pub used: Option<Timestamp>,
    /// How long its last model call was, in tokens.
    pub context: Option<u64>,
}

/// A provider that is not asked for a while, because it could not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suppression {
    /// The provider.
    pub provider: String,
    /// The class of its failure.
    pub class: String,
    /// When it failed.
    pub since: Timestamp,
    /// When it is asked again.
    pub until: Timestamp,
    /// What it said.
    pub message: String,
}
