//! Everything an agent does, as events.

use jiff::Timestamp;
use junto_llm::{CallId, Cost, SessionId, ToolCall, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Abilities, AgentError, AgentId, ApprovalRequest, AskId, Change, Decision, Input, Payload, Plan, Question,
    Reply, ResumeHandle, Seq,
};

/// The version of the event format.
pub const VERSION: u8 = 1;

/// One thing that happened. On every wire this is one JSON object with `v`, `seq`, `at`, `session`,
/// `agent`, `type` and the fields of that type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The version of the format.
    pub v: u8,
    /// Its position in the log.
    pub seq: Seq,
    /// When it happened.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The session.
    #[schemars(with = "String")]
    pub session: SessionId,
    /// The agent that did it.
    pub agent: AgentId,
    /// The agent's parent, if it is a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
    /// The parent's tool call that the agent was started by, if it is such a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub parent_call: Option<CallId>,
    /// Which input of the agent this belongs to, from 1; 0 before the first.
    pub turn: u32,
    /// The model call or tool call it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub corr: Option<CallId>,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    /// The session began. Always the first event.
    SessionStart {
        /// The kind of agent.
        kind: String,
        /// Its model, where one is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Where it works.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workdir: Option<String>,
        /// What it can be asked to do.
        abilities: Abilities,
    },
    /// An input was accepted.
    UserInput {
        /// What was said.
        input: Input,
    },
    /// The model began to write text. Deltas of this position follow.
    AssistantTextStart {},
    /// The model's text is complete.
    AssistantTextEnd {
        /// The event this ends.
        of: Seq,
        /// The whole text.
        text: Payload,
    },
    /// The model began to reason. Deltas of this position follow.
    ReasoningStart {},
    /// The reasoning is complete.
    ReasoningEnd {
        /// The event this ends.
        of: Seq,
        /// The whole text.
        text: Payload,
    },
    /// A model call ended: what it used and cost.
    Call {
        /// The provider.
        provider: String,
        /// The model that answered.
        model: String,
        /// The provider's own name for its answer, where it gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_id: Option<String>,
        /// Tokens.
        #[schemars(with = "serde_json::Value")]
        usage: Usage,
        /// Money.
        #[schemars(with = "serde_json::Value")]
        cost: Cost,
    },
    /// A tool was permitted and is about to run.
    ToolCallStart {
        /// The call, as it will run.
        #[schemars(with = "serde_json::Value")]
        call: ToolCall,
    },
    /// A tool call ended, or was refused before it started.
    ToolCallEnd {
        /// The start this ends; absent if it never started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<Seq>,
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
        /// The whole output.
        output: Payload,
        /// Whether it failed.
        is_error: bool,
    },
    /// Somebody must decide.
    Ask {
        /// About what.
        request: ApprovalRequest,
    },
    /// Somebody decided.
    Answered {
        /// The question.
        ask: AskId,
        /// The answer.
        decision: Decision,
    },
    /// The model asks the user something, and waits.
    Question {
        /// The tool call that asks. With its end the question is withdrawn, if it is open still.
        of: Seq,
        /// Names the question.
        ask: AskId,
        /// What it asks.
        question: Question,
    },
    /// The user answered, or did not want to.
    Replied {
        /// The question.
        ask: AskId,
        /// The answer.
        reply: Reply,
    },
    /// What the agent means to do. Replaces what it meant to do before.
    Plan {
        /// The whole plan.
        plan: Plan,
    },
    /// A steering message was added to the conversation.
    SteeringInjected {
        /// What was said.
        input: Input,
    },
    /// Somebody changed how the agent works. It holds from its next model call on.
    Configured {
        /// What was changed.
        change: Change,
    },
    /// The conversation was made shorter. From here on the model sees `messages` in the place of everything
    /// before; this log keeps what was there.
    Compacted {
        /// What made it necessary.
        why: CompactReason,
        /// How it was done.
        how: CompactMethod,
        /// What the model does not see any more.
        dropped: Dropped,
        /// About how many tokens the conversation had, the tools included.
        tokens_before: u64,
        /// About how many it has now.
        tokens_after: u64,
        /// The whole conversation from here on, system prompt included: a JSON array of messages.
        messages: Payload,
        /// Which of these messages are pinned, by their place from 0: no compaction takes them out.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pinned: Vec<u32>,
        /// Which of them is the latest input, by its place from 0: it is pinned until the next one comes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<u32>,
    },
    /// A limit stopped the input.
    TurnLimit {
        /// Which limit, in words.
        limit: String,
        /// How far it went.
        reached: u32,
    },
    /// The same tool calls came again and again.
    LoopDetection {
        /// What the model was told, or why the input ends here.
        message: String,
    },
    /// A line of narration that is not part of the answer.
    Progress {
        /// The line.
        text: String,
    },
    /// A model call is made again.
    Retry {
        /// Which retry, from 1.
        attempt: u32,
        /// How long it waits.
        delay_ms: u64,
        /// What failed.
        error: EventError,
    },
    /// Something the host may want to know.
    Warning {
        /// A stable name for the kind of thing.
        code: String,
        /// What happened.
        message: String,
    },
    /// Something failed.
    Error {
        /// What.
        error: EventError,
    },
    /// A child agent was started; its own events carry its id and this agent as parent.
    Child {
        /// The child. `agent` is whose event this is.
        #[serde(rename = "child")]
        agent: AgentId,
        /// What its parent calls it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        name: String,
        /// Its kind.
        kind: String,
        /// What it was told.
        task: String,
    },
    /// The session can be brought back with this.
    Handle {
        /// With what.
        handle: ResumeHandle,
    },
    /// Work on an input ended. Exactly one for each `user_input`.
    InputEnd {
        /// Why.
        reason: EndReason,
        /// The answer's text; empty where there is none.
        text: Payload,
    },
    /// The session is over. Always the last event.
    SessionEnd {
        /// Why.
        reason: EndReason,
        /// Everything the session's model calls used.
        #[schemars(with = "serde_json::Value")]
        usage: Usage,
        /// What that cost.
        #[schemars(with = "serde_json::Value")]
        cost: Cost,
    },
}

