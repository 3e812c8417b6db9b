//! What is asked of a model.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Message, Messages, ToolChoice, ToolSpec};

/// A request to a model. Only `messages` is needed; everything else has a default of the provider's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The provider's own id of the model. Absent: the catalog's latest for the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The name of the provider in the client. Absent: the client's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The conversation.
    pub messages: Messages,
    /// The tools the model may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Whether and which tool must be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether several calls may come in one turn. Absent: the provider's default (they may).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The most tokens the answer may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Texts at which the model stops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// How hard the model shall think. Absent: the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
    /// What becomes of reasoning that another provider or model wrote.
    pub foreign_thinking: ForeignThinking,
    /// Labels for the provider's own records.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Fields for one wire, by the wire's name (`anthropic`, `openai`, `gemini`, `chat`), merged
    /// into the body as they are. Other wires ignore them.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub provider_options: Map<String, Value>,
}

impl Request {
    /// A request with one user message.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::of([Message::user(text)])
    }

    /// A request with these messages.
    pub fn of(messages: impl Into<Vec<Message>>) -> Self {
        let messages: Vec<Message> = messages.into();
        Self { messages: messages.into(), ..Self::default() }
    }

    /// Asks this model.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Asks this provider.
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// Declares these tools.
    pub fn tools(mut self, tools: impl Into<Vec<ToolSpec>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Limits the answer's length.
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }
}

/// The form of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Plain text.
    Text,
    /// Some JSON object.
    JsonObject,
    /// JSON that fits a schema.
    JsonSchema {
        /// A short name for the schema.
        name: String,
        /// A JSON Schema with an object root.
        schema: Value,
        /// Whether the provider shall enforce it.
        strict: bool,
    },
}

/// How hard a model shall think.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Effort {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// A level that only some providers know (`none`, `minimal`, `xhigh`, `max`).
    Other(String),
}

impl Effort {
    /// The level's name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for Effort {
    fn from(name: String) -> Self {
        match name.as_str() {
            "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            _ => Self::Other(name),
        }
    }
}

impl From<Effort> for String {
    fn from(effort: Effort) -> Self {
        effort.as_str().to_owned()
    }
}

/// What becomes of reasoning that the target did not write itself, and whose signature it would
/// refuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForeignThinking {
    /// It is left out.
    #[default]
    Drop,
    /// It is sent as plain text of the assistant.
    AsText,
}
