//! A text as lines that keep their own ends.

/// How much of a line is shown in a message, in characters.
const SHOWN: usize = 120;

/// A text cut into lines. The last one may have no end; after the last end there is no further line.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let mut starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
        if starts.last() == Some(&text.len()) {
            starts.pop();
        }
        Self { text, starts }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Where the line begins, in bytes; the end of the text for those after the last.
    pub(crate) fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.text.len())
    }

    /// The line that this byte is in; the last one for those after the text.
    pub(crate) fn at(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// The lines from one to before another, with their ends.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(self.start(from)..self.start(to)).unwrap_or("")
    }

    /// A line without its end; empty if there is none such.
    pub(crate) fn line(&self, line: usize) -> &'a str {
        split_end(self.slice(line, line + 1)).0
    }

    /// The end of a line: a newline, with or without a carriage return, or nothing.
    pub(crate) fn end(&self, line: usize) -> &'a str {
        split_end(self.slice(line, line + 1)).1
    }

    /// All lines without their ends.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &'a str> + ExactSizeIterator {
        (0..self.len()).map(|line| self.line(line))
    }

    /// The end that lines have in this text, as far as one can tell from its first line.
    pub(crate) fn usual_end(&self) -> &'a str {
        match self.end(0) {
            "" => "\n",
            end => end,
        }
    }

    /// The end for a new line after this one, or else before the next.
    pub(crate) fn end_near(&self, line: Option<usize>) -> &'a str {
        let around = [line, Some(line.map_or(0, |line| line + 1))];
        let end = around.into_iter().flatten().map(|line| self.end(line)).find(|end| !end.is_empty());
        end.unwrap_or_else(|| self.usual_end())
    }
}

/// A line and its end.
pub(crate) fn split_end(line: &str) -> (&str, &str) {
    let text = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
    line.split_at(text.len())
}

/// As much of a line as a message shows.
pub(crate) fn clip(line: &str) -> String {
    match line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or(line)),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_their_ends() {
        let cases: [(&str, &[(&str, &str)]); 6] = [
            ("", &[]),
            ("\n", &[("", "\n")]),
            ("a", &[("a", "")]),
            ("a\nb\r\n", &[("a", "\n"), ("b", "\r\n")]),
            ("a\r\n\nb", &[("a", "\r\n"), ("", "\n"), ("b", "")]),
            ("a\rb\r\r\n", &[("a\rb\r", "\r\n")]),
        ];
        for (text, expected) in cases {
            let lines = Lines::new(text);
            let found: Vec<_> = (0..lines.len()).map(|at| (lines.line(at), lines.end(at))).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn the_line_of_a_byte() {
        let lines = Lines::new("ab\nc\n");
        let found: Vec<_> = (0..7).map(|byte| lines.at(byte)).collect();
        assert_eq!(found, [0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn new_lines_end_like_their_neighbours() {
        let cases = [
            ("", None, "\n"),
            ("a", Some(0), "\n"),
            ("a\r\nb", Some(1), "\r\n"),
            ("a\r\nb\n", Some(1), "\n"),
            ("a\r\nb\n", None, "\r\n"),
        ];
        for (text, line, end) in cases {
            assert_eq!(Lines::new(text).end_near(line), end, "{text:?} {line:?}");
        }
    }
}
