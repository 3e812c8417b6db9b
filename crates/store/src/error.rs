//! What can go wrong with sessions on disk.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use junto_core::JournalError;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, coarsely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such session, payload or agent.
    NotFound,
    /// There is one already.
    Exists,
    /// Another process writes this session, or runs this agent.
    Locked,
    /// It was written by a newer version of Junto.
    Newer,
    /// It is something else than was expected: no journal, another session's journal.
    Foreign,
    /// What was asked for is not well formed: a name that is none, an event out of order.
    Invalid,
    /// Bytes on disk are not what was written.
    Damaged,
    /// It may not be touched: permissions, a file system that is read-only.
    Denied,
    /// There is no room: the disk is full, or a quota is.
    Full,
    /// It cannot be done here.
    Unsupported,
    /// Anything else the system says.
    Io,
}

/// An error, with the file or session it is about and, where there is something to do, a hint.
#[derive(Clone)]
pub struct Error {
    kind: ErrorKind,
    subject: String,
    message: String,
    hint: Option<&'static str>,
    source: Option<Arc<std::io::Error>>,
}

impl Error {
    /// An error about something.
    pub fn new(kind: ErrorKind, subject: impl fmt::Display, message: impl Into<String>) -> Self {
        let hint = match kind {
            ErrorKind::Locked => Some("close the other one, or fork the session"),
            ErrorKind::Newer => Some("use the version of Junto that wrote it, or a later one"),
            ErrorKind::Denied => Some("check who owns the folder and whether it can be written"),
            ErrorKind::Full => Some("make room and try again"),
            _ => None,
        };
        Self { kind, subject: subject.to_string(), message: message.into(), hint, source: None }
    }

    /// What the system said about a file.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match source.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::AlreadyExists => ErrorKind::Exists,
            Io::PermissionDenied | Io::ReadOnlyFilesystem => ErrorKind::Denied,
            Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => ErrorKind::Full,
            _ => ErrorKind::Io,
        };
        let error = Self::new(kind, path.display(), source.to_string());
        Self { source: Some(Arc::new(source)), ..error }
    }

    /// This error with other advice than its kind has.
    pub(crate) fn with_hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The file or session it is about.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind)
            .field("subject", &self.subject)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}

impl From<Error> for JournalError {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_has_a_kind() {
        for (io, kind) in [
            (std::io::ErrorKind::NotFound, ErrorKind::NotFound),
            (std::io::ErrorKind::AlreadyExists, ErrorKind::Exists),
            (std::io::ErrorKind::PermissionDenied, ErrorKind::Denied),
            (std::io::ErrorKind::ReadOnlyFilesystem, ErrorKind::Denied),
            (std::io::ErrorKind::StorageFull, ErrorKind::Full),
            (std::io::ErrorKind::QuotaExceeded, ErrorKind::Full),
            (std::io::ErrorKind::InvalidData, ErrorKind::Io),
        ] {
            let error = Error::io(Path::new("x"), io.into());
            assert_eq!((error.kind(), error.subject()), (kind, "x"), "{io}");
        }
    }
}
