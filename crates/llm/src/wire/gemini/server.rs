//! Reads a request as a server gets it.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::part::{WirePart, read_media};
use super::{CALL_PREFIX, camel, field, is_made_id, json_schema, path, thinking};
use crate::names::NameMap;
use crate::wire::{Incoming, Mode, Wire};
use crate::{
    Content, Error, ErrorKind, Message, Origin, Part, Request, ResponseFormat, ResultOutput, Role,
    ToolChoice, ToolKind, ToolResult, ToolSpec,
};

/// Reads a request.
///
/// # Errors
/// `invalid_request`, saying where.
pub(super) fn decode(incoming: Incoming<'_>, origin: &Arc<Origin>) -> Result<(Request, Mode), Error> {
    let (model, mode) = path::read(incoming.path)?;
    let body = object(incoming.body, "the body")?;
    let mut request = Request { model: Some(model), ..Request::default() };
    let mut history = History::new(origin);
    let mut options = Map::new();
    // In the order of a conversation, whatever the order of the fields.
    if let Some(system) = field(body, "systemInstruction") {
        history.system(system)?;
    }
    let contents = field(body, "contents").ok_or_else(|| invalid("contents", "is missing"))?;
    for (index, content) in list(contents).iter().enumerate() {
        history.content(content, &format!("contents[{index}]"))?;
    }
    request.messages = history.messages.into();
    for (key, value) in body {
        match &*camel(key) {
            "contents" | "systemInstruction" => {}
            "tools" => request.tools = tools(value)?,
            "toolConfig" => tool_config(object(value, "toolConfig")?, &mut request, &mut options),
            "generationConfig" => {
                let rest = generation_config(object(value, "generationConfig")?, &mut request)?;
                if !rest.is_empty() {
                    options.insert("generationConfig".to_owned(), rest.into());
                }
            }
            key => {
                options.insert(key.to_owned(), value.clone());
            }
        }
    }
    if !options.is_empty() {
        request.provider_options.insert(Wire::Gemini.name().to_owned(), options.into());
    }
    Ok((request, mode))
}

fn invalid(place: &str, what: &str) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("`{place}` {what}"))
}

fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Map<String, Value>, Error> {
    value.as_object().ok_or_else(|| invalid(place, "is not an object"))
}

/// A list; a single item stands for a list of one.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice)
}

/// The conversation so far, and the calls in it that wait for their results.
struct History<'a> {
    origin: &'a Arc<Origin>,
    names: NameMap,
    messages: Vec<Message>,
    /// Ids and names of calls without a result yet.
    waiting: Vec<(String, String)>,
    known: HashSet<String>,
    made: usize,
}

impl<'a> History<'a> {
    fn new(origin: &'a Arc<Origin>) -> Self {
        Self {
            origin,
            names: NameMap::default(),
            messages: Vec::new(),
            waiting: Vec::new(),
            known: HashSet::new(),
            made: 0,
        }
    }

    fn system(&mut self, content: &Value) -> Result<(), Error> {
        let place = "systemInstruction";
        let parts = match content {
            Value::String(text) => vec![Part::text(text)],
            content => {
                let parts = field(object(content, place)?, "parts").map_or(&[][..], list);
                self.parts(parts, place)?
            }
        };
        if !parts.is_empty() {
            self.messages.push(Message::new(Role::System, parts));
        }
        Ok(())
    }

    fn content(&mut self, content: &Value, place: &str) -> Result<(), Error> {
        let content = object(content, place)?;
        let role = match content.get("role").and_then(Value::as_str) {
            Some("model") => Role::Assistant,
            None | Some("" | "user" | "function") => Role::User,
            Some(role) => {
                return Err(invalid(&format!("{place}.role"), &format!("is `{role}`, not user or model")));
            }
        };
        let parts = field(content, "parts").map_or(&[][..], list);
        let parts = self.parts(parts, place)?;
        let role_of = |part: &Part| match part.content() {
            Content::ToolResult(_) => Role::Tool,
            _ => role,
        };
        for run in parts.chunk_by(|a, b| role_of(a) == role_of(b)) {
            if let Some(first) = run.first() {
                self.messages.push(Message::new(role_of(first), run.to_vec()));
            }
        }
        Ok(())
    }

