//! What is wrong with the configuration, and where.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The place: a file with a line, a variable, a flag.
    pub(crate) place: String,
    /// What is wrong there.
    pub(crate) message: String,
}

impl Problem {
    /// A problem in a line of a file.
    pub(crate) fn in_line(file: &Path, line: usize, message: impl Into<String>) -> Self {
        Self { place: format!("{}:{line}", file.display()), message: message.into() }
    }

    /// A problem with a file as a whole.
    pub(crate) fn in_file(file: &Path, message: impl Into<String>) -> Self {
        Self { place: file.display().to_string(), message: message.into() }
    }

    /// A problem somewhere else.
    pub(crate) fn at(place: impl fmt::Display, message: impl Into<String>) -> Self {
        Self { place: place.to_string(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// The failure that these problems make.
pub(crate) fn failure(problems: &[Problem]) -> Failure {
    Failure {
        exit: Exit::Usage,
        errors: problems.iter().map(Problem::to_string).collect(),
        hint: Some("correct what is named above; `junto config validate` checks again".to_owned()),
    }
}

/// The line of a place in a text.
pub(crate) struct Lines {
    file: PathBuf,
    /// Where each line but the first begins.
    starts: Vec<usize>,
}

impl Lines {
    /// The lines of this file.
    pub(crate) fn new(file: &Path, text: &str) -> Self {
        Self { file: file.to_owned(), starts: text.match_indices('\n').map(|(at, _)| at + 1).collect() }
    }

    /// The line, counted from one, of a byte.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset) + 1
    }

    /// A problem at a byte.
    pub(crate) fn problem(&self, offset: usize, message: impl Into<String>) -> Problem {
        Problem::in_line(&self.file, self.at(offset), message)
    }
}

/// The candidate that was probably meant: at most a third of the letters, and never fewer than one
/// nor more than three, are wrong, missing, too many or swapped.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The number of letters to insert, delete, replace or swap with a neighbour to make `b` of `a`.
fn distance(a: &str, b: &str) -> usize {
    // No name we know is longer; this also bounds the work for what a file may hold.
    const LONGEST: usize = 64;
    let a: Vec<char> = a.chars().take(LONGEST).collect();
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, &y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(a.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["model", "provider", "effort", "max_tokens"];
        let check = |word: &str, expected: Option<&str>| assert_eq!(nearest(word, names), expected, "{word}");
        check("modle", Some("model"));
        check("mode", Some("model"));
        check("porvider", Some("provider"));
        check("max-tokens", Some("max_tokens"));
        check("maxtokens", Some("max_tokens"));
        check("colour", None);
        check("", None);
    }

    #[test]
    fn lines_are_counted_from_one() {
        let lines = Lines::new(Path::new("f"), "ab\ncd\n");
        assert_eq!([0, 2, 3, 5, 6].map(|at| lines.at(at)), [1, 1, 2, 2, 3]);
    }
}
