//! Everything an agent does, as events.

use jiff::Timestamp;
use junto_llm::{CallId, Cost, SessionId, ToolCall, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Abilities, AgentError, AgentId, ApprovalRequest, AskId, CallEnd, CallPurpose, Change, CompactMethod,
    CompactReason, CutOff, Decision, Dropped, Input, Payload, Plan, Prefix, Question, Reply, ResumeHandle,
    Seen, Seq, Setup, Via,
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
        /// What it was told and how it was set up, where that brings it back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setup: Option<Setup>,
    },
    /// The session was brought back from its journal, and goes on. What was cut off is closed by the
    /// events that follow; questions and requests for approval that were open are withdrawn by this one.
    SessionResumed {
        /// What was under way when the session stopped.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cut_off: Vec<CutOff>,
    },
    /// An input was accepted.
    UserInput {
        /// What was said.
        input: Input,
        /// The pictures, as they were read when it was said: a list of media, as JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pictures: Option<Payload>,
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
        /// The message that entered the conversation, verbatim and as JSON; absent if none did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Payload>,
        /// How it ended.
        #[serde(default, skip_serializing_if = "CallEnd::is_whole")]
        end: CallEnd,
        /// What it was for.
        #[serde(default, skip_serializing_if = "CallPurpose::is_input")]
        purpose: CallPurpose,
        /// What its request began with, where its maker knows the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<Prefix>,
    },
    /// A tool was permitted and is about to run.
    ToolCallStart {
        /// The call, as it will run.
        #[schemars(with = "serde_json::Value")]
        call: ToolCall,
        /// Who called it.
        #[serde(default, skip_serializing_if = "Via::is_loop")]
        via: Via,
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
        /// The call itself, if it never started: otherwise its start has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<serde_json::Value>")]
        call: Option<ToolCall>,
        /// The whole output.
        output: Payload,
        /// Whether it failed.
        is_error: bool,
        /// What the model saw, where that is more or less than the whole output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Seen>,
        /// Who called it.
        #[serde(default, skip_serializing_if = "Via::is_loop")]
        via: Via,
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
        /// The pictures, as in `user_input`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pictures: Option<Payload>,
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
        /// Whether the input ends here.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stops: bool,
    },
    /// A line of narration that is not part of the answer.
    Progress {
        /// The line.
        text: String,
    },
    /// Several were asked for one model call, whose `call` event follows: who they were, what became of each, whose
    /// answer was taken and why.
    Deliberation {
        /// As the council tells it.
        minutes: serde_json::Value,
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
    /// A process that worked on the input has ended, or has said its last word. Only agents that run one
    /// tell it, before the input's end.
    RunEnd {
        /// How many tokens its last model call had, prompt and answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<u64>,
        /// What the run used; absent where that cannot be known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<serde_json::Value>")]
        billing: Option<Usage>,
        /// Its exit code, or 128 and the signal that ended it; absent if it was not waited for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
        /// What kept it from an answer, as a stable word; absent if nothing did, or nobody knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<String>,
        /// The session of its own that it can be resumed by. (`session` is the event's.)
        #[serde(default, rename = "resumable", skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// Work on an input ended. Exactly one for each `user_input`.
    InputEnd {
        /// Why.
        reason: EndReason,
        /// The answer's text; empty where there is none.
        text: Payload,
    },
    /// The conversation went back to what it was when an input had ended. What came after that stays in
    /// the log, and in the sums of what was used, and is no longer part of the conversation.
    Rewound {
        /// The input after which it goes on; 0 is before the first.
        to_turn: u32,
    },
    /// The session is over. The last event, unless the session is brought back.
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
            Self::SessionResumed { .. } => "session_resumed",
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
            Self::Deliberation { .. } => "deliberation",
            Self::Retry { .. } => "retry",
            Self::Warning { .. } => "warning",
            Self::Error { .. } => "error",
            Self::Child { .. } => "child",
            Self::Handle { .. } => "handle",
            Self::RunEnd { .. } => "run_end",
            Self::InputEnd { .. } => "input_end",
            Self::Rewound { .. } => "rewound",
            Self::SessionEnd { .. } => "session_end",
        }
    }

    /// The texts that may be too large to stand in an event.
    pub fn payloads_mut(&mut self) -> Vec<&mut Payload> {
        match self {
            Self::AssistantTextEnd { text, .. }
            | Self::ReasoningEnd { text, .. }
            | Self::InputEnd { text, .. }
            | Self::Compacted { messages: text, .. } => vec![text],
            Self::ToolCallEnd { output, seen, .. } => {
                let seen = seen.iter_mut().flat_map(|seen| [seen.text.as_mut(), seen.images.as_mut()]);
                std::iter::once(output).chain(seen.flatten()).collect()
            }
            Self::SessionStart { setup, .. } => setup.iter_mut().map(|setup| &mut setup.system).collect(),
            Self::UserInput { pictures: payload, .. }
            | Self::SteeringInjected { pictures: payload, .. }
            | Self::Call { answer: payload, .. } => payload.iter_mut().collect(),
            _ => Vec::new(),
        }
    }
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

/// The JSON Schema of [`Event`]; a copy is checked in at `docs/schema/event.v1.json`.
pub fn event_schema() -> serde_json::Value {
    schemars::schema_for!(Event).to_value()
}
