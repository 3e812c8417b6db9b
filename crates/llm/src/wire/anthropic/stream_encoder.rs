//! A streamed answer, written for a client.
//!
//! Blocks of this wire come one after the other, while segments of our stream may overlap: the
//! first is written as it comes, and those that started later wait until it ends.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{answer, error};
use crate::wire::{StreamEncoder, broken_off};
use crate::{Error, SegmentId, StreamEvent, ToolCallKind, Usage, Wire, sse};

/// The encoder of one stream.
#[derive(Default)]
pub(super) struct Encoder {
    started: bool,
    over: bool,
    /// Whether raw items in the stream are blocks of this wire.
    same_wire: bool,
    /// The index of the block that is, or will be, open.
    index: u32,
    /// The front one is open on the wire.
    segments: VecDeque<Segment>,
}

/// A segment that is open, or waits to be.
struct Segment {
    /// None for a part that is whole from its start.
    id: Option<SegmentId>,
    block: Value,
    kind: Kind,
    /// What waits to be written.
    pending: String,
    /// Whether anything of its content was written or waits.
    has_content: bool,
    /// Set when the segment has ended: what comes before the stop.
    end: Option<End>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
    Call(ToolCallKind),
    Whole,
}

#[derive(Default)]
struct End {
    signature: Option<String>,
    citations: Vec<Value>,
}

impl Segment {
    fn new(id: SegmentId, kind: Kind, block: Value) -> Self {
        let pending = String::new();
        Self { id: Some(id), block, kind, pending, has_content: false, end: None }
    }

    /// Takes in content. A custom tool's text becomes the string in `{"input": "…"}`.
    fn push(&mut self, more: &str) {
        if more.is_empty() {
            return;
        }
        if self.kind == Kind::Call(ToolCallKind::Custom) {
            if !self.has_content {
                self.pending.push_str("{\"input\":\"");
            }
            let quoted = Value::from(more).to_string();
            self.pending
                .push_str(quoted.strip_prefix('"').and_then(|q| q.strip_suffix('"')).unwrap_or_default());
        } else {
            self.pending.push_str(more);
        }
        self.has_content = true;
    }

    fn finish(&mut self, end: End) {
        if self.kind == Kind::Call(ToolCallKind::Custom) {
            self.pending.push_str(if self.has_content { "\"}" } else { "{\"input\":\"\"}" });
        }
        self.end = Some(end);
    }
}

impl Encoder {
    fn write(out: &mut Vec<u8>, data: &Value) {
        sse::encode(data["type"].as_str().unwrap_or_default(), &data.to_string(), out);
    }

    fn start(&mut self, id: &str, model: &str, usage: Option<&Usage>, out: &mut Vec<u8>) {
        if self.started {
            return;
        }
        self.started = true;
        let usage = answer::usage(usage.unwrap_or(&Usage::default()));
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage,
        });
        Self::write(out, &json!({"type": "message_start", "message": message}));
    }

    fn open(&mut self, segment: Segment, out: &mut Vec<u8>) {
        self.start("", "", None, out);
        let is_first = self.segments.is_empty();
        self.segments.push_back(segment);
        if is_first {
            self.write_block_start(out);
            self.flush(out);
        }
    }

    fn push(&mut self, id: SegmentId, more: &str, out: &mut Vec<u8>) {
        if let Some(segment) = self.segments.iter_mut().rev().find(|s| s.id == Some(id)) {
            segment.push(more);
        }
        self.flush(out);
    }

    fn close(&mut self, id: SegmentId, end: End, out: &mut Vec<u8>) {
        if let Some(segment) = self.segments.iter_mut().rev().find(|s| s.id == Some(id) && s.end.is_none()) {
            segment.finish(end);
        }
        self.flush(out);
    }

    /// Writes what waits in the open block and, if it has ended, goes on with the next.
    fn flush(&mut self, out: &mut Vec<u8>) {
        while let Some(segment) = self.segments.front_mut() {
            if !segment.pending.is_empty() {
                let pending = std::mem::take(&mut segment.pending);
                let delta = match segment.kind {
                    Kind::Text | Kind::Whole => json!({"type": "text_delta", "text": pending}),
                    Kind::Thinking => json!({"type": "thinking_delta", "thinking": pending}),
                    Kind::Call(_) => json!({"type": "input_json_delta", "partial_json": pending}),
                };
                Self::write_delta(self.index, &delta, out);
            }
            let Some(end) = segment.end.take() else { return };
            for citation in end.citations {
                Self::write_delta(self.index, &json!({"type": "citations_delta", "citation": citation}), out);
            }
            if let Some(signature) = end.signature {
                Self::write_delta(
                    self.index,
                    &json!({"type": "signature_delta", "signature": signature}),
                    out,
                );
            }
            Self::write(out, &json!({"type": "content_block_stop", "index": self.index}));
            self.segments.pop_front();
            self.index += 1;
            self.write_block_start(out);
        }
    }

    fn write_block_start(&self, out: &mut Vec<u8>) {
        if let Some(segment) = self.segments.front() {
            let start =
                json!({"type": "content_block_start", "index": self.index, "content_block": segment.block});
            Self::write(out, &start);
        }
    }

    fn write_delta(index: u32, delta: &Value, out: &mut Vec<u8>) {
        Self::write(out, &json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }
}

