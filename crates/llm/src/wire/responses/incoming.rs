//! The body and the items as a server reads them.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::items::{self, text};
use super::namespaces;
use crate::names::NameMap;
use crate::wire::Mode;
use crate::{
    Content, Detail, Effort, Error, ErrorKind, Media, Message, Origin, Part, Request, ResponseFormat,
    ResultOutput, Role, ToolChoice, ToolKind, ToolResult, ToolSpec, Wire,
};

/// Fields that say where the conversation is when `input` does not.
const ELSEWHERE: &[&str] = &["previous_response_id", "conversation", "prompt"];

/// The item that stands for one that the provider has.
const REFERENCE: &str = "item_reference";

/// Reads a request.
pub(super) fn decode(body: &Value, origin: &Arc<Origin>) -> Result<(Request, Mode), Error> {
    let Value::Object(body) = body else { return Err(bad("body", "is not an object")) };
    let mut request = Request::default();
    let mut mode = Mode::Complete;
    let mut options = Map::new();
    let mut input = None;
    for (field, value) in body {
        if value.is_null() {
            continue;
        }
        match field.as_str() {
            "model" => request.model = Some(string(field, value)?.to_owned()),
            "stream" if boolean(field, value)? => mode = Mode::Stream,
            "stream" => {}
            "instructions" => {
                let said = Content::Text(string(field, value)?.to_owned());
                let part = Part::received(said, Arc::clone(origin), None);
                request.messages.insert(0, Message::new(Role::System, vec![part]));
            }
            "input" => input = Some(value),
            "tools" => request.tools = tools("tools", value)?,
            "tool_choice" => match tool_choice(value) {
                Some(choice) => request.tool_choice = Some(choice),
                None => keep(&mut options, field, value.clone()),
            },
            "parallel_tool_calls" => request.parallel_tool_calls = Some(boolean(field, value)?),
            "temperature" => request.temperature = Some(number(field, value)?),
            "top_p" => request.top_p = Some(number(field, value)?),
            "max_output_tokens" => {
                let limit = value.as_u64().ok_or_else(|| bad(field, "is not a number of tokens"))?;
                request.max_tokens = Some(limit);
            }
            "metadata" => request.metadata.clone_from(object(field, value)?),
            "reasoning" => {
                let mut rest = object(field, value)?.clone();
                if let Some(effort) = rest.get("effort").and_then(Value::as_str) {
                    request.reasoning_effort = Some(Effort::from(effort.to_owned()));
                    rest.shift_remove("effort");
                }
                keep_rest(&mut options, field, rest);
            }
            "text" => {
                let mut rest = object(field, value)?.clone();
                if let Some(format) = rest.get("format").and_then(response_format) {
                    request.response_format = Some(format);
                    rest.shift_remove("format");
                }
                keep_rest(&mut options, field, rest);
            }
            _ => keep(&mut options, field, value.clone()),
        }
    }
    match input {
        Some(input) => {
            let (messages, tools) = (&mut request.messages, &mut request.tools);
            Reader { origin, messages, tools, places: HashMap::new() }.input(input)?;
        }
        None if ELSEWHERE.iter().any(|field| options.contains_key(*field)) => {}
        None => return Err(bad("input", "is missing")),
    }
    keep_rest(&mut request.provider_options, Wire::Responses.name(), options);
    Ok((request, mode))
}

/// The field that would be lost, if there is one: an answer that comes later, and what the provider
/// has of the conversation.
pub(super) fn lost(request: &Request, same: bool) -> Option<&'static str> {
    let options = request.provider_options.get(Wire::Responses.name());
    if options.is_some_and(|options| options["background"] == true) {
        return Some("background");
    }
    if same {
        return None;
    }
    let field = ELSEWHERE.iter().find(|field| options.is_some_and(|options| options.get(**field).is_some()));
    let is_reference =
        |part: &Part| matches!(part.content(), Content::Other(item) if text(item, "type") == REFERENCE);
    let parts = || request.messages.iter().flat_map(|message| &message.content);
    field.copied().or_else(|| parts().any(is_reference).then_some(REFERENCE))
}

fn keep(options: &mut Map<String, Value>, field: &str, value: Value) {
    options.insert(field.to_owned(), value);
}

fn keep_rest(options: &mut Map<String, Value>, field: &str, rest: Map<String, Value>) {
    if !rest.is_empty() {
        keep(options, field, Value::Object(rest));
    }
}

fn response_format(format: &Value) -> Option<ResponseFormat> {
    match text(format, "type") {
        "text" => Some(ResponseFormat::Text),
        "json_object" => Some(ResponseFormat::JsonObject),
        // A description has no place in ours, and such a format stays whole.
        "json_schema" if format.get("description").is_none_or(Value::is_null) => {
            Some(ResponseFormat::JsonSchema {
                name: text(format, "name").to_owned(),
                schema: format.get("schema")?.clone(),
                strict: format.get("strict").and_then(Value::as_bool).unwrap_or(false),
            })
        }
        _ => None,
    }
}

