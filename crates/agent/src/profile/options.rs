//! What a profile asks of its provider beside the conversation.

use std::sync::Arc;

use junto_llm::{Effort, Wire};
use serde_json::{Map, Value, json};

use super::{Family, Profile};
use crate::tools::WebSearch;

/// Lets older models with a budget for thinking think between two calls too; others do so anyway.
const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";

/// What the filters of the Gemini API may look for.
const HARMS: [&str; 4] = [
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
];

/// Code is full of words that a filter for conversations stumbles over: `kill`, `exploit`, `inject`.
const THRESHOLD: &str = "BLOCK_ONLY_HIGH";

/// What a family's profile asks for without anybody's settings.
pub(super) fn defaults(family: Family) -> Map<String, Value> {
    let options = match family {
        Family::Anthropic => json!({"beta_headers": [INTERLEAVED_THINKING]}),
        Family::Gemini => json!({"safetySettings": HARMS.map(|category| setting(category, THRESHOLD))}),
        Family::OpenAi | Family::Compatible => return Map::new(),
    };
    Map::from_iter([(family.name().to_owned(), options)])
}

fn setting(category: &str, threshold: &str) -> Value {
    json!({"category": category, "threshold": threshold})
}

impl Profile {
    /// The profile with a field of its own for the request's body, at this wire's provider; see
    /// [`Request::provider_options`](junto_llm::Request). A field that is there already is replaced.
    pub fn with_option(mut self, wire: Wire, field: impl Into<String>, value: Value) -> Self {
        self.change(wire, |fields| drop(fields.insert(field.into(), value)));
        self
    }

    /// The profile with these Anthropic betas beside those it has (the header `anthropic-beta`):
    /// `context-1m-2025-08-07`.
    pub fn with_betas<I: IntoIterator<Item: Into<String>>>(mut self, betas: I) -> Self {
        self.change(Wire::Anthropic, |fields| {
            let mut all = match fields.shift_remove("beta_headers") {
                Some(Value::Array(betas)) => betas,
                // One text with commas is the other form in which the wire takes them.
                Some(Value::String(betas)) => betas.split(',').map(|beta| beta.trim().into()).collect(),
                _ => Vec::new(),
            };
            for beta in betas {
                let beta = Value::String(beta.into());
                if !all.contains(&beta) {
                    all.push(beta);
                }
            }
            fields.insert("beta_headers".to_owned(), Value::Array(all));
        });
        self
    }

    /// The profile with this threshold for a category of harm at Gemini:
    /// `("HARM_CATEGORY_DANGEROUS_CONTENT", "BLOCK_NONE")`.
    pub fn with_safety(mut self, category: &str, threshold: &str) -> Self {
        self.change(Wire::Gemini, |fields| {
            let mut settings = match fields.shift_remove("safetySettings") {
                Some(Value::Array(settings)) => settings,
                _ => Vec::new(),
            };
            settings.retain(|setting| setting.get("category").and_then(Value::as_str) != Some(category));
            settings.push(setting(category, threshold));
            fields.insert("safetySettings".to_owned(), Value::Array(settings));
        });
        self
    }

    /// The profile with the provider's own search of the web, which Gemini calls grounding. A family
    /// without a provider of its own has none, and stays as it is.
    pub fn with_web_search(mut self) -> Self {
        if let Some(search) = self.family().wire().and_then(WebSearch::at) {
            self.tools.register(Arc::new(search));
        }
        self
    }

    /// The profile with this effort where nobody says otherwise.
    pub fn with_effort(mut self, effort: Effort) -> Self {
        self.effort = Some(effort);
        self
    }

    /// Changes the fields for a wire.
    fn change(&mut self, wire: Wire, change: impl FnOnce(&mut Map<String, Value>)) {
        let mut fields = match self.options.shift_remove(wire.name()) {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        change(&mut fields);
        self.options.insert(wire.name().to_owned(), Value::Object(fields));
    }
}
