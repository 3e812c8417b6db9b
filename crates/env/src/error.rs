//! What can go wrong with files and processes.

use std::fmt;
use std::sync::Arc;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, coarsely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// There is nothing there.
    NotFound,
    /// It may not be touched.
    Denied,
    /// It is there although it should not be.
    Exists,
    /// It changed since it was last read.
    Changed,
    /// It is a directory, or it is none, against expectation.
    WrongKind,
    /// There is more of it than is given at once.
    TooLarge,
    /// Its bytes and the text cannot be made of each other.
    Encoding,
    /// What was asked for is not well formed: a pattern, a glob.
    Invalid,
    /// It was cancelled.
    Cancelled,
    /// There is no room for it: the disk is full, or a quota is.
    Full,
    /// The environment cannot do this.
    Unsupported,
    /// Anything else the system says.
    Io,
}

/// An error, with the path or program it is about.
#[derive(Clone)]
pub struct Error {
    kind: ErrorKind,
    subject: String,
    message: String,
    source: Option<Arc<std::io::Error>>,
}

impl Error {
    /// An error about something.
    pub fn new(kind: ErrorKind, subject: impl fmt::Display, message: impl Into<String>) -> Self {
        Self { kind, subject: subject.to_string(), message: message.into(), source: None }
    }

    /// What the system said about something.
    pub fn io(subject: impl fmt::Display, source: std::io::Error) -> Self {
        let kind = match source.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                ErrorKind::Denied
            }
            std::io::ErrorKind::StorageFull
            | std::io::ErrorKind::QuotaExceeded
            | std::io::ErrorKind::FileTooLarge => ErrorKind::Full,
            std::io::ErrorKind::AlreadyExists => ErrorKind::Exists,
            std::io::ErrorKind::IsADirectory | std::io::ErrorKind::NotADirectory => ErrorKind::WrongKind,
            _ => ErrorKind::Io,
        };
        Self {
            kind,
            subject: subject.to_string(),
            message: source.to_string(),
            source: Some(Arc::new(source)),
        }
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The path or program it is about.
    pub fn subject(&self) -> &str {
        &self.subject
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

#[cfg(test)]
mod tests {
    use nix::libc;

    use super::*;

    #[test]
    fn what_the_system_says_has_a_kind() {
        for (code, kind) in [
            (libc::ENOENT, ErrorKind::NotFound),
            (libc::EACCES, ErrorKind::Denied),
            (libc::EPERM, ErrorKind::Denied),
            (libc::EROFS, ErrorKind::Denied),
            (libc::EEXIST, ErrorKind::Exists),
            (libc::EISDIR, ErrorKind::WrongKind),
            (libc::ENOTDIR, ErrorKind::WrongKind),
            (libc::ENOSPC, ErrorKind::Full),
            (libc::EDQUOT, ErrorKind::Full),
            (libc::EFBIG, ErrorKind::Full),
            (libc::EIO, ErrorKind::Io),
        ] {
            assert_eq!(Error::io("x", std::io::Error::from_raw_os_error(code)).kind(), kind, "{code}");
        }
    }
}
