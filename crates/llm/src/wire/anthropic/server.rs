//! A client's request, read.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::ANSWER_TOOL;
use super::blocks::MESSAGE_FIELDS;
use super::server_block;
use crate::wire::Mode;
use crate::{
    Content, Effort, Error, ErrorKind, Message, Origin, Part, Request, ResponseFormat, Role, ToolChoice,
    ToolKind, ToolSpec, Wire,
};

/// An error that says where in the body it is.
pub(super) fn invalid(place: &str, message: &str) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("{place}: {message}"))
}

/// Reads a request. What has no place in [`Request`] goes to `provider_options.anthropic`, in the
/// form in which the encoder puts it back.
pub(super) fn decode(body: &Value, origin: &Arc<Origin>) -> Result<(Request, Mode), Error> {
    let Value::Object(body) = body else {
        return Err(invalid("body", "must be an object"));
    };
    let mut request = Request::default();
    let mut mode = Mode::Complete;
    let mut options = Map::new();
    for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            "model" => request.model = Some(string(value, name)?),
            "max_tokens" => request.max_tokens = Some(whole(value, name)?),
            "temperature" => request.temperature = Some(number(value, name)?),
            "top_p" => request.top_p = Some(number(value, name)?),
            "stream" if value.as_bool() == Some(true) => mode = Mode::Stream,
            "stream" | "messages" | "system" => {}
            "stop_sequences" => {
                request.stop_sequences =
                    list(value, name)?.iter().map(|s| string(s, name)).collect::<Result<_, _>>()?;
            }
            "metadata" => request.metadata.clone_from(object(value, name)?),
            "tools" => tools(list(value, name)?, &mut request, &mut options)?,
            "tool_choice" => tool_choice(value, &mut request)?,
            "output_config" => output_config(object(value, name)?, &mut request, &mut options),
            _ => drop(options.insert(name.clone(), value.clone())),
        }
    }
    settle_thinking(&mut request, &mut options);
    if let Some(system) = body.get("system").filter(|system| !system.is_null()) {
        request.messages.push(Message::new(Role::System, parts(system, origin, "system")?));
    }
    let messages = body.get("messages").ok_or_else(|| invalid("messages", "is required"))?;
    for (at, message) in list(messages, "messages")?.iter().enumerate() {
        read_message(message, origin, &format!("messages.{at}"), &mut request.messages)?;
    }
    if !options.is_empty() {
        request.provider_options.insert(Wire::Anthropic.name().to_owned(), Value::Object(options));
    }
    Ok((request, mode))
}

/// One message of the wire becomes one of ours, or two: tool results have a role of their own here.
fn read_message(
    message: &Value,
    origin: &Arc<Origin>,
    place: &str,
    out: &mut Vec<Message>,
) -> Result<(), Error> {
    let role = match message["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => return Err(invalid(place, "role must be user, assistant or system")),
    };
    let mut parts = match message.get("content") {
        None | Some(Value::Null) => Vec::new(),
        Some(content) => parts(content, origin, &format!("{place}.content"))?,
    };
    parts.extend(message_fields(message, origin));
    if role == Role::User && parts.iter().any(is_result) {
        let (results, rest): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(is_result);
        out.push(Message::new(Role::Tool, results));
        parts = rest;
        if parts.is_empty() {
            return Ok(());
        }
    }
    out.push(Message::new(role, parts));
    Ok(())
}

fn is_result(part: &Part) -> bool {
    matches!(part.content(), Content::ToolResult(_))
}

/// What a message says beside role and content, kept as a part of its own.
fn message_fields(message: &Value, origin: &Arc<Origin>) -> Option<Part> {
    let fields = all_but(&["role", "content"], message.as_object()?);
    if fields.is_empty() {
        return None;
    }
    let content = Content::Other(json!({"type": MESSAGE_FIELDS, "fields": fields}));
    Some(Part::received(content, Arc::clone(origin), None))
}

