//! Reads a copy of the bytes that go through, for what they say about usage and how they end.
//!
//! It never disturbs them: what it cannot read it stops reading.

use std::sync::Arc;

use bytes::BytesMut;
use http::response::Parts;
use http::{StatusCode, header};
use junto_llm::names::NameMap;
use junto_llm::wire::{DecodeCx, StreamDecoder};
use junto_llm::{Error, ErrorKind, Origin, StreamEvent, Wire, sse};

use crate::report::Meter;

/// The largest whole answer that is kept to be read at its end.
const MOST: usize = 32 * 1024 * 1024;
/// The most that is kept of a refusal.
const MOST_OF_REFUSAL: usize = 64 * 1024;

/// Reads along with one answer.
pub(crate) struct Tee {
    reader: Reader,
    meter: Meter,
    /// How many bytes are still to come, if the head says it.
    left: Option<u64>,
}

enum Reader {
    /// Server-sent events, read as they come.
    Events { sse: sse::Decoder, decoder: Box<dyn StreamDecoder>, batch: Vec<StreamEvent> },
    /// A whole answer, read at its end.
    Whole { bytes: BytesMut, cx: DecodeCx },
    /// The provider's refusal, read at its end.
    Refusal { bytes: BytesMut, status: StatusCode, wire: Wire },
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
        let reader = if !head.status.is_success() {
            Reader::Refusal { bytes: BytesMut::new(), status: head.status, wire }
        } else if encoded {
            Reader::Off
        } else if kind.starts_with("text/event-stream") {
            let decoder = wire.codec().stream_decoder(cx);
            Reader::Events { sse: sse::Decoder::new(), decoder, batch: Vec::new() }
        } else {
            Reader::Whole { bytes: BytesMut::new(), cx }
        };
        let left = text(header::CONTENT_LENGTH).parse().ok();
        Self { reader, meter, left }
    }

    /// Reads what was handed on.
    pub(crate) fn read(&mut self, chunk: &[u8]) {
        let length = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        self.left = self.left.map(|left| left.saturating_sub(length));
        let goes_on = match &mut self.reader {
            Reader::Events { sse, decoder, batch } => {
                let result = sse.push(chunk, |frame| decoder.frame(frame, batch));
                for event in batch.drain(..) {
                    self.meter.hear(&event);
                    match event {
                        StreamEvent::StreamStart { usage: Some(usage), .. } => self.meter.note(&usage),
                        StreamEvent::Finish { usage, .. } => self.meter.finish(&usage),
                        _ => {}
                    }
                }
                // What makes no sense to us may make sense to the client; an error event is one to both.
                if let Err(error) = &result
                    && error.kind() != ErrorKind::Stream
                {
                    self.meter.fail(None, theirs(error));
                }
                result.is_ok()
            }
            Reader::Whole { bytes, .. } if chunk.len() <= MOST - bytes.len() => {
                bytes.extend_from_slice(chunk);
                true
            }
            Reader::Refusal { bytes, .. } => {
                let room = chunk.len().min(MOST_OF_REFUSAL - bytes.len());
                bytes.extend_from_slice(&chunk[..room]);
                true
            }
            Reader::Whole { .. } | Reader::Off => false,
        };
        if !goes_on {
            self.reader = Reader::Off;
        }
    }

    /// When the provider has sent everything.
    pub(crate) fn over(&mut self) {
        match self.end() {
            Ok(()) => {}
            Err(Some(error)) => self.meter.fail(None, error),
            Err(None) => self.meter.unread(),
        }
    }

    /// When the provider broke off.
    pub(crate) fn broke(&mut self, error: Error) {
        self.meter.fail(None, error);
    }

    /// At the end of the bytes, or where they were cut off. The error is why a stream is not complete;
    /// none if nothing could be read.
    fn end(&mut self) -> Result<(), Option<Error>> {
        match std::mem::replace(&mut self.reader, Reader::Off) {
            Reader::Events { mut sse, mut decoder, mut batch } => {
                // The last event may lack the line that ends it.
                let rest = sse.finish(|frame| decoder.frame(frame, &mut batch));
                let result = rest.and_then(|()| decoder.end(&mut batch));
                match batch.last() {
                    Some(StreamEvent::Finish { usage, .. }) => {
                        self.meter.finish(usage);
                        Ok(())
                    }
                    _ => result.map_err(Some),
                }
            }
            Reader::Whole { bytes, cx } => {
                let response = cx.origin.wire.codec().decode_response(&bytes, &cx).map_err(|_| None)?;
                self.meter.finish_with(&response);
                Ok(())
            }
            Reader::Refusal { bytes, status, wire } => {
                let error = wire.codec().decode_error(status.as_u16(), &bytes);
                self.meter.fail(Some(status), theirs(&error));
                Ok(())
            }
            Reader::Off => Err(None),
        }
    }
}

