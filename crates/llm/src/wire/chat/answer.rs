//! Writes answers, whole and streamed.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::{error, usage};
use crate::wire::{AnswerCx, StreamEncoder, broken_off};
use crate::{
    Content, Error, Finish, FinishReason, Part, Response, SegmentId, StreamEvent, ToolCall, ToolCallKind, sse,
};

/// For answers without an id, which the wire demands.
const NO_ID: &str = "chatcmpl-0";

/// Writes a whole answer. Reasoning goes out as `reasoning_content`, where servers that show any put
/// it; what the wire has no place for is left out.
pub(super) fn encode(response: &Response) -> Value {
    let text = response.text();
    let reasoning = response.reasoning();
    let calls: Vec<Value> = response.message.content.iter().filter_map(call).collect();
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    if !reasoning.is_empty() {
        message["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": some_id(&response.id),
        "object": "chat.completion",
        "created": 0,
        "model": response.model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": finish_name(&response.finish_reason),
        }],
        "usage": usage::write(&response.usage),
    })
}

/// A call, with what the client shall send back with it.
fn call(part: &Part) -> Option<Value> {
    let Content::ToolCall(call) = part.content() else { return None };
    let raw = part.origin().and_then(|origin| part.raw_for(origin));
    let mut item = match call.kind {
        ToolCallKind::Function => json!({
            "id": call.id,
            "type": "function",
            "function": { "name": call.name, "arguments": arguments(call) },
        }),
        ToolCallKind::Custom => json!({
            "id": call.id,
            "type": "custom",
            "custom": { "name": call.name, "input": call.raw_arguments },
        }),
    };
    if let Some(extra) = extra(raw) {
        item[EXTRA] = extra.clone();
    }
    Some(item)
}

/// What servers want back with a call, beside what the vendor's own API knows.
const EXTRA: &str = "extra_content";

fn extra(raw: Option<&Value>) -> Option<&Value> {
    raw?.get(EXTRA).filter(|extra| !extra.is_null())
}

fn arguments(call: &ToolCall) -> &str {
    if call.raw_arguments.is_empty() { "{}" } else { &call.raw_arguments }
}

fn some_id(id: &str) -> &str {
    if id.is_empty() { NO_ID } else { id }
}

/// The wire has a fixed list of reasons; what is not on it is a stop.
fn finish_name(reason: &FinishReason) -> &'static str {
    match reason.unified {
        Finish::Stop | Finish::Error | Finish::Other => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
        Finish::ContentFilter => "content_filter",
    }
}

/// Writes a streamed answer.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    id: String,
    model: String,
    cx: AnswerCx,
    started: bool,
    over: bool,
    /// The calls by segment.
    calls: HashMap<SegmentId, Streamed>,
    count: usize,
}

#[derive(Debug)]
struct Streamed {
    index: usize,
    kind: ToolCallKind,
    /// Whether any of the arguments went out.
    said: bool,
}

impl Streamed {
    /// More of the call's arguments, as an item.
    fn piece(&self, more: &str) -> Value {
        let index = self.index;
        match self.kind {
            ToolCallKind::Function => json!({ "index": index, "function": { "arguments": more } }),
            ToolCallKind::Custom => json!({ "index": index, "custom": { "input": more } }),
        }
    }
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [Choice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u8,
    delta: Delta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[Value; 1]>,
}

impl Encoder {
    fn delta(&mut self, delta: Delta<'_>, out: &mut Vec<u8>) {
        self.start(out);
        self.choice(delta, None, out);
    }

    fn start(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.started, true) {
            let role = Delta { role: Some("assistant"), content: Some(""), ..Delta::default() };
            self.choice(role, None, out);
        }
    }

    fn choice(&self, delta: Delta<'_>, finish_reason: Option<&'static str>, out: &mut Vec<u8>) {
        self.chunk(&[Choice { index: 0, delta, logprobs: None, finish_reason }], None, out);
    }

