//! The body of an answer, frame by frame, with what goes wrong inside it.

use std::collections::VecDeque;

use bytes::Bytes;
use serde_json::Value;

use junto_llm::wire::StreamEncoder;
use junto_llm::{Error, ErrorKind, Wire};

use crate::events::Events;
use crate::fault::{After, Fault};

/// A frame that is no JSON.
const MALFORMED: &str = "{\"type\": ";
/// What an error event says if the fault does not.
const OVERLOADED: &str = "The twin was told to fail in the middle of the stream.";

/// The frames of a body: the events of a stream, or one frame with a whole answer. Made one at a
/// time, so that memory stays flat however long the answer.
pub(crate) struct Frames {
    source: Source,
    malformed: Option<usize>,
    truncated: Option<usize>,
    error: Option<(usize, Error)>,
    duplicate: bool,
    /// The frame that is to be sent once more.
    again: Option<Bytes>,
    /// The frame that was looked at before its turn.
    ahead: Option<Bytes>,
    /// How many frames of the source were handed on.
    sent: usize,
    over: bool,
}

enum Source {
    Whole(Option<Bytes>),
    Stream(Box<Stream>),
}

/// How a stream is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// As server-sent events.
    Sse,
    /// As the elements of a JSON array: what Gemini does unless `alt=sse` is asked for.
    Array,
    /// As server-sent events without the chunk of Chat Completions that carries only usage, which a
    /// client gets only if it asks for it.
    SseWithoutUsage,
}

struct Stream {
    events: Events,
    encoder: Box<dyn StreamEncoder>,
    framing: Framing,
    /// Frames of the event that was encoded last.
    encoded: VecDeque<Bytes>,
    /// Whether the first element of an array has been written, and whether the last one has.
    array_open: bool,
    array_closed: bool,
}

impl Frames {
    /// A whole body.
    pub(crate) fn whole(body: &Value, fault: &Fault) -> Self {
        let faults = Fault {
            malformed_frame: fault.malformed_frame.map(|_| After(0)),
            duplicate_events: false,
            error_event: None,
            ..fault.clone()
        };
        Self::new(Source::Whole(Some(body.to_string().into())), &faults)
    }

    /// The body of a stream.
    pub(crate) fn stream(wire: Wire, events: Events, framing: Framing, fault: &Fault) -> Self {
        let stream = Stream {
            events,
            encoder: wire.codec().stream_encoder(),
            framing,
            encoded: VecDeque::new(),
            array_open: false,
            array_closed: false,
        };
        Self::new(Source::Stream(Box::new(stream)), fault)
    }

    fn new(source: Source, fault: &Fault) -> Self {
        let message = fault.message.as_deref().unwrap_or(OVERLOADED);
        let error = |After(n)| (n, Error::new(ErrorKind::Server, message));
        Self {
            source,
            malformed: fault.malformed_frame.map(|After(n)| n),
            truncated: fault.truncated_json.map(|After(n)| n),
            error: fault.error_event.map(error),
            duplicate: fault.duplicate_events,
            again: None,
            ahead: None,
            sent: 0,
            over: false,
        }
    }

    /// The fault that stands before the next frame, if one does. At the end of the answer all that
    /// are left are due.
    fn due(&mut self, at_end: bool) -> Option<Bytes> {
        let sent = self.sent;
        if self.malformed.take_if(|n| at_end || sent >= *n).is_some() {
            return Some(self.source.malformed());
        }
        let (_, error) = self.error.take_if(|(n, _)| at_end || sent >= *n)?;
        self.over = true;
        Some(self.source.error(&error))
    }
}

impl Iterator for Frames {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        if let Some(frame) = self.again.take() {
            return Some(frame);
        }
        if let Some(fault) = self.due(false) {
            return Some(fault);
        }
        let Some(frame) = self.ahead.take().or_else(|| self.source.next()) else {
            let fault = self.due(true);
            self.over |= fault.is_none();
            return fault;
        };
        if let Some(n) = self.truncated {
            // Only here is it of interest which frame is the last.
            self.ahead = self.source.next();
            if self.sent >= n || self.ahead.is_none() {
                self.over = true;
                return Some(frame.slice(..frame.len() / 2));
            }
        }
        self.again = self.duplicate.then(|| frame.clone());
        self.sent += 1;
        Some(frame)
    }
}

impl Source {
    fn next(&mut self) -> Option<Bytes> {
        match self {
            Self::Whole(body) => body.take(),
            Self::Stream(stream) => stream.next(),
        }
    }

    fn malformed(&self) -> Bytes {
        match self {
            Self::Stream(stream) if stream.framing != Framing::Array => {
                format!("data: {MALFORMED}\n\n").into()
            }
            _ => Bytes::from_static(MALFORMED.as_bytes()),
        }
    }

    fn error(&mut self, error: &Error) -> Bytes {
        match self {
            Self::Whole(_) => Bytes::new(),
            Self::Stream(stream) => {
                let mut out = Vec::new();
                stream.encoder.error(error, &mut out);
                out.into()
            }
        }
    }
}

