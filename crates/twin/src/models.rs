//! The list of models, as each provider prints it. A twin answers for any model; these are the ones
//! it names.

use serde_json::{Value, json};

use junto_llm::Wire;

const ANTHROPIC: [(&str, &str); 2] =
    [("claude-opus-4-8", "Claude Opus 4.8"), ("claude-sonnet-4-5", "Claude Sonnet 4.5")];
const OPENAI: [(&str, &str); 3] = [("gpt-5.5", "GPT-5.5"), ("gpt-5.2", "GPT-5.2"), ("gpt-4.1", "GPT-4.1")];
const GEMINI: [(&str, &str); 2] =
    [("gemini-3.5-flash", "Gemini 3.5 Flash"), ("gemini-2.5-pro", "Gemini 2.5 Pro")];

fn known(wire: Wire) -> &'static [(&'static str, &'static str)] {
    match wire {
        Wire::Anthropic => &ANTHROPIC,
        Wire::Responses | Wire::Chat => &OPENAI,
        Wire::Gemini => &GEMINI,
    }
}

/// The list of models.
pub(crate) fn list(wire: Wire) -> Value {
    let known = known(wire);
    let models: Vec<Value> = known.iter().map(|(id, name)| entry(wire, id, name)).collect();
    match wire {
        Wire::Anthropic => json!({
            "data": models,
            "has_more": false,
            "first_id": known.first().map(|(id, _)| id),
            "last_id": known.last().map(|(id, _)| id),
        }),
        Wire::Responses | Wire::Chat => json!({"object": "list", "data": models}),
        Wire::Gemini => json!({"models": models}),
    }
}

/// One model, if it is in the list.
pub(crate) fn one(wire: Wire, id: &str) -> Option<Value> {
    known(wire).iter().find(|(known, _)| *known == id).map(|(id, name)| entry(wire, id, name))
}

fn entry(wire: Wire, id: &str, name: &str) -> Value {
    match wire {
        Wire::Anthropic => {
            json!({"type": "model", "id": id, "display_name": name, "created_at": "2026-01-01T00:00:00Z"})
        }
        Wire::Responses | Wire::Chat => {
            json!({"id": id, "object": "model", "created": 1_767_225_600, "owned_by": "twin"})
        }
        Wire::Gemini => json!({
            "name": format!("models/{id}"),
            "version": "001",
            "displayName": name,
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_model_can_be_asked_for() {
        for wire in Wire::ALL {
            let list = list(wire);
            let listed = list[if wire == Wire::Gemini { "models" } else { "data" }].as_array().unwrap();
            assert_eq!(listed.len(), known(wire).len());
            for ((id, _), entry) in known(wire).iter().zip(listed) {
                assert_eq!(one(wire, id).as_ref(), Some(entry));
            }
            assert_eq!(one(wire, "nobody"), None);
        }
    }
}
