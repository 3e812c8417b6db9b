//! Why a patch cannot be applied.

use std::fmt;

use crate::nearest::Near;

/// Why a patch cannot be applied. Nothing was changed. What it prints is meant for a model: it says
/// where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyError {
    path: String,
    hunk: Option<usize>,
    kind: ApplyErrorKind,
}

/// The ways in which a patch does not fit the files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyErrorKind {
    /// The file to update or delete is not there.
    Missing,
    /// The file to update is no text.
    NotText,
    /// The new name of the file belongs to another one.
    TargetExists {
        /// The file that moves.
        from: String,
    },
    /// The line after `@@` is not in the file, and without it the place is not certain.
    ContextNotFound {
        /// The line that was sought.
        context: String,
        /// The line of the file that is most like it.
        near: Option<Near>,
    },
    /// The lines to keep and remove are not in the file one after the other.
    LinesNotFound {
        /// The first of them that does not fit.
        line: String,
        /// The line of the file that was met instead, or that is most like it.
        near: Option<Near>,
    },
    /// The hunk fits several places, and nothing says which is meant.
    Ambiguous {
        /// How many.
        places: usize,
    },
    /// The hunk fits only where an earlier one makes a change too.
    Overlaps {
        /// The line at which both are, from 1.
        line: usize,
    },
}

impl ApplyError {
    pub(super) fn file(path: &str, kind: ApplyErrorKind) -> Self {
        Self { path: path.to_owned(), hunk: None, kind }
    }

    pub(super) fn hunk(path: &str, hunk: usize, kind: ApplyErrorKind) -> Self {
        Self { path: path.to_owned(), hunk: Some(hunk), kind }
    }

    /// The file that the patch does not fit.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The number of the hunk within its section, from 1, if it is about one.
    pub fn hunk_number(&self) -> Option<usize> {
        self.hunk
    }

    /// What does not fit.
    pub fn kind(&self) -> &ApplyErrorKind {
        &self.kind
    }
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(hunk) = self.hunk {
            write!(f, ", hunk {hunk}")?;
        }
        f.write_str(": ")?;
        match &self.kind {
            ApplyErrorKind::Missing => {
                f.write_str("there is no such file; to make one, use \"*** Add File: \"")
            }
            ApplyErrorKind::NotText => f.write_str("the file is no UTF-8 text, so it cannot be patched"),
            ApplyErrorKind::TargetExists { from } => {
                write!(
                    f,
                    "{from} cannot get this name, because there is such a file; delete it in the patch before that"
                )
            }
            ApplyErrorKind::ContextNotFound { context, near } => {
                write!(f, "the line {context:?} after \"@@\" is not in the file")?;
                nearest(f, near.as_ref())
            }
            ApplyErrorKind::LinesNotFound { line, near } => {
                write!(
                    f,
                    "the lines to change are not in the file; the first that does not fit is {line:?}"
                )?;
                nearest(f, near.as_ref())
            }
            ApplyErrorKind::Ambiguous { places } => write!(
                f,
                "it fits {places} places; name the function or class around the right one in an \"@@\" line, \
                 or give more lines around the change"
            ),
            ApplyErrorKind::Overlaps { line } => write!(
                f,
                "it fits only at line {line}, which an earlier hunk changes already; make one hunk of both"
            ),
        }
    }
}

fn nearest(f: &mut fmt::Formatter<'_>, near: Option<&Near>) -> fmt::Result {
    match near {
        Some(near) => write!(f, "; nearest is {near}. ")?,
        None => f.write_str(". ")?,
    }
    f.write_str("Read the file again and copy its lines as they are")
}

impl std::error::Error for ApplyError {}
