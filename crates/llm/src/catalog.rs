//! What is known of models: windows, abilities, prices. A data file, not code.

use serde::{Deserialize, Serialize};

use crate::{Cost, Usage, Usd};

/// What is known of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelInfo {
    /// The provider's own id.
    pub id: String,
    /// The provider.
    pub provider: String,
    /// A name for people.
    pub name: String,
    /// Tokens in and out together.
    pub context_window: u64,
    /// The most tokens an answer may have.
    pub max_output: u64,
    /// The month up to which it knows the world, `2026-01`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge_cutoff: Option<String>,
    /// The day it came out, `2026-02-05`; the latest wins.
    pub released: String,
    /// Whether it calls tools.
    #[serde(default)]
    pub tools: bool,
    /// Whether it sees pictures.
    #[serde(default)]
    pub vision: bool,
    /// How it reasons.
    #[serde(default)]
    pub reasoning: Reasoning,
    /// Whether it takes a JSON schema for its answer.
    #[serde(default)]
    pub structured_output: bool,
    /// Dollars per million tokens; absent where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Other names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// How a model reasons, which decides how an effort is said on its wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    /// It does not.
    #[default]
    None,
    /// With named levels of effort (OpenAI; Anthropic's adaptive thinking; Gemini's `thinkingLevel`).
    Effort,
    /// With a budget of tokens (older Anthropic and Gemini models).
    Budget,
}

/// Dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input that was not cached.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from a cache; absent: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Input written to a cache; absent: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Price {
    /// What this usage costs.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn cost(&self, usage: &Usage) -> Cost {
        let read = usage.cache_read.unwrap_or(0);
        let write = usage.cache_write.unwrap_or(0);
        let fresh = usage.input.saturating_sub(read).saturating_sub(write);
        let dollars = fresh as f64 * self.input
            + read as f64 * self.cache_read.unwrap_or(self.input)
            + write as f64 * self.cache_write.unwrap_or(self.input)
            + usage.output as f64 * self.output;
        Cost::Estimated(Usd::from_dollars(dollars / 1e6))
    }
}