    fn parts(&mut self, items: &[Value], place: &str) -> Result<Vec<Part>, Error> {
        let mut parts = Vec::new();
        let mut index = 0;
        while let Some(item) = items.get(index) {
            let place = format!("{place}.parts[{index}]");
            index += 1;
            let part = WirePart::deserialize(item).map_err(|e| invalid(&place, &e.to_string()))?;
            if part.is_empty() {
                return Err(invalid(&place, "has no content"));
            }
            if let Some(answer) = part.rest.get("functionResponse") {
                let answer = object(answer, &format!("{place}.functionResponse"))?;
                // gemini-cli tells every result twice when it goes on with an old conversation. Other wires take one.
                if answer.contains_key("id") && items.iter().take(index - 1).any(|earlier| earlier == item) {
                    continue;
                }
                // Pictures right behind a result belong to it.
                let images: Vec<_> = items.iter().skip(index).map_while(image).collect();
                let end = index + images.len();
                let raw = match items.get(index - 1..end) {
                    Some(several @ [_, _, ..]) => Value::Array(several.to_vec()),
                    _ => item.clone(),
                };
                index = end;
                let mut result = self.result(answer, &place)?;
                result.images.extend(images);
                parts.push(Part::received(Content::ToolResult(result), Arc::clone(self.origin), Some(raw)));
                continue;
            }
            let (content, raw) = part.read(&self.names, || format!("{CALL_PREFIX}{}", self.made));
            if let Content::ToolCall(call) = &content {
                self.made += 1;
                self.known.insert(call.id.clone());
                self.waiting.push((call.id.clone(), call.name.clone()));
            }
            // As it came, not as it was read: the keys may be spelled otherwise.
            let raw = raw.map(|_| item.clone());
            parts.push(Part::received(content, Arc::clone(self.origin), raw));
        }
        Ok(parts)
    }

    fn result(&mut self, answer: &Map<String, Value>, place: &str) -> Result<ToolResult, Error> {
        let place = format!("{place}.functionResponse");
        let name = answer.get("name").and_then(Value::as_str).unwrap_or_default();
        let given = answer.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let response =
            object(field(answer, "response").unwrap_or(&Value::Null), &format!("{place}.response"))?;
        let call_id = match given {
            Some(id) if self.known.contains(id) => id.to_owned(),
            _ => {
                // By name and order; a result of a call that is not there keeps what it has.
                let fits = |(id, of): &&(String, String)| of == name && (given.is_none() || is_made_id(id));
                let call = self.waiting.iter().find(fits);
                call.map_or_else(|| given.unwrap_or(name).to_owned(), |(id, _)| id.clone())
            }
        };
        self.waiting.retain(|(id, _)| *id != call_id);
        let (output, is_error) = output(response);
        let images = field(answer, "parts").map_or(&[][..], list).iter().map_while(image).collect();
        Ok(ToolResult { call_id, output, is_error, images })
    }
}

/// The picture that a part is, if it is one.
fn image(item: &Value) -> Option<crate::Media> {
    let part: Map<String, Value> =
        item.as_object()?.iter().map(|(key, value)| (camel(key).into_owned(), value.clone())).collect();
    let (media, _) = read_media(&part)?;
    media.mime().starts_with("image/").then_some(media)
}

/// What a tool answered: clients wrap it as `output` or `error`.
fn output(response: &Map<String, Value>) -> (ResultOutput, bool) {
    let only = |key: &str| response.get(key).filter(|_| response.len() == 1);
    let unwrap = |value: &Value| match value {
        Value::String(text) => ResultOutput::Text(text.clone()),
        value => ResultOutput::Json(value.clone()),
    };
    match (only("output"), only("error")) {
        (Some(value), _) if !value.is_object() => (unwrap(value), false),
        (_, Some(value)) => (unwrap(value), true),
        _ => (ResultOutput::Json(Value::Object(response.clone())), false),
    }
}

fn tools(value: &Value) -> Result<Vec<ToolSpec>, Error> {
    let mut tools = Vec::new();
    for (index, entry) in list(value).iter().enumerate() {
        let place = format!("tools[{index}]");
        let mut entry: Map<String, Value> = object(entry, &place)?
            .iter()
            .map(|(key, value)| (camel(key).into_owned(), value.clone()))
            .collect();
        if let Some(functions) = entry.shift_remove("functionDeclarations") {
            for (index, function) in list(&functions).iter().enumerate() {
                tools.push(function_tool(function, &format!("{place}.functionDeclarations[{index}]"))?);
            }
        }
        if let Some(name) = entry.keys().next().cloned() {
            let kind = ToolKind::Hosted { wire: Wire::Gemini, item: entry.into() };
            tools.push(ToolSpec { name, description: String::new(), kind });
        }
    }
    Ok(tools)
}

