//! The streamed answer, read.
//!
//! Servers differ in how much they say: some send no deltas, some no `output_item.added`, some no
//! `output_index`. Whatever comes, each segment has one start and one end, and its deltas join to
//! the whole that the finished item holds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::response::{Seen, usage};
use super::segment::{Class, Segment, Source};
use super::{error, items, namespaces};
use crate::sse::Frame;
use crate::wire::{DecodeCx, StreamDecoder};
use crate::{Content, Error, Part, SegmentId, StreamEvent, ToolCallKind};

/// Events that only repeat what deltas and items say.
const REPEATS: &[&str] = &[
    "response.queued",
    "response.content_part.added",
    "response.content_part.done",
    "response.output_text.done",
    "response.refusal.done",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
    "response.reasoning_summary_text.done",
    "response.reasoning_text.done",
    "response.function_call_arguments.done",
    "response.custom_tool_call_input.done",
];

/// The most segments that may be open at once.
const MAX_OPEN: usize = 256;
/// The most items an answer may have.
const MAX_ITEMS: usize = 4096;

/// Reads one streamed answer.
pub(super) struct Decoder {
    cx: DecodeCx,
    started: bool,
    finished: bool,
    open: Vec<Segment>,
    /// The places of the items that are done, with their ids, so that a repeated event is known.
    done: BTreeMap<u64, String>,
    next: u32,
    seen: Seen,
    /// Whether any item came before the end.
    has_items: bool,
    /// The number of the last delta, where the server counts.
    sequence: Option<u64>,
}

/// A text that borrows from the frame where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(borrow, rename = "type")]
    class: Option<Text<'a>>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    output_index: Option<u64>,
    #[serde(borrow)]
    item_id: Option<Text<'a>>,
    summary_index: Option<u64>,
    content_index: Option<u64>,
    #[serde(borrow, rename = "delta")]
    text: Cow<'a, str>,
    sequence_number: Option<u64>,
}

#[derive(Deserialize)]
struct ItemEvent {
    output_index: Option<u64>,
    item: Value,
}

#[derive(Deserialize)]
struct AnswerEvent<T> {
    response: T,
}

/// The answer around its items. Its `output`, which repeats them all, is skipped unread.
#[derive(Default, Deserialize)]
struct Answer {
    id: Option<String>,
    model: Option<String>,
    status: Option<String>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    incomplete_details: Value,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    output: Vec<Value>,
}

impl StreamDecoder for Decoder {
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        if self.finished || frame.data == "[DONE]" {
            return Ok(());
        }
        self.event(&event_name(&frame)?, frame.data, out)?;
        if self.open.len() > MAX_OPEN || self.done.len() > MAX_ITEMS {
            return Err(Error::stream("the stream has more items than an answer can have")
                .with_provider(&self.cx.origin.provider));
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        if self.finished {
            return Ok(());
        }
        Err(Error::stream("the stream ended before the answer was complete")
            .with_provider(&self.cx.origin.provider))
    }
}

impl Decoder {
    pub(super) fn new(cx: DecodeCx) -> Self {
        Self {
            cx,
            started: false,
            finished: false,
            open: Vec::new(),
            done: BTreeMap::new(),
            next: 0,
            seen: Seen::default(),
            has_items: false,
            sequence: None,
        }
    }

