//! What must hold for any bytes that a model's server sends.

use std::collections::HashSet;
use std::sync::Arc;

use junto_llm::names::NameMap;
use junto_llm::sse::{Decoder, Frame};
use junto_llm::wire::DecodeCx;
use junto_llm::{Accumulator, Origin, SegmentId, StreamEvent, ToolCall, Wire};
use serde_json::Value;

/// Small, so that short inputs reach it.
const LIMIT: usize = 256;

/// Any split of the bytes gives the same frames, or the same refusal; no frame is over the limit.
/// The first eight bytes say where to split.
pub fn sse(data: &[u8]) {
    let (cuts, bytes) = data.split_at(data.len().min(8));
    let whole = frames([bytes]);
    assert_eq!(whole, frames(split(bytes, cuts)), "splitting changed the frames");
    for (event, data) in whole.0 {
        assert!(event.len() <= LIMIT && data.len() <= LIMIT, "a frame is over the limit");
    }
}

/// The frames up to the end or the first error, and whether it was an error.
fn frames<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<(String, String)>, bool) {
    let mut decoder = Decoder::with_limit(LIMIT);
    let mut seen = Vec::new();
    let mut sink = |frame: Frame<'_>| {
        seen.push((frame.event.to_owned(), frame.data.to_owned()));
        Ok(())
    };
    let mut result = Ok(());
    for chunk in chunks {
        result = result.and_then(|()| decoder.push(chunk, &mut sink));
    }
    let failed = result.and_then(|()| decoder.finish(&mut sink)).is_err();
    (seen, failed)
}

fn split<'a>(mut bytes: &'a [u8], cuts: &[u8]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    for cut in cuts {
        let (chunk, rest) = bytes.split_at(usize::from(*cut).min(bytes.len()));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks.push(bytes);
    chunks
}

/// A stream's decoder never panics, keeps the promises of [`StreamEvent`], and hands on no more than a
/// small multiple of what it was given. Each line of the input is the data of one frame. Tells whether
/// the answer came to its end.
pub fn stream(wire: Wire, data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let origin = Origin { wire, provider: "fuzz".into(), model: "model".into() };
    let mut decoder = wire.codec().stream_decoder(DecodeCx {
        origin: Arc::new(origin),
        names: Arc::new(NameMap::default()),
        warnings: Vec::new(),
        rate_limit: None,
    });
    let mut promises = Promises::default();
    let mut events = Vec::new();
    let mut failed = false;
    for line in text.lines() {
        // The event's name repeats the type inside the data, on the wires that have names.
        let parsed: Option<Value> = serde_json::from_str(line).ok();
        let event = parsed.as_ref().and_then(|value| value["type"].as_str()).unwrap_or("");
        failed = decoder.frame(Frame { event, data: line }, &mut events).is_err();
        promises.check(&events);
        events.clear();
        if failed {
            break;
        }
    }
    let complete = !failed && decoder.end(&mut events).is_ok();
    if complete {
        promises.check(&events);
        assert!(promises.finished, "a stream ended well without a finish");
    }
    assert!(promises.bytes <= 64 * data.len() + 4096, "the events are far larger than the stream");
    let _ = promises.accumulator.into_partial();
    complete
}

/// What a consumer may rely on, whatever the server sends.
#[derive(Default)]
struct Promises {
    started: bool,
    finished: bool,
    seen: HashSet<SegmentId>,
    open: HashSet<SegmentId>,
    bytes: usize,
    accumulator: Accumulator,
}

impl Promises {
    fn check(&mut self, events: &[StreamEvent]) {
        for event in events {
            assert!(!self.finished, "an event after the finish: {event:?}");
            let is_start = matches!(event, StreamEvent::StreamStart { .. });
            assert!(is_start != self.started, "not exactly one start, at the beginning: {event:?}");
            self.started = true;
            self.segment(event);
            self.bytes += size(event);
            self.accumulator.push(event);
        }
    }

    fn segment(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::TextStart { id }
            | StreamEvent::ReasoningStart { id }
            | StreamEvent::ToolCallStart { id, .. } => {
                assert!(self.seen.insert(*id), "a segment starts twice: {event:?}");
                self.open.insert(*id);
            }
            StreamEvent::TextDelta { id, .. }
            | StreamEvent::ReasoningDelta { id, .. }
            | StreamEvent::ToolCallDelta { id, .. } => {
                assert!(self.open.contains(id), "a delta outside its segment: {event:?}");
            }
            StreamEvent::TextEnd { id, .. }
            | StreamEvent::ReasoningEnd { id, .. }
            | StreamEvent::ToolCallEnd { id, .. } => {
                assert!(self.open.remove(id), "an end outside its segment: {event:?}");
            }
            StreamEvent::Finish { .. } => {
                assert!(self.open.is_empty(), "a finish with open segments: {:?}", self.open);
                self.finished = true;
            }
            _ => {}
        }
    }
}

/// What an event brings that is new; the whole answer that a finish carries is counted by its parts.
fn size(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::TextDelta { text, .. } | StreamEvent::ReasoningDelta { text, .. } => text.len(),
        StreamEvent::ToolCallDelta { arguments, .. } => arguments.len(),
        _ => 1,
    }
}

/// Arguments are never a reason to fail: they are kept as written, and parsed if they are JSON.
pub fn arguments(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let call = ToolCall::function("id", "name", &*text);
    assert_eq!(call.raw_arguments, text);
    assert_eq!(call.is_well_formed(), call.arguments.is_object());
    if text.trim().is_empty() {
        assert!(call.is_well_formed(), "no arguments are an empty object");
    } else {
        let parsed = serde_json::from_str(&text).unwrap_or(Value::Null);
        assert_eq!(call.arguments, parsed);
    }
}
