//! The items of an answer: read into parts, and written from them.

use serde_json::{Value, json};

use super::{call_ids, namespaces};
use crate::names::NameMap;
use crate::{Content, Part, Thinking, ToolCall, ToolCallKind, Wire};

/// A text field of an item; empty if it is absent or something else.
pub(super) fn text<'a>(item: &'a Value, field: &str) -> &'a str {
    item.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The normalised view of an item. What has no place in it stays as it is.
pub(super) fn read(item: &Value, names: &NameMap) -> Content {
    match text(item, "type") {
        "message" => Content::Text(message_text(item)),
        "reasoning" => Content::Thinking(Thinking {
            text: reasoning_text(item),
            signature: Some(text(item, "encrypted_content")).filter(|s| !s.is_empty()).map(str::to_owned),
        }),
        "function_call" => {
            let arguments = match item.get("arguments") {
                Some(Value::String(arguments)) => arguments.clone(),
                None | Some(Value::Null) => String::new(),
                Some(other) => other.to_string(),
            };
            let name = namespaces::called(item);
            Content::ToolCall(ToolCall::function(call_id(item), names.from_wire(&name), arguments))
        }
        "custom_tool_call" => {
            let name = namespaces::called(item);
            Content::ToolCall(ToolCall::custom(call_id(item), names.from_wire(&name), text(item, "input")))
        }
        _ => Content::Other(item.clone()),
    }
}

/// The id that ties a call to its output; some servers know only the item's own.
pub(super) fn call_id(item: &Value) -> &str {
    match text(item, "call_id") {
        "" => text(item, "id"),
        id => id,
    }
}

/// The text of a message item: its texts and refusals, joined.
pub(super) fn message_text(item: &Value) -> String {
    match item.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(pieces)) => pieces
            .iter()
            .filter_map(|piece| piece.get("text").or_else(|| piece.get("refusal"))?.as_str())
            .collect(),
        _ => String::new(),
    }
}

/// The readable part of a reasoning item: its summary, else its content. Paragraphs are parted by
/// blank lines, as the stream decoder parts them.
fn reasoning_text(item: &Value) -> String {
    let paragraphs = |field: &str| -> Vec<&str> {
        let pieces = item.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        pieces.iter().map(|piece| text(piece, "text")).filter(|text| !text.is_empty()).collect()
    };
    let summary = paragraphs("summary");
    if summary.is_empty() { paragraphs("content").join("\n\n") } else { summary.join("\n\n") }
}

/// Whether the model refused in this item.
pub(super) fn is_refusal(item: &Value) -> bool {
    let pieces = item.get("content").and_then(Value::as_array);
    pieces.is_some_and(|pieces| pieces.iter().any(|piece| text(piece, "type") == "refusal"))
}

/// How far an item has got.
#[derive(Clone, Copy)]
pub(super) enum Status {
    InProgress,
    Completed,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

/// The id of an item of our own making: the same whenever the same answer is written.
pub(super) fn own_id(prefix: &str, response: &str, index: usize) -> String {
    let tail = response.strip_prefix("resp_").unwrap_or(response);
    call_ids::fit(&format!("{prefix}_{tail}_{index}")).into_owned()
}

/// A message of one text.
pub(super) fn message(id: &str, text: &str) -> Value {
    json!({
        "id": id,
        "type": "message",
        "status": Status::Completed.as_str(),
        "role": "assistant",
        "content": [output_text(text)],
    })
}

/// A message whose text is still to come.
pub(super) fn message_begun(id: &str) -> Value {
    json!({
        "id": id,
        "type": "message",
        "status": Status::InProgress.as_str(),
        "role": "assistant",
        "content": [],
    })
}

/// The text of a message.
pub(super) fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text})
}

/// A reasoning item. The signature is what this wire calls encrypted content.
pub(super) fn reasoning(id: &str, summary: &str, signature: Option<&str>) -> Value {
    let summary = if summary.is_empty() { json!([]) } else { json!([summary_text(summary)]) };
    let mut item = json!({"id": id, "type": "reasoning", "summary": summary});
    if let Some(signature) = signature {
        item["encrypted_content"] = signature.into();
    }
    item
}

