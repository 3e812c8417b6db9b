//! The streamed answer, written.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::items::{self, Status};
use super::{error, namespaces, response};
use crate::sse;
use crate::wire::{AnswerCx, StreamEncoder};
use crate::{
    Content, Error, FinishReason, SegmentId, StreamEvent, Thinking, ToolCall, ToolCallKind, Usage, Wire,
};

/// The event with which an item begins. A provider's own, ahead of what a segment begins with, tells the
/// id of the item.
const ITEM_ADDED: &str = "response.output_item.added";

/// Writes one streamed answer. It keeps the whole answer, since the last event repeats it.
#[derive(Default)]
pub(super) struct Encoder {
    id: String,
    model: String,
    created: u64,
    /// What of the request the answer repeats.
    repeated: Map<String, Value>,
    /// Whether the raw items of the events are this wire's own.
    raw_is_ours: bool,
    started: bool,
    finished: bool,
    sequence: u64,
    /// The provider's id for the item that begins next, if it was told beforehand.
    announced: Option<String>,
    /// In the order of their starts; `Null` while an item is open.
    output: Vec<Value>,
    open: BTreeMap<SegmentId, Open>,
}

/// An item that has begun.
struct Open {
    /// Its place in the output.
    index: usize,
    item_id: String,
    /// What was said so far.
    said: String,
    class: Class,
}

enum Class {
    Text,
    Reasoning,
    Call { call_id: String, name: String, kind: ToolCallKind },
}

impl StreamEncoder for Encoder {
    fn event(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
        if self.finished {
            return;
        }
        match event {
            StreamEvent::StreamStart { id, model, origin, .. } => {
                self.raw_is_ours = origin.as_ref().is_some_and(|o| o.wire == Wire::Responses);
                if !self.started {
                    self.id.clone_from(id);
                    self.model.clone_from(model);
                    self.start(out);
                }
            }
            StreamEvent::Origin { origin } => {
                self.raw_is_ours = origin.as_ref().is_some_and(|o| o.wire == Wire::Responses);
            }
            StreamEvent::TextStart { id } => self.begin(*id, Class::Text, out),
            StreamEvent::ReasoningStart { id } => self.begin(*id, Class::Reasoning, out),
            StreamEvent::ToolCallStart { id, call_id, name, kind } => {
                let class = Class::Call { call_id: call_id.clone(), name: name.clone(), kind: *kind };
                self.begin(*id, class, out);
            }
            StreamEvent::TextDelta { id, text } | StreamEvent::ReasoningDelta { id, text } => {
                self.delta(*id, text, out);
            }
            StreamEvent::ToolCallDelta { id, arguments } => self.delta(*id, arguments, out),
            StreamEvent::TextEnd { id, raw } => self.end(*id, None, None, raw.as_ref(), out),
            StreamEvent::ReasoningEnd { id, signature, raw } => {
                self.end(*id, signature.as_deref(), None, raw.as_ref(), out);
            }
            StreamEvent::ToolCallEnd { id, call, raw } => self.end(*id, None, Some(call), raw.as_ref(), out),
            StreamEvent::Part { part } => {
                self.start(out);
                let index = self.output.len();
                if let Some(item) = items::of_part(part, &self.id, index) {
                    self.emit(ITEM_ADDED, json!({"output_index": index, "item": item}), out);
                    self.emit("response.output_item.done", json!({"output_index": index, "item": item}), out);
                    self.output.push(item);
                }
            }
            StreamEvent::Finish { reason, usage, .. } => self.finish(reason, usage, out),
            StreamEvent::ProviderEvent { raw } if items::text(raw, "type") == ITEM_ADDED => {
                let id = raw.get("item").map(|item| items::text(item, "id")).filter(|id| !id.is_empty());
                self.announced = id.map(str::to_owned);
            }
            StreamEvent::Progress { .. }
            | StreamEvent::StepFinish { .. }
            | StreamEvent::ProviderEvent { .. } => {}
        }
    }

    fn error(&mut self, error: &Error, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        self.start(out);
        let (code, message) = error::code_and_message(error);
        let output = self.output.drain(..).filter(|item| !item.is_null()).collect();
        let mut answer = self.envelope("failed", output);
        answer["error"] = json!({"code": code, "message": message});
        self.emit("response.failed", json!({"response": answer}), out);
        // Clients differ in which of the two they take for the failure: an SDK raises on this one.
        let (_, envelope) = error::encode(error);
        let event = json!({"code": code, "message": message, "param": null, "error": envelope["error"]});
        self.emit("error", event, out);
    }

