//! Searching one file, and what is kept of it.

use std::io::{self, Read};
use std::mem;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};

use super::pattern::Pattern;
use super::{Limits, Line, Show};

/// What a regular expression may look at behind a match.
const LOOK_AHEAD: usize = 128;

/// How a file came to be searched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was met on the way. If it is binary, it is not searched.
    Walk,
    /// It was named. If it is binary, only that it matches is told.
    Named,
}

/// What was found in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileHit {
    Lines { lines: Vec<Line>, binary: bool },
    Count(u64),
    Matches,
}

impl FileHit {
    /// How much of the limit for results this takes.
    pub(super) fn results(&self) -> usize {
        match self {
            // Of a binary file that only matches, there are no lines.
            Self::Lines { lines, .. } => lines.iter().filter(|line| line.matches).count().max(1),
            Self::Count(_) | Self::Matches => 1,
        }
    }

    /// How much of the limit for bytes this takes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Lines { lines, .. } => lines.iter().map(weight).sum(),
            Self::Count(_) | Self::Matches => 0,
        }
    }
}

/// What a line takes in memory. Many empty lines are not for free.
pub(super) fn weight(line: &Line) -> usize {
    mem::size_of::<Line>() + line.text.len()
}

/// Searches file after file.
pub(crate) struct FileSearcher {
    pattern: Pattern,
    limits: Limits,
    searcher: Searcher,
}

impl FileSearcher {
    /// `heap` bounds the memory for the file's content: the longest line, or the whole file in a
    /// search over lines.
    pub(crate) fn new(pattern: Pattern, limits: Limits, heap: usize) -> Self {
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(true)
            .multi_line(pattern.multiline)
            .memory_map(MmapChoice::never())
            .heap_limit(Some(heap));
        if let Show::Lines { before, after } = pattern.show {
            builder.before_context(before as usize).after_context(after as usize);
        }
        Self { pattern, limits, searcher: builder.build() }
    }

    /// Searches a file; `None` if nothing matches.
    ///
    /// # Errors
    /// What reading says; and an error for which [`is_too_long`] holds if the memory does not suffice.
    pub(crate) fn search(&mut self, reader: impl Read, origin: Origin) -> io::Result<Option<FileHit>> {
        self.searcher.set_binary_detection(match origin {
            Origin::Walk => BinaryDetection::quit(0),
            Origin::Named => BinaryDetection::convert(0),
        });
        let mut collector = Collector::new(&self.pattern, self.limits);
        self.searcher.search_reader(&self.pattern.matcher, reader, &mut collector)?;
        Ok(collector.into_hit())
    }
}

/// Whether a search failed for want of memory. Readers fail with an error of the system, or with one
/// that is not of this kind.
pub(crate) fn is_too_long(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Other && error.raw_os_error().is_none()
}

/// Takes what the searcher finds in one file.
struct Collector<'a> {
    matcher: &'a RegexMatcher,
    show: Show,
    limits: Limits,
    lines: Vec<Line>,
    /// Matching lines among these, or the count.
    matched: u64,
    bytes: usize,
    binary: Binary,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Binary {
    No,
    /// There are NUL bytes, and nothing was found behind them.
    Seen,
    /// The search ended because of them.
    Ended,
}

impl<'a> Collector<'a> {
    fn new(pattern: &'a Pattern, limits: Limits) -> Self {
        Self {
            matcher: &pattern.matcher,
            show: pattern.show,
            limits,
            lines: Vec::new(),
            matched: 0,
            bytes: 0,
            binary: Binary::No,
        }
    }

    /// Keeps a line and says whether more are wanted. One result more than allowed is kept, to know
    /// that there is more.
    fn push(&mut self, number: u64, bytes: &[u8], matches: bool) -> bool {
        let line = line(number, bytes, matches, self.limits.line_bytes, self.matcher);
        self.bytes += weight(&line);
        self.matched += u64::from(matches);
        self.lines.push(line);
        self.matched <= self.limits.results as u64 && self.bytes <= self.limits.total_bytes
    }

    /// How many matches there are in what matched.
    fn matches_in(&self, found: &SinkMatch<'_>) -> io::Result<u64> {
        let range = found.bytes_range_in_buffer();
        let buffer = found.buffer();
        let end = range.end.saturating_add(LOOK_AHEAD).min(buffer.len());
        let mut count = 0;
        self.matcher
            .find_iter_at(&buffer[..end], range.start, |one| {
                let inside = one.start() < range.end;
                count += u64::from(inside);
                inside
            })
            .map_err(io::Error::other)?;
        Ok(count)
    }

