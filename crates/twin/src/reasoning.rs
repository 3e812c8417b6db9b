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

    /// What is shown to a request on this wire, and whether it is charged.
    fn check(wire: Wire, model: &str, thinking: bool, body: Value, expected: Option<Option<&str>>) {
        let request = Seen { wire, model: model.into(), thinking, body, ..seen("x") };
        let step = Step { think: Think::Text("why {{last_user}}".into()), ..Step::default() };
        let got = reasoning(&step, &request);
        let shown = got.as_ref().map(|r| r.shown.as_deref());
        assert_eq!(shown, expected, "{wire:?} {model} {thinking}");
        assert!(got.is_none_or(|r| r.tokens > 0));
        assert_eq!(reasoning(&step.without_thinking(), &request), None);
    }

    #[test]
    fn every_wire_shows_what_the_provider_would() {
        let adaptive = json!({"thinking": {"type": "adaptive"}});
        check(Wire::Anthropic, "claude-opus-4-8", false, json!({}), None);
        check(Wire::Anthropic, "claude-opus-4-8", true, adaptive.clone(), Some(Some("why x")));
        check(Wire::Anthropic, "claude-opus-4-8", false, adaptive, Some(Some("")));
        check(Wire::Responses, "gpt-4.1", true, json!({}), None);
        check(Wire::Responses, "gpt-5.5", true, json!({}), Some(Some("why x")));
        check(Wire::Responses, "gpt-5.5", false, json!({}), Some(Some("")));
        check(Wire::Responses, "gpt-5.5", false, json!({"reasoning": {"effort": "none"}}), None);
        let budget = json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}});
        check(Wire::Gemini, "gemini-2.0-flash", true, json!({}), None);
        check(Wire::Gemini, "gemini-2.5-flash", false, budget, None);
        check(Wire::Gemini, "gemini-3.5-flash", false, json!({}), Some(None));
        check(Wire::Gemini, "gemini-3.5-flash", true, json!({}), Some(Some("why x")));
        check(Wire::Chat, "any", false, json!({}), Some(Some("why x")));
    }
}
