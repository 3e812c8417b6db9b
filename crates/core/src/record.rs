//! What events hold so that a session can be brought back: with these a reader has the conversation byte
//! for byte, and not only what a person wants to see of it.

use junto_llm::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentId, AskId, EventError, Limits, Payload, Seq};

/// How a session was set up: what it needs to go on and its host may not be able to make again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// The whole system prompt; empty if there is none. It names dates and files of the day it was made.
    pub system: Payload,
    /// The provider that was chosen among several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// How hard the model was to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The profile, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The dialect in which the profile's tools were declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// When it had to stop.
    #[serde(default)]
    pub limits: Limits,
    /// The session of whose events this one's begin with copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub forked_from: Option<SessionId>,
}

/// What a model saw of a tool's output, where that is not the whole of it and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// The text it saw; absent: the whole output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Payload>,
    /// The pictures it saw: a list of media, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<Payload>,
}

/// How a model call ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum CallEnd {
    /// The answer is whole.
    #[default]
    Whole,
    /// The answer is whole, and the provider wants to be asked again before it says more.
    Paused,
    /// Somebody stopped it.
    Interrupted,
    /// It failed for good.
    Failed {
        /// How.
        error: EventError,
    },
}

impl CallEnd {
    /// Whether the answer is whole, and the model's last word on what it was asked.
    pub fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

/// What a model call was for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallPurpose {
    /// For the input under way.
    #[default]
    Input,
    /// To make the conversation shorter. Nothing of its answer enters the conversation before a `compacted`
    /// event says so.
    Compaction,
}

impl CallPurpose {
    /// Whether it was for the input under way.
    pub fn is_input(&self) -> bool {
        *self == Self::Input
    }
}

/// Something that was under way when a session stopped without an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum CutOff {
    /// An input: what followed its `user_input` is not complete.
    Input {
        /// Which input of the agent.
        turn: u32,
    },
    /// A text or a reasoning of the model. Deltas are not kept, so it is lost; the model is asked again.
    Text {
        /// Its start.
        start: Seq,
    },
    /// A tool call. It may have done what it was to do, or a part of it.
    ToolCall {
        /// Its start.
        start: Seq,
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
    },
    /// A question, for approval or of the model, that was not answered. It is withdrawn; if it still needs
    /// an answer it is asked again under a new name.
    Question {
        /// Which.
        ask: AskId,
    },
    /// A child. It is over.
    Child {
        /// Which.
        child: AgentId,
        /// What its parent called it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        name: String,
    },
}
