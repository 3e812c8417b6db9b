//! A conversation as the items of a request.

use serde_json::{Value, json};

use super::call_ids::CallIds;
use super::items::{renamed, text};
use super::namespaces::{self, Elsewhere};
use crate::names::fits;
use crate::wire::EncodeCx;
use crate::{
    Content, Detail, Error, ErrorKind, ForeignThinking, Media, MediaSource, Message, Part, Request, Role,
    ToolCall, ToolCallKind, ToolResult, Warning, Wire,
};

/// The pieces a message's content is made of; any other raw value is an item of its own.
const PIECES: &[&str] = &["input_text", "input_image", "input_file", "input_audio", "output_text", "refusal"];

/// A conversation on this wire.
pub(super) struct Input {
    /// What the leading system and developer messages say.
    pub(super) instructions: Option<String>,
    /// Everything else, in order.
    pub(super) items: Vec<Value>,
    /// What could not be said.
    pub(super) warnings: Vec<Warning>,
}

/// Writes a conversation.
pub(super) fn encode(request: &Request, cx: &EncodeCx<'_>, elsewhere: &Elsewhere) -> Result<Input, Error> {
    let leading = request.messages.iter().take_while(|m| is_instruction(m, cx)).count();
    let (head, rest) = request.messages.split_at(leading);
    // Other wires keep blocks apart; run together, the last line of one would go on in the next.
    let blocks = head.iter().flat_map(|message| &message.content).filter_map(Part::as_text);
    let instructions: Vec<&str> = blocks.filter(|text| !text.is_empty()).collect();
    let mut writer = Writer {
        cx,
        elsewhere,
        foreign_thinking: request.foreign_thinking,
        calls: CallIds::of(&request.messages, cx.origin),
        items: Vec::with_capacity(rest.len()),
        warnings: Vec::new(),
    };
    for message in rest {
        writer.message(message)?;
    }
    writer.drop_idle_thoughts();
    Ok(Input {
        instructions: (!instructions.is_empty()).then(|| instructions.join("\n\n")),
        items: writer.items,
        warnings: writer.warnings,
    })
}

/// Whether a leading message can move to `instructions`. One that came to us as an item stays an
/// item, so that what a client sent is sent on as it was.
fn is_instruction(message: &Message, cx: &EncodeCx<'_>) -> bool {
    matches!(message.role, Role::System | Role::Developer)
        && message.content.iter().all(|part| part.as_text().is_some() && part.raw_for(cx.origin).is_none())
}

struct Writer<'a> {
    cx: &'a EncodeCx<'a>,
    elsewhere: &'a Elsewhere,
    foreign_thinking: ForeignThinking,
    calls: CallIds<'a>,
    items: Vec<Value>,
    warnings: Vec<Warning>,
}

