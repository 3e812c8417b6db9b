//! The lines of a file, with their places, and the records that a line is made of.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use super::format::{self, LONGEST, What};
use crate::files::{File, Stream};

/// How much of a file is read at once.
const CHUNK: usize = 256 * 1024;

/// Reads a part of a file line by line, and takes the lines apart.
#[derive(Debug)]
pub(crate) struct Lines {
    file: BufReader<Stream>,
    /// The line that was read last, without its end.
    line: Vec<u8>,
    /// Where that line begins.
    start: u64,
    /// Where the next line begins.
    next: u64,
    /// What is still to be handed out of that line.
    pieces: VecDeque<Piece>,
}

/// A part of a line: nearly always all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// What it is.
    pub(crate) kind: Kind,
    /// Where it begins in the file.
    pub(crate) at: u64,
    /// How long it is, with the end of the line if that belongs to it.
    pub(crate) bytes: u64,
    /// Where its value is in the line.
    value: Range<usize>,
}

/// What a part of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole record.
    Whole(What),
    /// A damaged record, and what is wrong with it.
    Bad(&'static str),
    /// A byte that should have been the end of a line.
    Seam,
    /// What a crash left of the last record.
    Torn,
}

impl Lines {
    /// The lines of a part of a file.
    pub(crate) fn new(file: Arc<dyn File>, part: Range<u64>) -> Self {
        let stream = Stream { file, at: part.start, end: part.end };
        Self {
            file: BufReader::with_capacity(CHUNK, stream),
            line: Vec::new(),
            start: part.start,
            next: part.start,
            pieces: VecDeque::new(),
        }
    }

    /// What comes first, of what is to be read next.
    pub(crate) fn peek(&mut self) -> io::Result<&[u8]> {
        self.file.fill_buf()
    }

    /// The next part of a line; none at the end of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<Piece>> {
        if self.pieces.is_empty() {
            self.read()?;
        }
        Ok(self.pieces.pop_front())
    }

    /// Hands a part out again.
    pub(crate) fn put_back(&mut self, piece: Piece) {
        self.pieces.push_front(piece);
    }

    /// The value of a part of the line that was read last.
    pub(crate) fn value(&self, piece: &Piece) -> &[u8] {
        self.line.get(piece.value.clone()).unwrap_or_default()
    }

    /// Where the next line begins.
    pub(crate) fn place(&self) -> u64 {
        self.next
    }

    fn read(&mut self) -> io::Result<()> {
        self.start = self.next;
        self.line.clear();
        let most = LONGEST as u64 + 1;
        let read = self.file.by_ref().take(most).read_until(b'\n', &mut self.line)? as u64;
        self.next += read;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            split(&self.line, self.start, true, &mut self.pieces);
        } else if read == most {
            self.line = Vec::new();
            self.next += self.file.skip_until(b'\n')? as u64;
            let kind = Kind::Bad("it is longer than any record");
            let bytes = self.next - self.start;
            self.pieces.push_back(Piece { kind, at: self.start, bytes, value: 0..0 });
        } else if read > 0 {
            split(&self.line, self.start, false, &mut self.pieces);
        }
        Ok(())
    }
}

/// Takes a line apart. One that is not ended is the last of its file.
fn split(line: &[u8], start: u64, ended: bool, pieces: &mut VecDeque<Piece>) {
    let mut add = |kind, part: Range<usize>, bytes: usize| {
        let value = part.start + format::BEFORE.min(part.len())..part.end.saturating_sub(1).max(part.start);
        pieces.push_back(Piece { kind, at: start + part.start as u64, bytes: bytes as u64, value });
    };
    let end = usize::from(ended);
    if let Ok((what, _)) = format::parse(line) {
        return add(Kind::Whole(what), 0..line.len(), line.len() + end);
    }
    let seams = format::seams(line);
    let ends = seams.iter().skip(1).copied().chain([line.len()]);
    for (from, to) in seams.iter().copied().zip(ends) {
        let is_last = to == line.len();
        let part = line.get(from..to).unwrap_or_default();
        let but_one = part.len().saturating_sub(1);
        let end = if is_last { end } else { 0 };
        let why = match format::parse(part) {
            Ok((what, _)) => {
                add(Kind::Whole(what), from..to, part.len() + end);
                continue;
            }
            Err(why) => why,
        };
        if let Ok((what, _)) = format::parse(part.get(..but_one).unwrap_or_default())
            && !(is_last && ended)
        {
            add(Kind::Whole(what), from..to - 1, but_one);
            add(if is_last { Kind::Torn } else { Kind::Seam }, to - 1..to, 1);
        } else if is_last && !ended {
            add(Kind::Torn, from..to, part.len());
        } else {
            add(Kind::Bad(why), from..to, part.len() + end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Faulty, Files, How};

    /// A line with this value, without its end.
    fn record(value: &str) -> String {
        format!("{{\"c\":\"{:08x}\",\"e\":{value}}}", crc32fast::hash(value.as_bytes()))
    }

    /// The parts of a file: its whole records' values, and of the others what they are.
    fn parts(content: &str) -> Vec<String> {
        let files = Faulty::default();
        let path = std::path::Path::new("/f");
        files.put(path, content.as_bytes());
        let file = files.open(path, How::Read).unwrap();
        let mut lines = Lines::new(file, 0..content.len() as u64);
        let (mut parts, mut at) = (Vec::new(), 0);
        while let Some(piece) = lines.next().unwrap() {
            assert_eq!(piece.at, at, "{content}");
            at += piece.bytes;
            parts.push(match piece.kind {
                Kind::Whole(_) => String::from_utf8(lines.value(&piece).to_vec()).unwrap(),
                Kind::Bad(_) => "bad".to_owned(),
                Kind::Seam => "seam".to_owned(),
                Kind::Torn => "torn".to_owned(),
            });
        }
        assert_eq!(at, content.len() as u64, "{content}");
        parts
    }

    #[test]
    fn a_file_is_taken_apart_without_remainder() {
        let (a, b, c) = (record("{\"a\":1}"), record("{\"b\":1}"), record("{\"c\":1}"));
        let check = |content: String, expected: &[&str]| assert_eq!(parts(&content), expected, "{content}");
        let (va, vb, vc) = ("{\"a\":1}", "{\"b\":1}", "{\"c\":1}");
        check(String::new(), &[]);
        check(format!("{a}\n{b}\n"), &[va, vb]);
        check(format!("{a}\n{b}"), &[va, vb]);
        check(format!("{a}\n{}", &b[..9]), &[va, "torn"]);
        check(format!("{a}\n{b}X"), &[va, vb, "torn"]);
        check(format!("{a}X{b}\n"), &[va, "seam", vb]);
        check(format!("{a}{b}\n"), &[va, vb]);
        check(format!("{a}X{b}X{c}\n"), &[va, "seam", vb, "seam", vc]);
        check(format!("{a}X{}", &b[..25]), &[va, "seam", "torn"]);
        check(format!("{}X{b}\n", &a[..25]), &["bad", vb]);
        check(format!("{a}X\n{b}\n"), &["bad", vb]);
        check(format!("{a}\n\n{b}\n"), &[va, "bad", vb]);
        check("\0\0\0".to_owned(), &["torn"]);
        check(format!("garbage\n{b}\n"), &["bad", vb]);
    }
}