impl Body {
    /// The type as it stands on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SessionStart { .. } => "session_start",
            Self::UserInput { .. } => "user_input",
            Self::AssistantTextStart {} => "assistant_text_start",
            Self::AssistantTextEnd { .. } => "assistant_text_end",
            Self::ReasoningStart {} => "reasoning_start",
            Self::ReasoningEnd { .. } => "reasoning_end",
            Self::Call { .. } => "call",
            Self::ToolCallStart { .. } => "tool_call_start",
            Self::ToolCallEnd { .. } => "tool_call_end",
            Self::Ask { .. } => "ask",
            Self::Answered { .. } => "answered",
            Self::Question { .. } => "question",
            Self::Replied { .. } => "replied",
            Self::Plan { .. } => "plan",
            Self::SteeringInjected { .. } => "steering_injected",
            Self::Configured { .. } => "configured",
            Self::Compacted { .. } => "compacted",
            Self::TurnLimit { .. } => "turn_limit",
            Self::LoopDetection { .. } => "loop_detection",
            Self::Progress { .. } => "progress",
            Self::Retry { .. } => "retry",
            Self::Warning { .. } => "warning",
            Self::Error { .. } => "error",
            Self::Child { .. } => "child",
            Self::Handle { .. } => "handle",
            Self::InputEnd { .. } => "input_end",
            Self::SessionEnd { .. } => "session_end",
        }
    }

    /// The text that may be too large to stand in an event.
    pub(crate) fn payload_mut(&mut self) -> Option<&mut Payload> {
        match self {
            Self::AssistantTextEnd { text, .. }
            | Self::ReasoningEnd { text, .. }
            | Self::InputEnd { text, .. }
            | Self::Compacted { messages: text, .. }
            | Self::ToolCallEnd { output: text, .. } => Some(text),
            _ => None,
        }
    }
}

/// What made it necessary to make a conversation shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactReason {
    /// It had grown to the share of the model's window at which this is done.
    Threshold,
    /// The provider said that it is too long.
    Overflow,
    /// Somebody asked for it.
    Command,
}

/// How a conversation was made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactMethod {
    /// Old output of tools was taken out; nothing else was needed.
    Outputs,
    /// The model wrote a hand-over for the older part.
    Summary,
    /// The older part was cut down without the model, which could not sum it up.
    Digest,
}

/// What was taken out of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// Messages that a hand-over stands in for.
    pub messages: u32,
    /// Outputs of tools that were taken out or cut in messages that are still there.
    pub outputs: u32,
}

/// Why work on an input, or a session, ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum EndReason {
    /// The agent finished.
    Done,
    /// The answer ends in a question: the next input is the reply. Only where the host wanted to know.
    AwaitingInput,
    /// A limit was reached.
    Limit,
    /// Somebody interrupted or aborted it.
    Interrupted,
    /// An approval was refused, and that ends the turn.
    Rejected,
    /// It failed.
    Failed {
        /// How.
        error: EventError,
    },
}

impl EndReason {
    /// Whether there is an answer, be it a question.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Done | Self::AwaitingInput)
    }
}

/// A failure, as an event tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventError {
    /// The kind: of [`junto_llm::ErrorKind`] or [`crate::AgentErrorKind`], in lower case.
    pub kind: String,
    /// What happened.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<&junto_llm::Error> for EventError {
    fn from(error: &junto_llm::Error) -> Self {
        Self {
            kind: error.kind().as_str().to_owned(),
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        }
    }
}

impl From<&AgentError> for EventError {
    fn from(error: &AgentError) -> Self {
        let kind = serde_json::to_value(error.kind()).ok().and_then(|v| v.as_str().map(str::to_owned));
        Self {
            kind: kind.unwrap_or_default(),
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        }
    }
}

/// What is new of a segment. Live only: the event that ends the segment carries the whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    /// More text of the answer.
    AssistantTextDelta {
        /// The `assistant_text_start` it belongs to.
        of: Seq,
        /// What is new.
        text: String,
    },
    /// More reasoning.
    ReasoningDelta {
        /// The `reasoning_start` it belongs to.
        of: Seq,
        /// What is new.
        text: String,
    },
    /// More output of a running tool.
    ToolCallOutputDelta {
        /// The `tool_call_start` it belongs to.
        of: Seq,
        /// What is new.
        text: String,
    },
}

impl Delta {
    /// The event it belongs to.
    pub fn of(&self) -> Seq {
        match self {
            Self::AssistantTextDelta { of, .. }
            | Self::ReasoningDelta { of, .. }
            | Self::ToolCallOutputDelta { of, .. } => *of,
        }
    }

    /// What is new.
    pub fn text(&self) -> &str {
        match self {
            Self::AssistantTextDelta { text, .. }
            | Self::ReasoningDelta { text, .. }
            | Self::ToolCallOutputDelta { text, .. } => text,
        }
    }
}

/// The JSON Schema of [`Event`]; a copy is checked in at `docs/schema/event.v1.json`.
pub fn event_schema() -> serde_json::Value {
    schemars::schema_for!(Event).to_value()
}
