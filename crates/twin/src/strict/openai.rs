//! What OpenAI's two wires refuse alike.

use junto_llm::ToolChoice;
use serde_json::Value;

use super::schema::{self, Strictness};
use super::{Refusal, Verdict, json, model};

/// Efforts of reasoning.
pub(super) const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const TIERS: &[&str] = &["auto", "default", "flex", "scale", "priority", "fast"];
const VERBOSITIES: &[&str] = &["low", "medium", "high"];
const MAX_NAME: usize = 64;

/// The refusal of a parameter that is not there.
pub(super) fn missing(param: &str) -> Refusal {
    Refusal::openai(format!("Missing required parameter: '{param}'."), param, "missing_required_parameter")
}

/// The refusal of a value that is none of those allowed.
pub(super) fn not_among(param: &str, value: &str, allowed: &[&str]) -> Refusal {
    let message = format!("Invalid value: '{value}'. Supported values are: {}.", json::choices(allowed));
    Refusal::openai(message, param, "invalid_value")
}

/// The refusal of a value of the wrong type.
pub(super) fn wrong_type(param: &str, expected: &str, value: &Value) -> Refusal {
    let message =
        format!("Invalid type for '{param}': expected {expected}, but got {} instead.", json::kind(value));
    Refusal::openai(message, param, "invalid_type")
}

/// Refuses a field that is not among the known ones; `at` is the way to the object.
pub(super) fn known(at: &str, object: &Value, fields: &[&str]) -> Verdict {
    let Some(name) = json::unknown(object, fields) else { return Ok(()) };
    let param = if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    Err(Refusal::openai(format!("Unknown parameter: '{param}'."), &param, "unknown_parameter"))
}

/// Refuses an object where the field is there and no string.
pub(super) fn optional_string(at: &str, object: &Value, name: &str) -> Verdict {
    match json::field(object, name) {
        Some(value) if !value.is_string() => Err(wrong_type(&format!("{at}.{name}"), "a string", value)),
        _ => Ok(()),
    }
}

/// The field's string; refuses an object without it.
pub(super) fn string<'a>(at: &str, object: &'a Value, name: &str) -> Result<&'a str, Refusal> {
    let param = if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match object.get(name) {
        None => Err(missing(&param)),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(wrong_type(&param, "a string", other)),
    }
}

/// Refuses a field whose string is none of the allowed ones.
pub(super) fn one_of(object: &Value, name: &str, param: &str, allowed: &[&str]) -> Verdict {
    match json::field(object, name) {
        None => Ok(()),
        Some(Value::String(text)) if allowed.contains(&text.as_str()) => Ok(()),
        Some(Value::String(text)) => Err(not_among(param, text, allowed)),
        Some(other) => Err(wrong_type(param, &format!("one of {}", json::choices(allowed)), other)),
    }
}

/// Refuses a name that does not fit `^[a-zA-Z0-9_-]{1,64}$`.
pub(super) fn name(param: &str, name: &str) -> Verdict {
    if name.is_empty() {
        let message = format!("Invalid '{param}': empty string. Expected a string with minimum length 1.");
        return Err(Refusal::openai(message, param, "empty_string"));
    }
    if name.len() > MAX_NAME {
        return Err(too_long(param, MAX_NAME, name.len()));
    }
    if !json::is_name(name, MAX_NAME, "_-") {
        let message = format!(
            "Invalid '{param}': string does not match pattern. Expected a string that matches the pattern \
             '^[a-zA-Z0-9_-]+$'."
        );
        return Err(Refusal::openai(message, param, "invalid_value"));
    }
    Ok(())
}

/// The refusal of a string that is too long.
pub(super) fn too_long(param: &str, most: usize, length: usize) -> Refusal {
    let message = format!(
        "Invalid '{param}': string too long. Expected a string with maximum length {most}, but got a string \
         with length {length} instead."
    );
    Refusal::openai(message, param, "string_above_max_length")
}

/// Refuses an integer below its minimum.
pub(super) fn at_least(body: &Value, name: &str, least: i64) -> Verdict {
    match json::field(body, name) {
        None => Ok(()),
        Some(value) => match value.as_i64() {
            Some(n) if n >= least => Ok(()),
            Some(n) => {
                let message = format!(
                    "Invalid '{name}': integer below minimum value. Expected a value >= {least}, but got {n} \
                     instead."
                );
                Err(Refusal::openai(message, name, "integer_below_min_value"))
            }
            None => Err(wrong_type(name, "an integer", value)),
        },
    }
}

