//! An answer as a stream of events, made one at a time.

use std::ops::Range;
use std::vec;

use serde_json::{Value, json};

use junto_llm::{Content, Part, Response, SegmentId, StreamEvent, Usage, Wire};

/// Characters per delta, unless the play says otherwise.
pub(crate) const DEFAULT_CHUNK: usize = 16;

/// The events of an answer. Only one delta exists at a time, however long the answer.
#[derive(Debug)]
pub(crate) struct Events {
    start: Option<StreamEvent>,
    parts: vec::IntoIter<Part>,
    /// What begins with the next event, after its announcement.
    announced: Option<Part>,
    open: Option<Segment>,
    finish: Option<StreamEvent>,
    next_id: u32,
    chunk: usize,
}

/// A part that is being sent.
#[derive(Debug)]
struct Segment {
    id: SegmentId,
    part: Part,
    /// How many bytes of its text have been sent.
    sent: usize,
}

impl Events {
    /// The events of this answer, with this many characters per delta.
    pub(crate) fn new(response: Response, chunk: usize) -> Self {
        let Response { id, model, provider, message, finish_reason, usage, warnings, rate_limit, .. } =
            response;
        let origin = message.content.iter().find_map(Part::origin).cloned();
        // What was read is known from the start; of what is written, nothing yet.
        let read = Usage { output: 0, total: usage.input, reasoning: None, ..usage.clone() };
        let start =
            StreamEvent::StreamStart { id, model, provider, origin, usage: Some(read), warnings, rate_limit };
        Self {
            start: Some(start),
            parts: message.content.into_iter(),
            announced: None,
            open: None,
            finish: Some(StreamEvent::Finish { reason: finish_reason, usage, response: None }),
            next_id: 0,
            chunk: chunk.max(1),
        }
    }

    fn start_part(&mut self, part: Part) -> StreamEvent {
        let id = SegmentId(self.next_id);
        let event = match part.content() {
            Content::Text(_) => StreamEvent::TextStart { id },
            Content::Thinking(_) => StreamEvent::ReasoningStart { id },
            Content::ToolCall(call) => StreamEvent::ToolCallStart {
                id,
                call_id: call.id.clone(),
                name: call.name.clone(),
                kind: call.kind,
            },
            _ => return StreamEvent::Part { part },
        };
        self.next_id += 1;
        self.open = Some(Segment { id, part, sent: 0 });
        event
    }
}

impl Iterator for Events {
    type Item = StreamEvent;

    fn next(&mut self) -> Option<StreamEvent> {
        if let Some(start) = self.start.take() {
            return Some(start);
        }
        if let Some(mut segment) = self.open.take() {
            let Some(delta) = segment.delta(self.chunk) else { return Some(segment.end()) };
            self.open = Some(segment);
            return Some(delta);
        }
        if let Some(part) = self.announced.take() {
            return Some(self.start_part(part));
        }
        match self.parts.next() {
            Some(part) => match announcement(&part) {
                Some(event) => {
                    self.announced = Some(part);
                    Some(event)
                }
                None => Some(self.start_part(part)),
            },
            None => self.finish.take(),
        }
    }
}

/// What tells the id of an item before it begins, on the wire whose items have one: its events name it
/// from the first to the last.
fn announcement(part: &Part) -> Option<StreamEvent> {
    let origin = part.origin().filter(|origin| origin.wire == Wire::Responses)?;
    let id = part.raw_for(origin)?.get("id")?;
    let raw = json!({"type": "response.output_item.added", "item": {"id": id}});
    Some(StreamEvent::ProviderEvent { raw })
}

impl Segment {
    fn text(&self) -> &str {
        match self.part.content() {
            Content::Text(text) => text,
            Content::Thinking(thinking) => &thinking.text,
            Content::ToolCall(call) => &call.raw_arguments,
            _ => "",
        }
    }

    /// The next piece of the text.
    fn delta(&mut self, chunk: usize) -> Option<StreamEvent> {
        let Range { start, end } = next_chunk(self.text(), self.sent, chunk)?;
        self.sent = end;
        let (id, piece) = (self.id, self.text().get(start..end)?.to_owned());
        Some(match self.part.content() {
            Content::Thinking(_) => StreamEvent::ReasoningDelta { id, text: piece },
            Content::ToolCall(_) => StreamEvent::ToolCallDelta { id, arguments: piece },
            _ => StreamEvent::TextDelta { id, text: piece },
        })
    }

    fn end(self) -> StreamEvent {
        let id = self.id;
        let raw: Option<Value> = self.part.origin().and_then(|origin| self.part.raw_for(origin)).cloned();
        match self.part.into_content() {
            Content::Thinking(thinking) => {
                StreamEvent::ReasoningEnd { id, signature: thinking.signature, raw }
            }
            Content::ToolCall(call) => StreamEvent::ToolCallEnd { id, call, raw },
            _ => StreamEvent::TextEnd { id, raw },
        }
    }
}

/// Where the next piece of this many characters is, if anything is left.
fn next_chunk(text: &str, from: usize, chunk: usize) -> Option<Range<usize>> {
    let rest = text.get(from..).filter(|rest| !rest.is_empty())?;
    let length = rest.char_indices().nth(chunk).map_or(rest.len(), |(at, _)| at);
    Some(from..from + length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::build;
    use crate::answer::tests::{seen, tool};
    use crate::play::{Call, Step, Think};
    use crate::strict::Seen;
    use junto_llm::Accumulator;

    fn answer(step: &Step) -> Response {
        let request = Seen { tools: vec![tool("f", json!({}))], ..seen("x") };
        build(step, &request, 1).unwrap()
    }

    #[test]
    fn the_stream_of_an_answer_folds_back_into_it() {
        let both = Step::calls([Call::new("f", json!({"a": "ö"})), Call::raw("f", "")]);
        let steps = [
            Step::text("short"),
            Step::text("naïve — and long enough for a few pieces"),
            Step::text(""),
            Step { text: Some("both".into()), think: Think::Text("thoughts".into()), ..both.clone() },
            both.without_thinking(),
        ];
        for step in &steps {
            for chunk in [1, 3, 1000] {
                let mut folded = Accumulator::new();
                Events::new(answer(step), chunk).for_each(|event| folded.push(&event));
                assert_eq!(folded.into_response(), answer(step), "{step:?} by {chunk}");
            }
        }
    }

    #[test]
    fn deltas_have_as_many_characters_as_asked_for() {
        let step = Step::text("añb€c").without_thinking();
        let deltas: Vec<String> = Events::new(answer(&step), 2)
            .filter_map(|event| match event {
                StreamEvent::TextDelta { text, .. } => Some(text),
                _ => None,
            })
            .collect();
        assert_eq!(deltas, ["añ", "b€", "c"]);
    }

    #[test]
    fn the_start_tells_what_was_read() {
        let Some(StreamEvent::StreamStart { usage: Some(usage), .. }) =
            Events::new(answer(&Step::text("a")), 9).next()
        else {
            panic!("no start");
        };
        assert_eq!((usage.input, usage.output, usage.total, usage.cache_read), (10, 0, 10, Some(4)));
    }
}
