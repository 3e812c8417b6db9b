//! Parts as content blocks, on the way to the provider.

use serde_json::{Map, Value, json};

use super::ids;
use super::media;
use super::options::Warnings;
use crate::wire::EncodeCx;
use crate::{
    Content, Error, ErrorKind, ForeignThinking, Part, ResultOutput, Role, Thinking, ToolCall, ToolCallKind,
    ToolResult,
};

/// The `type` under which a message's own fields (beside role and content) are kept as a part, so
/// that they go back with the message. No such block exists on the wire.
pub(super) const MESSAGE_FIELDS: &str = "message_fields";

/// What turns parts into blocks for one request.
pub(super) struct Blocks<'a> {
    pub(super) cx: &'a EncodeCx<'a>,
    pub(super) foreign_thinking: ForeignThinking,
    pub(super) warnings: &'a mut Warnings,
}

impl Blocks<'_> {
    /// The block for a part, or none where the part has no place in the request.
    ///
    /// # Errors
    /// `invalid_request` for what this wire cannot say, or not in a message of this role.
    pub(super) fn block(&mut self, part: &Part, role: Role) -> Result<Option<Value>, Error> {
        let content = part.content();
        if matches!(content, Content::Text(text) if is_blank(text)) {
            return Ok(None);
        }
        misplaced(content, role)?;
        if let Some(raw) = part.raw_for(self.cx.origin) {
            return Ok(Some(self.verbatim(raw, content)));
        }
        let theirs = part.is_from(self.cx.origin);
        Ok(match content {
            Content::Text(text) => Some(self::text(text)),
            Content::Image(_) | Content::Audio(_) | Content::Document(_) if role == Role::Assistant => {
                self.warnings.add(
                    "media_dropped",
                    "media in an assistant message was left out: this wire takes media from the user only",
                );
                None
            }
            Content::Image(image) => Some(media::image(image)?),
            Content::Document(document) => Some(media::document(document)?),
            Content::Audio(_) => return Err(media::no_audio()),
            Content::ToolCall(call) => Some(json!({
                "type": "tool_use",
                "id": ids::on_wire(&call.id),
                "name": self.cx.names.to_wire(&call.name),
                "input": call_input(call),
            })),
            Content::ToolResult(result) => Some(tool_result(result)?),
            Content::Thinking(thinking) => self.thinking(thinking, theirs),
            Content::RedactedThinking(data) => {
                theirs.then(|| json!({"type": "redacted_thinking", "data": data}))
            }
            Content::Other(item) if theirs => Some(item.clone()),
            Content::Other(_) => {
                self.warnings.add(
                    "foreign_item_dropped",
                    "an item that only another provider or model understands was left out",
                );
                None
            }
        })
    }

    /// The provider's own item. Only a tool's name may have to change: its spelling follows the
    /// tools declared now, not those of the time of the call.
    fn verbatim(&self, raw: &Value, content: &Content) -> Value {
        let mut block = raw.clone();
        if let (Content::ToolCall(call), Value::Object(fields)) = (content, &mut block) {
            fields.insert("name".to_owned(), Value::from(self.cx.names.to_wire(&call.name)));
        }
        block
    }

    /// Without a signature (another model's, or cut off before it came) the provider would refuse
    /// the block.
    fn thinking(&self, thinking: &Thinking, theirs: bool) -> Option<Value> {
        match &thinking.signature {
            Some(signature) if theirs => {
                Some(json!({"type": "thinking", "thinking": thinking.text, "signature": signature}))
            }
            _ if self.foreign_thinking == ForeignThinking::AsText && !is_blank(&thinking.text) => {
                Some(text(&thinking.text))
            }
            _ => None,
        }
    }
}

fn misplaced(content: &Content, role: Role) -> Result<(), Error> {
    let instructs = matches!(role, Role::System | Role::Developer);
    let (what, place) = match content {
        Content::ToolCall(_) if role != Role::Assistant => ("tool call", "only in an assistant message"),
        Content::ToolResult(_) if instructs || role == Role::Assistant => {
            ("tool result", "only in a tool or user message")
        }
        Content::Image(_) | Content::Audio(_) | Content::Document(_) | Content::Thinking(_) if instructs => {
            ("system message", "with text only")
        }
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidRequest, format!("the Anthropic wire takes a {what} {place}")))
}

/// Whether the API would refuse a text block of this.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// A `text` block.
pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A call's `input`, which must be an object whatever the model wrote.
pub(super) fn call_input(call: &ToolCall) -> Value {
    match call.kind {
        ToolCallKind::Custom => json!({"input": call.raw_arguments}),
        ToolCallKind::Function if call.arguments.is_object() => call.arguments.clone(),
        ToolCallKind::Function => json!({"_raw": call.raw_arguments}),
    }
}

fn tool_result(result: &ToolResult) -> Result<Value, Error> {
    let output = match &result.output {
        ResultOutput::Text(text) => text.clone(),
        json @ ResultOutput::Json(_) => json.to_text(),
    };
    let content = if result.images.is_empty() {
        Value::String(output)
    } else {
        let mut blocks = Vec::with_capacity(result.images.len() + 1);
        if !is_blank(&output) {
            blocks.push(text(&output));
        }
        for image in &result.images {
            blocks.push(media::image(image)?);
        }
        Value::Array(blocks)
    };
    let mut block = Map::new();
    block.insert("type".to_owned(), Value::from("tool_result"));
    block.insert("tool_use_id".to_owned(), Value::from(ids::on_wire(&result.call_id)));
    block.insert("content".to_owned(), content);
    if result.is_error {
        block.insert("is_error".to_owned(), Value::Bool(true));
    }
    Ok(Value::Object(block))
}
