//! Why a text cannot be replaced.

use std::fmt;
use std::ops::Range;

use crate::lines::Lines;
use crate::nearest::{Near, nearest};

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
    /// The old text is nowhere.
    NotFound {
        /// The line of the file that is most like one of its lines.
        near: Option<Near>,
    },
    /// The old text is in several places, and one was wanted.
    Ambiguous {
        /// How many.
        count: usize,
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

    pub(super) fn ambiguous(lines: &Lines<'_>, spans: &[Range<usize>]) -> Self {
        let candidates = spans.iter().take(SHOWN).map(|span| Near::new(lines, lines.at(span.start)));
        Self(ReplaceErrorKind::Ambiguous { count: spans.len(), candidates: candidates.collect() })
    }

    pub(super) fn not_found(lines: &Lines<'_>, old: &str) -> Self {
        let telling = |line: &&str| line.chars().any(char::is_alphanumeric);
        let sought = old.lines().find(telling).unwrap_or("");
        Self(ReplaceErrorKind::NotFound { near: nearest(lines, sought) })
    }
}

impl fmt::Display for ReplaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ReplaceErrorKind::Empty => f.write_str("the text to replace is empty"),
            ReplaceErrorKind::Same => f.write_str("the text to replace and the new text are the same"),
            ReplaceErrorKind::NotFound { near } => {
                f.write_str("the text to replace is not in the file")?;
                if let Some(near) = near {
                    write!(f, "; nearest is {near}")?;
                }
                f.write_str("; read the file again and copy the text as it is, without line numbers")
            }
            ReplaceErrorKind::Ambiguous { count, candidates } => {
                write!(f, "the text to replace is in the file {count} times:")?;
                for candidate in candidates {
                    write!(f, "\n{candidate}")?;
                }
                if *count > candidates.len() {
                    f.write_str("\n…")?;
                }
                f.write_str("\nadd lines around it until it is there once, or replace all of them")
            }
        }
    }
}

impl std::error::Error for ReplaceError {}
