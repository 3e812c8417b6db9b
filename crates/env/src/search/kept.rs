//! The hits that are given: the first by path, whatever order they are found in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::by_path::{ByPath, compare};
use super::collect::{FileHit, weight};
use super::first::First;
use super::{FileCount, FileLines, Found, FoundFile, Hits, Limits, Line, Show};
use crate::RealPath;

/// So many paths that could not be read are told apart.
const UNREADABLE: usize = 1000;

/// Collects files with hits in any order, and keeps as many of the first as fill the limits.
///
/// Once it is certain that there is more, what would come after the last file kept need not be
/// searched: [`is_beyond`](Self::is_beyond). So what is kept is bounded, and the outcome is the same
/// for every order in which files come.
pub(crate) struct Kept {
    show: Show,
    limits: Limits,
    files: BTreeMap<ByPath, FileHit>,
    /// Results and bytes of all files kept.
    results: usize,
    bytes: usize,
    truncated: bool,
    unreadable: First<ByPath>,
}

impl Kept {
    pub(crate) fn new(show: Show, limits: Limits) -> Self {
        Self {
            show,
            limits,
            files: BTreeMap::new(),
            results: 0,
            bytes: 0,
            truncated: false,
            unreadable: First::new(UNREADABLE),
        }
    }

    pub(crate) fn add(&mut self, path: PathBuf, hit: FileHit) {
        self.results += hit.results();
        self.bytes += hit.bytes();
        self.files.insert(ByPath(path), hit);
        self.truncated |= self.results > self.limits.results || self.bytes > self.limits.total_bytes;
        while let Some(last) = self.files.last_entry() {
            let (results, bytes) = (self.results - last.get().results(), self.bytes - last.get().bytes());
            if results < self.limits.results && bytes < self.limits.total_bytes {
                break;
            }
            last.remove();
            (self.results, self.bytes) = (results, bytes);
        }
    }

    pub(crate) fn add_unreadable(&mut self, path: PathBuf) {
        self.unreadable.add(ByPath(path));
    }

    /// Whether there is certainly more than is given.
    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Whether nothing in this file, or below this directory, can be among the first.
    pub(crate) fn is_beyond(&self, path: &Path) -> bool {
        let after = |last: &ByPath| compare(path, &last.0).is_gt();
        self.truncated && self.files.last_key_value().is_none_or(|(last, _)| after(last))
    }

    /// What is given.
    pub(crate) fn into_hits(self) -> Hits {
        let unreadable = if self.truncated {
            let last = self.files.last_key_value().map(|(path, _)| path);
            // What is beyond was found or not by chance.
            let unreadable = self.unreadable.into_sorted();
            unreadable.iter().filter(|path| last.is_some_and(|last| *path < last)).count()
        } else {
            self.unreadable.seen()
        };
        let found = match self.show {
            Show::Lines { after, .. } => Found::Lines(cut_lines(self.files, self.limits, after)),
            Show::Counts => Found::Counts(
                self.files
                    .into_iter()
                    .map(|(ByPath(path), hit)| FileCount {
                        path: RealPath::resolved(path),
                        count: if let FileHit::Count(count) = hit { count } else { 1 },
                    })
                    .collect(),
            ),
            Show::Files => Found::Files(
                self.files
                    .into_keys()
                    .map(|ByPath(path)| FoundFile { path: RealPath::resolved(path), modified: None })
                    .collect(),
            ),
        };
        Hits { found, truncated: self.truncated, unreadable }
    }
}

/// Cuts the last file where the limits are reached.
fn cut_lines(files: BTreeMap<ByPath, FileHit>, limits: Limits, after: u32) -> Vec<FileLines> {
    let (mut results, mut bytes) = (0, 0);
    let mut kept = Vec::with_capacity(files.len());
    for (ByPath(path), hit) in files {
        let FileHit::Lines { mut lines, binary } = hit else { continue };
        let whole = lines.len();
        let fits = lines.iter().take_while(|line| {
            results += usize::from(line.matches);
            bytes += weight(line);
            results <= limits.results && bytes <= limits.total_bytes
        });
        let fits = fits.count();
        lines.truncate(fits);
        if fits < whole {
            drop_lead(&mut lines, after);
        }
        let binary = binary && fits == whole;
        if binary || lines.iter().any(|line| line.matches) {
            kept.push(FileLines { path: RealPath::resolved(path), lines, binary });
        }
    }
    kept
}

