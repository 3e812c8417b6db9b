//! One block of a streamed answer, from its start to its stop.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::response::{self, CALL, TEXT, THINKING};
use super::stream::Delta;
use crate::names::NameMap;
use crate::{Content, Origin, Part, SegmentId, StreamEvent, ToolCall, ToolCallKind};

/// The most text of a block that is held back in case its raw item is needed: citations may come
/// after the text they belong to. Longer texts go without.
const MAX_TEXT: usize = 1024 * 1024;

/// An open block: what has to be remembered of it until it stops.
pub(super) enum Block {
    /// Text, kept for the raw item of a cited text. `cited` counts the bytes of the citations.
    Text { start: Value, kept: Kept, citations: Vec<Value>, cited: usize },
    /// Reasoning, kept only if the block says more than text and signature.
    Thinking { start: Option<Value>, kept: Kept, signature: Option<String> },
    /// A tool call. A custom tool's text is handed on only once its JSON is whole.
    Call { start: Value, name: String, kind: ToolCallKind, arguments: String },
    /// A call of the reserved answer tool, handed on as text.
    Answer { input: String, started: bool },
    /// A block that is whole from its start.
    Redacted(Value),
    /// A block only its own provider understands. `bytes` counts what its deltas brought.
    Other { block: Map<String, Value>, json: String, bytes: usize },
}

/// A bounded copy of text that was handed on.
pub(super) struct Kept(Option<String>);

impl Kept {
    fn push(&mut self, text: &str) {
        match &mut self.0 {
            Some(kept) if kept.len() + text.len() <= MAX_TEXT => kept.push_str(text),
            kept => *kept = None,
        }
    }
}

impl Block {
    /// Opens a block and hands on what its start already says.
    pub(super) fn start(id: SegmentId, block: Value, names: &NameMap, out: &mut Vec<StreamEvent>) -> Self {
        match block["type"].as_str() {
            Some("text") => {
                out.push(StreamEvent::TextStart { id });
                let first = response::text(&block["text"]);
                let citations = block["citations"].as_array().cloned().unwrap_or_default();
                let kept = Kept(Some(first.clone()));
                if !first.is_empty() {
                    out.push(StreamEvent::TextDelta { id, text: first });
                }
                Self::Text { start: block, kept, citations, cited: 0 }
            }
            Some("thinking") => {
                out.push(StreamEvent::ReasoningStart { id });
                let first = response::text(&block["thinking"]);
                let signature = response::signature(&block["signature"]);
                let start = response::surplus(&block, &THINKING);
                let kept = Kept(start.is_some().then(|| first.clone()));
                if !first.is_empty() {
                    out.push(StreamEvent::ReasoningDelta { id, text: first });
                }
                Self::Thinking { start, kept, signature }
            }
            Some("tool_use") if response::is_answer(&block) => {
                out.push(StreamEvent::TextStart { id });
                Self::Answer { input: response::input(&block["input"]), started: false }
            }
            Some("tool_use") => {
                let name = names.from_wire(block["name"].as_str().unwrap_or_default()).to_owned();
                let kind = if names.is_custom(&name) { ToolCallKind::Custom } else { ToolCallKind::Function };
                let call_id = response::text(&block["id"]);
                out.push(StreamEvent::ToolCallStart { id, call_id, name: name.clone(), kind });
                Self::Call { start: block, name, kind, arguments: String::new() }
            }
            Some("redacted_thinking") => Self::Redacted(block),
            _ => Self::Other {
                block: if let Value::Object(fields) = block { fields } else { Map::new() },
                json: String::new(),
                bytes: 0,
            },
        }
    }

    /// Takes in a delta; `data` is the whole event, for deltas of unknown kinds.
    pub(super) fn delta(&mut self, id: SegmentId, delta: Delta<'_>, data: &str, out: &mut Vec<StreamEvent>) {
        match (self, delta) {
            (Self::Text { kept, .. }, Delta { text: Some(text), .. }) => {
                kept.push(&text);
                out.push(StreamEvent::TextDelta { id, text });
            }
            (Self::Text { citations, cited, .. }, delta) if delta.kind == "citations_delta" => {
                *cited += data.len();
                citations.extend(delta_of(data).remove("citation"));
            }
            (Self::Thinking { kept, .. }, Delta { thinking: Some(text), .. }) => {
                kept.push(&text);
                out.push(StreamEvent::ReasoningDelta { id, text });
            }
            (Self::Thinking { signature, .. }, Delta { signature: Some(new), .. }) => {
                *signature = Some(new).filter(|s| !s.is_empty());
            }
            (Self::Call { arguments, kind, .. }, Delta { partial_json: Some(json), .. })
                if !json.is_empty() =>
            {
                arguments.push_str(&json);
                if *kind == ToolCallKind::Function {
                    out.push(StreamEvent::ToolCallDelta { id, arguments: json });
                }
            }
            (Self::Answer { started, .. }, Delta { partial_json: Some(text), .. }) if !text.is_empty() => {
                *started = true;
                out.push(StreamEvent::TextDelta { id, text });
            }
            (Self::Other { json, .. }, Delta { partial_json: Some(more), .. }) => json.push_str(&more),
            (Self::Other { block, bytes, .. }, _) => {
                *bytes += data.len();
                merge_delta(block, delta_of(data));
            }
            // A kind of delta that is newer than this code.
            (_, delta) if !KNOWN_DELTAS.contains(&delta.kind.as_ref()) => {
                if let Ok(raw) = serde_json::from_str(data) {
                    out.push(StreamEvent::ProviderEvent { raw });
                }
            }
            // A delta of another kind of block.
            _ => {}
        }
    }

