//! Why a text cannot be replaced.

use std::fmt;
use std::ops::Range;

use super::Strategy;
use crate::lines::Lines;
use crate::nearest::{Misfit, Near, misfit};

/// How many places of an ambiguous text are shown.
const SHOWN: usize = 5;

/// Why a text cannot be replaced. What it prints is meant for a model: it says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplaceError(ReplaceErrorKind);

/// The ways in which a replacement fails.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplaceErrorKind {
    /// The old text is empty, so that it is everywhere.
    Empty,
    /// The old and the new text are the same.
    Same,
    /// The file has the new text where it should have the old.
    Unchanged,
    /// The text would be far larger than a file of text is.
    TooLarge,
    /// The old text is nowhere.
    NotFound {
        /// Its first line that does not fit.
        line: String,
        /// The line of the file that was met instead, or that is most like it.
        near: Option<Near>,
    },
    /// The old text is in several places, and one was wanted.
    Ambiguous {
        /// How many.
        count: usize,
        /// How they were found.
        strategy: Strategy,
        /// The first lines of the first of them.
        candidates: Vec<Near>,
    },
}

impl From<ReplaceErrorKind> for ReplaceError {
    fn from(kind: ReplaceErrorKind) -> Self {
        Self(kind)
    }
}

impl ReplaceError {
    /// What went wrong.
    pub fn kind(&self) -> &ReplaceErrorKind {
        &self.0
    }

    pub(super) fn ambiguous(lines: &Lines<'_>, strategy: Strategy, found: &[Range<usize>]) -> Self {
        let candidates = found.iter().take(SHOWN);
        let candidates = candidates.map(|found| Near::new(lines, lines.at(found.start)));
        Self(ReplaceErrorKind::Ambiguous { count: found.len(), strategy, candidates: candidates.collect() })
    }

    pub(super) fn not_found(lines: &Lines<'_>, old: &str) -> Self {
        let sought: Vec<&str> = Lines::new(old).iter().collect();
        let Misfit { line, near } = misfit(lines, &sought);
        Self(ReplaceErrorKind::NotFound { line, near })
    }
}

impl fmt::Display for ReplaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ReplaceErrorKind::Empty => f.write_str("the text to replace is empty"),
            ReplaceErrorKind::Same => f.write_str("the text to replace and the new text are the same"),
            ReplaceErrorKind::Unchanged => f.write_str("the file has the new text already"),
            ReplaceErrorKind::TooLarge => f.write_str("the file would be far too large afterwards"),
            ReplaceErrorKind::NotFound { line, near } => {
                f.write_str("the text to replace is not in the file")?;
                if let Some(near) = near {
                    write!(f, "; where it has {line:?}, nearest is {near}")?;
                }
                f.write_str("; read the file again and copy the text as it is, without line numbers")
            }
            ReplaceErrorKind::Ambiguous { count, strategy, candidates } => {
                let nearly = if *strategy == Strategy::Exact { "" } else { "nearly " };
                write!(f, "the text to replace is {nearly}in the file {count} times:")?;
                for candidate in candidates {
                    write!(f, "\n{candidate}")?;
                }
                if *count > candidates.len() {
                    f.write_str("\n…")?;
                }
                f.write_str("\n")?;
                f.write_str(match strategy {
                    Strategy::Fuzzy => "copy the one that is meant as it is",
                    _ => "add lines around it until it is there once, or replace all of them",
                })
            }
        }
    }
}

impl std::error::Error for ReplaceError {}
