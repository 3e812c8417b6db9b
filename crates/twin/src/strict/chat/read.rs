//! What a Chat Completions request says, as far as it can be read.

use junto_llm::ToolChoice;
use serde_json::{Value, json};

use super::super::talk::Saying;
use super::super::{Reading, SeenTool, json};
use crate::cache::Unit;
use crate::tokens;

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
        Value::String(word) => match word.as_str() {
            "auto" => Some(ToolChoice::Auto),
            "none" => Some(ToolChoice::None),
            "required" => Some(ToolChoice::Required),
            _ => None,
        },
        choice => {
            let named = choice.get(json::text(choice, "type")?)?;
            Some(ToolChoice::Named(json::text(named, "name")?.to_owned()))
        }
    }
}

fn sayings(message: &Value) -> Vec<Saying> {
    match json::text(message, "role") {
        Some("assistant") => vec![Saying::Model],
        Some("tool" | "function") => vec![Saying::Result(match message.get("content") {
            Some(Value::String(text)) => text.clone(),
            _ => json::list(message, "content").iter().filter_map(|part| json::text(part, "text")).collect(),
        })],
        Some("user") => match message.get("content") {
            Some(Value::String(text)) => Saying::user(text).into_iter().collect(),
            Some(Value::Array(parts)) => {
                parts.iter().filter_map(|p| Saying::user(json::text(p, "text").unwrap_or_default())).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The request in the order in which it is cached: tools, the answer's schema, messages.
fn units(body: &Value) -> Vec<Unit> {
    let unit = |name: &str, piece: &Value| Unit {
        text: format!("{name} {piece}"),
        tokens: tokens::weigh(piece),
        breakpoint: false,
    };
    let mut units: Vec<Unit> = json::list(body, "tools").iter().map(|tool| unit("tool", tool)).collect();
    units.extend(schema(body).map(|schema| unit("schema", &schema)));
    units.extend(json::list(body, "messages").iter().map(|message| unit("message", message)));
    units
}
