//! What a Gemini request says, as far as it can be read.

use junto_llm::ToolChoice;
use serde_json::{Map, Value, json};

use super::super::talk::Saying;
use super::super::{Reading, SeenTool, json};
use super::shape::{self, Unknown};
use crate::cache::Unit;

/// Reads a request. Never fails.
pub(in super::super) fn read(body: &Value, model: &str) -> Reading {
    let message = if json::field(body, "generateContentRequest").is_some() {
        "CountTokensRequest"
    } else {
        "GenerateContentRequest"
    };
    let body = shape::normalise(body, message, Unknown::Kept).unwrap_or_default();
    let body = shape::request(&body);
    let config = json::field(body, "generationConfig");
    Reading {
        tools: declared(body).filter_map(seen_tool).collect(),
        talk: json::list(body, "contents").iter().flat_map(sayings).collect(),
        thinking: shows_thoughts(config, model),
        schema: config.and_then(schema),
        max_tokens: config.and_then(|config| config.get("maxOutputTokens")).and_then(Value::as_u64),
        tool_choice: choice(body),
        units: units(body),
    }
}

fn declared(body: &Value) -> impl Iterator<Item = &Value> {
    json::list(body, "tools").iter().flat_map(|tool| json::list(tool, "functionDeclarations"))
}

fn shows_thoughts(config: Option<&Value>, model: &str) -> bool {
    let Some(thinking) = config.and_then(|config| json::field(config, "thinkingConfig")) else {
        return false;
    };
    let off = json::field(thinking, "thinkingBudget").and_then(Value::as_i64) == Some(0);
    json::is_true(thinking, "includeThoughts") && (!off || model.starts_with("gemini-3"))
}

fn seen_tool(tool: &Value) -> Option<SeenTool> {
    let schema = match json::field(tool, "parametersJsonSchema") {
        Some(schema) => Some(schema.clone()),
        None => json::field(tool, "parameters").map(json_schema),
    };
    Some(SeenTool { name: json::text(tool, "name")?.to_owned(), custom: false, schema })
}

fn schema(config: &Value) -> Option<Value> {
    if let Some(schema) = json::field(config, "responseJsonSchema") {
        return Some(schema.clone());
    }
    if let Some(schema) = json::field(config, "responseSchema") {
        return Some(json_schema(schema));
    }
    let is_json = json::text(config, "responseMimeType") == Some("application/json");
    is_json.then(|| json!({"type": "object"}))
}

/// A schema of Gemini's own kind as JSON Schema: types in lower case, `nullable` as a type.
fn json_schema(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    let mut out = Map::new();
    for (name, value) in fields {
        let value = match (name.as_str(), value) {
            ("nullable" | "propertyOrdering" | "example", _) => continue,
            ("type", Value::String(kind)) => Value::String(kind.to_ascii_lowercase()),
            ("properties", Value::Object(named)) => {
                named.iter().map(|(name, schema)| (name.clone(), json_schema(schema))).collect()
            }
            ("anyOf", Value::Array(several)) => several.iter().map(json_schema).collect(),
            ("items", schema) => json_schema(schema),
            (_, value) => value.clone(),
        };
        out.insert(name.clone(), value);
    }
    if json::is_true(schema, "nullable")
        && let Some(kind) = out.get_mut("type")
    {
        *kind = json!([kind.clone(), "null"]);
    }
    Value::Object(out)
}

fn choice(body: &Value) -> Option<ToolChoice> {
    let config = json::field(json::field(body, "toolConfig")?, "functionCallingConfig")?;
    let mode = json::text(config, "mode")?.to_ascii_uppercase();
    match (mode.as_str(), json::list(config, "allowedFunctionNames")) {
        ("NONE", _) => Some(ToolChoice::None),
        ("ANY", [name]) => Some(ToolChoice::Named(name.as_str()?.to_owned())),
        ("ANY", _) => Some(ToolChoice::Required),
        ("AUTO" | "VALIDATED", _) => Some(ToolChoice::Auto),
        _ => None,
    }
}

fn sayings(content: &Value) -> Vec<Saying> {
    if json::text(content, "role") == Some("model") {
        return vec![Saying::Model];
    }
    json::list(content, "parts")
        .iter()
        .filter_map(|part| match json::field(part, "functionResponse") {
            Some(answer) => Some(Saying::Result(result_text(json::field(answer, "response")))),
            None => Saying::user(json::text(part, "text").unwrap_or_default()),
        })
        .collect()
}

/// A result as text: where it is one string in a wrapper, that string.
fn result_text(response: Option<&Value>) -> String {
    let Some(response) = response else { return String::new() };
    let only = response.as_object().filter(|fields| fields.len() == 1).and_then(|f| f.values().next());
    match only {
        Some(Value::String(text)) => text.clone(),
        _ => response.to_string(),
    }
}

/// The request in the order in which it is cached: system instruction, tools, contents.
fn units(body: &Value) -> Vec<Unit> {
    let mut units = Vec::new();
    units.extend(json::field(body, "systemInstruction").map(|system| Unit::of("system", system)));
    units.extend(json::list(body, "tools").iter().map(|tool| Unit::of("tool", tool)));
    units.extend(json::list(body, "contents").iter().map(|content| Unit::of("content", content)));
    units
}
