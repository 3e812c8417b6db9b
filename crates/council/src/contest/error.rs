//! What keeps a contest from being held, or a candidate from being applied.

use std::fmt;

use junto_core::{AgentError, AgentErrorKind};

/// What went wrong, coarsely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// What was asked for makes no sense.
    Invalid,
    /// There is no git, or no repository with a commit.
    NoRepository,
    /// The user's tree has changes that are in no commit.
    Dirty,
    /// Nothing can judge the candidates, or what should cannot be run.
    NoOracle,
    /// There is no such run or candidate.
    NotFound,
    /// The candidate does not fit the tree any more.
    Conflict,
    /// Git, or the disk, failed.
    Failed,
    /// Somebody stopped it.
    Interrupted,
}

/// An error of a contest: what happened, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl Error {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn io(what: impl fmt::Display, error: &std::io::Error) -> Self {
        Self::new(ErrorKind::Failed, format!("{what}: {error}"))
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to do about it.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<&Error> for AgentError {
    fn from(error: &Error) -> Self {
        let kind = match error.kind {
            ErrorKind::Failed | ErrorKind::Interrupted => AgentErrorKind::Process,
            _ => AgentErrorKind::Invalid,
        };
        let made = Self::new(kind, error.message.clone());
        match &error.hint {
            Some(hint) => made.with_hint(hint.clone()),
            None => made,
        }
    }
}
