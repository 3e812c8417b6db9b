//! Writes a conversation as `messages`.

use serde_json::{Map, Value, json};

use super::ids::CallIds;
use super::parts;
use super::request::Options;
use crate::wire::EncodeCx;
use crate::{
    Content, Error, ErrorKind, ForeignThinking, Message, Origin, Part, Request, Role, ToolCall, ToolCallKind,
    ToolResult, Warning,
};

/// The type of an item that holds fields of the message itself; see [`fields_part`].
const FIELDS: &str = "message_fields";

/// Fields of a message that have no place in [`Message`], as a content that goes back with it to its
/// origin.
pub(super) fn fields_part(fields: Map<String, Value>) -> Content {
    Content::Other(json!({ "type": FIELDS, "fields": fields }))
}

fn fields_for<'a>(part: &'a Part, target: &Origin) -> Option<&'a Map<String, Value>> {
    match part.content() {
        Content::Other(item) if part.is_from(target) && item["type"] == FIELDS => item["fields"].as_object(),
        _ => None,
    }
}

/// Writes the messages of a request.
pub(super) fn encode(
    request: &Request,
    cx: &EncodeCx<'_>,
    options: &Options,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Value>, Error> {
    let mut writer = Writer {
        cx,
        options,
        foreign: request.foreign_thinking,
        ids: CallIds::default(),
        out: Vec::with_capacity(request.messages.len()),
        pictures: Vec::new(),
        warnings,
    };
    for (index, message) in request.messages.iter().enumerate() {
        let at = format!("messages[{index}]");
        match message.role {
            Role::Developer if options.developer_role => writer.plain("developer", message, &at)?,
            Role::System | Role::Developer => writer.plain("system", message, &at)?,
            Role::User | Role::Tool => writer.user(message, &at)?,
            Role::Assistant => writer.assistant(message, &at)?,
        }
    }
    writer.flush_pictures();
    Ok(writer.out)
}

struct Writer<'a> {
    cx: &'a EncodeCx<'a>,
    options: &'a Options,
    foreign: ForeignThinking,
    ids: CallIds,
    out: Vec<Value>,
    /// Pictures of tool results; they wait until the last result of the turn is written.
    pictures: Vec<Value>,
    warnings: &'a mut Vec<Warning>,
}

