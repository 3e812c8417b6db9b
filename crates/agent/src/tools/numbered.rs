//! The lines of a file with their numbers, as they come, within bounds.

use super::utf8::Utf8;

/// How many bytes of a line are shown.
const MOST_OF_A_LINE: usize = 16 * 1024;
/// How many bytes are shown in all.
const MOST: usize = 1024 * 1024;
/// How far into the file a NUL byte means that it is no text.
const LOOKED_AT: usize = 8 * 1024;

/// Which lines to show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    /// The first, from 1.
    pub(super) offset: u64,
    /// How many.
    pub(super) limit: u64,
}

/// Whether more of the file is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    More,
    NoMore,
}

/// The file is no text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Binary;

/// Takes a file in pieces and numbers the lines that were asked for. Holds what it shows, and never
/// more than a line's worth beside it, however long the file and its lines are.
pub(super) struct Numbered {
    lines: Lines,
    /// The number of the line that is being read.
    line: u64,
    /// Bytes of the file so far.
    seen: usize,
    /// The line that is being read, as far as it is shown.
    current: Vec<u8>,
    /// How many bytes that line has.
    length: usize,
    shown: String,
    /// Whether there is more of the file than was asked for, or than fits.
    goes_on: bool,
}

impl Numbered {
    pub(super) fn new(lines: Lines) -> Self {
        let (current, shown) = (Vec::new(), String::new());
        Self { lines, line: 1, seen: 0, current, length: 0, shown, goes_on: false }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Wanted, Binary> {
        let looked_at = LOOKED_AT.saturating_sub(self.seen).min(bytes.len());
        if bytes.iter().take(looked_at).any(|byte| *byte == 0) {
            return Err(Binary);
        }
        self.seen = self.seen.saturating_add(bytes.len());
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.is_full() {
                self.goes_on = true;
                return Ok(Wanted::NoMore);
            }
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            if self.line >= self.lines.offset {
                let room = MOST_OF_A_LINE.saturating_sub(self.current.len()).min(text.len());
                self.current.extend(text.iter().take(room));
            }
            self.length = self.length.saturating_add(text.len());
            if ends {
                self.end_line();
            }
        }
        Ok(Wanted::More)
    }

    /// Whether everything that was asked for, or that fits, is there.
    fn is_full(&self) -> bool {
        self.line >= self.lines.offset.saturating_add(self.lines.limit) || self.shown.len() > MOST
    }

    fn end_line(&mut self) {
        if self.line >= self.lines.offset {
            let hidden = self.length - self.current.len();
            let bytes = self.current.strip_suffix(b"\r").unwrap_or(&self.current);
            let mut utf8 = Utf8::default();
            let text = utf8.push(bytes) + &if hidden == 0 { utf8.finish() } else { String::new() };
            let text = if self.line == 1 { text.trim_start_matches('\u{feff}') } else { &text };
            self.shown.push_str(&format!("{:>3} | {text}", self.line));
            if hidden > 0 {
                self.shown.push_str(&format!(" [{hidden} more bytes of this line]"));
            }
            self.shown.push('\n');
        }
        self.current.clear();
        self.length = 0;
        self.line += 1;
    }

    /// The numbered lines, once the file is at its end or no more of it is wanted.
    ///
    /// # Errors
    /// What to tell the model if there are none.
    pub(super) fn finish(mut self) -> Result<String, String> {
        if self.length > 0 && !self.is_full() {
            self.end_line();
        }
        let total = self.line - 1;
        if !self.shown.is_empty() {
            if self.goes_on {
                self.shown.push_str(&format!("[the file goes on: continue with offset {}]\n", self.line));
            }
            return Ok(self.shown);
        }
        if self.seen == 0 {
            return Ok("[the file is empty]\n".to_owned());
        }
        Err(format!("the file has {total} lines, so there is nothing at offset {}", self.lines.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(offset: u64, limit: u64, pieces: &[&[u8]]) -> Result<String, String> {
        let mut numbered = Numbered::new(Lines { offset, limit });
        for piece in pieces {
            if numbered.push(piece).map_err(|_| "binary".to_owned())? == Wanted::NoMore {
                break;
            }
        }
        numbered.finish()
    }

    fn check(offset: u64, limit: u64, pieces: &[&[u8]], expected: &str) {
        assert_eq!(number(offset, limit, pieces).unwrap_or_else(|e| e), expected);
    }

    #[test]
    fn lines_are_numbered() {
        check(1, 9, &[b"a\nb\n"], "  1 | a\n  2 | b\n");
        check(1, 9, &[b"a\n", b"b"], "  1 | a\n  2 | b\n");
        check(1, 9, &[b"a", b"b\n\n", b"c\n"], "  1 | ab\n  2 | \n  3 | c\n");
        check(1, 9, &[b"a\r\nb\r\n"], "  1 | a\n  2 | b\n");
        check(1, 9, &[b"\xef\xbb\xbfa\n"], "  1 | a\n");
        check(1, 9, &[b"\xc3", b"\xa9\xff\n"], "  1 | \u{e9}\u{fffd}\n");
        check(1, 9, &[], "[the file is empty]\n");
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
            &format!("the file has 1 lines, so there is nothing at offset {}", u64::MAX),
        );
    }

    #[test]
    fn binary_files_are_known_by_their_beginning() {
        check(1, 9, &[b"a\0b"], "binary");
        let mut long = vec![b'a'; LOOKED_AT];
        long.push(b'\n');
        check(2, 1, &[&long, b"\0\n"], "  2 | \0\n");
    }

    #[test]
    fn what_is_held_is_bounded() {
        let piece = vec![b'x'; 1 << 16];
        let mut numbered = Numbered::new(Lines { offset: 1, limit: 10 });
        for _ in 0..100 {
            assert_eq!(numbered.push(&piece), Ok(Wanted::More));
            assert!(numbered.current.len() <= MOST_OF_A_LINE);
        }
        let text = numbered.finish().unwrap();
        assert!(text.len() < MOST_OF_A_LINE + 100 && text.contains("more bytes of this line"));

        let lines = b"0123456789012345678901234567890\n".repeat(1 << 10);
        let mut numbered = Numbered::new(Lines { offset: 1, limit: u64::MAX });
        while numbered.push(&lines) == Ok(Wanted::More) {}
        assert!(numbered.shown.len() < MOST + 100);
    }
}