impl StreamEncoder for Encoder {
    fn event(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
        if self.over {
            return;
        }
        match event {
            StreamEvent::StreamStart { id, model, origin, usage, .. } => {
                self.same_wire = origin.as_ref().is_some_and(|origin| origin.wire == Wire::Anthropic);
                self.start(id, model, usage.as_ref(), out);
            }
            StreamEvent::Origin { origin } => {
                self.same_wire = origin.as_ref().is_some_and(|origin| origin.wire == Wire::Anthropic);
            }
            StreamEvent::TextStart { id } => {
                self.open(Segment::new(*id, Kind::Text, json!({"type": "text", "text": ""})), out);
            }
            StreamEvent::ReasoningStart { id } => {
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                self.open(Segment::new(*id, Kind::Thinking, block), out);
            }
            StreamEvent::ToolCallStart { id, call_id, name, kind } => {
                let block = json!({"type": "tool_use", "id": call_id, "name": name, "input": {}});
                self.open(Segment::new(*id, Kind::Call(*kind), block), out);
            }
            StreamEvent::TextDelta { id, text } | StreamEvent::ReasoningDelta { id, text } => {
                self.push(*id, text, out);
            }
            StreamEvent::ToolCallDelta { id, arguments } => self.push(*id, arguments, out),
            StreamEvent::TextEnd { id, raw } => {
                let raw = raw.as_ref().filter(|_| self.same_wire);
                let citations = raw.and_then(|raw| raw["citations"].as_array()).cloned().unwrap_or_default();
                self.close(*id, End { citations, ..End::default() }, out);
            }
            StreamEvent::ReasoningEnd { id, signature, .. } => {
                self.close(*id, End { signature: signature.clone(), ..End::default() }, out);
            }
            StreamEvent::ToolCallEnd { id, call, .. } => {
                let silent = |s: &&mut Segment| s.id == Some(*id) && !s.has_content && s.end.is_none();
                if let Some(segment) = self.segments.iter_mut().rev().find(silent) {
                    segment.push(&call.raw_arguments);
                }
                self.close(*id, End::default(), out);
            }
            StreamEvent::Part { part } => {
                if let Some(block) = answer::block(part) {
                    let (pending, end) = (String::new(), Some(End::default()));
                    let segment =
                        Segment { id: None, block, kind: Kind::Whole, pending, has_content: true, end };
                    self.open(segment, out);
                }
            }
            StreamEvent::Finish { reason, usage, .. } => {
                self.start("", "", None, out);
                if let Some(error) = broken_off(reason) {
                    return self.error(&error, out);
                }
                for segment in self.segments.iter_mut().filter(|s| s.end.is_none()) {
                    segment.finish(End::default());
                }
                self.flush(out);
                let delta = json!({"stop_reason": answer::stop_reason(reason), "stop_sequence": null});
                Self::write(
                    out,
                    &json!({"type": "message_delta", "delta": delta, "usage": answer::usage(usage)}),
                );
                Self::write(out, &json!({"type": "message_stop"}));
                self.over = true;
            }
            StreamEvent::Progress { .. }
            | StreamEvent::StepFinish { .. }
            | StreamEvent::ProviderEvent { .. } => {}
        }
    }

    fn error(&mut self, error: &Error, out: &mut Vec<u8>) {
        if !self.over {
            self.over = true;
            Self::write(out, &error::encode(error).1);
        }
    }

    fn keep_alive(&mut self, out: &mut Vec<u8>) {
        Self::write(out, &json!({"type": "ping"}));
    }
}

#[cfg(test)]
mod tests;
