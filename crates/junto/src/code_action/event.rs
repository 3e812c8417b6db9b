//! What a turn of an agent yields.

use std::path::PathBuf;

use super::ApprovalRequest;

/// One thing that happened in a turn: of the agent itself, or of a subagent of it.
#[derive(Clone, Debug)]
pub struct AgentEvent {
    /// Whose it is: the agent's own id, or that of a subagent.
    pub agent_id: String,
    /// What belongs together: all events of one tool call have the same id, and so have all of one model call.
    pub corr_id: String,
    /// What it happened for; absent for what the agent does of itself.
    pub parent: Option<ParentCall>,
    /// What happened.
    pub kind: AgentEventKind,
}

/// The call that something happened for: the one that started a subagent, or the cell whose code calls a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ParentCall {
    /// Whose call it is.
    pub agent_id: String,
    /// The call; empty where it is not known.
    pub corr_id: String,
}

/// What happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AgentEventKind {
    /// More text of the model's response. Whoever reads too slowly misses some; [`Self::Response`] has all of it.
    ResponseChunk {
        /// What is new.
        content: String,
    },
    /// The model's whole response at a step. One for each step in which it says something.
    Response {
        /// The text.
        content: String,
    },
    /// More of what the model thinks.
    ThoughtsChunk {
        /// What is new.
        content: String,
    },
    /// All that the model thought at a step.
    Thoughts {
        /// The text.
        content: String,
    },
    /// A code action or tool call waits for an answer.
    ApprovalRequest(ApprovalRequest),
    /// More output of running code.
    CodeExecutionOutputChunk {
        /// What is new.
        text: String,
    },
    /// The whole output of code that has run.
    CodeExecutionOutput {
        /// What the model sees of it; none if there is none.
        text: Option<String>,
        /// The files of the images it made.
        images: Vec<PathBuf>,
        /// Whether there was more than the model sees. The whole is in the session's journal.
        truncated: bool,
    },
    /// The output of a tool, or why there is none: a call that was refused, or that makes no sense, has its end here
    /// too.
    ToolOutput {
        /// What the model, or the code that called, sees of it.
        content: String,
        /// Whether it failed.
        is_error: bool,
        /// Whether code called the tool.
        ptc: bool,
    },
    /// The turn was cancelled, and ends with this.
    Cancelled {
        /// What went on then.
        phase: Phase,
    },
}

/// What went on when a turn was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Neither the model nor a tool was at work.
    BetweenTurns,
    /// The model was asked.
    LlmStreaming,
    /// Calls ran, or waited for approval.
    ToolExecution,
}