impl Writer<'_> {
    fn message(&mut self, message: &Message) -> Result<(), Error> {
        let role = match message.role {
            Role::System => "system",
            Role::Developer => "developer",
            Role::Assistant => "assistant",
            Role::User | Role::Tool => "user",
        };
        if message.name.is_some() {
            self.warn("name_dropped", "the speaker's name has no place on this wire");
        }
        // Neighbouring pieces go into one message; an item of its own comes between two of them.
        let mut pieces = Vec::new();
        for part in &message.content {
            match part.raw_for(self.cx.origin) {
                Some(raw) if is_item(raw, role) => {
                    self.flush(role, &mut pieces);
                    self.items.push(self.verbatim(raw, part.content()));
                }
                Some(raw) if message.role != Role::Assistant && is_piece(raw) => pieces.push(raw.clone()),
                _ => {
                    if let Some(piece) = piece(part).filter(|_| message.role != Role::Assistant) {
                        pieces.push(piece?);
                    } else {
                        self.flush(role, &mut pieces);
                        self.item(part)?;
                    }
                }
            }
        }
        self.flush(role, &mut pieces);
        Ok(())
    }

    /// An item as it came. Only a call of a tool whose name the wire takes from nobody but the model gets another.
    fn verbatim(&self, raw: &Value, content: &Content) -> Value {
        match content {
            Content::ToolCall(call) if !fits(text(raw, "name"), Wire::Responses) => {
                renamed(raw.clone(), self.cx.names.to_wire(&call.name))
            }
            _ => raw.clone(),
        }
    }

    /// Leaves reasoning out that led to nothing: the wire takes it only before what the model made of it, or as the
    /// last of all, where the model is to go on from it.
    fn drop_idle_thoughts(&mut self) {
        let mut leads_on = true;
        for at in (0..self.items.len()).rev() {
            let item = &self.items[at];
            if !leads_on && text(item, "type") == "reasoning" {
                self.items.remove(at);
            } else {
                leads_on = is_by_model(item);
            }
        }
    }

    fn flush(&mut self, role: &str, pieces: &mut Vec<Value>) {
        if !pieces.is_empty() {
            let content = std::mem::take(pieces);
            self.items.push(json!({"type": "message", "role": role, "content": content}));
        }
    }

    /// A part that is an item of its own, rebuilt from its normalised view.
    fn item(&mut self, part: &Part) -> Result<(), Error> {
        match part.content() {
            Content::Text(text) => self.assistant_text(text),
            Content::ToolCall(call) => self.call(call),
            Content::ToolResult(result) => self.result(result)?,
            Content::Thinking(thinking) => {
                if self.foreign_thinking == ForeignThinking::AsText {
                    self.assistant_text(&thinking.text);
                }
            }
            // Opaque to everyone but its maker, so there is nothing to keep.
            Content::RedactedThinking(_) => {}
            Content::Image(_) | Content::Audio(_) | Content::Document(_) => {
                self.warn("assistant_media_dropped", "media that a model made cannot go back on this wire");
            }
            // Its tools are among the request's.
            Content::Other(item) if namespaces::declares_tools(item) => {}
            Content::Other(_) => {
                self.warn(
                    "foreign_item_dropped",
                    "an item that only its own provider understands was left out",
                );
            }
        }
        Ok(())
    }

    fn assistant_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        // The wire's own type demands an id and a status on what a model said.
        self.items.push(json!({
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
            "id": format!("msg_{}", self.items.len()),
            "status": "completed",
        }));
    }

    /// Without the item's id, which the wire would tie to a reasoning item that is not there.
    fn call(&mut self, call: &ToolCall) {
        let call_id = self.calls.on_wire(&call.id);
        let name = self.cx.names.to_wire(&call.name);
        let mut item = match call.kind {
            ToolCallKind::Function => {
                let arguments =
                    if call.raw_arguments.trim().is_empty() { "{}" } else { call.raw_arguments.as_str() };
                json!({"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments})
            }
            ToolCallKind::Custom => {
                let input = &call.raw_arguments;
                json!({"type": "custom_tool_call", "call_id": call_id, "name": name, "input": input})
            }
        };
        if self.elsewhere.is_within(&call.name) {
            namespaces::put(&mut item, &call.name);
        }
        self.items.push(item);
    }

    fn result(&mut self, result: &ToolResult) -> Result<(), Error> {
        let class = match self.calls.kind(&result.call_id) {
            ToolCallKind::Function => "function_call_output",
            ToolCallKind::Custom => "custom_tool_call_output",
        };
        let said = result.output.to_text();
        let output = if result.images.is_empty() {
            Value::String(said)
        } else {
            let mut pieces = Vec::with_capacity(result.images.len() + 1);
            if !said.is_empty() {
                pieces.push(input_text(&said));
            }
            for media in &result.images {
                pieces.push(image(media)?);
            }
            Value::Array(pieces)
        };
        let call_id = self.calls.on_wire(&result.call_id);
        self.items.push(json!({"type": class, "call_id": call_id, "output": output}));
        Ok(())
    }

    fn warn(&mut self, code: &str, message: &str) {
        if !self.warnings.iter().any(|w| w.code == code) {
            self.warnings.push(Warning::new(code, message));
        }
    }
}

/// Whether a raw value is an item that may stand in a message of this role: a part that was moved
/// to another role is rebuilt.
fn is_item(raw: &Value, role: &str) -> bool {
    match (text(raw, "type"), text(raw, "role")) {
        ("message" | "", said_by) => said_by == role,
        _ => !is_piece(raw),
    }
}

/// Whether an item is the model's, and no message or result for it.
fn is_by_model(item: &Value) -> bool {
    match text(item, "type") {
        "message" | "" => text(item, "role") == "assistant",
        class => !class.ends_with("_output"),
    }
}

/// Whether a raw value is a piece of a message's content.
fn is_piece(raw: &Value) -> bool {
    PIECES.contains(&text(raw, "type"))
}

/// A part as a piece of a message's content; `None` if it is an item of its own.
fn piece(part: &Part) -> Option<Result<Value, Error>> {
    match part.content() {
        Content::Text(text) => Some(Ok(input_text(text))),
        Content::Image(media) => Some(image(media)),
        Content::Document(media) => Some(file(media)),
        Content::Audio(_) => Some(Err(no_audio())),
        _ => None,
    }
}

fn input_text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn image(media: &Media) -> Result<Value, Error> {
    let detail = match media.detail {
        None | Some(Detail::Auto) => "auto",
        Some(Detail::Low) => "low",
        Some(Detail::High) => "high",
    };
    Ok(json!({"type": "input_image", "image_url": url(media)?, "detail": detail}))
}

fn file(media: &Media) -> Result<Value, Error> {
    if let MediaSource::Url(url) = &media.source {
        return Ok(json!({"type": "input_file", "file_url": url}));
    }
    let name = media.name.as_deref().unwrap_or_else(|| match media.mime() {
        "application/pdf" => "document.pdf",
        "text/plain" => "document.txt",
        _ => "document",
    });
    Ok(json!({"type": "input_file", "filename": name, "file_data": url(media)?}))
}

fn url(media: &Media) -> Result<String, Error> {
    media.to_url().ok_or_else(|| match &media.source {
        MediaSource::Path(path) => {
            Error::configuration(format!("`{}` was not read before the request was written", path.display()))
        }
        _ => Error::configuration("media without data"),
    })
}

fn no_audio() -> Error {
    Error::new(ErrorKind::InvalidRequest, "the Responses API takes no audio")
        .with_hint("send a transcript, or choose a provider that listens")
}
