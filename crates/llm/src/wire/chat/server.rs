//! Reads a request as a server gets it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::history;
use super::response::text;
use crate::wire::{Mode, Wire, custom};
use crate::{Effort, Error, ErrorKind, Origin, Request, ResponseFormat, ToolChoice, ToolKind, ToolSpec};

pub(super) fn decode(body: &Value, origin: &Arc<Origin>) -> Result<(Request, Mode), Error> {
    let body = body.as_object().ok_or_else(|| invalid("the body", "must be an object"))?;
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages.ok_or_else(|| invalid("messages", "must be a list"))?;

    let mut request = Request::default();
    let mut options = Map::new();
    let mut mode = Mode::Complete;
    let (messages, dialect) = history::decode(messages, origin)?;
    request.messages = messages.into();
    if dialect.developer {
        options.insert("developer_role".into(), true.into());
    }
    if dialect.reasoning {
        options.insert("send_reasoning".into(), true.into());
    }

    for (key, value) in body.iter().filter(|(_, value)| !value.is_null()) {
        match key.as_str() {
            // Read above.
            "messages" => {}
            "model" => request.model = Some(string(key, value)?.to_owned()),
            "stream" => mode = if boolean(key, value)? { Mode::Stream } else { Mode::Complete },
            "stream_options" => {
                let mut rest = value.as_object().cloned().ok_or_else(|| invalid(key, "must be an object"))?;
                // Usage is always asked for.
                rest.shift_remove("include_usage");
                if !rest.is_empty() {
                    options.insert(key.clone(), rest.into());
                }
            }
            "tools" => {
                for (index, item) in list(key, value)?.iter().enumerate() {
                    request.tools.push(tool(item, &format!("tools[{index}]"))?);
                }
            }
            "functions" => {
                for (index, item) in list(key, value)?.iter().enumerate() {
                    request.tools.push(function(item, &format!("functions[{index}]"))?);
                }
            }
            "tool_choice" | "function_call" => match tool_choice(value) {
                Some(choice) => request.tool_choice = Some(choice),
                None => drop(options.insert(key.clone(), value.clone())),
            },
            "parallel_tool_calls" => request.parallel_tool_calls = Some(boolean(key, value)?),
            "response_format" => {
                let (format, whole) = response_format(value);
                request.response_format = format;
                if !whole {
                    options.insert(key.clone(), value.clone());
                }
            }
            "temperature" => request.temperature = Some(number(key, value)?),
            "top_p" => request.top_p = Some(number(key, value)?),
            "max_tokens" => {
                request.max_tokens = request.max_tokens.or(Some(count(key, value)?));
            }
            "max_completion_tokens" => {
                request.max_tokens = Some(count(key, value)?);
                options.insert(key.clone(), true.into());
            }
            "stop" => request.stop_sequences = stop(value)?,
            "reasoning_effort" => {
                request.reasoning_effort = Some(Effort::from(string(key, value)?.to_owned()));
            }
            "metadata" => {
                let metadata = value.as_object().ok_or_else(|| invalid(key, "must be an object"))?;
                request.metadata.clone_from(metadata);
            }
            _ => drop(options.insert(key.clone(), value.clone())),
        }
    }
    if request.model.is_none() {
        return Err(invalid("model", "is missing"));
    }
    if request.tools.iter().any(|tool| matches!(tool.kind, ToolKind::Custom { .. })) {
        options.insert("custom_tools".into(), true.into());
    }
    if !options.is_empty() {
        request.provider_options.insert(Wire::Chat.name().into(), options.into());
    }
    Ok((request, mode))
}

