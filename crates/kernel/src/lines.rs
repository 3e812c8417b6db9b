//! Lines of bounded length.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// What comes next on a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// A line that is longer than allowed. Told as soon as it is known; the rest of it is skipped.
    TooLong,
    /// The other side is done. What it left unfinished is dropped.
    End,
}

/// Reads lines and holds at most one, of at most so many bytes.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    most: usize,
    line: Vec<u8>,
    /// Whether the rest of a line that was too long is still to come.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, most: usize) -> Self {
        Self { reader: BufReader::new(reader), most, line: Vec::new(), skipping: false }
    }

    /// The next line. Nothing is lost if this is dropped before it is done.
    pub(crate) async fn next(&mut self) -> io::Result<Line> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(Line::End);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let piece = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            let taken = piece.len() + usize::from(end.is_some());
            let fits = self.line.len() + piece.len() <= self.most;
            if fits && !self.skipping {
                self.line.extend_from_slice(piece);
            }
            self.reader.consume(taken);
            let was_skipping = self.skipping;
            self.skipping = (was_skipping || !fits) && end.is_none();
            if !fits && !was_skipping {
                self.line = Vec::new();
                return Ok(Line::TooLong);
            }
            if end.is_some() && !was_skipping {
                return Ok(Line::Whole(std::mem::take(&mut self.line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(input: &[u8], expected: &[Line]) {
        // Read in one go, and byte by byte.
        for chunk in [64, 1] {
            let mut lines = Lines::new(input, 4);
            lines.reader = BufReader::with_capacity(chunk, input);
            let mut got = Vec::new();
            loop {
                got.push(lines.next().await.unwrap());
                if got.last() == Some(&Line::End) {
                    break;
                }
            }
            assert_eq!(got, expected, "{input:?} by {chunk}");
            assert!(lines.line.capacity() <= 8, "no more is held than is allowed");
        }
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn lines_are_split_and_bounded() {
        check(b"", &[Line::End]).await;
        check(b"a\nbc\n", &[whole("a"), whole("bc"), Line::End]).await;
        check(b"\n\r\n", &[whole(""), whole("\r"), Line::End]).await;
        check(b"abcd\nabcde\nf\n", &[whole("abcd"), Line::TooLong, whole("f"), Line::End]).await;
        check(b"abcdefghijklmnop", &[Line::TooLong, Line::End]).await;
        check(b"abcdefghij\nabcdefghij\n", &[Line::TooLong, Line::TooLong, Line::End]).await;
        check(b"ab\nunfinished", &[whole("ab"), Line::TooLong, Line::End]).await;
        check(b"ab\nun", &[whole("ab"), Line::End]).await;
    }
}