    /// Closes the block.
    pub(super) fn stop(self, id: SegmentId, origin: &Arc<Origin>, out: &mut Vec<StreamEvent>) {
        let last = match self {
            Self::Text { start, kept, citations, .. } => {
                StreamEvent::TextEnd { id, raw: kept.0.and_then(|text| cited(start, text, citations)) }
            }
            Self::Thinking { start, kept, signature } => {
                let raw = start.zip(kept.0).map(|(mut block, text)| {
                    put(&mut block, "thinking", Value::from(text));
                    put(&mut block, "signature", Value::from(signature.clone().unwrap_or_default()));
                    block
                });
                StreamEvent::ReasoningEnd { id, signature, raw }
            }
            Self::Call { mut start, name, kind, arguments } => {
                let arguments =
                    if arguments.trim().is_empty() { response::input(&start["input"]) } else { arguments };
                let call = ToolCall::function(response::text(&start["id"]), name, arguments);
                // An item whose arguments are no object would be refused: it goes back rebuilt.
                put(&mut start, "input", call.arguments.clone());
                let raw = response::surplus(&start, &CALL).filter(|_| call.is_well_formed());
                let call = match kind {
                    ToolCallKind::Function => call,
                    ToolCallKind::Custom => {
                        let call = call.into_custom();
                        out.push(StreamEvent::ToolCallDelta { id, arguments: call.raw_arguments.clone() });
                        call
                    }
                };
                StreamEvent::ToolCallEnd { id, call, raw }
            }
            Self::Answer { input, started } => {
                if !started {
                    out.push(StreamEvent::TextDelta { id, text: input });
                }
                StreamEvent::TextEnd { id, raw: None }
            }
            Self::Redacted(block) => StreamEvent::Part { part: response::redacted(&block, origin) },
            Self::Other { mut block, json, .. } => {
                if let Ok(input) = serde_json::from_str(&json) {
                    block.insert("input".to_owned(), input);
                }
                let content = Content::Other(Value::Object(block));
                StreamEvent::Part { part: Part::received(content, Arc::clone(origin), None) }
            }
        };
        out.push(last);
    }

    /// Roughly how many bytes it holds back.
    pub(super) fn held(&self) -> usize {
        let kept = |kept: &Kept| kept.0.as_ref().map_or(0, String::len);
        match self {
            Self::Text { kept: text, cited, .. } => kept(text) + cited,
            Self::Thinking { kept: text, .. } => kept(text),
            Self::Call { arguments, .. } => arguments.len(),
            Self::Answer { .. } | Self::Redacted(_) => 0,
            Self::Other { json, bytes, .. } => json.len() + bytes,
        }
    }
}

const KNOWN_DELTAS: [&str; 5] =
    ["text_delta", "thinking_delta", "input_json_delta", "signature_delta", "citations_delta"];

/// The raw item of a text that says more than its text.
fn cited(mut start: Value, text: String, citations: Vec<Value>) -> Option<Value> {
    put(&mut start, "text", Value::from(text));
    if !citations.is_empty() {
        put(&mut start, "citations", Value::Array(citations));
    }
    response::surplus(&start, &TEXT)
}

fn put(block: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = block {
        fields.insert(name.to_owned(), value);
    }
}

fn delta_of(data: &str) -> Map<String, Value> {
    match serde_json::from_str::<Value>(data) {
        Ok(Value::Object(mut event)) => match event.remove("delta") {
            Some(Value::Object(delta)) => delta,
            _ => Map::new(),
        },
        _ => Map::new(),
    }
}

/// Folds a delta into a block of an unknown kind: text is appended, anything else replaces.
fn merge_delta(block: &mut Map<String, Value>, delta: Map<String, Value>) {
    for (name, value) in delta.into_iter().filter(|(name, _)| name != "type") {
        match (block.get_mut(&name), value) {
            (Some(Value::String(old)), Value::String(more)) => old.push_str(&more),
            (_, value) => drop(block.insert(name, value)),
        }
    }
}
