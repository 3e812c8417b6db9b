//! OpenAI Chat Completions: what the API refuses.
//!
//! The wire is spoken by many servers. The twin is as strict as OpenAI's own, and knows beside
//! OpenAI's fields the few that compatible servers share.

mod messages;
mod read;

#[cfg(test)]
mod tests;

use junto_llm::Wire;
use serde_json::Value;

use super::openai::{self, known, missing, not_among, string, wrong_type};
use super::{Cx, Refusal, Verdict, json, model};

pub(super) use read::read;

const FIELDS: &[&str] = &[
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
    // shared by compatible servers
    "chat_template_kwargs",
    "min_p",
    "reasoning",
    "repetition_penalty",
    "thinking",
    "top_k",
];

const FUNCTION: &[&str] = &["name", "description", "parameters", "strict"];

/// Refuses what the Chat Completions API refuses.
pub(super) fn check(body: &Value, _cx: Cx<'_>) -> Verdict {
    if !body.is_object() {
        return Err(wrong_type("body", "an object", body));
    }
    known("", body, FIELDS)?;
    let name = string("", body, "model")?;
    if name.is_empty() {
        return Err(missing("model"));
    }
    model::exists(Wire::Chat, name)?;
    openai::settings(body)?;
    limits(body, name)?;
    openai::verbosity(body, "verbosity")?;
    openai::one_of(body, "reasoning_effort", "reasoning_effort", openai::EFFORTS)?;
    if let Some(options) = json::field(body, "stream_options") {
        known("stream_options", options, &["include_usage", "include_obfuscation"])?;
    }
    format(body)?;
    tools(body)?;
    choice(body)?;
    messages::check(body)
}

fn limits(body: &Value, model: &str) -> Verdict {
    openai::at_least(body, "max_tokens", 1)?;
    openai::at_least(body, "max_completion_tokens", 1)?;
    openai::at_least(body, "n", 1)?;
    let old = json::field(body, "max_tokens").is_some();
    if old && json::field(body, "max_completion_tokens").is_some() {
        return Err(Refusal::openai(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens",
            "invalid_parameter_combination",
        ));
    }
    if json::field(body, "n").and_then(Value::as_i64).is_some_and(|n| n > 1) {
        let message = "Invalid 'n': integer above maximum value. Expected a value <= 1.";
        return Err(Refusal::openai(message, "n", "integer_above_max_value"));
    }
    if !openai::is_reasoning(model, json::text(body, "reasoning_effort")) {
        return Ok(());
    }
    if old {
        return Err(Refusal::openai(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
             'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        ));
    }
    for name in ["temperature", "top_p"] {
        let value = json::field(body, name).and_then(Value::as_f64);
        if value.is_some_and(|x| (x - 1.0).abs() > f64::EPSILON) {
            return Err(Refusal::openai(
                format!(
                    "Unsupported value: '{name}' does not support that value with this model. Only the default \
                     (1) value is supported."
                ),
                name,
                "unsupported_value",
            ));
        }
    }
    Ok(())
}

fn format(body: &Value) -> Verdict {
    let Some(format) = json::field(body, "response_format") else { return Ok(()) };
    if !format.is_object() {
        return Err(wrong_type("response_format", "an object", format));
    }
    match string("response_format", format, "type")? {
        "text" | "json_object" => known("response_format", format, &["type"]),
        "json_schema" => {
            known("response_format", format, &["type", "json_schema"])?;
            let at = "response_format.json_schema";
            match json::field(format, "json_schema") {
                None => Err(missing(at)),
                Some(inner) if !inner.is_object() => Err(wrong_type(at, "an object", inner)),
                Some(inner) => openai::json_schema(at, inner, &["name", "schema", "description", "strict"]),
            }
        }
        other => Err(not_among("response_format.type", other, &["text", "json_object", "json_schema"])),
    }
}

fn tools(body: &Value) -> Verdict {
    let tools = match json::field(body, "tools") {
        None => return Ok(()),
        Some(Value::Array(tools)) => tools,
        Some(other) => return Err(wrong_type("tools", "an array of objects", other)),
    };
    if tools.is_empty() {
        let message = "Invalid 'tools': empty array. Expected an array with minimum length 1.";
        return Err(Refusal::openai(message, "tools", "empty_array"));
    }
    for (i, tool) in tools.iter().enumerate() {
        let at = format!("tools[{i}]");
        if !tool.is_object() {
            return Err(wrong_type(&at, "an object", tool));
        }
        let kind = string(&at, tool, "type")?;
        let inner = format!("{at}.{kind}");
        match (kind, tool.get(kind)) {
            ("function" | "custom", None) => return Err(missing(&inner)),
            ("function", Some(function)) => {
                known(&at, tool, &["type", "function"])?;
                openai::function(&inner, function, FUNCTION)?;
            }
            ("custom", Some(custom)) => {
                known(&at, tool, &["type", "custom"])?;
                known(&inner, custom, &["name", "description", "format"])?;
                openai::name(&format!("{inner}.name"), string(&inner, custom, "name")?)?;
            }
            (other, _) => return Err(not_among(&format!("{at}.type"), other, &["function", "custom"])),
        }
    }
    Ok(())
}

fn choice(body: &Value) -> Verdict {
    let Some(choice) = json::field(body, "tool_choice") else { return Ok(()) };
    let tools = json::list(body, "tools");
    if tools.is_empty() && choice.as_str() != Some("none") {
        return Err(Refusal::openai(
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
            "tool_choice",
            "",
        ));
    }
    if let Some(word) = choice.as_str() {
        let words = ["none", "auto", "required"];
        return if words.contains(&word) { Ok(()) } else { Err(not_among("tool_choice", word, &words)) };
    }
    if !choice.is_object() {
        return Err(wrong_type("tool_choice", "a string or an object", choice));
    }
    match string("tool_choice", choice, "type")? {
        kind @ ("function" | "custom") => {
            let at = format!("tool_choice.{kind}");
            let Some(named) = json::field(choice, kind) else { return Err(missing(&at)) };
            let name = string(&at, named, "name")?;
            let declared =
                tools.iter().any(|t| t.get(kind).and_then(|inner| json::text(inner, "name")) == Some(name));
            if declared {
                return Ok(());
            }
            let message = format!("Tool choice '{name}' not found in 'tools' parameter.");
            Err(Refusal::openai(message, "tool_choice", ""))
        }
        "allowed_tools" => Ok(()),
        other => Err(not_among("tool_choice.type", other, &["function", "custom", "allowed_tools"])),
    }
}