    fn set(&mut self, cx: &AnswerCx) {
        self.created = cx.created;
        self.repeated.clone_from(&cx.repeated);
    }

    fn keep_alive(&mut self, out: &mut Vec<u8>) {
        if !self.finished {
            self.start(out);
            // Nobody reads it, so it repeats nothing.
            let answer = response::envelope(&self.id, &self.model, "in_progress", Vec::new());
            self.emit("response.in_progress", json!({"response": self.dated(answer)}), out);
        }
    }
}

impl Encoder {
    /// Writes one event: its type first, its number last.
    fn emit(&mut self, name: &str, fields: Value, out: &mut Vec<u8>) {
        let mut event = json!({"type": name});
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
            event.insert("sequence_number".into(), self.sequence.into());
        }
        self.sequence += 1;
        sse::encode(name, &event.to_string(), out);
    }

    fn envelope(&self, status: &str, output: Vec<Value>) -> Value {
        self.complete(response::envelope(&self.id, &self.model, status, output))
    }

    /// With what neither the events nor the codec know.
    fn complete(&self, mut answer: Value) -> Value {
        if let Value::Object(answer) = &mut answer {
            answer.extend(self.repeated.clone());
        }
        self.dated(answer)
    }

    fn dated(&self, mut answer: Value) -> Value {
        response::date(&mut answer, self.created);
        answer
    }

    fn start(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let answer = self.envelope("in_progress", Vec::new());
        self.emit("response.created", json!({"response": answer}), out);
        self.emit("response.in_progress", json!({"response": answer}), out);
    }

    fn begin(&mut self, id: SegmentId, class: Class, out: &mut Vec<u8>) {
        self.start(out);
        if self.open.contains_key(&id) {
            return;
        }
        let index = self.output.len();
        self.output.push(Value::Null);
        let announced = self.announced.take();
        let own_id = |prefix| announced.clone().unwrap_or_else(|| items::own_id(prefix, &self.id, index));
        let (item_id, item) = match &class {
            Class::Text => {
                let id = own_id("msg");
                let item = items::message_begun(&id);
                (id, item)
            }
            Class::Reasoning => {
                let id = own_id("rs");
                let item = items::reasoning(&id, "", None);
                (id, item)
            }
            Class::Call { call_id, name, kind } => {
                let id = own_id(items::call_prefix(*kind));
                let item = items::call(&id, call_id, name, *kind, "", Status::InProgress);
                (id, item)
            }
        };
        self.emit(ITEM_ADDED, json!({"output_index": index, "item": item}), out);
        if matches!(class, Class::Text) {
            let part = items::output_text("");
            self.emit(
                "response.content_part.added",
                json!({"item_id": item_id, "output_index": index, "content_index": 0, "part": part}),
                out,
            );
        }
        self.open.insert(id, Open { index, item_id, said: String::new(), class });
    }

    fn delta(&mut self, id: SegmentId, delta: &str, out: &mut Vec<u8>) {
        if delta.is_empty() {
            return;
        }
        let Some(mut open) = self.open.remove(&id) else { return };
        let (index, item_id) = (open.index, &open.item_id);
        match open.class {
            Class::Text => self.emit(
                "response.output_text.delta",
                json!({
                    "item_id": item_id,
                    "output_index": index,
                    "content_index": 0,
                    "delta": delta,
                    "logprobs": [],
                }),
                out,
            ),
            Class::Reasoning => {
                if open.said.is_empty() {
                    let part = items::summary_text("");
                    self.emit(
                        "response.reasoning_summary_part.added",
                        json!({"item_id": item_id, "output_index": index, "summary_index": 0, "part": part}),
                        out,
                    );
                }
                self.emit(
                    "response.reasoning_summary_text.delta",
                    json!({"item_id": item_id, "output_index": index, "summary_index": 0, "delta": delta}),
                    out,
                );
            }
            Class::Call { kind, .. } => {
                let name = match kind {
                    ToolCallKind::Function => "response.function_call_arguments.delta",
                    ToolCallKind::Custom => "response.custom_tool_call_input.delta",
                };
                self.emit(name, json!({"item_id": item_id, "output_index": index, "delta": delta}), out);
            }
        }
        open.said.push_str(delta);
        self.open.insert(id, open);
    }

    fn end(
        &mut self,
        id: SegmentId,
        signature: Option<&str>,
        call: Option<&ToolCall>,
        raw: Option<&Value>,
        out: &mut Vec<u8>,
    ) {
        let Some(open) = self.open.remove(&id) else { return };
        let Open { index, item_id, said, class } = open;
        let raw = raw.filter(|_| self.raw_is_ours);
        let item = match class {
            Class::Text => self.end_text(index, &item_id, said, raw, out),
            Class::Reasoning => self.end_reasoning(index, &item_id, said, signature, raw, out),
            Class::Call { call_id, name, kind } => {
                let rebuilt = match kind {
                    ToolCallKind::Function => ToolCall::function(call_id, name, said),
                    ToolCallKind::Custom => ToolCall::custom(call_id, name, said),
                };
                self.end_call(index, &item_id, call.cloned().unwrap_or(rebuilt), raw, out)
            }
        };
        self.emit("response.output_item.done", json!({"output_index": index, "item": item}), out);
        if let Some(slot) = self.output.get_mut(index) {
            *slot = item;
        }
    }

    fn end_text(
        &mut self,
        index: usize,
        item_id: &str,
        said: String,
        raw: Option<&Value>,
        out: &mut Vec<u8>,
    ) -> Value {
        self.emit(
            "response.output_text.done",
            json!({
                "item_id": item_id,
                "output_index": index,
                "content_index": 0,
                "text": said,
                "logprobs": [],
            }),
            out,
        );
        let part = items::output_text(&said);
        self.emit(
            "response.content_part.done",
            json!({"item_id": item_id, "output_index": index, "content_index": 0, "part": part}),
            out,
        );
        let rebuilt = items::message(item_id, &said);
        verbatim(raw, item_id, &Content::Text(said)).unwrap_or(rebuilt)
    }

    fn end_reasoning(
        &mut self,
        index: usize,
        item_id: &str,
        said: String,
        signature: Option<&str>,
        raw: Option<&Value>,
        out: &mut Vec<u8>,
    ) -> Value {
        if !said.is_empty() {
            self.emit(
                "response.reasoning_summary_text.done",
                json!({"item_id": item_id, "output_index": index, "summary_index": 0, "text": said}),
                out,
            );
            let part = items::summary_text(&said);
            self.emit(
                "response.reasoning_summary_part.done",
                json!({"item_id": item_id, "output_index": index, "summary_index": 0, "part": part}),
                out,
            );
        }
        let rebuilt = items::reasoning(item_id, &said, signature);
        verbatim(raw, item_id, &Content::Thinking(Thinking::default())).unwrap_or(rebuilt)
    }

    fn end_call(
        &mut self,
        index: usize,
        item_id: &str,
        call: ToolCall,
        raw: Option<&Value>,
        out: &mut Vec<u8>,
    ) -> Value {
        let said = &call.raw_arguments;
        match call.kind {
            ToolCallKind::Function => {
                let (_, name) = namespaces::split(&call.name);
                self.emit(
                    "response.function_call_arguments.done",
                    json!({"item_id": item_id, "output_index": index, "name": name, "arguments": said}),
                    out,
                );
            }
            ToolCallKind::Custom => self.emit(
                "response.custom_tool_call_input.done",
                json!({"item_id": item_id, "output_index": index, "input": said}),
                out,
            ),
        }
        let rebuilt = items::call(item_id, &call.id, &call.name, call.kind, said, Status::Completed);
        let name = call.name.clone();
        verbatim(raw, item_id, &Content::ToolCall(call)).map_or(rebuilt, |raw| items::renamed(raw, &name))
    }

    fn finish(&mut self, reason: &FinishReason, usage: &Usage, out: &mut Vec<u8>) {
        self.start(out);
        // A segment that was never ended is as long as it got.
        let open: Vec<SegmentId> = self.open.keys().copied().collect();
        for id in open {
            self.end(id, None, None, None, out);
        }
        let output = std::mem::take(&mut self.output);
        let answer = self.complete(response::finished(&self.id, &self.model, output, reason, usage));
        let name = format!("response.{}", items::text(&answer, "status"));
        self.emit(&name, json!({"response": answer}), out);
        self.finished = true;
    }
}

/// The provider's own item, if it is one of this wire's for such a part, under the id that the stream
/// has called it by so far.
fn verbatim(raw: Option<&Value>, item_id: &str, content: &Content) -> Option<Value> {
    let mut item = raw.filter(|raw| items::fits(raw, content)).cloned()?;
    item["id"] = item_id.into();
    Some(item)
}
