//! A streamed answer, read event by event.
//!
//! Deltas are read by a typed struct that copies nothing but the new text; everything rare goes
//! through a JSON value. Events that come twice, late or for blocks that are not open are ignored;
//! what an unknown event says is handed on raw.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::stream_block::Block;
use super::{error, response};
use crate::sse::Frame;
use crate::wire::{DecodeCx, StreamDecoder};
use crate::{Error, SegmentId, StreamEvent};

/// The most blocks that may be open at once. The wire opens one after the other.
const MAX_OPEN: usize = 256;
/// The most that all open blocks together may hold back (arguments, mostly), in bytes.
const MAX_HELD: usize = 16 * 1024 * 1024;

/// One event's data. Rare fields stay unparsed.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    index: Option<u32>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

/// What is new, of any kind of delta.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) partial_json: Option<String>,
    pub(super) signature: Option<String>,
    stop_reason: Option<String>,
}

/// How far the answer has come.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Silent,
    Speaking,
    Done,
}

/// The decoder of one stream.
pub(super) struct Decoder {
    cx: DecodeCx,
    stage: Stage,
    /// The blocks that have started and not stopped, in the order of their starts, by their index.
    open: Vec<(u32, SegmentId, Block)>,
    /// The next segment. Counted, as nothing keeps a server from using an index again.
    next: u32,
    held: usize,
    usage: Map<String, Value>,
    stop_reason: Option<String>,
    /// Whether a call of the reserved answer tool was seen, and any other call.
    answered: bool,
    called: bool,
}

impl Decoder {
    pub(super) fn new(cx: DecodeCx) -> Self {
        Self {
            cx,
            stage: Stage::Silent,
            open: Vec::new(),
            next: 0,
            held: 0,
            usage: Map::new(),
            stop_reason: None,
            answered: false,
            called: false,
        }
    }

    fn fail(&self, message: impl Into<String>) -> Error {
        Error::stream(message).with_provider(&self.cx.origin.provider)
    }

    fn start(&mut self, message: Option<&RawValue>, out: &mut Vec<StreamEvent>) {
        if self.stage != Stage::Silent {
            return;
        }
        self.stage = Stage::Speaking;
        let message: Value = message.and_then(|m| serde_json::from_str(m.get()).ok()).unwrap_or_default();
        if let Some(usage) = message["usage"].as_object() {
            self.usage.clone_from(usage);
        }
        out.push(StreamEvent::StreamStart {
            id: response::text(&message["id"]),
            model: message["model"].as_str().unwrap_or(&self.cx.origin.model).to_owned(),
            provider: self.cx.origin.provider.clone(),
            origin: Some(Arc::clone(&self.cx.origin)),
            usage: (!self.usage.is_empty()).then(|| response::usage(&self.usage)),
            warnings: std::mem::take(&mut self.cx.warnings),
            rate_limit: self.cx.rate_limit.take(),
        });
    }

    fn block_start(
        &mut self,
        index: u32,
        block: Option<&RawValue>,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), Error> {
        if self.open.iter().any(|(open, ..)| *open == index) {
            return Ok(());
        }
        if self.open.len() >= MAX_OPEN {
            return Err(self.fail(format!("the stream has more than {MAX_OPEN} blocks open")));
        }
        let block: Value = block
            .and_then(|b| serde_json::from_str(b.get()).ok())
            .ok_or_else(|| self.fail("a block of the stream starts without content"))?;
        if response::is_answer(&block) {
            self.answered = true;
        } else if block["type"] == "tool_use" {
            self.called = true;
        }
        let id = SegmentId(self.next);
        self.next = self.next.saturating_add(1);
        let block = Block::start(id, block, &self.cx.names, out);
        self.held = self.held.saturating_add(block.held());
        self.open.push((index, id, block));
        Ok(())
    }

    fn block_delta(
        &mut self,
        index: u32,
        delta: Delta<'_>,
        data: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), Error> {
        let Some((_, id, block)) = self.open.iter_mut().rev().find(|(open, ..)| *open == index) else {
            return Ok(());
        };
        let before = block.held();
        block.delta(*id, delta, data, out);
        self.held = self.held.saturating_sub(before).saturating_add(block.held());
        if self.held > MAX_HELD {
            return Err(self.fail(format!("the arguments of a call are larger than {MAX_HELD} bytes")));
        }
        Ok(())
    }