/// The other fields of an object. What these hold is most of a request, and is not copied for that.
fn all_but(names: &[&str], fields: &Map<String, Value>) -> Map<String, Value> {
    let others = fields.iter().filter(|(name, _)| !names.contains(&name.as_str()));
    others.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Content is a string or a list of blocks.
fn parts(content: &Value, origin: &Arc<Origin>, place: &str) -> Result<Vec<Part>, Error> {
    match content {
        Value::String(text) => {
            Ok(vec![Part::received(Content::Text(text.clone()), Arc::clone(origin), None)])
        }
        Value::Array(blocks) => blocks
            .iter()
            .enumerate()
            .map(|(at, block)| server_block::part(block, origin, &format!("{place}.{at}")))
            .collect(),
        _ => Err(invalid(place, "must be a string or a list of blocks")),
    }
}

fn tools(list: &[Value], request: &mut Request, options: &mut Map<String, Value>) -> Result<(), Error> {
    let mut tool_fields = Map::new();
    for (at, tool) in list.iter().enumerate() {
        let place = format!("tools.{at}");
        let fields = object(tool, &place)?;
        let kind = fields.get("type").and_then(Value::as_str);
        if let Some(kind) = kind.filter(|kind| *kind != "custom") {
            let name = fields.get("name").and_then(Value::as_str).unwrap_or(kind).to_owned();
            let hosted = ToolKind::Hosted { wire: Wire::Anthropic, item: tool.clone() };
            request.tools.push(ToolSpec { name, description: String::new(), kind: hosted });
            continue;
        }
        let name = string(&tool["name"], &format!("{place}.name"))?;
        let parameters = fields.get("input_schema").cloned().unwrap_or_else(|| json!({"type": "object"}));
        if name == ANSWER_TOOL {
            request.response_format = Some(ResponseFormat::JsonSchema {
                name: "answer".to_owned(),
                schema: parameters,
                strict: true,
            });
            continue;
        }
        let more = all_but(&["name", "description", "input_schema", "strict"], fields);
        if !more.is_empty() {
            tool_fields.insert(name.clone(), Value::Object(more));
        }
        request.tools.push(ToolSpec {
            name,
            description: tool["description"].as_str().unwrap_or_default().to_owned(),
            kind: ToolKind::Function { parameters: parameters.into(), strict: tool["strict"].as_bool() },
        });
    }
    if !tool_fields.is_empty() {
        options.insert("tool_fields".to_owned(), Value::Object(tool_fields));
    }
    Ok(())
}

fn tool_choice(choice: &Value, request: &mut Request) -> Result<(), Error> {
    request.tool_choice = match choice["type"].as_str() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("any") => Some(ToolChoice::Required),
        // The structured answer is asked for by the response format; see `tools`.
        Some("tool") if choice["name"] == ANSWER_TOOL => None,
        Some("tool") => Some(ToolChoice::Named(string(&choice["name"], "tool_choice.name")?)),
        _ => return Err(invalid("tool_choice", "type must be auto, any, tool or none")),
    };
    if choice["disable_parallel_tool_use"] == true {
        request.parallel_tool_calls = Some(false);
    }
    Ok(())
}

fn output_config(config: &Map<String, Value>, request: &mut Request, options: &mut Map<String, Value>) {
    let mut rest = config.clone();
    if let Some(effort) = config.get("effort").and_then(Value::as_str) {
        request.reasoning_effort = Some(Effort::from(effort.to_owned()));
        rest.shift_remove("effort");
    }
    if let Some(format) = config.get("format").filter(|f| f["type"] == "json_schema") {
        let schema = format["schema"].clone();
        request.response_format =
            Some(ResponseFormat::JsonSchema { name: "answer".to_owned(), schema, strict: true });
        rest.shift_remove("format");
    }
    if !rest.is_empty() {
        options.insert("output_config".to_owned(), Value::Object(rest));
    }
}

/// `thinking` stays among the options, where it overrides what the encoder would make of the
/// effort; an effort without it says so with a null. Plain "disabled" is the effort `none`.
fn settle_thinking(request: &mut Request, options: &mut Map<String, Value>) {
    let disabled = options.get("thinking").is_some_and(|t| *t == json!({"type": "disabled"}));
    match (&request.reasoning_effort, options.contains_key("thinking")) {
        (None, _) if disabled => {
            options.shift_remove("thinking");
            request.reasoning_effort = Some(Effort::Other("none".to_owned()));
        }
        (Some(_), false) => drop(options.insert("thinking".to_owned(), Value::Null)),
        _ => {}
    }
}

fn string(value: &Value, place: &str) -> Result<String, Error> {
    value.as_str().map(str::to_owned).ok_or_else(|| invalid(place, "must be a string"))
}

fn whole(value: &Value, place: &str) -> Result<u64, Error> {
    value.as_u64().ok_or_else(|| invalid(place, "must be a whole number that is not negative"))
}

fn number(value: &Value, place: &str) -> Result<f64, Error> {
    value.as_f64().ok_or_else(|| invalid(place, "must be a number"))
}

fn list<'a>(value: &'a Value, place: &str) -> Result<&'a [Value], Error> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| invalid(place, "must be a list"))
}

fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Map<String, Value>, Error> {
    value.as_object().ok_or_else(|| invalid(place, "must be an object"))
}

#[cfg(test)]
mod tests;
