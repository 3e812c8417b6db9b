//! Bytes into lines of bounded length.

/// The longest line that is read.
pub const LINE_LIMIT: usize = 16 << 20;

/// One line, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The line.
    Whole(&'a [u8]),
    /// A line that is longer than the limit, and that was thrown away.
    TooLong,
}

/// Cuts a stream of bytes into lines. Holds at most one line, and that up to a limit.
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    /// The line that has begun.
    begun: Vec<u8>,
    /// Whether the line that has begun is too long.
    overflowed: bool,
}

impl Lines {
    /// Lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, begun: Vec::new(), overflowed: false }
    }

    /// Takes more bytes, and hands out the lines that are complete.
    pub fn push(&mut self, bytes: &[u8], mut take: impl FnMut(Line<'_>)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (content, ended) = match piece.strip_suffix(b"\n") {
                Some(content) => (content, true),
                None => (piece, false),
            };
            if self.overflowed || self.begun.len().saturating_add(content.len()) > self.limit {
                self.overflowed = true;
                self.begun = Vec::new();
            } else {
                self.begun.extend_from_slice(content);
            }
            if ended {
                self.end(&mut take);
            }
        }
    }

    /// Hands out the last line, if the stream did not end with the end of a line.
    pub fn finish(&mut self, mut take: impl FnMut(Line<'_>)) {
        if self.overflowed || !self.begun.is_empty() {
            self.end(&mut take);
        }
    }

    fn end(&mut self, take: &mut impl FnMut(Line<'_>)) {
        if self.overflowed {
            take(Line::TooLong);
        } else {
            take(Line::Whole(self.begun.strip_suffix(b"\r").unwrap_or(&self.begun)));
        }
        self.begun.clear();
        self.overflowed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str], expected: &[&str]) {
        let mut lines = Lines::new(8);
        let mut seen = Vec::new();
        let mut take = |line: Line<'_>| {
            seen.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                Line::TooLong => "<too long>".to_owned(),
            });
        };
        for piece in pieces {
            lines.push(piece.as_bytes(), &mut take);
        }
        lines.finish(&mut take);
        assert_eq!(seen, expected, "{pieces:?}");
    }

    #[test]
    fn lines_however_they_are_cut() {
        check(&[], &[]);
        check(&["a\nb\n"], &["a", "b"]);
        check(&["a", "b", "\n", "c"], &["ab", "c"]);
        check(&["a\r\n\n", "b"], &["a", "", "b"]);
        check(&["12345678\n123456789\nok\n"], &["12345678", "<too long>", "ok"]);
        check(&["1234567", "89", "0\nok"], &["<too long>", "ok"]);
        check(&["1234567890"], &["<too long>"]);
    }
}