fn tool_choice(choice: &Value) -> Option<ToolChoice> {
    match choice.as_str().unwrap_or_else(|| text(choice, "type")) {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "required" => Some(ToolChoice::Required),
        "function" | "custom" => {
            choice.get("name")?.as_str().map(|_| ToolChoice::Named(namespaces::called(choice).into_owned()))
        }
        _ => None,
    }
}

/// The tools of a list. Those of a namespace follow it, by themselves.
fn tools(place: &str, value: &Value) -> Result<Vec<ToolSpec>, Error> {
    let list = value.as_array().ok_or_else(|| bad(place, "is not a list"))?;
    let mut tools = Vec::with_capacity(list.len());
    for (n, tool) in list.iter().enumerate() {
        let place = format!("{place}[{n}]");
        tools.push(self::tool(&place, tool)?);
        if namespaces::is_namespace(tool) {
            let namespace = field(&place, tool, "name")?;
            let place = format!("{place}.tools");
            let inner = tool.get("tools").and_then(Value::as_array);
            for (n, inner) in inner.ok_or_else(|| bad(&place, "is not a list"))?.iter().enumerate() {
                let inner = self::tool(&format!("{place}[{n}]"), inner)?;
                if !matches!(inner.kind, ToolKind::Hosted { .. }) {
                    let name = namespaces::joined(namespace, &inner.name).into_owned();
                    tools.push(ToolSpec { name, ..inner });
                }
            }
        }
    }
    Ok(tools)
}

fn tool(place: &str, tool: &Value) -> Result<ToolSpec, Error> {
    let class = field(place, tool, "type")?;
    let kind = match class {
        "function" => ToolKind::Function {
            parameters: match tool.get("parameters") {
                None | Some(Value::Null) => json!({"type": "object", "properties": {}}).into(),
                Some(parameters) => parameters.clone().into(),
            },
            strict: tool.get("strict").and_then(Value::as_bool),
        },
        "custom" => ToolKind::Custom { format: tool.get("format").filter(|f| !f.is_null()).cloned() },
        _ => ToolKind::Hosted { wire: Wire::Responses, item: tool.clone() },
    };
    let name = match &kind {
        ToolKind::Hosted { .. } => tool.get("name").and_then(Value::as_str).unwrap_or(class),
        _ => field(place, tool, "name")?,
    };
    Ok(ToolSpec { name: name.to_owned(), description: text(tool, "description").to_owned(), kind })
}

struct Reader<'a> {
    origin: &'a Arc<Origin>,
    messages: &'a mut Vec<Message>,
    tools: &'a mut Vec<ToolSpec>,
    /// Where each tool is, by its name and whether it is the provider's; filled when it is needed.
    places: HashMap<(String, bool), usize>,
}

impl Reader<'_> {
    fn input(&mut self, input: &Value) -> Result<(), Error> {
        match input {
            Value::String(said) => {
                let part = self.part(Content::Text(said.clone()), None);
                self.messages.push(Message::new(Role::User, vec![part]));
                Ok(())
            }
            Value::Array(items) => {
                items.iter().enumerate().try_for_each(|(n, item)| self.item(&format!("input[{n}]"), item))
            }
            _ => Err(bad("input", "is neither a text nor a list")),
        }
    }

    fn item(&mut self, place: &str, item: &Value) -> Result<(), Error> {
        if !item.is_object() {
            return Err(bad(place, "is not an object"));
        }
        match text(item, "type") {
            "message" => return self.message(place, item),
            "" if item.get("role").is_some() => return self.message(place, item),
            _ if namespaces::declares_tools(item) => {
                self.declare(tools(&format!("{place}.tools"), item.get("tools").unwrap_or(&Value::Null))?);
                let part = self.part(Content::Other(item.clone()), Some(item.clone()));
                self.messages.push(Message::new(Role::Developer, vec![part]));
            }
            "function_call" => {
                for required in ["call_id", "name", "arguments"] {
                    field(place, item, required)?;
                }
                self.turn(Role::Assistant, items::read(item, &NameMap::default()), item);
            }
            "custom_tool_call" => {
                for required in ["call_id", "name", "input"] {
                    field(place, item, required)?;
                }
                self.turn(Role::Assistant, items::read(item, &NameMap::default()), item);
            }
            "function_call_output" | "custom_tool_call_output" => {
                let result = output(place, item)?;
                self.turn(Role::Tool, Content::ToolResult(result), item);
            }
            class if class.ends_with("_output") => self.turn(Role::Tool, Content::Other(item.clone()), item),
            _ => self.turn(Role::Assistant, items::read(item, &NameMap::default()), item),
        }
        Ok(())
    }

    /// Adds tools that stand in the conversation. One that is declared again is what it was said to
    /// be last.
    fn declare(&mut self, tools: Vec<ToolSpec>) {
        let key = |tool: &ToolSpec| (tool.name.clone(), matches!(tool.kind, ToolKind::Hosted { .. }));
        if self.places.is_empty() {
            self.places = self.tools.iter().enumerate().map(|(place, tool)| (key(tool), place)).collect();
        }
        for tool in tools {
            let place = *self.places.entry(key(&tool)).or_insert(self.tools.len());
            match self.tools.get_mut(place) {
                Some(known) => *known = tool,
                None => self.tools.push(tool),
            }
        }
    }

    /// Adds to the running turn of the model or of its tools, or begins one.
    fn turn(&mut self, role: Role, content: Content, item: &Value) {
        let part = self.part(content, Some(item.clone()));
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.content.push(part),
            _ => self.messages.push(Message::new(role, vec![part])),
        }
    }

    fn message(&mut self, place: &str, item: &Value) -> Result<(), Error> {
        let role = match field(place, item, "role")? {
            "user" => Role::User,
            "system" => Role::System,
            "developer" => Role::Developer,
            "assistant" => Role::Assistant,
            other => return Err(bad(&format!("{place}.role"), &format!("`{other}` is not a role"))),
        };
        let pieces = match item.get("content") {
            Some(Value::String(_)) => &[],
            Some(Value::Array(pieces)) => pieces.as_slice(),
            _ => return Err(bad(&format!("{place}.content"), "is neither a text nor a list")),
        };
        for (n, piece) in pieces.iter().enumerate() {
            field(&format!("{place}.content[{n}]"), piece, "type")?;
        }
        if role == Role::Assistant {
            self.turn(role, Content::Text(items::message_text(item)), item);
            return Ok(());
        }
        // A part that is all of its message keeps the whole item, else each keeps its own piece.
        let parts = match pieces {
            [] => vec![self.part(Content::Text(items::message_text(item)), Some(item.clone()))],
            [only] => vec![self.part(piece(only), Some(item.clone()))],
            several => several.iter().map(|p| self.part(piece(p), Some(p.clone()))).collect(),
        };
        self.messages.push(Message::new(role, parts));
        Ok(())
    }

    fn part(&self, content: Content, raw: Option<Value>) -> Part {
        Part::received(content, Arc::clone(self.origin), raw)
    }
}