    fn event(&mut self, name: &str, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        match name {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.delta(name, data, Class::Text, out)
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.delta(name, data, Class::Reasoning, out)
            }
            "response.function_call_arguments.delta" => {
                self.delta(name, data, Class::Call(ToolCallKind::Function), out)
            }
            "response.custom_tool_call_input.delta" => {
                self.delta(name, data, Class::Call(ToolCallKind::Custom), out)
            }
            "response.created" | "response.in_progress" => {
                if !self.started {
                    let event: AnswerEvent<Answer> = parse(name, data)?;
                    self.start(event.response, out);
                }
                Ok(())
            }
            "response.output_item.added" => {
                let event: ItemEvent = parse(name, data)?;
                self.item_added(event.output_index, &event.item, out);
                Ok(())
            }
            "response.output_item.done" => {
                let event: ItemEvent = parse(name, data)?;
                self.item_done(event.output_index, event.item, out);
                Ok(())
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.answer_done(name, data, out)
            }
            "error" => {
                let event: Value = parse(name, data)?;
                let object = event.get("error").filter(|e| !e.is_null()).unwrap_or(&event);
                self.fail(object, data)
            }
            known if REPEATS.contains(&known) => Ok(()),
            // What comes before the answer begins cannot be handed on: its start must be first.
            _ if !self.started => Ok(()),
            _ => {
                let raw = serde_json::from_str(data).unwrap_or_else(|_| data.into());
                out.push(StreamEvent::ProviderEvent { raw });
                Ok(())
            }
        }
    }

    /// The first event, once, from whatever is known by then.
    fn start(&mut self, answer: Answer, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let model = answer.model.filter(|model| !model.is_empty());
        out.push(StreamEvent::StreamStart {
            id: answer.id.unwrap_or_default(),
            model: model.unwrap_or_else(|| self.cx.origin.model.clone()),
            provider: self.cx.origin.provider.clone(),
            origin: Some(Arc::clone(&self.cx.origin)),
            usage: None,
            warnings: std::mem::take(&mut self.cx.warnings),
            rate_limit: self.cx.rate_limit.take(),
        });
    }

    fn delta(
        &mut self,
        name: &str,
        data: &str,
        class: Class,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), Error> {
        let delta: Delta<'_> = parse(name, data)?;
        // A server that counts never uses a number twice in a row; a repeated event does. Zero is
        // what servers send that do not count.
        if delta.sequence_number.is_some_and(|n| n > 0) && delta.sequence_number == self.sequence {
            return Ok(());
        }
        self.sequence = delta.sequence_number;
        let item_id = delta.item_id.as_ref().map(|id| id.0.as_ref()).unwrap_or_default();
        if self.is_done(delta.output_index, item_id) {
            return Ok(());
        }
        self.start(Answer::default(), out);
        let mut segment = self.take(class, delta.output_index, [item_id, ""], out);
        let text = delta.text.into_owned();
        let taken = match class {
            Class::Text => {
                segment.text(text, out);
                Ok(())
            }
            Class::Reasoning => {
                let (source, paragraph) = match name {
                    "response.reasoning_text.delta" => (Source::Content, delta.content_index),
                    _ => (Source::Summary, delta.summary_index),
                };
                segment.reasoning(source, paragraph.unwrap_or(0), text, out);
                Ok(())
            }
            Class::Call(_) => segment.arguments(text, out),
        };
        self.open.push(segment);
        taken
    }

    fn item_added(&mut self, index: Option<u64>, item: &Value, out: &mut Vec<StreamEvent>) {
        let id = items::text(item, "id");
        if self.is_done(index, id) {
            return;
        }
        self.start(Answer::default(), out);
        self.has_items = true;
        let class = match items::text(item, "type") {
            "message" => Class::Text,
            "reasoning" => Class::Reasoning,
            "function_call" => Class::Call(ToolCallKind::Function),
            "custom_tool_call" => Class::Call(ToolCallKind::Custom),
            // Other items do not come in pieces; they are handed on when they are done.
            _ => return,
        };
        let mut segment = self.take(class, index, [id, items::text(item, "call_id")], out);
        let name = namespaces::called(item);
        segment.announce(items::call_id(item), self.cx.names.from_wire(&name), out);
        self.open.push(segment);
    }

    fn item_done(&mut self, index: Option<u64>, item: Value, out: &mut Vec<StreamEvent>) {
        let id = items::text(&item, "id");
        if self.is_done(index, id) {
            return;
        }
        self.start(Answer::default(), out);
        self.has_items = true;
        if let Some(index) = index {
            self.done.insert(index, id.to_owned());
        }
        let content = items::read(&item, &self.cx.names);
        self.seen.note(&content, &item);
        let names = [id, items::text(&item, "call_id")];
        match content {
            Content::Text(text) => {
                let mut segment = self.take(Class::Text, index, names, out);
                segment.rest_of_text(&text, out);
                out.push(StreamEvent::TextEnd { id: segment.id, raw: Some(item) });
            }
            Content::Thinking(thinking) => {
                let mut segment = self.take(Class::Reasoning, index, names, out);
                segment.rest_of_text(&thinking.text, out);
                let signature = thinking.signature;
                out.push(StreamEvent::ReasoningEnd { id: segment.id, signature, raw: Some(item) });
            }
            Content::ToolCall(call) => {
                let mut segment = self.take(Class::Call(call.kind), index, names, out);
                segment.rest_of_call(&call, out);
                out.push(StreamEvent::ToolCallEnd { id: segment.id, call, raw: Some(item) });
            }
            other => {
                let part = Part::received(other, Arc::clone(&self.cx.origin), Some(item));
                out.push(StreamEvent::Part { part });
            }
        }
    }

    fn answer_done(&mut self, name: &str, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        let event: AnswerEvent<Answer> = parse(name, data)?;
        let answer = event.response;
        let status = answer.status.as_deref().unwrap_or_else(|| name.trim_start_matches("response."));
        if status == "failed" || !answer.error.is_null() {
            return self.fail(&answer.error, data);
        }
        if !self.has_items && self.open.is_empty() {
            let event: AnswerEvent<Output> = parse(name, data)?;
            let start = Answer { id: answer.id.clone(), model: answer.model.clone(), ..Answer::default() };
            self.start(start, out);
            for (index, item) in (0..).zip(event.response.output) {
                self.item_done(Some(index), item, out);
            }
        }
        for segment in std::mem::take(&mut self.open) {
            if let Some(end) = segment.end() {
                self.seen.note_event(&end);
                out.push(end);
            }
        }
        let reason = self.seen.finish(status, items::text(&answer.incomplete_details, "reason"));
        out.push(StreamEvent::Finish { reason, usage: usage(answer.usage), response: None });
        self.finished = true;
        Ok(())
    }

    fn fail(&mut self, object: &Value, data: &str) -> Result<(), Error> {
        self.finished = true;
        Err(error::from_object(object).with_provider(&self.cx.origin.provider).with_body(data.as_bytes()))
    }

    /// Whether the item with this place is done. Servers that give every item the same place are
    /// known by the ids.
    fn is_done(&self, index: Option<u64>, id: &str) -> bool {
        let done = index.and_then(|index| self.done.get(&index));
        done.is_some_and(|done| id.is_empty() || done.is_empty() || done == id)
    }

    /// Takes the open segment that an event speaks of out of the list, or begins one.
    fn take(
        &mut self,
        class: Class,
        index: Option<u64>,
        names: [&str; 2],
        out: &mut Vec<StreamEvent>,
    ) -> Segment {
        if let Some(at) = self.open.iter().rposition(|segment| segment.is(class, index, names)) {
            return self.open.remove(at);
        }
        // Without a place and under a name that was never heard it can only be the one there is.
        let mut alike = (0..).zip(&self.open).filter(|(_, segment)| segment.class() == class);
        if let (None, Some((only, _)), None) = (index, alike.next(), alike.next()) {
            return self.open.remove(only);
        }
        let id = SegmentId(self.next);
        self.next = self.next.wrapping_add(1);
        let segment = Segment::new(id, class, index, names);
        segment.start(out);
        segment
    }
}

/// The event's type: from its name, else from its data.
fn event_name<'a>(frame: &Frame<'a>) -> Result<Cow<'a, str>, Error> {
    if frame.event.starts_with("response.") || frame.event == "error" {
        return Ok(Cow::Borrowed(frame.event));
    }
    match serde_json::from_str::<Typed<'a>>(frame.data) {
        Ok(Typed { class: Some(class), .. }) => Ok(class.0),
        Ok(Typed { error: Some(_), .. }) => Ok(Cow::Borrowed("error")),
        Err(e) if frame.event.is_empty() => Err(senseless("an event", &e)),
        Ok(_) | Err(_) => Ok(Cow::Borrowed(frame.event)),
    }
}

fn parse<'a, T: Deserialize<'a>>(name: &str, data: &'a str) -> Result<T, Error> {
    serde_json::from_str(data).map_err(|e| senseless(name, &e))
}

fn senseless(name: &str, why: &serde_json::Error) -> Error {
    Error::stream(format!("`{name}` in the stream makes no sense: {why}"))
}