    fn chunk(&self, choices: &[Choice<'_>], usage: Option<Value>, out: &mut Vec<u8>) {
        write(
            &Chunk {
                id: some_id(&self.id),
                object: "chat.completion.chunk",
                created: self.cx.created,
                model: &self.model,
                choices,
                usage,
            },
            out,
        );
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        if !text.is_empty() {
            self.delta(Delta { content: Some(text), ..Delta::default() }, out);
        }
    }

    fn reasoning(&mut self, text: &str, out: &mut Vec<u8>) {
        if !text.is_empty() {
            self.delta(Delta { reasoning_content: Some(text), ..Delta::default() }, out);
        }
    }

    fn call_item(&mut self, item: Value, out: &mut Vec<u8>) {
        self.delta(Delta { tool_calls: Some([item]), ..Delta::default() }, out);
    }

    fn call_start(&mut self, id: &str, name: &str, kind: ToolCallKind, out: &mut Vec<u8>) -> Streamed {
        let index = self.count;
        self.count += 1;
        self.call_item(
            match kind {
                ToolCallKind::Function => json!({
                    "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" },
                }),
                ToolCallKind::Custom => json!({
                    "index": index, "id": id, "type": "custom", "custom": { "name": name, "input": "" },
                }),
            },
            out,
        );
        Streamed { index, kind, said: false }
    }

    fn call_more(&mut self, call: &Streamed, more: &str, out: &mut Vec<u8>) {
        self.call_item(call.piece(more), out);
    }

    /// Ends a call: what did not come in pieces goes out now.
    fn call_end(
        &mut self,
        streamed: Option<Streamed>,
        call: &ToolCall,
        raw: Option<&Value>,
        out: &mut Vec<u8>,
    ) {
        let streamed = streamed.unwrap_or_else(|| self.call_start(&call.id, &call.name, call.kind, out));
        if !streamed.said {
            let rest = match call.kind {
                ToolCallKind::Function => arguments(call),
                ToolCallKind::Custom => &call.raw_arguments,
            };
            if !rest.is_empty() {
                self.call_more(&streamed, rest, out);
            }
        }
        if let Some(extra) = extra(raw) {
            // Clients take a piece of a call for one of its arguments, so this one has an empty one.
            let mut piece = streamed.piece("");
            piece[EXTRA] = extra.clone();
            self.call_item(piece, out);
        }
    }
}

impl StreamEncoder for Encoder {
    fn event(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
        if self.over {
            return;
        }
        match event {
            StreamEvent::StreamStart { id, model, .. } => {
                if !self.started {
                    self.id.clone_from(id);
                    self.model.clone_from(model);
                    self.start(out);
                }
            }
            StreamEvent::TextDelta { text, .. } => self.text(text, out),
            StreamEvent::ReasoningDelta { text, .. } => self.reasoning(text, out),
            StreamEvent::ToolCallStart { id, call_id, name, kind } => {
                let streamed = self.call_start(call_id, name, *kind, out);
                self.calls.insert(*id, streamed);
            }
            StreamEvent::ToolCallDelta { id, arguments } => {
                if let Some(mut call) = self.calls.remove(id) {
                    if !arguments.is_empty() {
                        call.said = true;
                        self.call_more(&call, arguments, out);
                    }
                    self.calls.insert(*id, call);
                }
            }
            StreamEvent::ToolCallEnd { id, call, raw } => {
                let streamed = self.calls.remove(id);
                self.call_end(streamed, call, raw.as_ref(), out);
            }
            StreamEvent::Part { part } => match part.content() {
                Content::Text(text) => self.text(text, out),
                Content::Thinking(thinking) => self.reasoning(&thinking.text, out),
                Content::ToolCall(call) => {
                    let raw = part.origin().and_then(|origin| part.raw_for(origin));
                    self.call_end(None, call, raw, out);
                }
                _ => {}
            },
            StreamEvent::Finish { reason, usage, .. } => {
                self.start(out);
                if let Some(error) = broken_off(reason) {
                    return self.error(&error, out);
                }
                self.choice(Delta::default(), Some(finish_name(reason)), out);
                if self.cx.tells_usage {
                    self.chunk(&[], Some(usage::write(usage)), out);
                }
                sse::encode("", "[DONE]", out);
                self.over = true;
            }
            StreamEvent::TextStart { .. }
            | StreamEvent::TextEnd { .. }
            | StreamEvent::ReasoningStart { .. }
            | StreamEvent::ReasoningEnd { .. }
            | StreamEvent::Progress { .. }
            | StreamEvent::Origin { .. }
            | StreamEvent::StepFinish { .. }
            | StreamEvent::ProviderEvent { .. } => {}
        }
    }

    fn error(&mut self, error: &Error, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.over, true) {
            write(&error::encode(error).1, out);
        }
    }

    fn set(&mut self, cx: &AnswerCx) {
        self.cx = cx.clone();
    }
}

fn write(value: &impl Serialize, out: &mut Vec<u8>) {
    if let Ok(json) = serde_json::to_string(value) {
        sse::encode("", &json, out);
    }
}
