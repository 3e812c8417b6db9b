//! Lines out of pieces, of which none is held that is too long.

/// The longest message that is taken, in bytes.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;
/// How much of each end of a longer one is kept, to see whose answer it was.
const END: usize = 512;

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// All of it.
    Whole(Vec<u8>),
    /// One that was too long: how many bytes it had, and its ends.
    TooLong { bytes: usize, head: Vec<u8>, tail: Vec<u8> },
}

/// Takes pieces and gives lines.
#[derive(Debug)]
pub(crate) struct Lines {
    longest: usize,
    held: Vec<u8>,
    /// How many bytes the line has so far, if it has become too long: its head is held then, and its tail.
    long: Option<(usize, Vec<u8>)>,
}

impl Lines {
    pub(crate) fn new(longest: usize) -> Self {
        Self { longest: longest.max(END), held: Vec::new(), long: None }
    }

    /// The lines that a piece ends.
    pub(crate) fn push(&mut self, mut piece: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (before, after) = piece.split_at(end);
            self.add(before);
            lines.extend(self.line());
            piece = after.get(1..).unwrap_or_default();
        }
        self.add(piece);
        lines
    }

    fn add(&mut self, piece: &[u8]) {
        if let Some((bytes, tail)) = &mut self.long {
            *bytes += piece.len();
            keep_end(tail, piece);
            return;
        }
        if self.held.len() + piece.len() <= self.longest {
            self.held.extend_from_slice(piece);
            return;
        }
        let bytes = self.held.len() + piece.len();
        let mut tail = Vec::new();
        keep_end(&mut tail, &self.held);
        keep_end(&mut tail, piece);
        self.held.extend(piece.iter().take(END));
        self.held.truncate(END);
        self.held.shrink_to_fit();
        self.long = Some((bytes, tail));
    }

    fn line(&mut self) -> Option<Line> {
        let mut held = std::mem::take(&mut self.held);
        if let Some((bytes, tail)) = self.long.take() {
            return Some(Line::TooLong { bytes, head: held, tail });
        }
        if held.ends_with(b"\r") {
            held.pop();
        }
        (!held.is_empty()).then_some(Line::Whole(held))
    }
}

fn keep_end(tail: &mut Vec<u8>, piece: &[u8]) {
    let from = piece.len().saturating_sub(END);
    tail.extend_from_slice(piece.get(from..).unwrap_or_default());
    let over = tail.len().saturating_sub(END);
    tail.drain(..over);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_they_come() {
        let text = b"one\r\n\ntwo\nthree";
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        for size in 1..=text.len() {
            let mut lines = Lines::new(1024);
            let got: Vec<Line> = text.chunks(size).flat_map(|piece| lines.push(piece)).collect();
            assert_eq!(got, [whole("one"), whole("two")], "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_not_held() {
        for size in [1, 7, 600, 5000] {
            let mut lines = Lines::new(1000);
            let mut text = b"first".to_vec();
            text.extend(vec![b'x'; 4000]);
            text.extend(b"last\nnext\n");
            let mut got = Vec::new();
            for piece in text.chunks(size) {
                got.extend(lines.push(piece));
                assert!(lines.held.len() <= 1000);
            }
            let [Line::TooLong { bytes, head, tail }, Line::Whole(next)] = &got[..] else {
                panic!("{got:?}")
            };
            assert_eq!((*bytes, head.len(), tail.len()), (4009, END, END), "in pieces of {size}");
            assert!(head.starts_with(b"first") && tail.ends_with(b"last") && next == b"next");
        }
    }
}