/// Refuses settings that are out of range, on both wires.
pub(super) fn settings(body: &Value) -> Verdict {
    for (name, most) in [("temperature", 2.0), ("top_p", 1.0)] {
        let Some(value) = json::field(body, name) else { continue };
        let Some(x) = value.as_f64() else { return Err(wrong_type(name, "a decimal", value)) };
        let fault = if x < 0.0 {
            Some(("below minimum value. Expected a value >= 0", "decimal_below_min_value"))
        } else if x > most {
            Some(("above maximum value", "decimal_above_max_value"))
        } else {
            None
        };
        if let Some((what, code)) = fault {
            let message = format!("Invalid '{name}': decimal {what}, but got {value} instead.");
            return Err(Refusal::openai(message, name, code));
        }
    }
    for name in ["stream", "store", "parallel_tool_calls"] {
        if let Some(value) = json::field(body, name)
            && !value.is_boolean()
        {
            return Err(wrong_type(name, "a boolean", value));
        }
    }
    one_of(body, "service_tier", "service_tier", TIERS)?;
    for name in ["prompt_cache_key", "safety_identifier"] {
        if let Some(text) = json::text(body, name)
            && text.len() > MAX_NAME
        {
            return Err(too_long(name, MAX_NAME, text.len()));
        }
    }
    if json::field(body, "stream_options").is_some() && !json::is_true(body, "stream") {
        return Err(Refusal::openai(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
            "",
        ));
    }
    metadata(body)
}

fn metadata(body: &Value) -> Verdict {
    let Some(metadata) = json::field(body, "metadata") else { return Ok(()) };
    let Some(pairs) = metadata.as_object() else { return Err(wrong_type("metadata", "an object", metadata)) };
    if pairs.len() > 16 {
        let message = "Invalid 'metadata': too many properties. Expected at most 16.";
        return Err(Refusal::openai(message, "metadata", "object_above_max_properties"));
    }
    match pairs.iter().find(|(_, value)| !value.is_string()) {
        Some((key, value)) => Err(wrong_type(&format!("metadata.{key}"), "a string", value)),
        None => Ok(()),
    }
}

/// Refuses a verbosity that is none.
pub(super) fn verbosity(object: &Value, param: &str) -> Verdict {
    one_of(object, "verbosity", param, VERBOSITIES)
}

/// The refusal of a parameter that the model does not take.
pub(super) fn unsupported(param: &str) -> Refusal {
    let message = format!("Unsupported parameter: '{param}' is not supported with this model.");
    Refusal::openai(message, param, "unsupported_parameter")
}

/// Whether the model takes no sampling settings: it reasons, and was not told not to.
pub(super) fn is_reasoning(model: &str, effort: Option<&str>) -> bool {
    model::reasons(model) == Some(true) && effort != Some("none")
}

/// Refuses a bad function declaration; `at` is the way to it.
pub(super) fn function(at: &str, function: &Value, fields: &[&str]) -> Verdict {
    if !function.is_object() {
        return Err(wrong_type(at, "an object", function));
    }
    known(at, function, fields)?;
    let called = string(at, function, "name")?;
    name(&format!("{at}.name"), called)?;
    optional_string(at, function, "description")?;
    let Some(shape) = json::field(function, "parameters") else { return Ok(()) };
    let param = format!("{at}.parameters");
    let invalid = |what: String| {
        let message = format!("Invalid schema for function '{called}': {what}");
        Refusal::openai(message, &param, "invalid_function_parameters")
    };
    if !shape.is_object() {
        return Err(wrong_type(&param, "an object", shape));
    }
    if json::text(shape, "type") != Some("object") {
        let found = json::text(shape, "type").unwrap_or("None");
        return Err(invalid(format!(
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{found}\"'."
        )));
    }
    if ["oneOf", "anyOf", "allOf", "enum", "not"].iter().any(|keyword| shape.get(keyword).is_some()) {
        return Err(invalid(
            "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
                .to_owned(),
        ));
    }
    if let Some(what) = schema_fault(shape, json::is_true(function, "strict")) {
        return Err(invalid(what));
    }
    Ok(())
}

/// What is wrong with a schema, as OpenAI says it.
fn schema_fault(shape: &Value, strict: bool) -> Option<String> {
    if !schema::is_schema(shape) {
        return Some("it is not valid under any of the given schemas.".to_owned());
    }
    if !strict {
        return None;
    }
    let (path, what) = schema::strict_fault(shape, Strictness::ClosedAndRequired)?;
    let path: Vec<String> = path.iter().map(|step| format!("'{step}'")).collect();
    Some(format!("In context=({}), {what}", path.join(", ")))
}

/// Refuses a bad `json_schema` format; `at` is the way to the object with `name` and `schema`.
pub(super) fn json_schema(at: &str, format: &Value, fields: &[&str]) -> Verdict {
    known(at, format, fields)?;
    let called = string(at, format, "name")?;
    name(&format!("{at}.name"), called)?;
    let param = format!("{at}.schema");
    let Some(shape) = json::field(format, "schema") else { return Err(missing(&param)) };
    let invalid = |what: String| {
        let message = format!("Invalid schema for response_format '{called}': {what}");
        Refusal::openai(message, &param, "invalid_json_schema")
    };
    if !shape.is_object() {
        return Err(wrong_type(&param, "an object", shape));
    }
    let strict = json::is_true(format, "strict");
    if strict && json::text(shape, "type") != Some("object") {
        let found = json::text(shape, "type").unwrap_or("None");
        return Err(invalid(format!(
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{found}\"'."
        )));
    }
    schema_fault(shape, strict).map_or(Ok(()), |what| Err(invalid(what)))
}

/// The choice that a word names.
pub(super) fn choice(word: &str) -> Option<ToolChoice> {
    match word {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "required" => Some(ToolChoice::Required),
        _ => None,
    }
}
