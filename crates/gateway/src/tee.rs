//! Reads a copy of the bytes that go through, for what they say about usage.
//!
//! It never delays them: a chunk is looked at after it was handed on. And it never disturbs them:
//! what it cannot read it stops reading.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header;
use http::response::Parts;
use junto_llm::names::NameMap;
use junto_llm::wire::{DecodeCx, StreamDecoder};
use junto_llm::{Origin, StreamEvent, sse};

use crate::usage::Meter;

/// The largest whole answer that is kept to be read at its end.
const MOST: usize = 32 * 1024 * 1024;

/// Reads along with one answer.
pub(crate) struct Tee {
    reader: Reader,
    /// The chunk that was handed on last.
    pending: Option<Bytes>,
    meter: Meter,
}

enum Reader {
    /// Server-sent events, read as they come.
    Events { sse: sse::Decoder, decoder: Box<dyn StreamDecoder>, batch: Vec<StreamEvent> },
    /// A whole answer, read at its end.
    Whole { bytes: BytesMut, cx: DecodeCx },
    /// Nothing that could be read, or not any more.
    Off,
}

impl Tee {
    /// A tee for the answer with this head.
    pub(crate) fn new(head: &Parts, origin: Arc<Origin>, meter: Meter) -> Self {
        let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let wire = origin.wire;
        let cx =
            DecodeCx { origin, names: Arc::new(NameMap::default()), warnings: Vec::new(), rate_limit: None };
        let encoded = head.headers.contains_key(header::CONTENT_ENCODING);
        let kind = text(header::CONTENT_TYPE).trim_start().to_ascii_lowercase();
        let reader = if !head.status.is_success() || encoded {
            Reader::Off
        } else if kind.starts_with("text/event-stream") {
            let decoder = wire.codec().stream_decoder(cx);
            Reader::Events { sse: sse::Decoder::new(), decoder, batch: Vec::new() }
        } else {
            Reader::Whole { bytes: BytesMut::new(), cx }
        };
        Self { reader, pending: None, meter }
    }

    /// Takes a chunk that is just being handed on, to be read later.
    pub(crate) fn later(&mut self, chunk: Bytes) {
        self.catch_up();
        if !matches!(self.reader, Reader::Off) {
            self.pending = Some(chunk);
        }
    }

    /// Reads what was handed on.
    pub(crate) fn catch_up(&mut self) {
        let Some(chunk) = self.pending.take() else { return };
        let goes_on = match &mut self.reader {
            Reader::Events { sse, decoder, batch } => {
                let result = sse.push(&chunk, |frame| decoder.frame(frame, batch));
                for event in batch.drain(..) {
                    match event {
                        StreamEvent::StreamStart { usage: Some(usage), .. } => self.meter.note(&usage),
                        StreamEvent::Finish { usage, .. } => self.meter.finish(&usage),
                        _ => {}
                    }
                }
                result.is_ok()
            }
            Reader::Whole { bytes, .. } if chunk.len() <= MOST - bytes.len() => {
                bytes.extend_from_slice(&chunk);
                true
            }
            Reader::Whole { .. } | Reader::Off => false,
        };
        if !goes_on {
            self.reader = Reader::Off;
        }
    }

    /// At the end of the bytes, or where they were cut off.
    fn end(&mut self) {
        self.catch_up();
        match std::mem::replace(&mut self.reader, Reader::Off) {
            Reader::Events { mut sse, mut decoder, mut batch } => {
                // The last event may lack the line that ends it. Whether the rest makes sense is
                // between the provider and the client.
                let _ = sse.finish(|frame| decoder.frame(frame, &mut batch));
                let _ = decoder.end(&mut batch);
                if let Some(StreamEvent::Finish { usage, .. }) = batch.last() {
                    self.meter.finish(usage);
                }
            }
            Reader::Whole { bytes, cx } => {
                if let Ok(response) = cx.origin.wire.codec().decode_response(&bytes, &cx) {
                    self.meter.finish(&response.usage);
                }
            }
            Reader::Off => {}
        }
    }
}

impl Drop for Tee {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::{Sink, UsageReport, Via};
    use junto_llm::{CallCx, Wire};
    use std::sync::Mutex;

    const WHOLE: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}"#;
    const STREAM: &str = concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}"#,
        "\n\nevent: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
        "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );

    /// What is told of an answer that came in these chunks.
    fn told(status: u16, kind: &str, coding: Option<&str>, chunks: &[&[u8]]) -> Vec<(u64, u64, bool)> {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let book = Arc::clone(&reports);
        let sink: Sink = Arc::new(move |r: UsageReport| {
            book.lock().unwrap().push((r.usage.input, r.usage.output, r.complete));
        });
        let mut head = http::Response::builder().status(status).header("content-type", kind);
        if let Some(coding) = coding {
            head = head.header("content-encoding", coding);
        }
        let head = head.body(()).unwrap().into_parts().0;
        let origin = Arc::new(Origin { wire: Wire::Anthropic, provider: "p".into(), model: "m".into() });
        let meter = Meter::new(Some(sink), &CallCx::new(), "p", "m", Via::Passthrough);
        let mut tee = Tee::new(&head, origin, meter);
        for chunk in chunks {
            tee.later(Bytes::copy_from_slice(chunk));
        }
        drop(tee);
        let reports = reports.lock().unwrap();
        reports.clone()
    }

    #[test]
    fn usage_is_found_however_the_bytes_are_cut() {
        let (json, events) = ("application/json", "text/event-stream; charset=utf-8");
        assert_eq!(told(200, json, None, &[WHOLE.as_bytes()]), [(7, 2, true)]);
        assert_eq!(told(200, events, None, &[STREAM.as_bytes()]), [(7, 2, true)]);
        for cut in 1..STREAM.len() {
            let (a, b) = STREAM.as_bytes().split_at(cut);
            assert_eq!(told(200, events, None, &[a, b]), [(7, 2, true)], "{cut}");
        }
        assert_eq!(told(200, events, None, &[STREAM.trim_end().as_bytes()]), [(7, 2, true)]);
    }

    #[test]
    fn what_cannot_be_read_is_not_reported() {
        let (json, events) = ("application/json", "text/event-stream");
        assert_eq!(told(500, json, None, &[WHOLE.as_bytes()]), []);
        assert_eq!(told(200, json, Some("gzip"), &[WHOLE.as_bytes()]), []);
        assert_eq!(told(200, json, None, &[b"<html>"]), []);
        assert_eq!(told(200, json, None, &[]), []);
        assert_eq!(told(200, events, None, &[b"data: oops\n\n", STREAM.as_bytes()]), []);
    }

    #[test]
    fn an_answer_that_was_cut_off_is_reported_as_far_as_it_came() {
        let half = STREAM.split("event: message_delta").next().unwrap();
        assert_eq!(told(200, "text/event-stream", None, &[half.as_bytes()]), [(7, 1, false)]);
    }
}
