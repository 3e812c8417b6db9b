//! Server-sent events: a bounded, incremental decoder, and the matching encoder.
//!
//! Any split of the same bytes into chunks gives the same frames; a line or event over the limit is
//! an error, so memory is bounded whatever a server sends.

use crate::{Error, ErrorKind};

/// The default limit for one event, in bytes.
pub const MAX_EVENT: usize = 32 * 1024 * 1024;

/// One event off the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The `event:` field; empty if there was none.
    pub event: &'a str,
    /// The `data:` lines, joined by newlines.
    pub data: &'a str,
}

/// An incremental decoder: push bytes, take frames.
///
/// ```
/// use junto_llm::sse::Decoder;
/// let mut decoder = Decoder::new();
/// let mut seen = Vec::new();
/// for chunk in [&b"event: ping\nda"[..], b"ta: {}\n\n"] {
///     decoder.push(chunk, |frame| { seen.push((frame.event.to_owned(), frame.data.to_owned())); Ok(()) })?;
/// }
/// assert_eq!(seen, [("ping".to_owned(), "{}".to_owned())]);
/// # Ok::<(), junto_llm::Error>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    /// The unfinished line.
    line: Vec<u8>,
    event: String,
    data: Vec<u8>,
    has_data: bool,
    /// The last chunk ended in CR, so an LF at the start of the next one belongs to it.
    skip_lf: bool,
    at_start: bool,
    limit: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder with the default limit.
    pub fn new() -> Self {
        Self::with_limit(MAX_EVENT)
    }

    /// A decoder that refuses events of more than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            event: String::new(),
            data: Vec::new(),
            has_data: false,
            skip_lf: false,
            at_start: true,
            limit,
        }
    }

    /// Takes in a chunk and hands on each event it completes.
    ///
    /// # Errors
    /// `stream` if an event is over the limit or is not UTF-8; else what `sink` returns.
    pub fn push(
        &mut self,
        mut chunk: &[u8],
        mut sink: impl FnMut(Frame<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.skip_lf && !chunk.is_empty() {
            self.skip_lf = false;
            if chunk[0] == b'\n' {
                chunk = &chunk[1..];
            }
        }
        while let Some(end) = find_line_end(chunk) {
            let (line, rest) = chunk.split_at(end);
            let was_cr = rest[0] == b'\r';
            chunk = &rest[1..];
            if was_cr {
                match chunk.first() {
                    Some(b'\n') => chunk = &chunk[1..],
                    Some(_) => {}
                    None => self.skip_lf = true,
                }
            }
            // Of the whole line, however it came: a limit that depended on the split would too.
            self.check(line.len())?;
            if self.line.is_empty() {
                self.take_line(line, &mut sink)?;
            } else {
                self.line.extend_from_slice(line);
                let whole = std::mem::take(&mut self.line);
                self.take_line(&whole, &mut sink)?;
                self.line = whole;
                self.line.clear();
            }
        }
        self.check(chunk.len())?;
        self.line.extend_from_slice(chunk);
        Ok(())
    }

    /// At the end of the stream: hands on an event whose closing blank line is missing. The
    /// standard would drop it; model servers do send such a last event, and it is whole.
    ///
    /// # Errors
    /// As [`Decoder::push`].
    pub fn finish(&mut self, mut sink: impl FnMut(Frame<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, &mut sink)?;
        }
        self.dispatch(&mut sink)
    }

    fn take_line(
        &mut self,
        mut line: &[u8],
        sink: &mut impl FnMut(Frame<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(sink);
        }
        let (field, value) = match line.iter().position(|&b| b == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                self.check(value.len())?;
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.event.clear();
                self.event.push_str(utf8(value)?);
            }
            // Comments have an empty field name; `id` and `retry` mean nothing to a model stream.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, sink: &mut impl FnMut(Frame<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let result =
            if self.has_data { sink(Frame { event: &self.event, data: utf8(&self.data)? }) } else { Ok(()) };
        self.event.clear();
        self.data.clear();
        self.has_data = false;
        result
    }

    fn check(&self, more: usize) -> Result<(), Error> {
        if self.line.len() + self.data.len() + more > self.limit {
            return Err(Error::stream(format!("an event of the stream is larger than {} bytes", self.limit)));
        }
        Ok(())
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|e| Error::new(ErrorKind::Stream, "the stream is not valid UTF-8").with_source(e))
}