/// A piece of a message's content.
fn piece(piece: &Value) -> Content {
    match text(piece, "type") {
        "input_text" | "output_text" | "text" => Content::Text(text(piece, "text").to_owned()),
        "input_image" => match image(piece) {
            Some(media) => Content::Image(media),
            None => Content::Other(piece.clone()),
        },
        "input_file" => {
            let name = Some(text(piece, "filename")).filter(|n| !n.is_empty()).map(str::to_owned);
            match (text(piece, "file_data"), text(piece, "file_url")) {
                ("", "") => Content::Other(piece.clone()),
                ("", url) => Content::Document(Media { name, ..Media::url(url) }),
                (data, _) => Content::Document(Media { name, ..Media::from_wire_url(data) }),
            }
        }
        _ => Content::Other(piece.clone()),
    }
}

/// `None` for a picture that the provider already has.
fn image(piece: &Value) -> Option<Media> {
    let detail = match text(piece, "detail") {
        "auto" => Some(Detail::Auto),
        "low" => Some(Detail::Low),
        "high" => Some(Detail::High),
        _ => None,
    };
    let url = piece.get("image_url")?.as_str()?;
    Some(Media { detail, ..Media::from_wire_url(url) })
}

fn output(place: &str, item: &Value) -> Result<ToolResult, Error> {
    let call_id = field(place, item, "call_id")?;
    let pieces = match item.get("output") {
        Some(Value::String(output)) => return Ok(ToolResult::text(call_id, output)),
        Some(Value::Array(pieces)) => pieces,
        _ => return Err(bad(&format!("{place}.output"), "is neither a text nor a list")),
    };
    let texts: Vec<&str> = pieces.iter().filter_map(|p| p.get("text")?.as_str()).collect();
    Ok(ToolResult {
        call_id: call_id.to_owned(),
        output: ResultOutput::Text(texts.join("\n")),
        is_error: false,
        images: pieces.iter().filter(|p| text(p, "type") == "input_image").filter_map(image).collect(),
    })
}

fn field<'a>(place: &str, item: &'a Value, name: &str) -> Result<&'a str, Error> {
    match item.get(name) {
        Some(Value::String(value)) => Ok(value),
        Some(_) => Err(bad(&format!("{place}.{name}"), "is not a text")),
        None => Err(bad(&format!("{place}.{name}"), "is missing")),
    }
}

fn string<'a>(place: &str, value: &'a Value) -> Result<&'a str, Error> {
    value.as_str().ok_or_else(|| bad(place, "is not a text"))
}

fn boolean(place: &str, value: &Value) -> Result<bool, Error> {
    value.as_bool().ok_or_else(|| bad(place, "is neither true nor false"))
}

fn number(place: &str, value: &Value) -> Result<f64, Error> {
    value.as_f64().ok_or_else(|| bad(place, "is not a number"))
}

fn object<'a>(place: &str, value: &'a Value) -> Result<&'a Map<String, Value>, Error> {
    value.as_object().ok_or_else(|| bad(place, "is not an object"))
}

fn bad(place: &str, what: &str) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("`{place}` {what}"))
}
