//! The lines of a text with their numbers, as they come, within bounds.

use std::fmt::Write as _;

use super::utf8::Utf8;

/// How many bytes of a line are shown. Far more than the model sees of an output, so that what is left
/// out is left out there, where it is said how much it was, and the log has it.
const MOST_OF_A_LINE: usize = 256 * 1024;
/// How many bytes are shown in all.
const MOST: usize = 1024 * 1024;
/// How far a line is followed to its end.
const LONGEST: usize = 64 * 1024 * 1024;

/// Which lines to show, and how much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    /// The first, from 1.
    pub(super) offset: u64,
    /// How many.
    pub(super) limit: u64,
    /// How many bytes at most; the line that crosses it is the last.
    pub(super) bytes: usize,
}

impl Lines {
    /// So many lines from this one on.
    pub(super) fn new(offset: u64, limit: u64) -> Self {
        Self { offset: offset.max(1), limit: limit.max(1), bytes: MOST }
    }
}

/// Whether more of the text is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    More,
    NoMore,
}

/// Takes a text in pieces and numbers the lines that were asked for. Holds what it shows, and never
/// more than a line's worth beside it, however long the text and its lines are.
pub(super) struct Numbered {
    lines: Lines,
    /// The number of the line that is being read.
    line: u64,
    /// Whether there was anything at all.
    is_empty: bool,
    /// The line that is being read, as far as it is shown.
    current: Vec<u8>,
    /// How many bytes that line has.
    length: usize,
    shown: String,
    /// The first shown line with bytes that are no UTF-8.
    damaged: Option<u64>,
    /// Whether there is more of the text than was asked for, or than fits.
    goes_on: bool,
}

impl Numbered {
    pub(super) fn new(lines: Lines) -> Self {
        Self {
            lines,
            line: 1,
            is_empty: true,
            current: Vec::new(),
            length: 0,
            shown: String::new(),
            damaged: None,
            goes_on: false,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Wanted {
        self.is_empty &= bytes.is_empty();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.is_full() || self.length > LONGEST {
                self.goes_on = true;
                return Wanted::NoMore;
            }
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            if self.line >= self.lines.offset {
                let most = MOST_OF_A_LINE.min(self.lines.bytes);
                let room = most.saturating_sub(self.current.len()).min(text.len());
                self.current.extend(text.iter().take(room));
            }
            self.length = self.length.saturating_add(text.len());
            if ends {
                self.end_line();
            }
        }
        Wanted::More
    }

    /// Whether everything that was asked for, or that fits, is there.
    fn is_full(&self) -> bool {
        self.line >= self.lines.offset.saturating_add(self.lines.limit) || self.shown.len() > self.lines.bytes
    }

    fn end_line(&mut self) {
        if self.line >= self.lines.offset {
            let hidden = self.length - self.current.len();
            let bytes = self.current.strip_suffix(b"\r").unwrap_or(&self.current);
            let mut utf8 = Utf8::default();
            let text = utf8.push(bytes) + &if hidden == 0 { utf8.finish() } else { String::new() };
            if self.damaged.is_none() && text.contains(char::REPLACEMENT_CHARACTER) && !is_utf8(bytes) {
                self.damaged = Some(self.line);
            }
            let text = if self.line == 1 { text.trim_start_matches('\u{feff}') } else { &text };
            let more =
                if hidden > 0 { format!(" [{hidden} more bytes of this line]") } else { String::new() };
            let _ = writeln!(self.shown, "{:>3} | {text}{more}", self.line);
        }
        self.current.clear();
        self.length = 0;
        self.line += 1;
    }

    /// The numbered lines, once the text is at its end or no more of it is wanted.
    ///
    /// # Errors
    /// What to tell the model if there are none.
    pub(super) fn finish(mut self) -> Result<String, String> {
        let endless = self.length > LONGEST;
        if self.length > 0 && !self.is_full() {
            self.end_line();
        }
        let total = self.line - 1;
        if self.shown.is_empty() && self.is_empty {
            return Ok("[the file is empty]\n".to_owned());
        }
        if self.shown.is_empty() {
            let lines = if total == 1 { "1 line".to_owned() } else { format!("{total} lines") };
            let offset = self.lines.offset;
            return Err(format!("the file has {lines}, so there is nothing at offset {offset}"));
        }
        if let Some(line) = self.damaged {
            let _ =
                writeln!(self.shown, "[some bytes are no UTF-8 and shown as U+FFFD, first in line {line}]");
        }
        if endless {
            self.shown.push_str("[this line has no end in sight; look at the file with the shell]\n");
        } else if self.goes_on {
            let _ = writeln!(self.shown, "[the file goes on: continue with offset {}]", self.line);
        }
        Ok(self.shown)
    }
}

/// Lines of a text with their numbers, and nothing else.
pub(super) fn excerpt(text: &str, lines: Lines) -> String {
    let mut numbered = Numbered::new(lines);
    numbered.push(text.as_bytes());
    if numbered.length > 0 && !numbered.is_full() {
        numbered.end_line();
    }
    numbered.shown
}

/// Whether these bytes are UTF-8, maybe cut in the middle of the last character.
fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(lines: Lines, pieces: &[&[u8]]) -> Result<String, String> {
        let mut numbered = Numbered::new(lines);
        for piece in pieces {
            if numbered.push(piece) == Wanted::NoMore {
                break;
            }
        }
        numbered.finish()
    }

