//! Function declarations, schemas, and the choice among functions.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{Verdict, json, schema};
use super::{bad, bad_field, bad_value};

const TYPES: &[&str] =
    &["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL", "TYPE_UNSPECIFIED"];
const MODES: &[&str] = &["AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"];
const TYPE: &str = "type.googleapis.com/google.ai.generativelanguage.v1beta.Type";
const MODE: &str = "type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode";

/// Refuses bad declarations and a choice that cannot be met.
pub(super) fn check(body: &Value) -> Verdict {
    let mut names = BTreeSet::new();
    for (i, tool) in json::list(body, "tools").iter().enumerate() {
        for (j, declared) in json::list(tool, "functionDeclarations").iter().enumerate() {
            let at = format!("tools[{i}].function_declarations[{j}]");
            let name = json::text(declared, "name").unwrap_or_default();
            if !is_function_name(name) {
                return Err(bad_field(
                    &format!("{at}.name"),
                    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric \
                     (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum \
                     length of 64.",
                ));
            }
            if !names.insert(name) {
                return Err(bad(format!("Duplicate function declaration found: {name}")));
            }
            parameters(&at, declared)?;
        }
    }
    choice(body, &names)
}

fn is_function_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && json::is_name(name, 64, "_.:-")
}

fn parameters(at: &str, declared: &Value) -> Verdict {
    let (own, json) = (json::field(declared, "parameters"), json::field(declared, "parametersJsonSchema"));
    if own.is_some() && json.is_some() {
        return Err(bad_field(at, "only one of parameters or parameters_json_schema may be set"));
    }
    if let Some(own) = own {
        let at = format!("{at}.parameters");
        if type_of(own) != "OBJECT" {
            return Err(bad_field(&at, "schema type should be OBJECT"));
        }
        open_api(&at, own)?;
    }
    match json {
        Some(shape) if !schema::is_schema(shape) => {
            Err(bad_field(&format!("{at}.parameters_json_schema"), "is not a valid JSON Schema"))
        }
        Some(shape) if !schema::has_type(shape, "object") => {
            Err(bad_field(&format!("{at}.parameters_json_schema"), "schema type should be OBJECT"))
        }
        _ => Ok(()),
    }
}

fn type_of(schema: &Value) -> String {
    json::text(schema, "type").unwrap_or_default().to_ascii_uppercase()
}

/// Refuses a schema outside the OpenAPI subset. (Keywords that the subset does not have were refused
/// as unknown names before.)
fn open_api(at: &str, schema: &Value) -> Verdict {
    let kind = match schema.get("type") {
        None if json::field(schema, "anyOf").is_some() => String::new(),
        None => return Err(bad_field(&format!("{at}.type"), "must be specified")),
        Some(Value::String(name)) if TYPES.contains(&name.to_ascii_uppercase().as_str()) => {
            name.to_ascii_uppercase()
        }
        Some(Value::Array(_)) => {
            return Err(bad(format!(
                "Invalid JSON payload received. Unknown name \"type\" at '{at}': Proto field is not repeating, \
                 cannot start list."
            )));
        }
        Some(other) => return Err(bad_value(&format!("{at}.type"), TYPE, other)),
    };
    if kind == "STRING"
        && let Some(format) = json::text(schema, "format")
        && !["enum", "date-time"].contains(&format)
    {
        return Err(bad_field(
            &format!("{at}.format"),
            "only 'enum' and 'date-time' are supported for STRING type",
        ));
    }
    if let Some(values) = json::field(schema, "enum") {
        match values.as_array() {
            Some(values) if values.iter().all(|v| v.as_str().is_some_and(|v| !v.is_empty())) => {}
            _ => return Err(bad_value(&format!("{at}.enum"), "TYPE_STRING", values)),
        }
        if kind != "STRING" {
            return Err(bad_field(&format!("{at}.enum"), "only allowed for STRING type"));
        }
    }
    if kind == "ARRAY" && json::field(schema, "items").is_none() {
        return Err(bad_field(&format!("{at}.items"), "missing field."));
    }
    let properties = json::field(schema, "properties").and_then(Value::as_object);
    if kind == "OBJECT" && properties.is_none_or(serde_json::Map::is_empty) {
        return Err(bad_field(&format!("{at}.properties"), "should be non-empty for OBJECT type"));
    }
    for (i, name) in json::list(schema, "required").iter().enumerate() {
        let Some(name) = name.as_str() else {
            return Err(bad_value(&format!("{at}.required[{i}]"), "TYPE_STRING", name));
        };
        if !properties.is_some_and(|properties| properties.contains_key(name)) {
            return Err(bad_field(&format!("{at}.required[{i}]"), "property is not defined"));
        }
    }
    for (name, property) in properties.into_iter().flatten() {
        open_api(&format!("{at}.properties[{name}]"), property)?;
    }
    for (i, option) in json::list(schema, "anyOf").iter().enumerate() {
        open_api(&format!("{at}.any_of[{i}]"), option)?;
    }
    json::field(schema, "items").map_or(Ok(()), |items| open_api(&format!("{at}.items"), items))
}

