//! What a Chat Completions request says, as far as it can be read.

use junto_llm::ToolChoice;
use serde_json::{Value, json};

use super::super::talk::Saying;
use super::super::{Reading, SeenTool, json, openai};
use crate::cache::Unit;

/// Reads a request. Never fails.
///
/// Servers that show reasoning on this wire do so unless told not to think.
pub(in super::super) fn read(body: &Value) -> Reading {
    let limit = json::field(body, "max_completion_tokens").or_else(|| json::field(body, "max_tokens"));
    Reading {
        tools: json::list(body, "tools").iter().filter_map(seen_tool).collect(),
        talk: json::list(body, "messages").iter().flat_map(sayings).collect(),
        thinking: json::text(body, "reasoning_effort") != Some("none"),
        schema: schema(body),
        max_tokens: limit.and_then(Value::as_u64),
        tool_choice: choice(body),
        units: units(body),
    }
}

fn seen_tool(tool: &Value) -> Option<SeenTool> {
    let kind = json::text(tool, "type")?;
    let inner = tool.get(kind)?;
    Some(SeenTool {
        name: json::text(inner, "name")?.to_owned(),
        custom: kind == "custom",
        schema: json::field(inner, "parameters").cloned(),
    })
}

fn schema(body: &Value) -> Option<Value> {
    let format = json::field(body, "response_format")?;
    match json::text(format, "type")? {
        "json_schema" => json::field(json::field(format, "json_schema")?, "schema").cloned(),
        "json_object" => Some(json!({"type": "object"})),
        _ => None,
    }
}

fn choice(body: &Value) -> Option<ToolChoice> {
    match body.get("tool_choice")? {
        Value::String(word) => openai::choice(word),
        choice => {
            let named = choice.get(json::text(choice, "type")?)?;
            Some(ToolChoice::Named(json::text(named, "name")?.to_owned()))
        }
    }
}

fn sayings(message: &Value) -> Vec<Saying> {
    match json::text(message, "role") {
        Some("assistant") => vec![Saying::Model],
        Some("tool" | "function") => vec![Saying::Result(json::texts(message, "content").concat())],
        Some("user") => Saying::user_content(message),
        _ => Vec::new(),
    }
}

/// The request in the order in which it is cached: tools, the answer's schema, messages.
fn units(body: &Value) -> Vec<Unit> {
    let mut units: Vec<Unit> = json::list(body, "tools").iter().map(|tool| Unit::of("tool", tool)).collect();
    units.extend(schema(body).map(|schema| Unit::of("schema", &schema)));
    units.extend(json::list(body, "messages").iter().map(|message| Unit::of("message", message)));
    units
}