    fn check(offset: u64, limit: u64, pieces: &[&[u8]], expected: &str) {
        assert_eq!(number(Lines::new(offset, limit), pieces).unwrap_or_else(|e| e), expected);
    }

    #[test]
    fn lines_are_numbered() {
        check(1, 9, &[b"a\nb\n"], "  1 | a\n  2 | b\n");
        check(1, 9, &[b"a\n", b"b"], "  1 | a\n  2 | b\n");
        check(1, 9, &[b"a", b"b\n\n", b"c\n"], "  1 | ab\n  2 | \n  3 | c\n");
        check(1, 9, &[b"a\r\nb\r\n"], "  1 | a\n  2 | b\n");
        check(1, 9, &[b"\xef\xbb\xbfa\n"], "  1 | a\n");
        check(1, 9, &[b"\xc3", b"\xa9\n"], "  1 | \u{e9}\n");
        check(1, 9, &["\u{fffd}\n".as_bytes()], "  1 | \u{fffd}\n");
        check(1, 9, &[], "[the file is empty]\n");
    }

    #[test]
    fn damage_is_told() {
        let note = "[some bytes are no UTF-8 and shown as U+FFFD, first in line 2]\n";
        check(1, 9, &[b"a\nb\xff\n\xfe\n"], &format!("  1 | a\n  2 | b\u{fffd}\n  3 | \u{fffd}\n{note}"));
    }

    #[test]
    fn a_part_can_be_asked_for() {
        check(2, 1, &[b"a\nb\nc\n"], "  2 | b\n[the file goes on: continue with offset 3]\n");
        check(3, 9, &[b"a\nb\nc"], "  3 | c\n");
        check(1, 2, &[b"a\nb\n"], "  1 | a\n  2 | b\n");
        check(9, 9, &[b"a\nb\n"], "the file has 2 lines, so there is nothing at offset 9");
        check(
            u64::MAX,
            u64::MAX,
            &[b"a\n"],
            &format!("the file has 1 line, so there is nothing at offset {}", u64::MAX),
        );
        let few = Lines { bytes: 8, ..Lines::new(1, 9) };
        let expected = "  1 | a\n  2 | b\n[the file goes on: continue with offset 3]\n";
        assert_eq!(number(few, &[b"a\nb\nc\n"]).unwrap(), expected);
    }

    #[test]
    fn an_excerpt_has_no_notes() {
        for (text, offset, limit, expected) in [
            ("a\nb\nc\n", 2, 1, "  2 | b\n"),
            ("a\nb\nc", 2, 9, "  2 | b\n  3 | c\n"),
            ("a\n", 5, 1, ""),
            ("", 1, 1, ""),
        ] {
            assert_eq!(excerpt(text, Lines::new(offset, limit)), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_held_is_bounded() {
        let piece = vec![b'x'; 1 << 20];
        let mut numbered = Numbered::new(Lines::new(1, 10));
        for _ in 0..10 {
            assert_eq!(numbered.push(&piece), Wanted::More);
            assert!(numbered.current.len() <= MOST_OF_A_LINE);
        }
        let text = numbered.finish().unwrap();
        assert!(text.len() < MOST_OF_A_LINE + 100 && text.contains("more bytes of this line"));

        let mut numbered = Numbered::new(Lines::new(1, 10));
        let pieces = (0..1000).take_while(|_| numbered.push(&piece) == Wanted::More).count();
        assert!(pieces << 20 <= LONGEST + (1 << 20), "{pieces}");
        assert!(numbered.finish().unwrap().contains("no end in sight"));

        let lines = b"0123456789012345678901234567890\n".repeat(1 << 10);
        let mut numbered = Numbered::new(Lines::new(1, u64::MAX));
        while numbered.push(&lines) == Wanted::More {}
        assert!(numbered.shown.len() < MOST + 100);
    }
}