/// A paragraph of a reasoning item.
pub(super) fn summary_text(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

/// A call of either kind.
pub(super) fn call(
    id: &str,
    call_id: &str,
    name: &str,
    kind: ToolCallKind,
    arguments: &str,
    status: Status,
) -> Value {
    let (class, field) = match kind {
        ToolCallKind::Function => ("function_call", "arguments"),
        ToolCallKind::Custom => ("custom_tool_call", "input"),
    };
    let (namespace, name) = namespaces::split(name);
    let mut item = json!({
        "id": id,
        "type": class,
        "status": status.as_str(),
        "call_id": call_id,
        "name": name,
        field: arguments,
    });
    if let Some(namespace) = namespace {
        item["namespace"] = namespace.into();
    }
    item
}

/// The prefix of the id of a call's item.
pub(super) fn call_prefix(kind: ToolCallKind) -> &'static str {
    match kind {
        ToolCallKind::Function => "fc",
        ToolCallKind::Custom => "ctc",
    }
}

/// The provider's own item for a call, under the name the caller knows the tool by.
pub(super) fn renamed(mut item: Value, name: &str) -> Value {
    if namespaces::called(&item) != name {
        namespaces::put(&mut item, name);
    }
    item
}

/// Whether a raw item is what this wire sends for such a part.
pub(super) fn fits(raw: &Value, content: &Content) -> bool {
    let class = text(raw, "type");
    match content {
        Content::Text(_) => class == "message" && text(raw, "role") == "assistant",
        Content::Thinking(_) => class == "reasoning",
        Content::ToolCall(call) => match call.kind {
            ToolCallKind::Function => class == "function_call",
            ToolCallKind::Custom => class == "custom_tool_call",
        },
        Content::Other(_) => !class.is_empty(),
        _ => false,
    }
}

/// The item for a part of an answer; `None` for what an answer on this wire cannot hold.
pub(super) fn of_part(part: &Part, response: &str, index: usize) -> Option<Value> {
    let raw = part.origin().filter(|o| o.wire == Wire::Responses).and_then(|o| part.raw_for(o));
    if let Some(raw) = raw.filter(|raw| fits(raw, part.content())) {
        return Some(match part.content() {
            Content::ToolCall(call) => renamed(raw.clone(), &call.name),
            _ => raw.clone(),
        });
    }
    let id = |prefix| own_id(prefix, response, index);
    Some(match part.content() {
        Content::Text(text) => message(&id("msg"), text),
        Content::Thinking(t) => reasoning(&id("rs"), &t.text, t.signature.as_deref()),
        Content::RedactedThinking(data) => reasoning(&id("rs"), "", Some(data)),
        Content::ToolCall(c) => {
            call(&id(call_prefix(c.kind)), &c.id, &c.name, c.kind, &c.raw_arguments, Status::Completed)
        }
        Content::Image(media) => json!({
            "id": id("ig"),
            "type": "image_generation_call",
            "status": "completed",
            "result": media.base64()?,
        }),
        Content::Audio(_) | Content::Document(_) | Content::ToolResult(_) | Content::Other(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_become_parts() {
        let check = |item: Value, expected: Content| {
            assert_eq!(read(&item, &NameMap::default()), expected, "{item}");
        };
        check(
            json!({"type": "message", "content": [
                {"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}
            ]}),
            Content::Text("ab".into()),
        );
        check(
            json!({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}),
            Content::Text("no".into()),
        );
        let thinking = |text: &str, signature: Option<&str>| {
            Content::Thinking(Thinking { text: text.into(), signature: signature.map(str::to_owned) })
        };
        check(
            json!({"type": "reasoning", "encrypted_content": "e", "summary": [
                {"text": "a"}, {"text": ""}, {"text": "b"}
            ]}),
            thinking("a\n\nb", Some("e")),
        );
        check(
            json!({"type": "reasoning", "encrypted_content": "", "summary": [], "content": [{"text": "c"}]}),
            thinking("c", None),
        );
        check(
            json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": {"a": 1}}),
            Content::ToolCall(ToolCall::function("c", "f", "{\"a\":1}")),
        );
        check(
            json!({"type": "custom_tool_call", "id": "only", "name": "f", "input": "x"}),
            Content::ToolCall(ToolCall::custom("only", "f", "x")),
        );
        let odd = json!({"type": "web_search_call", "id": "ws"});
        check(odd.clone(), Content::Other(odd));
        check(json!({"type": "message"}), Content::Text(String::new()));
        check(json!({"type": "reasoning", "summary": 3}), thinking("", None));
        check(json!(7), Content::Other(json!(7)));
    }
}