fn tool(item: &Value, at: &str) -> Result<ToolSpec, Error> {
    match text(item, "type") {
        Some("function") => {
            let body = item.get("function").ok_or_else(|| invalid(at, "has no function"))?;
            function(body, &format!("{at}.function"))
        }
        Some("custom") => {
            let body = item.get("custom").ok_or_else(|| invalid(at, "has no custom"))?;
            let format = body.get("format").filter(|format| !format.is_null()).cloned().map(custom::flat);
            named(body, ToolKind::Custom { format }, &format!("{at}.custom"))
        }
        Some(kind) => Ok(ToolSpec {
            name: kind.to_owned(),
            description: String::new(),
            kind: ToolKind::Hosted { wire: Wire::Chat, item: item.clone() },
        }),
        None => Err(invalid(at, "has no type")),
    }
}

fn function(body: &Value, at: &str) -> Result<ToolSpec, Error> {
    let parameters = match body.get("parameters") {
        None | Some(Value::Null) => json!({ "type": "object", "properties": {} }),
        Some(schema @ Value::Object(_)) => schema.clone(),
        Some(_) => return Err(invalid(&format!("{at}.parameters"), "must be an object")),
    };
    let strict = body.get("strict").and_then(Value::as_bool);
    named(body, ToolKind::Function { parameters: parameters.into(), strict }, at)
}

fn named(body: &Value, kind: ToolKind, at: &str) -> Result<ToolSpec, Error> {
    let name = text(body, "name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| invalid(&format!("{at}.name"), "is missing"))?;
    let description = text(body, "description").unwrap_or_default();
    Ok(ToolSpec { name: name.to_owned(), description: description.to_owned(), kind })
}

/// The choice, if it is one that [`ToolChoice`] can say.
fn tool_choice(value: &Value) -> Option<ToolChoice> {
    match value.as_str() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("required" | "any") => Some(ToolChoice::Required),
        Some(_) => None,
        None => {
            let body = value.get("function").or_else(|| value.get("custom")).unwrap_or(value);
            text(body, "name").map(|name| ToolChoice::Named(name.to_owned()))
        }
    }
}

/// The format, and whether it says everything.
fn response_format(value: &Value) -> (Option<ResponseFormat>, bool) {
    match text(value, "type") {
        Some("text") => (Some(ResponseFormat::Text), true),
        Some("json_object") => (Some(ResponseFormat::JsonObject), value.get("schema").is_none()),
        Some("json_schema") => {
            let body = &value["json_schema"];
            let known = ["name", "schema", "strict"];
            let whole = body.as_object().is_some_and(|b| b.keys().all(|key| known.contains(&key.as_str())));
            let format = ResponseFormat::JsonSchema {
                name: text(body, "name").unwrap_or("answer").to_owned(),
                schema: body.get("schema").cloned().unwrap_or_else(|| json!({ "type": "object" })),
                strict: body.get("strict").and_then(Value::as_bool).unwrap_or(false),
            };
            (Some(format), whole)
        }
        _ => (None, false),
    }
}

fn stop(value: &Value) -> Result<Vec<String>, Error> {
    if let Value::String(one) = value {
        return Ok(vec![one.clone()]);
    }
    list("stop", value)?
        .iter()
        .enumerate()
        .map(|(index, item)| string(&format!("stop[{index}]"), item).map(str::to_owned))
        .collect()
}

fn string<'a>(at: &str, value: &'a Value) -> Result<&'a str, Error> {
    value.as_str().ok_or_else(|| invalid(at, "must be a string"))
}

fn boolean(at: &str, value: &Value) -> Result<bool, Error> {
    value.as_bool().ok_or_else(|| invalid(at, "must be true or false"))
}

fn number(at: &str, value: &Value) -> Result<f64, Error> {
    value.as_f64().ok_or_else(|| invalid(at, "must be a number"))
}

fn count(at: &str, value: &Value) -> Result<u64, Error> {
    value.as_u64().ok_or_else(|| invalid(at, "must be a whole number"))
}

fn list<'a>(at: &str, value: &'a Value) -> Result<&'a [Value], Error> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| invalid(at, "must be a list"))
}

/// What is wrong, and where.
pub(super) fn invalid(at: &str, what: &str) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("{at} {what}"))
}