    fn into_hit(self) -> Option<FileHit> {
        match self.show {
            Show::Lines { .. } => {
                let binary = self.binary == Binary::Ended;
                let found = self.matched > 0 || binary;
                found.then_some(FileHit::Lines { lines: self.lines, binary })
            }
            Show::Counts => (self.matched > 0).then_some(FileHit::Count(self.matched)),
            Show::Files => (self.matched > 0).then_some(FileHit::Matches),
        }
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        match self.show {
            Show::Files => {
                self.matched = 1;
                Ok(false)
            }
            Show::Counts => {
                let several = searcher.multi_line_with_matcher(self.matcher);
                self.matched += if several { self.matches_in(found)? } else { 1 };
                Ok(true)
            }
            Show::Lines { .. } if self.binary == Binary::Seen => {
                self.binary = Binary::Ended;
                Ok(false)
            }
            Show::Lines { .. } => {
                let first = found.line_number().unwrap_or_default();
                Ok((first..).zip(found.lines()).all(|(number, bytes)| self.push(number, bytes, true)))
            }
        }
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.push(context.line_number().unwrap_or_default(), context.bytes(), false))
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = Binary::Seen;
        Ok(true)
    }

    fn finish(&mut self, searcher: &Searcher, end: &SinkFinish) -> io::Result<()> {
        let quits = searcher.binary_detection().quit_byte().is_some();
        if quits && end.binary_byte_offset().is_some() {
            match self.show {
                Show::Lines { .. } => {
                    self.binary = if self.matched > 0 { Binary::Ended } else { Binary::Seen };
                }
                // What was counted before the file turned out to be binary is no answer.
                Show::Files | Show::Counts => self.matched = 0,
            }
        }
        Ok(())
    }
}

/// A line as it is shown: without its end, and with `most` bytes at most, around the first match.
fn line(number: u64, bytes: &[u8], matches: bool, most: usize, matcher: &RegexMatcher) -> Line {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let (start, end) = if bytes.len() <= most {
        (0, bytes.len())
    } else {
        let found = if matches { matcher.find(bytes).ok().flatten() } else { None };
        let place = found.map_or(0, |one| one.start());
        // A part of the window is for what is before the match, and none of it goes to waste at the end.
        let start = place.saturating_sub(most / 4).min(bytes.len() - most);
        (boundary(bytes, start), boundary(bytes, start + most))
    };
    Line {
        number,
        text: String::from_utf8_lossy(&bytes[start..end]).into_owned(),
        matches,
        cut_before: start as u64,
        cut_after: (bytes.len() - end) as u64,
    }
}

