//! What a Messages request says, as far as it can be read.

use junto_llm::ToolChoice;
use serde_json::{Value, json};

use super::super::talk::Saying;
use super::super::{Reading, SeenTool, json};
use super::{thinks, tools};
use crate::cache::Unit;

/// Reads a request. Never fails.
pub(in super::super) fn read(body: &Value) -> Reading {
    let config = json::field(body, "thinking");
    let hidden = config.and_then(|t| json::text(t, "display")) == Some("omitted");
    let format = json::field(body, "output_config")
        .and_then(|config| json::field(config, "format"))
        .or_else(|| json::field(body, "output_format"));
    Reading {
        tools: seen_tools(body),
        talk: json::list(body, "messages").iter().flat_map(sayings).collect(),
        thinking: thinks(body) && !hidden,
        schema: format.and_then(|format| json::field(format, "schema")).cloned(),
        max_tokens: body.get("max_tokens").and_then(Value::as_u64),
        tool_choice: choice(body),
        units: units(body),
    }
}

/// The tools that the model can call now: those of the client that are not deferred.
fn seen_tools(body: &Value) -> Vec<SeenTool> {
    json::list(body, "tools")
        .iter()
        .filter(|tool| tools::is_run_by_client(tool) && !json::is_true(tool, "defer_loading"))
        .filter_map(|tool| {
            Some(SeenTool {
                name: json::text(tool, "name")?.to_owned(),
                custom: false,
                schema: json::field(tool, "input_schema").cloned(),
            })
        })
        .collect()
}

fn choice(body: &Value) -> Option<ToolChoice> {
    let choice = body.get("tool_choice")?;
    match json::text(choice, "type")? {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "any" => Some(ToolChoice::Required),
        "tool" => Some(ToolChoice::Named(json::text(choice, "name")?.to_owned())),
        _ => None,
    }
}

fn sayings(message: &Value) -> Vec<Saying> {
    match json::text(message, "role") {
        Some("assistant") => vec![Saying::Model],
        Some("user") => match message.get("content") {
            Some(Value::String(text)) => Saying::user(text).into_iter().collect(),
            Some(Value::Array(blocks)) => blocks.iter().filter_map(saying).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn saying(block: &Value) -> Option<Saying> {
    match json::text(block, "type")? {
        "text" => Saying::user(json::text(block, "text")?),
        "tool_result" => Some(Saying::Result(json::texts(block, "content").concat())),
        "image" | "document" => Some(Saying::User(String::new())),
        _ => None,
    }
}

/// The request in the order in which it is cached: tools, system, messages. How tools are chosen and
/// whether the model thinks goes before the messages, because changing either makes their cache void.
fn units(body: &Value) -> Vec<Unit> {
    let mut units: Vec<Unit> = json::list(body, "tools").iter().map(|tool| unit("tool", tool)).collect();
    match body.get("system") {
        Some(Value::String(text)) => units.push(unit("system", &json!({"type": "text", "text": text}))),
        Some(Value::Array(blocks)) => units.extend(blocks.iter().map(|block| unit("system", block))),
        _ => {}
    }
    let settings = json!([body.get("tool_choice"), body.get("thinking")]);
    units.push(Unit { text: settings.to_string(), tokens: 0, breakpoint: false });
    for message in json::list(body, "messages") {
        let role = json::text(message, "role").unwrap_or_default();
        match message.get("content") {
            Some(Value::String(text)) => units.push(unit(role, &json!({"type": "text", "text": text}))),
            Some(Value::Array(blocks)) => units.extend(blocks.iter().map(|block| unit(role, block))),
            _ => {}
        }
    }
    if json::field(body, "cache_control").is_some()
        && let Some(last) = units.last_mut()
    {
        last.breakpoint = true;
    }
    units
}

/// A block without its breakpoints.
fn unit(role: &str, block: &Value) -> Unit {
    // Hardly any has one, and a copy of each would be half of what it takes to read a request.
    let inner = json::list(block, "content");
    if std::iter::once(block).chain(inner).all(|block| block.get("cache_control").is_none()) {
        return Unit::of(role, block);
    }
    let mut plain = block.clone();
    let mut breakpoint = unmark(&mut plain);
    if let Some(Value::Array(inner)) = plain.get_mut("content") {
        for block in inner {
            breakpoint |= unmark(block);
        }
    }
    Unit { breakpoint, ..Unit::of(role, &plain) }
}

fn unmark(block: &mut Value) -> bool {
    let mark = block.as_object_mut().and_then(|fields| fields.shift_remove("cache_control"));
    mark.is_some_and(|mark| !mark.is_null())
}