fn find_line_end(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&b| b == b'\n' || b == b'\r')
}

/// Appends one event. `data` must have no line breaks, as compact JSON has none; `event` may be
/// empty.
pub fn encode(event: &str, data: &str, out: &mut Vec<u8>) {
    if !event.is_empty() {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(event.as_bytes());
        out.push(b'\n');
    }
    for line in data.split('\n') {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(chunks: &[&[u8]]) -> Result<Vec<(String, String)>, Error> {
        let mut decoder = Decoder::with_limit(64);
        let mut seen = Vec::new();
        let mut sink = |f: Frame<'_>| {
            seen.push((f.event.to_owned(), f.data.to_owned()));
            Ok(())
        };
        for chunk in chunks {
            decoder.push(chunk, &mut sink)?;
        }
        decoder.finish(&mut sink)?;
        Ok(seen)
    }

    #[test]
    fn reads_what_servers_send() {
        let check = |input: &str, expected: &[(&str, &str)]| {
            let seen = decode(&[input.as_bytes()]).unwrap();
            let seen: Vec<_> = seen.iter().map(|(e, d)| (e.as_str(), d.as_str())).collect();
            assert_eq!(seen, expected, "{input:?}");
        };
        check("data: a\n\n", &[("", "a")]);
        check("data:a\r\n\r\n", &[("", "a")]);
        check("data: a\rdata: b\r\r", &[("", "a\nb")]);
        check("\u{feff}event: x\ndata: 1\n\n: note\n\ndata: 2\n\n", &[("x", "1"), ("", "2")]);
        check("event: only\n\ndata: 3\n\n", &[("", "3")]);
        check("data\n\n", &[("", "")]);
        check("id: 7\nretry: 1\nfoo: bar\ndata:  two spaces\n\n", &[("", " two spaces")]);
        check("data: unfinished", &[("", "unfinished")]);
        check("", &[]);
    }

    #[test]
    fn refuses_what_is_too_large_or_not_text() {
        assert_eq!(decode(&[&[b'x'; 65]]).unwrap_err().kind(), ErrorKind::Stream);
        let line = format!("data: {}\n", "y".repeat(40));
        assert_eq!(decode(&[line.as_bytes(), line.as_bytes()]).unwrap_err().kind(), ErrorKind::Stream);
        assert_eq!(decode(&[b"data: \xff\n\n"]).unwrap_err().kind(), ErrorKind::Stream);
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_frames(
            bytes in proptest::collection::vec(prop_oneof![
                Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), Just(b'a'), Just(b't'), any::<u8>()
            ], 0..200),
            text in "(data|event|id)?:? ?[a-z]{0,5}(\r\n|\n|\r){0,2}",
            cuts in proptest::collection::vec(0usize..400, 0..8),
        ) {
            let mut input = text.clone().into_bytes();
            input.extend(bytes);
            input.extend(text.into_bytes());
            let whole = decode(&[&input]).ok();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(input.len())).collect();
            cuts.extend([0, input.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|w| &input[w[0]..w[1]]).collect();
            prop_assert_eq!(decode(&chunks).ok(), whole);
        }

        #[test]
        fn encoded_events_come_back(event in "[a-z.]{0,10}", data in "[ -~\u{e9}]{0,40}") {
            let mut out = Vec::new();
            encode(&event, &data, &mut out);
            prop_assert_eq!(decode(&[&out]).unwrap(), vec![(event, data)]);
        }
    }
}