/// The start of the character that this place is in.
fn boundary(bytes: &[u8], place: usize) -> usize {
    let continues = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    // No character has more than three bytes after its first; more of them are no UTF-8.
    (0..4)
        .find(|back| !continues(place.saturating_sub(*back)))
        .map_or(place, |back| place.saturating_sub(back))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RealPath, Search, Target};

    const LIMITS: Limits = Limits { results: 3, line_bytes: 16, total_bytes: 1 << 20 };

    fn searcher(change: impl FnOnce(Search) -> Search, limits: Limits, heap: usize) -> FileSearcher {
        let search = change(Search::grep("needle", RealPath::resolved("/")));
        let Target::Text(grep) = search.target else { panic!("no text is searched") };
        FileSearcher::new(Pattern::compile(&grep).unwrap(), limits, heap)
    }

    fn hit(content: &[u8], origin: Origin, change: impl FnOnce(Search) -> Search) -> Option<FileHit> {
        searcher(change, LIMITS, 1 << 20).search(content, origin).unwrap()
    }

    /// Lines as `rg -n` would print them, `:` for a match and `-` for context.
    fn lines(hit: Option<FileHit>) -> (String, bool) {
        let Some(FileHit::Lines { lines, binary }) = hit else { return (String::new(), false) };
        let show = |line: &Line| {
            let mark = if line.matches { ':' } else { '-' };
            let cut = if line.cut_before + line.cut_after > 0 {
                format!("[{},{}]", line.cut_before, line.cut_after)
            } else {
                String::new()
            };
            format!("{}{mark}{}{cut}", line.number, line.text)
        };
        (lines.iter().map(show).collect::<Vec<_>>().join(" "), binary)
    }

    #[test]
    fn lines_come_with_their_numbers_and_neighbours() {
        let content = b"a\nneedle 1\r\nb\nc\nd\nneedle 2";
        let plain = |search| search;
        assert_eq!(lines(hit(content, Origin::Walk, plain)).0, "2:needle 1 6:needle 2");
        let found = hit(content, Origin::Walk, |search| search.context(1, 1));
        assert_eq!(lines(found).0, "1-a 2:needle 1 3-b 5-d 6:needle 2");
        assert_eq!(hit(b"nothing", Origin::Walk, plain), None);
        assert_eq!(hit(b"", Origin::Walk, plain), None);
    }

    #[test]
    fn one_more_than_allowed_is_kept_and_no_more() {
        let found = hit(&b"needle\n".repeat(1000), Origin::Walk, |search| search);
        assert_eq!(found.unwrap().results(), 4);
        let limits = Limits { results: 1000, total_bytes: 1000, ..LIMITS };
        let found = searcher(|search| search, limits, 1 << 20)
            .search(&b"needle\n".repeat(1000)[..], Origin::Walk)
            .unwrap()
            .unwrap();
        assert!((1001..1200).contains(&found.bytes()), "{}", found.bytes());
    }

    #[test]
    fn counts_and_files() {
        let content = b"needle needle\nx\nneedle\n";
        let counts = |search: Search| search.show(Show::Counts);
        assert_eq!(hit(content, Origin::Walk, counts), Some(FileHit::Count(2)));
        let found = hit(content, Origin::Walk, |search| counts(search).multiline());
        assert_eq!(found, Some(FileHit::Count(2)), "a pattern within a line counts lines");
        let found = hit(content, Origin::Walk, |search| search.show(Show::Files));
        assert_eq!(found, Some(FileHit::Matches));
        assert_eq!(hit(b"x", Origin::Walk, counts), None);
    }

    #[test]
    fn matches_over_lines() {
        let text = |search: Search, show| {
            let search = Search { target: Search::grep("x\\nneedle", search.root.clone()).target, ..search };
            search.multiline().show(show)
        };
        let content = b"x\nneedle x\nneedle\nx\nx\nneedle";
        let found = hit(content, Origin::Walk, |search| text(search, Show::Counts));
        assert_eq!(found, Some(FileHit::Count(3)));
        let limits = Limits { results: 9, ..LIMITS };
        let show = Show::Lines { before: 0, after: 0 };
        let found = searcher(|search| text(search, show), limits, 1 << 20).search(&content[..], Origin::Walk);
        assert_eq!(lines(found.unwrap()).0, "1:x 2:needle x 3:needle 5:x 6:needle");
    }

    #[test]
    fn long_lines_are_shown_around_the_match() {
        let around = |before: usize, after: usize| {
            let content = ["é".repeat(before), "needle".to_owned(), "é".repeat(after)].concat();
            lines(hit(content.as_bytes(), Origin::Walk, |search| search)).0
        };
        assert_eq!(around(5, 0), "1:éééééneedle");
        assert_eq!(around(0, 6), "1:needleééééé[0,2]");
        assert_eq!(around(50, 50), "1:ééneedleééé[96,94]");
        assert_eq!(around(50, 0), "1:éééééneedle[90,0]");
        // A context line has no match to be shown around.
        let content = "x".repeat(20) + "\nneedle";
        let found = hit(content.as_bytes(), Origin::Walk, |search| search.context(1, 0));
        assert_eq!(lines(found).0, format!("1-{}[0,4] 2:needle", "x".repeat(16)));
    }

    #[test]
    fn what_is_no_text_is_shown_as_well_as_it_can_be() {
        let plain = |search| search;
        assert_eq!(lines(hit(b"\xff needle \xc3", Origin::Walk, plain)).0, "1:\u{fffd} needle \u{fffd}");
        let continuation = [b"needle".to_vec(), vec![0x80; 100]].concat();
        let (found, _) = lines(hit(&continuation, Origin::Walk, plain));
        assert!(found.starts_with("1:needle\u{fffd}"), "{found}");
        assert_eq!(lines(hit(b"\xef\xbb\xbfneedle", Origin::Walk, plain)).0, "1:needle");
        let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(b"needle".iter().flat_map(|b| [*b, 0])).collect();
        assert_eq!(lines(hit(&wide, Origin::Walk, plain)).0, "1:needle");
    }

    #[test]
    fn binary_files() {
        let plain = |search| search;
        assert_eq!(hit(b"needle\n\0", Origin::Walk, plain), None);
        assert_eq!(hit(b"needle\n\0", Origin::Walk, |search| search.show(Show::Counts)), None);
        let named = hit(b"\0\nneedle\n", Origin::Named, plain);
        assert_eq!(named, Some(FileHit::Lines { lines: vec![], binary: true }));
        assert_eq!(named.unwrap().results(), 1);
        assert_eq!(hit(b"\0\nx\n", Origin::Named, plain), None);
        let counted = hit(b"\0\nneedle\n", Origin::Named, |search| search.show(Show::Counts));
        assert_eq!(counted, Some(FileHit::Count(1)));
        // What came long before the first NUL was told already.
        let late = [b"needle\n".to_vec(), b"x\n".repeat(100_000), b"\0".to_vec()].concat();
        assert_eq!(lines(hit(&late, Origin::Walk, plain)), ("1:needle".to_owned(), true));
        assert_eq!(hit(&late, Origin::Walk, |search| search.show(Show::Counts)), None);
    }

    #[test]
    fn what_does_not_fit_in_memory_is_told_apart() {
        let long = vec![b'x'; 300_000];
        let error = searcher(|search| search, LIMITS, 100_000).search(&long[..], Origin::Walk).unwrap_err();
        assert!(is_too_long(&error), "{error}");
        let lines = b"x\n".repeat(150_000);
        let search =
            |change: fn(Search) -> Search| searcher(change, LIMITS, 100_000).search(&lines[..], Origin::Walk);
        assert!(search(|search| search).is_ok());
        let over_lines = |search: Search| {
            Search { target: Search::grep("x\\nneedle", search.root.clone()).target, ..search }.multiline()
        };
        assert!(is_too_long(&search(over_lines).unwrap_err()));
        assert!(!is_too_long(&io::Error::from_raw_os_error(5)));
    }
}