fn function_tool(function: &Value, place: &str) -> Result<ToolSpec, Error> {
    let function = object(function, place)?;
    let text = |key: &str| function.get(key).and_then(Value::as_str);
    let name = text("name").ok_or_else(|| invalid(place, "has no name"))?;
    let parameters = match (field(function, "parametersJsonSchema"), field(function, "parameters")) {
        (Some(parameters), _) => parameters.clone(),
        (None, Some(parameters)) => json_schema::from_gemini(parameters),
        (None, None) => json!({"type": "object", "properties": {}}),
    };
    Ok(ToolSpec::foreign(name, text("description").unwrap_or_default(), parameters))
}

/// Reads the choice of tools. What our choices cannot say goes along as it is.
fn tool_config(config: &Map<String, Value>, request: &mut Request, options: &mut Map<String, Value>) {
    let calling = field(config, "functionCallingConfig").and_then(Value::as_object);
    let mode = calling.and_then(|calling| calling.get("mode")).and_then(Value::as_str).unwrap_or_default();
    let allowed = calling.and_then(|calling| field(calling, "allowedFunctionNames")).map_or(&[][..], list);
    let (choice, says_all) = match (mode.to_ascii_uppercase().as_str(), allowed) {
        ("AUTO", []) => (Some(ToolChoice::Auto), true),
        ("NONE", []) => (Some(ToolChoice::None), true),
        ("ANY", []) => (Some(ToolChoice::Required), true),
        ("ANY", [Value::String(name)]) => (Some(ToolChoice::Named(name.clone())), true),
        ("ANY", _) => (Some(ToolChoice::Required), false),
        ("NONE", _) => (Some(ToolChoice::None), false),
        ("VALIDATED" | "AUTO", _) => (Some(ToolChoice::Auto), false),
        _ => (None, calling.is_none()),
    };
    request.tool_choice = choice;
    if !says_all || config.len() > usize::from(calling.is_some()) {
        options.insert("toolConfig".to_owned(), Value::Object(config.clone()));
    }
}

/// Reads what has a place in a request and gives back the rest.
fn generation_config(
    config: &Map<String, Value>,
    request: &mut Request,
) -> Result<Map<String, Value>, Error> {
    let wrong = |key: &str| invalid(&format!("generationConfig.{key}"), "has the wrong type");
    let mut rest = Map::new();
    let mut json_answer = false;
    let mut answer_schema = None;
    for (key, value) in config {
        let key = camel(key);
        match &*key {
            _ if value.is_null() => {}
            "temperature" => request.temperature = Some(value.as_f64().ok_or_else(|| wrong(&key))?),
            "topP" => request.top_p = Some(value.as_f64().ok_or_else(|| wrong(&key))?),
            "maxOutputTokens" => request.max_tokens = Some(value.as_u64().ok_or_else(|| wrong(&key))?),
            "stopSequences" => {
                let texts = list(value).iter().map(|text| text.as_str().map(str::to_owned));
                request.stop_sequences = texts.collect::<Option<_>>().ok_or_else(|| wrong(&key))?;
            }
            "responseMimeType" if value == "application/json" => json_answer = true,
            "responseMimeType" if value == "text/plain" => {
                request.response_format = Some(ResponseFormat::Text);
            }
            "responseJsonSchema" => answer_schema = Some(value.clone()),
            "responseSchema" => answer_schema = Some(json_schema::closed(json_schema::from_gemini(value))),
            "thinkingConfig" => {
                let thinking = object(value, "generationConfig.thinkingConfig")?;
                request.reasoning_effort = thinking::to_effort(thinking);
                let same = request.reasoning_effort.as_ref().is_some_and(|effort| {
                    let written = thinking::to_config(effort, None, &mut Vec::new());
                    written.is_ok_and(|written| written.as_ref() == Some(value))
                });
                if !same {
                    rest.insert(key.into_owned(), value.clone());
                }
            }
            _ => {
                rest.insert(key.into_owned(), value.clone());
            }
        }
    }
    match (json_answer, answer_schema) {
        (true, Some(schema)) => {
            let (name, strict) = ("answer".to_owned(), json_schema::is_closed(&schema));
            request.response_format = Some(ResponseFormat::JsonSchema { name, schema, strict });
        }
        (true, None) => request.response_format = Some(ResponseFormat::JsonObject),
        (false, Some(schema)) => {
            rest.insert("responseJsonSchema".to_owned(), schema);
        }
        (false, None) => {}
    }
    Ok(rest)
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
