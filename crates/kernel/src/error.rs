//! What keeps a client from using tools, and code from being run.

use std::fmt;
use std::io;

/// What went wrong, coarsely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The socket cannot be reached, or the connection broke.
    Io,
    /// The socket did not take the token, or has no place left.
    Refused,
    /// The connection is over.
    Closed,
    /// One side said something that the other does not take.
    Protocol,
    /// There is no interpreter that could be a kernel.
    Python,
    /// The kernel does not start.
    Start,
    /// This cannot be a cell.
    Code,
}

/// An error of a [`crate::ToolClient`] or a [`crate::Kernel`]. A tool or a cell that fails is not one: that is
/// an outcome. What the user can do about it is in the message.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<io::Error>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    pub(crate) fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the tool socket has closed the connection")
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        let message = format!("the tool socket cannot be used: {source}");
        Self { kind: ErrorKind::Io, message, source: Some(source) }
    }
}
