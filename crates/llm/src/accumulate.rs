//! Folds a stream into the response that `complete` would have given.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::{
    Content, Finish, Origin, Part, Response, SegmentId, StreamEvent, Thinking, ToolCall, ToolCallKind,
};

/// Folds stream events into a [`Response`].
///
/// Events of segments that were never started are ignored, and segments that never ended keep what
/// they had, so a partial stream gives a partial response.
#[derive(Debug)]
pub struct Accumulator {
    response: Response,
    /// Whose the parts are that begin now.
    origin: Option<Arc<Origin>>,
    /// In the order of their starts, with their origins.
    slots: Vec<(Slot, Option<Arc<Origin>>)>,
    /// Where each open segment's slot is.
    open: BTreeMap<SegmentId, usize>,
}

#[derive(Debug)]
enum Slot {
    Done(Part),
    Text { text: String, raw: Option<Value> },
    Reasoning { thinking: Thinking, raw: Option<Value> },
    Call { id: String, name: String, kind: ToolCallKind, arguments: String },
}

impl Default for Accumulator {
    fn default() -> Self {
        Self::new()
    }
}

impl Accumulator {
    /// An empty one.
    pub fn new() -> Self {
        Self { response: Response::empty("", ""), origin: None, slots: Vec::new(), open: BTreeMap::new() }
    }

    /// Takes in one event.
    pub fn push(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::StreamStart { id, model, provider, origin, usage, warnings, rate_limit } => {
                self.response.id.clone_from(id);
                self.response.model.clone_from(model);
                self.response.provider.clone_from(provider);
                self.origin.clone_from(origin);
                if let Some(usage) = usage {
                    self.response.usage = usage.clone();
                }
                self.response.warnings.extend(warnings.iter().cloned());
                self.response.rate_limit.clone_from(rate_limit);
            }
            StreamEvent::Origin { origin } => self.origin.clone_from(origin),
            StreamEvent::TextStart { id } => self.start(*id, Slot::Text { text: String::new(), raw: None }),
            StreamEvent::ReasoningStart { id } => {
                self.start(*id, Slot::Reasoning { thinking: Thinking::default(), raw: None });
            }
            StreamEvent::ToolCallStart { id, call_id, name, kind } => self.start(
                *id,
                Slot::Call { id: call_id.clone(), name: name.clone(), kind: *kind, arguments: String::new() },
            ),
            StreamEvent::TextDelta { id, text: more } => {
                if let Some(Slot::Text { text, .. }) = self.slot(*id) {
                    text.push_str(more);
                }
            }
            StreamEvent::ReasoningDelta { id, text: more } => {
                if let Some(Slot::Reasoning { thinking, .. }) = self.slot(*id) {
                    thinking.text.push_str(more);
                }
            }
            StreamEvent::ToolCallDelta { id, arguments: more } => {
                if let Some(Slot::Call { arguments, .. }) = self.slot(*id) {
                    arguments.push_str(more);
                }
            }
            StreamEvent::TextEnd { id, raw: item } => {
                if let Some(Slot::Text { raw, .. }) = self.slot(*id) {
                    raw.clone_from(item);
                }
                self.open.remove(id);
            }
            StreamEvent::ReasoningEnd { id, signature, raw: item } => {
                if let Some(Slot::Reasoning { thinking, raw }) = self.slot(*id) {
                    thinking.signature.clone_from(signature);
                    raw.clone_from(item);
                }
                self.open.remove(id);
            }
            StreamEvent::ToolCallEnd { id, call, raw } => {
                let started = self.open.remove(id).and_then(|index| self.slots.get_mut(index));
                if let Some((slot, origin)) = started {
                    let part = part(Content::ToolCall(call.clone()), origin.as_ref(), raw.clone());
                    *slot = Slot::Done(part);
                }
            }
            StreamEvent::Part { part } => self.slots.push((Slot::Done(part.clone()), None)),
            StreamEvent::Finish { reason, usage, .. } => {
                self.response.finish_reason = reason.clone();
                self.response.usage = usage.clone();
                // Who does not know at the start which model answers knows it then.
                if let ([only], true) = (&usage.calls[..], self.response.model.is_empty()) {
                    self.response.model.clone_from(&only.model);
                }
            }
            StreamEvent::Progress { .. }
            | StreamEvent::StepFinish { .. }
            | StreamEvent::ProviderEvent { .. } => {}
        }
    }

    /// The response, whole or as far as the stream got.
    pub fn into_response(mut self) -> Response {
        let slots = std::mem::take(&mut self.slots);
        let parts: Vec<Part> = slots
            .into_iter()
            .map(|(slot, origin)| {
                let (content, raw) = match slot {
                    Slot::Done(part) => return part,
                    Slot::Text { text, raw } => (Content::Text(text), raw),
                    Slot::Reasoning { thinking, raw } => (Content::Thinking(thinking), raw),
                    Slot::Call { id, name, kind: ToolCallKind::Function, arguments } => {
                        (Content::ToolCall(ToolCall::function(id, name, arguments)), None)
                    }
                    Slot::Call { id, name, kind: ToolCallKind::Custom, arguments } => {
                        (Content::ToolCall(ToolCall::custom(id, name, arguments)), None)
                    }
                };
                part(content, origin.as_ref(), raw)
            })
            .collect();
        self.response.message.content = parts;
        self.response
    }

    /// The response as far as it got, marked as broken off.
    pub fn into_partial(self) -> Response {
        let mut response = self.into_response();
        response.finish_reason.unified = Finish::Error;
        response
    }

    fn start(&mut self, id: SegmentId, slot: Slot) {
        self.open.insert(id, self.slots.len());
        self.slots.push((slot, self.origin.clone()));
    }

    fn slot(&mut self, id: SegmentId) -> Option<&mut Slot> {
        let index = *self.open.get(&id)?;
        self.slots.get_mut(index).map(|(slot, _)| slot)
    }
}

fn part(content: Content, origin: Option<&Arc<Origin>>, raw: Option<Value>) -> Part {
    match origin {
        Some(origin) => Part::received(content, Arc::clone(origin), raw),
        None => Part::new(content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FinishReason, Usage};

    #[test]
    fn interleaved_segments_keep_the_order_of_their_starts() {
        let (a, b) = (SegmentId(0), SegmentId(1));
        let mut acc = Accumulator::new();
        for event in [
            StreamEvent::ReasoningStart { id: a },
            StreamEvent::TextStart { id: b },
            StreamEvent::TextDelta { id: b, text: "he".into() },
            StreamEvent::ReasoningDelta { id: a, text: "hm".into() },
            StreamEvent::TextDelta { id: b, text: "llo".into() },
            StreamEvent::ReasoningEnd { id: a, signature: Some("sig".into()), raw: None },
            StreamEvent::TextEnd { id: b, raw: None },
            StreamEvent::Finish {
                reason: FinishReason::new(Finish::Stop),
                usage: Usage::new(1, 2),
                response: None,
            },
        ] {
            acc.push(&event);
        }
        let response = acc.into_response();
        assert_eq!(response.text(), "hello");
        assert_eq!(response.reasoning(), "hm");
        assert!(
            matches!(response.message.content[0].content(), Content::Thinking(t) if t.signature.as_deref() == Some("sig"))
        );
        assert_eq!(response.usage.total, 3);
    }
}
