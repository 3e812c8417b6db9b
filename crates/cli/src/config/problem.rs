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
    // Flags are in no file that could be checked again.
    let hint = if problems.iter().all(|problem| problem.place.starts_with("flag ")) {
        "give the flag as its text in --help says"
    } else {
        "correct what is named above; `junto config validate` checks again"
    };
    Failure {
        exit: Exit::Usage,
        errors: problems.iter().map(Problem::to_string).collect(),
        hint: Some(hint.to_owned()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let lines = Lines::new(Path::new("f"), "ab\ncd\n");
        assert_eq!([0, 2, 3, 5, 6].map(|at| lines.at(at)), [1, 1, 2, 2, 3]);
    }
}