/// Refuses a bad schema for the answer.
pub(super) fn answer_schema(body: &Value, config: &Value, model: &str) -> Verdict {
    let (own, json) = (json::field(config, "responseSchema"), json::field(config, "responseJsonSchema"));
    let mime = json::text(config, "responseMimeType").unwrap_or("text/plain");
    if !["text/plain", "application/json", "text/x.enum"].contains(&mime) {
        return Err(bad_field(
            "generation_config.response_mime_type",
            "allowed mimetypes are `text/plain`, `application/json` and `text/x.enum`.",
        ));
    }
    if own.is_some() && json.is_some() {
        return Err(bad_field(
            "generation_config",
            "only one of response_schema or response_json_schema may be set",
        ));
    }
    if (own.is_some() || json.is_some()) && mime == "text/plain" {
        return Err(bad_field(
            "generation_config.response_schema",
            "only allowed when response_mime_type is application/json or text/x.enum",
        ));
    }
    let has_functions =
        json::list(body, "tools").iter().any(|tool| !json::list(tool, "functionDeclarations").is_empty());
    let old = model.starts_with("gemini-1") || model.starts_with("gemini-2");
    if mime == "application/json" && has_functions && old {
        return Err(bad("Function calling with a response mime type: 'application/json' is unsupported"));
    }
    if let Some(own) = own {
        open_api("generation_config.response_schema", own)?;
    }
    match json {
        Some(shape) if !schema::is_schema(shape) => {
            Err(bad_field("generation_config.response_json_schema", "is not a valid JSON Schema"))
        }
        _ => Ok(()),
    }
}

fn choice(body: &Value, names: &BTreeSet<&str>) -> Verdict {
    let Some(config) =
        json::field(body, "toolConfig").and_then(|config| json::field(config, "functionCallingConfig"))
    else {
        return Ok(());
    };
    let at = "tool_config.function_calling_config";
    let mode = match json::field(config, "mode") {
        None => "AUTO".to_owned(),
        Some(Value::String(mode)) if MODES.contains(&mode.to_ascii_uppercase().as_str()) => {
            mode.to_ascii_uppercase()
        }
        Some(other) => return Err(bad_value(&format!("{at}.mode"), MODE, other)),
    };
    let forced = mode == "ANY" || mode == "VALIDATED";
    if forced && names.is_empty() {
        return Err(bad("Function calling config is set without function_declarations."));
    }
    let at = format!("{at}.allowed_function_names");
    let allowed = match json::field(config, "allowedFunctionNames") {
        None => return Ok(()),
        Some(Value::Array(allowed)) => allowed,
        Some(other) => return Err(bad_value(&at, "TYPE_STRING", other)),
    };
    if !allowed.is_empty() && !forced {
        return Err(bad_field(
            &at,
            "allowed function names should only be set when the mode is ANY or VALIDATED",
        ));
    }
    for (i, name) in allowed.iter().enumerate() {
        match name.as_str() {
            None => return Err(bad_value(&format!("{at}[{i}]"), "TYPE_STRING", name)),
            Some(name) if !names.contains(name) => {
                return Err(bad_field(
                    &format!("{at}[{i}]"),
                    &format!("`{name}` is not a declared function"),
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}
