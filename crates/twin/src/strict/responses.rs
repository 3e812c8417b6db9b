//! OpenAI Responses: what the API refuses.

mod items;
mod order;
mod read;
mod seal;
mod tools;

#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod tests;

use junto_llm::Wire;
use serde_json::Value;

use super::openai::{self, known, missing, not_among, wrong_type};
use super::{Cx, Refusal, Verdict, json, model};

pub(super) use read::read;
pub(super) use seal::seal;

/// The fields of a request, and `client_metadata`, which today's coding agent sends.
const FIELDS: &[&str] = &[
    "background",
    "client_metadata",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

const INCLUDES: &[&str] = &[
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
];

const SUMMARIES: &[&str] = &["auto", "concise", "detailed"];
const MIN_OUTPUT: i64 = 16;

/// Refuses what the Responses API refuses.
pub(super) fn check(body: &Value, mut cx: Cx<'_>) -> Verdict {
    if !body.is_object() {
        return Err(wrong_type("body", "an object", body));
    }
    known("", body, FIELDS)?;
    let name = openai::string("", body, "model")?;
    if name.is_empty() {
        return Err(missing("model"));
    }
    model::exists(Wire::Responses, name)?;
    openai::settings(body)?;
    openai::at_least(body, "max_output_tokens", MIN_OUTPUT)?;
    openai::one_of(body, "truncation", "truncation", &["auto", "disabled"])?;
    openai::optional_string("body", body, "instructions")?;
    include(body, name)?;
    reasoning(body, name)?;
    text(body)?;
    tools::check(body)?;
    previous(body)?;
    let items = items::check(body)?;
    order::check(items, body, &mut cx)
}

fn include(body: &Value, model: &str) -> Verdict {
    for (i, value) in json::list(body, "include").iter().enumerate() {
        let param = format!("include[{i}]");
        let Some(name) = value.as_str() else { return Err(wrong_type(&param, "a string", value)) };
        if !INCLUDES.contains(&name) {
            return Err(not_among(&param, name, INCLUDES));
        }
        if name == "reasoning.encrypted_content" && model::reasons(model) == Some(false) {
            return Err(Refusal::openai(
                "Encrypted content is not supported with this model.",
                "include",
                "",
            ));
        }
    }
    Ok(())
}

fn reasoning(body: &Value, model: &str) -> Verdict {
    let config = json::field(body, "reasoning");
    if let Some(config) = config {
        known("reasoning", config, &["context", "effort", "generate_summary", "mode", "summary"])?;
        openai::one_of(config, "effort", "reasoning.effort", openai::EFFORTS)?;
        openai::one_of(config, "summary", "reasoning.summary", SUMMARIES)?;
        if json::field(config, "effort").is_some() && model::reasons(model) == Some(false) {
            return Err(openai::unsupported("reasoning.effort"));
        }
    }
    let effort = config.and_then(|config| json::text(config, "effort"));
    if openai::is_reasoning(model, effort) {
        for name in ["temperature", "top_p"] {
            if json::field(body, name).is_some() {
                return Err(openai::unsupported(name));
            }
        }
    }
    Ok(())
}

fn text(body: &Value) -> Verdict {
    let Some(text) = json::field(body, "text") else { return Ok(()) };
    known("text", text, &["format", "verbosity"])?;
    openai::verbosity(text, "text.verbosity")?;
    let Some(format) = json::field(text, "format") else { return Ok(()) };
    match openai::string("text.format", format, "type")? {
        "text" => known("text.format", format, &["type"]),
        "json_object" => {
            known("text.format", format, &["type"])?;
            let asked = [json::field(body, "input"), json::field(body, "instructions")];
            if asked.iter().flatten().any(|v| v.to_string().to_ascii_lowercase().contains("json")) {
                return Ok(());
            }
            Err(Refusal::openai(
                "Response input messages must contain the word 'json' in some form to use 'text.format' of \
                 type 'json_object'.",
                "input",
                "",
            ))
        }
        "json_schema" => {
            openai::json_schema("text.format", format, &["type", "name", "schema", "description", "strict"])
        }
        other => Err(not_among("text.format.type", other, &["text", "json_object", "json_schema"])),
    }
}

/// A twin keeps no conversations, so there is nothing to go on from.
fn previous(body: &Value) -> Verdict {
    if let Some(id) = json::text(body, "previous_response_id") {
        return Err(Refusal::openai(
            format!("Previous response with id '{id}' not found."),
            "previous_response_id",
            "previous_response_not_found",
        ));
    }
    if let Some(conversation) = json::field(body, "conversation") {
        let id = conversation.as_str().or_else(|| json::text(conversation, "id")).unwrap_or_default();
        let refusal = Refusal::openai(format!("Conversation with id '{id}' not found."), "conversation", "");
        return Err(refusal.with_status(404));
    }
    Ok(())
}