    fn block_stop(&mut self, index: u32, out: &mut Vec<StreamEvent>) {
        if let Some(at) = self.open.iter().rposition(|(open, ..)| *open == index) {
            let (_, id, block) = self.open.remove(at);
            self.held = self.held.saturating_sub(block.held());
            block.stop(id, &self.cx.origin, out);
        }
    }

    /// What the last usage says overrides what the first said.
    fn message_delta(&mut self, delta: Option<Delta<'_>>, usage: Option<&RawValue>) {
        if let Some(reason) = delta.and_then(|d| d.stop_reason) {
            self.stop_reason = Some(reason);
        }
        if let Some(Ok(usage)) = usage.map(|u| serde_json::from_str::<Map<String, Value>>(u.get())) {
            self.usage.extend(usage.into_iter().filter(|(_, value)| !value.is_null()));
        }
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        self.stage = Stage::Done;
        for (_, id, block) in std::mem::take(&mut self.open) {
            block.stop(id, &self.cx.origin, out);
        }
        out.push(StreamEvent::Finish {
            reason: response::finish(self.stop_reason.as_deref(), self.answered && !self.called),
            usage: if self.usage.is_empty() { crate::Usage::default() } else { response::usage(&self.usage) },
            response: None,
        });
    }

    /// What the typed reading does not know: an event of a new kind, or nonsense.
    fn unknown(&mut self, frame: Frame<'_>, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        let raw: Value = serde_json::from_str(frame.data)
            .map_err(|e| self.fail("an event of the stream is not JSON").with_source(e))?;
        if raw["type"].as_str().is_some_and(|kind| KNOWN.contains(&kind)) {
            return Err(self.fail("an event of the stream makes no sense").with_body(frame.data.as_bytes()));
        }
        // The start is the first event of every answer; what comes before it belongs to none.
        if self.stage == Stage::Speaking {
            out.push(StreamEvent::ProviderEvent { raw });
        }
        Ok(())
    }
}

const KNOWN: [&str; 6] = [
    "content_block_delta",
    "content_block_start",
    "content_block_stop",
    "message_start",
    "message_delta",
    "message_stop",
];

impl StreamDecoder for Decoder {
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        if self.stage == Stage::Done || frame.data.is_empty() {
            return Ok(());
        }
        if frame.event == "error" {
            let envelope = serde_json::from_str(frame.data).unwrap_or_default();
            return Err(error::from_envelope(None, &envelope)
                .with_provider(&self.cx.origin.provider)
                .with_body(frame.data.as_bytes()));
        }
        let Ok(event) = serde_json::from_str::<Event<'_>>(frame.data) else {
            return self.unknown(frame, out);
        };
        let kind = if event.kind.is_empty() { frame.event } else { &event.kind };
        match (kind, event.index) {
            ("content_block_delta", Some(index)) => match event.delta {
                Some(delta) => self.block_delta(index, delta, frame.data, out),
                None => Ok(()),
            },
            ("content_block_start", Some(index)) => {
                self.start(None, out);
                self.block_start(index, event.content_block, out)
            }
            ("content_block_stop", Some(index)) => {
                self.block_stop(index, out);
                Ok(())
            }
            ("message_start", _) => {
                self.start(event.message, out);
                Ok(())
            }
            ("message_delta", _) => {
                self.start(None, out);
                self.message_delta(event.delta, event.usage);
                Ok(())
            }
            ("message_stop", _) => {
                self.start(None, out);
                self.finish(out);
                Ok(())
            }
            ("ping", _) => Ok(()),
            ("error", _) => self.frame(Frame { event: "error", data: frame.data }, out),
            _ => self.unknown(frame, out),
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        if self.stage == Stage::Done {
            return Ok(());
        }
        if self.stop_reason.is_none() {
            return Err(self.fail("the stream ended before the answer was complete"));
        }
        self.finish(out);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
