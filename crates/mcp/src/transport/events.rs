//! Server-sent events of a server, of which none is held that is too long, and which are no flood.

use std::fmt;
use std::future::ready;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

use super::flood::{FLOODED, Flood};
use super::lines::LONGEST;
use super::mend;

/// What a stream of events is made of.
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The events in the answer to a request. What is too much is an error of that request, and the end of the answer.
pub(super) fn of_answer<B, E>(
    bytes: impl Stream<Item = Result<B, E>> + Send + 'static,
    id: Option<RequestId>,
) -> Events
where
    B: bytes::Buf + AsRef<[u8]> + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    let mut bounds = Bounds::new(LONGEST);
    let bounded = bytes.map(move |piece| {
        let piece = piece.map_err(|error| Broken::Connection(Box::new(error)))?;
        bounds.take(piece.as_ref()).map(|()| piece)
    });
    let events = SseStream::from_bytes_stream(bounded).scan(false, move |is_over, event| {
        if *is_over {
            return ready(None);
        }
        let event = event.or_else(|error| match error {
            SseError::Body(why) if matches!(why.downcast_ref(), Some(Broken::TooMuch(_))) => {
                *is_over = true;
                let failed = id.clone().map(|id| mend::failed(id, why.to_string()));
                let text = failed.and_then(|failed| serde_json::to_string(&failed).ok());
                text.map(|text| Sse::default().data(text)).ok_or(SseError::Body(why))
            }
            other => Err(other),
        });
        ready(Some(event))
    });
    events.boxed()
}

/// Events that answer nothing. A server that floods us with them is not listened to any more.
pub(super) fn unasked(events: Events) -> Events {
    let mut flood = Flood::new();
    events.take_while(move |_| ready(flood.bears())).chain(futures_util::stream::pending()).boxed()
}

/// Why there is no more.
#[derive(Debug)]
enum Broken {
    Connection(Box<dyn std::error::Error + Send + Sync>),
    TooMuch(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => error.fmt(f),
            Self::TooMuch(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Broken {}

/// Counts what an event has so far, and how many there were.
#[derive(Debug)]
struct Bounds {
    longest: usize,
    line: usize,
    event: usize,
    /// A line end of two bytes is one.
    after_return: bool,
    is_comment: bool,
    flood: Flood,
}

impl Bounds {
    fn new(longest: usize) -> Self {
        Self { longest, line: 0, event: 0, after_return: false, is_comment: false, flood: Flood::new() }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), Broken> {
        for byte in piece {
            let ends_return = std::mem::take(&mut self.after_return) && *byte == b'\n';
            match byte {
                b'\n' if ends_return => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    self.end_line()?;
                }
                _ => {
                    if self.line == 0 {
                        self.is_comment = *byte == b':';
                    }
                    self.line += 1;
                }
            }
            if self.event + self.line > self.longest {
                let why = format!(
                    "the answer has more than {} bytes, which is more than is taken at once",
                    self.longest
                );
                return Err(Broken::TooMuch(why));
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), Broken> {
        // An empty line ends an event; a comment is none.
        let counts = self.line == 0 || self.is_comment;
        if self.line == 0 {
            self.event = 0;
        } else if !self.is_comment {
            self.event += self.line + 1;
        }
        (self.line, self.is_comment) = (0, false);
        if counts && !self.flood.bears() {
            return Err(Broken::TooMuch(FLOODED.to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_held_to_its_bytes_however_it_comes() {
        let check = |text: &str, expected: bool| {
            for size in [1, 3, 1000] {
                let mut bounds = Bounds::new(20);
                let fits = text.as_bytes().chunks(size).all(|piece| bounds.take(piece).is_ok());
                assert_eq!(fits, expected, "{text:?} in pieces of {size}");
            }
        };
        check("data: 345678901234\n\n", true);
        check("data: 3456789012345678\n\n", false);
        check("data: 3456789012345678", false);
        for end in ["\n", "\r", "\r\n"] {
            check(&format!("data: 12{end}data: 34{end}{end}").repeat(9), true);
            check(&format!("data: 12{end}data: 34{end}data: 56{end}{end}"), false);
        }
        check(&": ping\n".repeat(100), true);
    }
}
