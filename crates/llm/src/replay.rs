//! An answer that is already there, as the events of a stream.

use std::sync::Arc;
use std::vec;

use crate::{Content, Origin, Part, Response, SegmentId, StreamEvent};

/// The events of an answer after its start, made one part at a time: a segment for what has one,
/// with its content in one delta, and a `Finish` that carries the whole. Where the origin of the parts
/// changes, that is said; they begin without one.
pub struct Replay {
    parts: vec::IntoIter<Part>,
    part: vec::IntoIter<StreamEvent>,
    finish: Option<StreamEvent>,
    next_id: u32,
    /// Whose the last part was.
    origin: Option<Arc<Origin>>,
}

impl Replay {
    /// The events of this answer.
    pub fn new(response: Response) -> Self {
        let parts = response.message.content.clone().into_iter();
        let finish = StreamEvent::Finish {
            reason: response.finish_reason.clone(),
            usage: response.usage.clone(),
            response: Some(Box::new(response)),
        };
        Self { parts, part: Vec::new().into_iter(), finish: Some(finish), next_id: 0, origin: None }
    }
}

impl Iterator for Replay {
    type Item = StreamEvent;

    fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(event) = self.part.next() {
                return Some(event);
            }
            let Some(part) = self.parts.next() else { return self.finish.take() };
            let changed = (part.origin() != self.origin.as_ref()).then(|| part.origin().cloned());
            let mut events = events(SegmentId(self.next_id), part);
            if let Some(origin) = changed {
                self.origin.clone_from(&origin);
                events.insert(0, StreamEvent::Origin { origin });
            }
            self.part = events.into_iter();
            self.next_id = self.next_id.saturating_add(1);
        }
    }
}

fn events(id: SegmentId, part: Part) -> Vec<StreamEvent> {
    let raw = part.origin().and_then(|origin| part.raw_for(origin)).cloned();
    let (start, delta, end) = match part.content() {
        Content::Text(text) => (
            StreamEvent::TextStart { id },
            StreamEvent::TextDelta { id, text: text.clone() },
            StreamEvent::TextEnd { id, raw },
        ),
        Content::Thinking(thinking) => (
            StreamEvent::ReasoningStart { id },
            StreamEvent::ReasoningDelta { id, text: thinking.text.clone() },
            StreamEvent::ReasoningEnd { id, signature: thinking.signature.clone(), raw },
        ),
        Content::ToolCall(call) => (
            StreamEvent::ToolCallStart {
                id,
                call_id: call.id.clone(),
                name: call.name.clone(),
                kind: call.kind,
            },
            StreamEvent::ToolCallDelta { id, arguments: call.raw_arguments.clone() },
            StreamEvent::ToolCallEnd { id, call: call.clone(), raw },
        ),
        _ => return vec![StreamEvent::Part { part }],
    };
    let is_empty = match &delta {
        StreamEvent::TextDelta { text, .. } | StreamEvent::ReasoningDelta { text, .. } => text.is_empty(),
        StreamEvent::ToolCallDelta { arguments, .. } => arguments.is_empty(),
        _ => false,
    };
    if is_empty { vec![start, end] } else { vec![start, delta, end] }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::{Accumulator, Origin, Thinking, ToolCall, Wire};

    #[test]
    fn the_events_of_an_answer_fold_back_into_it() {
        let origin = Arc::new(Origin { wire: Wire::Anthropic, provider: "a".into(), model: "m".into() });
        let thinking = Thinking { text: String::new(), signature: Some("s".into()) };
        let mut response = Response::empty("scripted", "model");
        response.message.content.extend([
            Part::text("hello"),
            Part::received(Content::Thinking(thinking), Arc::clone(&origin), Some(json!({"raw": 1}))),
            Part::received(Content::ToolCall(ToolCall::custom("c", "f", "x")), Arc::clone(&origin), None),
            Part::received(Content::Other(json!({"k": 1})), origin, None),
            Part::text("bye"),
        ]);
        let events: Vec<StreamEvent> = Replay::new(response.clone()).collect();
        let mut folded = Accumulator::new();
        for event in &events {
            folded.push(event);
        }
        let folded = folded.into_response();
        assert_eq!(folded.message, response.message, "origins and raw items included");
        let Some(StreamEvent::Finish { response: Some(whole), .. }) = events.last() else { panic!("no end") };
        assert_eq!(**whole, response);
    }
}
