//! A key that cannot be printed by accident.

use std::fmt;
use std::sync::Arc;

/// A secret string: an API key, a bearer token.
///
/// It has no `Display` and no `Serialize`, and its `Debug` says `[redacted]`, so it cannot reach a
/// log, an event or a recording by accident; whoever needs the text calls [`Secret::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

/// What stands in the place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

impl Secret {
    /// Wraps a secret. White space around it (a newline from a file) is removed.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().into())
    }

    /// The secret itself. Call this only where it goes onto the wire.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` with every occurrence of this secret replaced: for text that comes from a server,
    /// which may echo what it was sent.
    pub fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&*self.0, REDACTED) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([redacted])")
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_prints_and_removes_itself_from_text() {
        let key = Secret::new(" sk-very-secret\n");
        assert_eq!(format!("{key:?}"), "Secret([redacted])");
        assert_eq!(key.redact("bad key sk-very-secret!"), "bad key [redacted]!");
        assert_eq!(Secret::new("").redact("abc"), "abc");
    }
}
