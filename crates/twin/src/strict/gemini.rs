//! Gemini generateContent: what the API refuses.

mod read;
mod shape;
mod tools;
mod turns;

#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod tests;

use junto_llm::Wire;
use serde_json::Value;

use super::{Cx, Refusal, Verdict, json, model};
use shape::Unknown;

pub(super) use read::read;
pub(super) use turns::call_text;

const LEVELS: &[&str] = &["minimal", "low", "medium", "high", "thinking_level_unspecified"];

/// Refuses what the Gemini API refuses.
pub(super) fn check(body: &Value, cx: Cx<'_>) -> Verdict {
    model::exists(Wire::Gemini, cx.model)?;
    let message = if cx.counting { "CountTokensRequest" } else { "GenerateContentRequest" };
    let body = shape::normalise(body, message, Unknown::Refused)?;
    let body = shape::request(&body);
    if json::field(body, "cachedContent").is_some() {
        return Err(Refusal::new(Wire::Gemini, 403, "CachedContent not found (or permission denied)"));
    }
    config(body, cx.model)?;
    tools::check(body)?;
    turns::check(body, &cx)
}

/// Gemini's 400.
fn bad(message: impl AsRef<str>) -> Refusal {
    Refusal::gemini(message)
}

/// Gemini's 400 about a field of the request.
fn bad_field(field: &str, what: &str) -> Refusal {
    bad(format!("* GenerateContentRequest.{field}: {what}\n"))
}

/// A value that does not fit its type.
fn bad_value(field: &str, kind: &str, value: &Value) -> Refusal {
    bad(format!("Invalid value at '{field}' ({kind}), {value}"))
}

fn config(body: &Value, model: &str) -> Verdict {
    let Some(config) = json::field(body, "generationConfig") else { return Ok(()) };
    for (name, field, most) in [("temperature", "temperature", 2.0), ("topP", "top_p", 1.0)] {
        let Some(value) = json::field(config, name) else { continue };
        let field = format!("generation_config.{field}");
        match value.as_f64() {
            None => return Err(bad_value(&field, "TYPE_FLOAT", value)),
            Some(x) if !(0.0..=most).contains(&x) => {
                return Err(bad_field(&field, &format!("must be in the range [0.0, {most:.1}].")));
            }
            Some(_) => {}
        }
    }
    for (name, field, least) in
        [("maxOutputTokens", "max_output_tokens", 1), ("candidateCount", "candidate_count", 1)]
    {
        let Some(value) = json::field(config, name) else { continue };
        let field = format!("generation_config.{field}");
        match value.as_i64() {
            None => return Err(bad_value(&field, "TYPE_INT32", value)),
            Some(n) if n < least => return Err(bad_field(&field, &format!("must be at least {least}."))),
            Some(_) => {}
        }
    }
    if json::field(config, "candidateCount").and_then(Value::as_i64).is_some_and(|n| n > 1) {
        return Err(bad("Multiple candidates is not enabled for this model"));
    }
    if json::list(config, "stopSequences").len() > 5 {
        return Err(bad_field("generation_config.stop_sequences", "at most 5 stop sequences are allowed."));
    }
    thinking(config, model)?;
    tools::answer_schema(body, config, model)
}

fn thinking(config: &Value, model: &str) -> Verdict {
    let Some(thinking) = json::field(config, "thinkingConfig") else { return Ok(()) };
    let (level, budget) = (json::field(thinking, "thinkingLevel"), json::field(thinking, "thinkingBudget"));
    if level.is_some() && budget.is_some() {
        return Err(bad("You can only set only one of thinking budget and thinking level."));
    }
    if let Some(level) = level {
        let known = level.as_str().is_some_and(|name| LEVELS.contains(&name.to_ascii_lowercase().as_str()));
        if !known {
            let kind = "type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel";
            return Err(bad_value("generation_config.thinking_config.thinking_level", kind, level));
        }
        if model.starts_with("gemini-2") || model.starts_with("gemini-1") {
            return Err(bad("Thinking level is not supported for this model."));
        }
    }
    if let Some(budget) = budget {
        match budget.as_i64() {
            None => {
                let field = "generation_config.thinking_config.thinking_budget";
                return Err(bad_value(field, "TYPE_INT32", budget));
            }
            Some(n) if n < -1 => return Err(bad(format!("The thinking budget {n} is invalid."))),
            Some(_) => {}
        }
    }
    Ok(())
}