/// Drops the lines at the end that were there only to come before a match that is not given.
fn drop_lead(lines: &mut Vec<Line>, after: u32) {
    let last = lines.iter().rev().find(|line| line.matches).map(|line| line.number);
    let end = last.map_or(0, |number| number.saturating_add(u64::from(after)));
    while lines.last().is_some_and(|line| !line.matches && line.number > end) {
        lines.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOW: Show = Show::Lines { before: 1, after: 1 };

    fn line(number: u64, matches: bool) -> Line {
        Line { number, text: "0123456789".to_owned(), matches, cut_before: 0, cut_after: 0 }
    }

    fn hit(matching: &[u64]) -> FileHit {
        FileHit::Lines { lines: matching.iter().map(|number| line(*number, true)).collect(), binary: false }
    }

    fn kept(results: usize, files: &[(&str, &[u64])]) -> Kept {
        let mut kept = Kept::new(SHOW, Limits { results, ..Limits::default() });
        for (path, matching) in files {
            kept.add(PathBuf::from(path), hit(matching));
        }
        kept
    }

    fn told(hits: &Hits) -> Vec<(String, Vec<u64>)> {
        let Found::Lines(files) = &hits.found else { panic!("no lines") };
        let numbers = |file: &FileLines| file.lines.iter().map(|line| line.number).collect();
        files.iter().map(|file| (file.path.to_string(), numbers(file))).collect()
    }

    #[test]
    fn the_first_are_given_whatever_the_order() {
        let files: [(&str, &[u64]); 4] = [("/a", &[1]), ("/b/c", &[1, 2]), ("/b.c", &[7]), ("/d", &[9])];
        let all = |order: [usize; 4]| order.map(|index| files[index]);
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
            for (results, expected, truncated) in [
                (9, 4, false),
                (5, 4, false),
                (4, 3, true),
                (3, 2, true),
                (2, 2, true),
                (1, 1, true),
                (0, 0, true),
            ] {
                let hits = kept(results, &all(order)).into_hits();
                assert_eq!(hits.truncated, truncated, "{order:?} {results}");
                let told = told(&hits);
                assert_eq!(told.len(), expected, "{order:?} {results}");
                assert_eq!(told.iter().map(|(_, lines)| lines.len()).sum::<usize>(), results.min(5));
                // By parts of the path, as a walk would meet them.
                let paths: Vec<&str> = told.iter().map(|(path, _)| path.as_str()).collect();
                assert_eq!(paths, ["/a", "/b/c", "/b.c", "/d"][..expected]);
            }
        }
    }

    #[test]
    fn only_when_there_is_more_something_is_beyond() {
        let mut kept = kept(2, &[("/m", &[1, 2])]);
        assert!(!kept.is_beyond(Path::new("/z")), "that there is more is not known yet");
        kept.add(PathBuf::from("/n"), hit(&[1]));
        assert!(kept.is_truncated());
        assert!(kept.is_beyond(Path::new("/n")) && kept.is_beyond(Path::new("/z/a")));
        assert!(!kept.is_beyond(Path::new("/a")) && !kept.is_beyond(Path::new("/l/z")));
    }

    #[test]
    fn bytes_are_a_limit_too() {
        let total_bytes = weight(&line(1, true)) * 3;
        let mut kept = Kept::new(SHOW, Limits { total_bytes, ..Limits::default() });
        for path in ["/c", "/b", "/a"] {
            kept.add(PathBuf::from(path), hit(&[1, 2]));
        }
        let hits = kept.into_hits();
        assert!(hits.truncated);
        assert_eq!(told(&hits), [("/a".to_owned(), vec![1, 2]), ("/b".to_owned(), vec![1])]);
    }

    #[test]
    fn a_cut_leaves_no_context_of_what_is_cut() {
        let mut kept = Kept::new(SHOW, Limits { results: 1, ..Limits::default() });
        let lines = [(4, false), (5, true), (6, false), (8, false), (9, true)];
        let lines = lines.map(|(number, matches)| line(number, matches)).to_vec();
        kept.add(PathBuf::from("/a"), FileHit::Lines { lines, binary: true });
        let hits = kept.into_hits();
        assert_eq!(told(&hits), [("/a".to_owned(), vec![4, 5, 6])]);
        let Found::Lines(files) = hits.found else { panic!("no lines") };
        assert!(!files[0].binary, "what came after these lines is not told");
    }

    #[test]
    fn what_is_beyond_is_not_counted_as_unreadable() {
        for (results, expected) in [(9, 3), (1, 1)] {
            let mut kept = kept(results, &[("/m", &[1]), ("/x", &[1])]);
            for path in ["/a", "/n", "/z"] {
                kept.add_unreadable(PathBuf::from(path));
            }
            assert_eq!(kept.into_hits().unreadable, expected, "{results}");
        }
    }
}
