//! What a client gets to see of the model's reasoning: it depends on the wire, the model and the
//! request, as with the real provider.

use serde_json::Value;

use junto_llm::Wire;

use crate::play::{Step, Think};
use crate::strict::Seen;
use crate::template::render;
use crate::tokens;

/// What the model thinks when the play does not say.
const NEUTRAL: &str = "Considering what was asked.";

/// The reasoning before an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reasoning {
    /// What the client sees: nothing at all, or an item whose text may be empty.
    pub(crate) shown: Option<String>,
    /// What it costs, seen or not.
    pub(crate) tokens: u64,
}

/// The reasoning for this request, if the model reasons at all.
pub(crate) fn reasoning(step: &Step, seen: &Seen) -> Option<Reasoning> {
    let text = match &step.think {
        Think::Off => return None,
        Think::On => NEUTRAL.to_owned(),
        Think::Text(text) => render(text, seen),
    };
    if !is_on(seen) {
        return None;
    }
    let tokens = tokens::count(&text);
    let shown = match seen.wire {
        Wire::Chat => Some(text),
        // The item or block is there in any case; it is the text that must be asked for.
        Wire::Anthropic | Wire::Responses => Some(if seen.thinking { text } else { String::new() }),
        Wire::Gemini => seen.thinking.then_some(text),
    };
    Some(Reasoning { shown, tokens })
}

fn is_on(seen: &Seen) -> bool {
    let body = &seen.body;
    match seen.wire {
        Wire::Anthropic => {
            seen.thinking || matches!(body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"))
        }
        Wire::Responses => {
            !is_one_of(&seen.model, &["gpt-3", "gpt-4", "chatgpt-4"]) && body["reasoning"]["effort"] != "none"
        }
        Wire::Gemini => {
            let budget = ["generationConfig", "generation_config"]
                .iter()
                .flat_map(|c| ["thinkingConfig", "thinking_config"].map(|t| &body[*c][t]))
                .flat_map(|config| ["thinkingBudget", "thinking_budget"].map(|b| &config[b]))
                .find_map(Value::as_i64);
            !is_one_of(&seen.model, &["gemini-1", "gemini-2.0", "gemma"]) && budget != Some(0)
        }
        Wire::Chat => true,
    }
}

fn is_one_of(model: &str, families: &[&str]) -> bool {
    let model = model.strip_prefix("models/").unwrap_or(model);
    families.iter().any(|family| model.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::seen;
    use serde_json::json;

    /// What a request gets to see.
    #[derive(Debug, PartialEq)]
    enum Sees {
        /// Nothing, and nothing is charged.
        None,
        /// Nothing, but it is charged.
        Charge,
        /// An item with this text.
        Text(&'static str),
    }

    fn check(wire: Wire, model: &str, thinking: bool, body: Value, expected: Sees) {
        let request = Seen { wire, model: model.into(), thinking, body, ..seen("x") };
        let step = Step { think: Think::Text("why {{last_user}}".into()), ..Step::default() };
        let tokens = tokens::count("why x");
        let expected = match expected {
            Sees::None => None,
            Sees::Charge => Some(Reasoning { shown: None, tokens }),
            Sees::Text(text) => Some(Reasoning { shown: Some(text.to_owned()), tokens }),
        };
        assert_eq!(reasoning(&step, &request), expected, "{wire:?} {model} {thinking}");
        assert_eq!(reasoning(&step.without_thinking(), &request), None);
    }

    #[test]
    fn every_wire_shows_what_the_provider_would() {
        let adaptive = json!({"thinking": {"type": "adaptive"}});
        check(Wire::Anthropic, "claude-opus-4-8", false, json!({}), Sees::None);
        check(Wire::Anthropic, "claude-opus-4-8", true, adaptive.clone(), Sees::Text("why x"));
        check(Wire::Anthropic, "claude-opus-4-8", false, adaptive, Sees::Text(""));
        check(Wire::Responses, "gpt-4.1", true, json!({}), Sees::None);
        check(Wire::Responses, "gpt-5.5", true, json!({}), Sees::Text("why x"));
        check(Wire::Responses, "gpt-5.5", false, json!({}), Sees::Text(""));
        check(Wire::Responses, "gpt-5.5", false, json!({"reasoning": {"effort": "none"}}), Sees::None);
        let budget = json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}});
        check(Wire::Gemini, "gemini-2.0-flash", true, json!({}), Sees::None);
        check(Wire::Gemini, "gemini-2.5-flash", false, budget, Sees::None);
        check(Wire::Gemini, "gemini-3.5-flash", false, json!({}), Sees::Charge);
        check(Wire::Gemini, "gemini-3.5-flash", true, json!({}), Sees::Text("why x"));
        check(Wire::Chat, "any", false, json!({}), Sees::Text("why x"));
    }
}