impl Stream {
    fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.encoded.pop_front() {
                return Some(frame);
            }
            let Some(event) = self.events.next() else {
                return self.close();
            };
            let mut out = Vec::new();
            self.encoder.event(&event, &mut out);
            for frame in split(out.into()) {
                let framed = self.framed(frame);
                self.encoded.extend(framed);
            }
        }
    }

    fn framed(&mut self, frame: Bytes) -> Option<Bytes> {
        match self.framing {
            Framing::Sse => Some(frame),
            Framing::SseWithoutUsage => (!is_usage_only(&frame)).then_some(frame),
            Framing::Array => {
                let separator: &[u8] =
                    if std::mem::replace(&mut self.array_open, true) { b",\r\n" } else { b"[" };
                Some([separator, data(&frame)?].concat().into())
            }
        }
    }

    fn close(&mut self) -> Option<Bytes> {
        let closes = self.framing == Framing::Array && !std::mem::replace(&mut self.array_closed, true);
        closes.then(|| Bytes::from_static(if self.array_open { b"]" } else { b"[]" }))
    }
}

/// The frames in what an encoder wrote: each ends with a blank line, which compact JSON never has.
fn split(mut bytes: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let end = bytes.windows(2).position(|w| w == b"\n\n").map_or(bytes.len(), |at| at + 2);
        (end > 0).then(|| bytes.split_to(end))
    })
}

/// The data of a frame that has one line of it.
fn data(frame: &[u8]) -> Option<&[u8]> {
    let line = frame.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(b"data:"))?;
    Some(line.strip_prefix(b" ").unwrap_or(line))
}

fn is_usage_only(frame: &[u8]) -> bool {
    let chunk: Option<Value> = data(frame).and_then(|data| serde_json::from_slice(data).ok());
    chunk.is_some_and(|c| c["usage"].is_object() && c["choices"].as_array().is_some_and(Vec::is_empty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::build;
    use crate::answer::tests::seen;
    use crate::play::Step;
    use junto_llm::StreamEvent;
    use serde_json::json;

    /// An encoder for these tests alone: one frame per event, two for the last.
    struct Plain;

    impl StreamEncoder for Plain {
        fn event(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
            let name = match event {
                StreamEvent::StreamStart { .. } => "start",
                StreamEvent::TextDelta { text, .. } => text,
                StreamEvent::Finish { .. } => "finish",
                _ => return,
            };
            out.extend_from_slice(format!("data: [\"{name}\"]\n\n").as_bytes());
            if name == "finish" {
                out.extend_from_slice(b"data: {\"choices\":[],\"usage\":{}}\n\n");
            }
        }

        fn error(&mut self, error: &Error, out: &mut Vec<u8>) {
            out.extend_from_slice(format!("data: {}\n\n", error.message()).as_bytes());
        }
    }

    /// The frames of a stream of start, `ab`, `cd`, finish and usage, without their `data: `.
    fn stream(framing: Framing, fault: &str) -> Vec<String> {
        let response = build(&Step::text("abcd").without_thinking(), &seen("x"), 1).unwrap();
        let stream = Stream {
            events: Events::new(response, 2),
            encoder: Box::new(Plain),
            framing,
            encoded: VecDeque::new(),
            array_open: false,
            array_closed: false,
        };
        let fault = Fault::from_header(fault).unwrap();
        let frames = Frames::new(Source::Stream(Box::new(stream)), &fault);
        frames.map(|f| String::from_utf8_lossy(&f).trim_end().replace("data: ", "")).collect()
    }

    fn check(fault: &str, expected: &[&str]) {
        assert_eq!(stream(Framing::SseWithoutUsage, fault), expected, "{fault}");
    }

    #[test]
    fn faults_strike_where_they_are_told_to() {
        let (start, ab, cd, finish) = ("[\"start\"]", "[\"ab\"]", "[\"cd\"]", "[\"finish\"]");
        check("{}", &[start, ab, cd, finish]);
        check(r#"{"malformed_frame":2}"#, &[start, ab, "{\"type\":", cd, finish]);
        check(r#"{"malformed_frame":99}"#, &[start, ab, cd, finish, "{\"type\":"]);
        check(r#"{"error_event":1,"message":"boom"}"#, &[start, "boom"]);
        check(r#"{"error_event":0}"#, &[OVERLOADED]);
        check(r#"{"error_event":99,"message":"boom"}"#, &[start, ab, cd, finish, "boom"]);
        check(r#"{"truncated_json":1}"#, &[start, "["]);
        check(r#"{"truncated_json":99}"#, &[start, ab, cd, "[\"f"]);
        check(r#"{"duplicate_events":true}"#, &[start, start, ab, ab, cd, cd, finish, finish]);
    }

    #[test]
    fn a_stream_is_framed_as_asked_for() {
        let usage = "{\"choices\":[],\"usage\":{}}";
        assert_eq!(stream(Framing::Sse, "{}").last().unwrap(), usage);
        let array = stream(Framing::Array, "{}").concat();
        let array: Value = serde_json::from_str(&array).unwrap();
        assert_eq!(array, json!([["start"], ["ab"], ["cd"], ["finish"], {"choices": [], "usage": {}}]));
    }

    #[test]
    fn a_whole_body_is_one_frame() {
        let whole = |fault: &str| {
            let frames = Frames::whole(&json!({"a": 1}), &Fault::from_header(fault).unwrap());
            frames.map(|f| String::from_utf8_lossy(&f).into_owned()).collect::<Vec<_>>().concat()
        };
        assert_eq!(whole("{}"), r#"{"a":1}"#);
        assert_eq!(whole(r#"{"duplicate_events":true}"#), r#"{"a":1}"#);
        for broken in [r#"{"truncated_json":true}"#, r#"{"malformed_frame":true}"#] {
            assert!(serde_json::from_str::<Value>(&whole(broken)).is_err(), "{broken}");
        }
    }
}
