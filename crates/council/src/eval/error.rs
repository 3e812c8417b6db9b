//! What can go wrong with an evaluation itself. That a task is not solved is a result, not an error.

use std::fmt;
use std::path::Path;

/// Why an evaluation cannot go on.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// Which part it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A folder of tasks, or a task in it.
    Task,
    /// The copy that a contender works in could not be made.
    Arena,
    /// A contender that cannot work at all: no key, no such program.
    Contender,
    /// The runs on disk.
    Keep,
    /// The budget cannot be held.
    Budget,
}

impl Error {
    /// An error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Which part it is about.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What the system said of a path.
    pub(crate) fn io(kind: ErrorKind, path: &Path, error: &std::io::Error) -> Self {
        Self::new(kind, format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
