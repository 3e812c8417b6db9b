//! What a model answered, and what it cost.

mod raw;

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::raw::RawBody;
use crate::{Cost, Message, Role, ToolCall};

/// A model's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The provider's id of the answer.
    pub id: String,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// The provider's name in the client.
    pub provider: String,
    /// The answer; its role is always assistant.
    pub message: Message,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// Tokens used.
    pub usage: Usage,
    /// What was translated, dropped or mended on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What the provider said about its limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// The provider's body as it came; absent when the answer was streamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawBody>,
}

impl Response {
    /// An empty answer, to be filled in.
    pub fn empty(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            id: String::new(),
            model: model.into(),
            provider: provider.into(),
            message: Message::new(Role::Assistant, Vec::new()),
            finish_reason: FinishReason::new(Finish::Other),
            usage: Usage::default(),
            warnings: Vec::new(),
            rate_limit: None,
            raw: None,
        }
    }

    /// The answer's text.
    pub fn text(&self) -> String {
        self.message.text()
    }

    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.message.tool_calls()
    }

    /// The readable reasoning.
    pub fn reasoning(&self) -> String {
        self.message.reasoning()
    }
}

/// Why a model stopped: in our words, and in the provider's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishReason {
    /// In our words.
    pub unified: Finish,
    /// In the provider's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

impl FinishReason {
    /// A reason without a provider's word for it.
    pub fn new(unified: Finish) -> Self {
        Self { unified, raw: None }
    }

    /// Whether the provider only paused, while it ran tools of its own: it goes on when it is sent the
    /// conversation with this answer at its end.
    pub fn is_pause(&self) -> bool {
        self.raw.as_deref() == Some("pause_turn")
    }

    /// A reason with the provider's word for it.
    pub fn with_raw(unified: Finish, raw: impl Into<String>) -> Self {
        Self { unified, raw: Some(raw.into()) }
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done, or met a stop sequence.
    Stop,
    /// It reached the limit of tokens.
    Length,
    /// It wants tools to be run.
    ToolCalls,
    /// It, or a filter, refused.
    ContentFilter,
    /// The provider failed half-way.
    Error,
    /// Something else; see the raw reason.
    Other,
}

/// Tokens used by a call, comparable across providers.
///
/// `input` includes cached tokens and `output` includes reasoning on every provider, so totals can
/// be added and compared. The provider's own fields are kept in `raw`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Everything the model read, cached or not.
    pub input: u64,
    /// Everything the model wrote, reasoning included.
    pub output: u64,
    /// Both.
    pub total: u64,
    /// The part of `output` that was reasoning, where the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// The part of `input` that was read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// The part of `input` that was written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// The provider's own fields; absent on a sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// The model calls that were made for the one answer, where they were several: a council's, or a
    /// program's. This is then their sum. Empty where the answer is one model's, and on a sum of answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<LeafCall>,
}

/// What one model used and cost for an answer to which several calls belong. The books have a row for
/// each of these and none for their sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeafCall {
    /// The provider's name.
    pub provider: String,
    /// The model, as the provider names it.
    pub model: String,
    /// Tokens. It is no sum of others.
    pub usage: Usage,
    /// Money, where whoever made the call was told; else unknown, and the catalog may know the price.
    pub cost: Cost,
}

impl Usage {
    /// Usage of this many tokens in and out.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, total: input.saturating_add(output), ..Self::default() }
    }

    /// This usage as the calls it is made of: its own, or one call of this provider's model.
    pub fn into_calls(mut self, provider: &str, model: &str) -> Vec<LeafCall> {
        if !self.calls.is_empty() {
            return std::mem::take(&mut self.calls);
        }
        let (provider, model) = (provider.to_owned(), model.to_owned());
        vec![LeafCall { provider, model, usage: self, cost: Cost::Unknown }]
    }
}

impl Add for &Usage {
    type Output = Usage;

    /// An optional field of the sum is absent only if it is absent on both sides.
    fn add(self, other: &Usage) -> Usage {
        let both = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Usage {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            total: self.total.saturating_add(other.total),
            reasoning: both(self.reasoning, other.reasoning),
            cache_read: both(self.cache_read, other.cache_read),
            cache_write: both(self.cache_write, other.cache_write),
            raw: None,
            calls: Vec::new(),
        }
    }
}

impl AddAssign<&Usage> for Usage {
    fn add_assign(&mut self, other: &Usage) {
        *self = &*self + other;
    }
}

/// Something that was translated, dropped or mended on the way, and that the caller may want to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A stable name for the kind of thing, for instance `schema_keyword_dropped`.
    pub code: String,
    /// What happened.
    pub message: String,
}

impl Warning {
    /// A warning.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

/// What a provider said about its limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimit {
    /// Requests allowed in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_limit: Option<u64>,
    /// Requests left in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_remaining: Option<u64>,
    /// Tokens allowed in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_limit: Option<u64>,
    /// Tokens left in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_remaining: Option<u64>,
    /// When the window starts anew, as the provider wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_adds_and_keeps_absence() {
        let a = Usage { reasoning: Some(3), ..Usage::new(10, 5) };
        let b = Usage { cache_read: Some(4), ..Usage::new(1, 1) };
        let sum = &a + &b;
        assert_eq!((sum.input, sum.output, sum.total), (11, 6, 17));
        assert_eq!((sum.reasoning, sum.cache_read, sum.cache_write), (Some(3), Some(4), None));
    }
}