impl Drop for Tee {
    /// The client has gone, or the server, which may know how many bytes there are, asks for no more.
    fn drop(&mut self) {
        if self.left == Some(0) {
            return self.over();
        }
        let unread = matches!(self.reader, Reader::Off);
        if self.end().is_err() && unread {
            self.meter.unread();
        }
    }
}

/// A provider's error without its words: they went to the client, and may hold what is nobody else's
/// business.
fn theirs(error: &Error) -> Error {
    let told = Error::new(error.kind(), "the provider's own words went to the client");
    match error.status() {
        Some(status) => told.with_status(status),
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::told;

    const WHOLE: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}"#;
    const STREAM: &str = concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}"#,
        "\n\nevent: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
        "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );

    const JSON: &str = "application/json";
    const EVENTS: &str = "text/event-stream; charset=utf-8";

    /// How the bytes end.
    #[derive(Clone, Copy)]
    enum Last {
        Over,
        Left,
        Broke,
    }

    fn head(status: u16, kind: &str, coding: Option<&str>) -> Parts {
        let mut head = http::Response::builder().status(status).header("content-type", kind);
        if let Some(coding) = coding {
            head = head.header("content-encoding", coding);
        }
        head.body(()).unwrap().into_parts().0
    }

    /// Checks what is told of an answer that came in these chunks.
    #[track_caller]
    fn check(head: &Parts, chunks: &[&[u8]], last: Last, expected: (u64, u64, &str)) {
        let origin = Arc::new(Origin { wire: Wire::Anthropic, provider: "p".into(), model: "m".into() });
        let told = told(|meter| {
            let mut tee = Tee::new(head, origin, meter);
            for chunk in chunks {
                tee.read(chunk);
            }
            match last {
                Last::Over => tee.over(),
                Last::Left => {}
                Last::Broke => tee.broke(Error::new(ErrorKind::Network, "cut")),
            }
        });
        let (input, output, end) = expected;
        assert_eq!(told, [(input, output, end.to_owned())]);
    }

    #[test]
    fn usage_is_found_however_the_bytes_are_cut() {
        let (json, events) = (head(200, JSON, None), head(200, EVENTS, None));
        let complete = (7, 2, "complete");
        for last in [Last::Over, Last::Left, Last::Broke] {
            check(&events, &[STREAM.as_bytes()], last, complete);
        }
        for last in [Last::Over, Last::Left] {
            check(&json, &[WHOLE.as_bytes()], last, complete);
            check(&events, &[STREAM.trim_end().as_bytes()], last, complete);
        }
        for cut in 1..STREAM.len() {
            let (a, b) = STREAM.as_bytes().split_at(cut);
            check(&events, &[a, b], Last::Left, complete);
        }
    }

    #[test]
    fn what_cannot_be_read_is_said_to_be_so() {
        let unread = (0, 0, "unread");
        for last in [Last::Over, Last::Left] {
            check(&head(200, JSON, Some("gzip")), &[WHOLE.as_bytes()], last, unread);
            check(&head(200, EVENTS, None), &[b"data: oops\n\n", STREAM.as_bytes()], last, unread);
        }
        check(&head(200, JSON, None), &[b"<html>"], Last::Over, unread);
        check(&head(200, JSON, None), &[], Last::Over, unread);
        // A server that was told how much there is asks for no more.
        for said in ["ok", "<html></html>", "[]"] {
            let mut counted = head(200, JSON, None);
            counted.headers.insert(header::CONTENT_LENGTH, said.len().into());
            for last in [Last::Over, Last::Left] {
                check(&counted, &[said.as_bytes()], last, unread);
            }
            check(&counted, &[&said.as_bytes()[1..]], Last::Left, (0, 0, "broken off"));
        }
    }

    #[test]
    fn an_answer_that_was_cut_off_is_reported_as_far_as_it_came() {
        let events = head(200, EVENTS, None);
        let half = STREAM.split("event: message_delta").next().unwrap();
        check(&events, &[half.as_bytes()], Last::Left, (7, 1, "broken off"));
        check(&events, &[half.as_bytes()], Last::Over, (7, 1, "begun stream"));
        check(&events, &[half.as_bytes()], Last::Broke, (7, 1, "begun network"));
        check(&head(200, JSON, None), &[b"{"], Last::Left, (0, 0, "broken off"));
    }

    #[test]
    fn refusals_and_error_events_are_failures() {
        let refusal = br#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
        for last in [Last::Over, Last::Left] {
            check(&head(429, JSON, None), &[refusal], last, (0, 0, "429 rate_limit"));
            check(&head(500, "text/html", Some("gzip")), &[b"\x1f\x8b"], last, (0, 0, "500 server"));
        }
        let large = vec![b' '; MOST_OF_REFUSAL];
        check(&head(429, JSON, None), &[&large, &large, refusal], Last::Over, (0, 0, "429 rate_limit"));
        let event = b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
        check(&head(200, EVENTS, None), &[event], Last::Left, (0, 0, "begun server"));
    }
}
