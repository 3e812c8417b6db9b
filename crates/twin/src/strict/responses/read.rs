//! What a Responses request says, as far as it can be read.

use junto_llm::ToolChoice;
use serde_json::{Value, json};

use super::super::talk::Saying;
use super::super::{Reading, SeenTool, json, openai};
use super::{items, tools};
use crate::cache::Unit;

/// Reads a request. Never fails.
pub(in super::super) fn read(body: &Value) -> Reading {
    Reading {
        tools: tools::declared(body).filter_map(seen_tool).collect(),
        talk: match body.get("input") {
            Some(Value::String(text)) => Saying::user(text).into_iter().collect(),
            _ => json::list(body, "input").iter().flat_map(sayings).collect(),
        },
        thinking: thinks(body),
        schema: schema(body),
        max_tokens: body.get("max_output_tokens").and_then(Value::as_u64),
        tool_choice: choice(body),
        units: units(body),
    }
}

/// Reasoning shows only as a summary, and only where one was asked for.
fn thinks(body: &Value) -> bool {
    json::field(body, "reasoning").is_some_and(|config| {
        let asked = json::field(config, "summary").or_else(|| json::field(config, "generate_summary"));
        asked.is_some() && json::text(config, "effort") != Some("none")
    })
}

fn seen_tool(tool: &Value) -> Option<SeenTool> {
    let custom = match json::text(tool, "type")? {
        "function" => false,
        "custom" => true,
        _ => return None,
    };
    if json::is_true(tool, "defer_loading") {
        return None;
    }
    Some(SeenTool {
        name: json::text(tool, "name")?.to_owned(),
        custom,
        schema: json::field(tool, "parameters").cloned(),
    })
}

fn schema(body: &Value) -> Option<Value> {
    let format = json::field(json::field(body, "text")?, "format")?;
    match json::text(format, "type")? {
        "json_schema" => json::field(format, "schema").cloned(),
        "json_object" => Some(json!({"type": "object"})),
        _ => None,
    }
}

fn choice(body: &Value) -> Option<ToolChoice> {
    match body.get("tool_choice")? {
        Value::String(word) => openai::choice(word),
        choice => match json::text(choice, "type")? {
            "function" | "custom" => Some(ToolChoice::Named(json::text(choice, "name")?.to_owned())),
            "allowed_tools" if json::text(choice, "mode") == Some("required") => Some(ToolChoice::Required),
            "allowed_tools" => Some(ToolChoice::Auto),
            _ => Some(ToolChoice::Required),
        },
    }
}

fn sayings(item: &Value) -> Vec<Saying> {
    match items::kind(item) {
        "message" => match json::text(item, "role") {
            Some("assistant") => vec![Saying::Model],
            Some("user") => Saying::user_content(item),
            _ => Vec::new(),
        },
        kind if kind.ends_with("_output") => vec![Saying::Result(json::texts(item, "output").concat())],
        _ if items::is_by_model(item) => vec![Saying::Model],
        _ => Vec::new(),
    }
}

/// The request in the order in which it is cached: tools, the answer's schema, instructions, items.
fn units(body: &Value) -> Vec<Unit> {
    let mut units: Vec<Unit> = json::list(body, "tools").iter().map(|tool| Unit::of("tool", tool)).collect();
    units.extend(schema(body).map(|schema| Unit::of("schema", &schema)));
    units.extend(json::field(body, "instructions").map(|text| Unit::of("instructions", text)));
    match body.get("input") {
        Some(Value::Array(items)) => units.extend(items.iter().map(|item| Unit::of("item", item))),
        Some(text) => units.push(Unit::of("item", text)),
        None => {}
    }
    units
}