impl Writer<'_> {
    /// A system or developer message: text only.
    fn plain(&mut self, role: &str, message: &Message, at: &str) -> Result<(), Error> {
        if let Some(part) = message.content.iter().find(|p| is_media(p.content())) {
            return Err(misplaced(part, role, at));
        }
        self.flush_pictures();
        self.write(role, message, at)
    }

    /// A user's message, or a turn's tool results: the results come first, each as its own message.
    fn user(&mut self, message: &Message, at: &str) -> Result<(), Error> {
        for (part, result) in message.content.iter().filter_map(|part| Some((part, result_of(part)?))) {
            self.result(part, result, at)?;
        }
        let is_rest = |part: &Part| result_of(part).is_none();
        if message.role == Role::Tool && !message.content.iter().any(is_rest) {
            return Ok(());
        }
        self.flush_pictures();
        self.write("user", message, at)
    }

    fn result(&mut self, part: &Part, result: &ToolResult, at: &str) -> Result<(), Error> {
        let id = self.ids.result(&result.call_id);
        match part.raw_for(self.cx.origin) {
            Some(raw) => self.out.push(with(raw, "tool_call_id", id)),
            None => {
                self.out
                    .push(json!({ "role": "tool", "tool_call_id": id, "content": result.output.to_text() }));
            }
        }
        for image in &result.images {
            self.pictures.push(parts::write_image(image, at)?);
        }
        Ok(())
    }

    fn flush_pictures(&mut self) {
        if !self.pictures.is_empty() {
            let pictures = std::mem::take(&mut self.pictures);
            self.out.push(json!({ "role": "user", "content": pictures }));
        }
    }

    /// Writes a message without calls and without results; nothing at all if it says nothing.
    fn write(&mut self, role: &str, message: &Message, at: &str) -> Result<(), Error> {
        let mut object = start(role, message);
        let target = self.cx.origin;
        let plain = message.content.iter().all(|p| raw_item(p, target).is_none() && !is_media(p.content()));
        let mut texts = Vec::new();
        let mut items = Vec::new();
        for (index, part) in message.content.iter().enumerate() {
            let at = format!("{at}.content[{index}]");
            if let Some(raw) = raw_item(part, target) {
                items.push(raw.clone());
                continue;
            }
            match part.content() {
                Content::Text(text) if plain => texts.push(text.as_str()),
                Content::Text(text) => items.push(json!({ "type": "text", "text": text })),
                Content::Image(media) => items.push(parts::write_image(media, &at)?),
                Content::Audio(media) => items.push(parts::write_audio(media, &at)?),
                Content::Document(media) => items.push(parts::write_document(media, &at)?),
                Content::ToolResult(_) => {}
                Content::Other(_) => match fields_for(part, self.cx.origin) {
                    Some(fields) => object.extend(fields.clone()),
                    None => self.dropped("an item that only its own provider understands", &at),
                },
                Content::ToolCall(_) | Content::Thinking(_) | Content::RedactedThinking(_) => {
                    return Err(misplaced(part, role, &at));
                }
            }
        }
        let content = if plain {
            if texts.is_empty() {
                return Ok(());
            }
            texts.join("\n\n").into()
        } else {
            // Servers refuse empty texts beside other parts.
            items.retain(|item| parts::text(item) != Some(""));
            items.into()
        };
        object.insert("content".into(), content);
        self.out.push(object.into());
        Ok(())
    }

    fn assistant(&mut self, message: &Message, at: &str) -> Result<(), Error> {
        self.flush_pictures();
        let mut object = start("assistant", message);
        let mut content: Option<String> = None;
        let mut after_thinking = false;
        let mut reasoning = String::new();
        let mut calls = Vec::new();
        let mut fields = Map::new();
        for (index, part) in message.content.iter().enumerate() {
            let at = format!("{at}.content[{index}]");
            match part.content() {
                Content::Text(text) => {
                    let content = content.get_or_insert_default();
                    if std::mem::take(&mut after_thinking) {
                        content.push_str("\n\n");
                    }
                    content.push_str(text);
                }
                Content::Thinking(thinking) if part.is_from(self.cx.origin) => {
                    if self.options.send_reasoning {
                        reasoning.push_str(&thinking.text);
                    }
                }
                Content::Thinking(thinking) => {
                    if self.foreign == ForeignThinking::AsText && !thinking.text.is_empty() {
                        let content = content.get_or_insert_default();
                        if !content.is_empty() {
                            content.push_str("\n\n");
                        }
                        content.push_str(&thinking.text);
                        after_thinking = true;
                    }
                }
                Content::RedactedThinking(_) => {}
                Content::ToolCall(call) => calls.push(self.call(part, call)),
                Content::ToolResult(_) => return Err(misplaced(part, "assistant", &at)),
                Content::Other(_) => match fields_for(part, self.cx.origin) {
                    Some(more) => fields.extend(more.clone()),
                    None => self.dropped("an item that only its own provider understands", &at),
                },
                Content::Image(_) | Content::Audio(_) | Content::Document(_) => {
                    self.dropped("media of an assistant's message", &at);
                }
            }
        }
        if content.is_none() && calls.is_empty() && fields.is_empty() {
            return Ok(());
        }
        object.insert("content".into(), content.map_or(Value::Null, Value::String));
        if !reasoning.is_empty() {
            object.insert("reasoning_content".into(), reasoning.into());
        }
        if !calls.is_empty() {
            object.insert("tool_calls".into(), calls.into());
        }
        object.extend(fields);
        self.out.push(object.into());
        Ok(())
    }

    fn call(&mut self, part: &Part, call: &ToolCall) -> Value {
        let id = self.ids.call(&call.id);
        if let Some(raw) = part.raw_for(self.cx.origin) {
            return with(raw, "id", id);
        }
        let name = self.cx.names.to_wire(&call.name);
        match call.kind {
            ToolCallKind::Custom if self.options.custom_tools => {
                json!({ "id": id, "type": "custom", "custom": { "name": name, "input": call.raw_arguments } })
            }
            ToolCallKind::Custom => {
                let arguments = json!({ "input": call.raw_arguments }).to_string();
                json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
            }
            ToolCallKind::Function => {
                let arguments = self.arguments(call);
                json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
            }
        }
    }

    /// The arguments as the model wrote them. Chat templates parse them, and fail on what is not an
    /// object.
    fn arguments<'c>(&mut self, call: &'c ToolCall) -> &'c str {
        if call.raw_arguments.trim().is_empty() {
            return "{}";
        }
        if call.is_well_formed() {
            return &call.raw_arguments;
        }
        self.warnings.push(Warning::new(
            "tool_arguments_mended",
            format!("the arguments of call `{}` are no JSON object and went out as {{}}", call.id),
        ));
        "{}"
    }

    fn dropped(&mut self, what: &str, at: &str) {
        self.warnings.push(Warning::new("part_dropped", format!("{at}: {what} was left out")));
    }
}

/// A raw item with one field set anew.
fn with(raw: &Value, field: &str, value: String) -> Value {
    let mut item = raw.clone();
    if let Value::Object(object) = &mut item {
        object.insert(field.to_owned(), value.into());
    }
    item
}

fn start(role: &str, message: &Message) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("role".into(), role.into());
    if let Some(name) = &message.name {
        object.insert("name".into(), name.as_str().into());
    }
    object
}

fn result_of(part: &Part) -> Option<&ToolResult> {
    match part.content() {
        Content::ToolResult(result) => Some(result),
        _ => None,
    }
}

/// The item of a content list as it came. (A result's raw item is a message, not an item of one.)
fn raw_item<'a>(part: &'a Part, target: &Origin) -> Option<&'a Value> {
    part.raw_for(target).filter(|_| result_of(part).is_none())
}

fn is_media(content: &Content) -> bool {
    matches!(content, Content::Image(_) | Content::Audio(_) | Content::Document(_))
}

fn misplaced(part: &Part, role: &str, at: &str) -> Error {
    let what = match part.content() {
        Content::ToolCall(_) => "a tool call",
        Content::ToolResult(_) => "a tool result",
        Content::Thinking(_) | Content::RedactedThinking(_) => "reasoning",
        _ => "media",
    };
    Error::new(ErrorKind::InvalidRequest, format!("{at}: {what} cannot stand in a {role} message"))
}
