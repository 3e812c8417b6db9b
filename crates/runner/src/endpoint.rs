//! Another server than the vendor's.

use junto_llm::Secret;

/// A server that a command asks in the place of its vendor's: the one deliberate way to point a child
/// elsewhere. Whatever else would do it, such as a variable, does not reach the child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address, as the command wants it: `claude` and `gemini` without the version of the API, `codex`
    /// with it.
    pub url: String,
    /// The key it takes; absent: none, or the command's own.
    pub key: Option<Secret>,
}

impl Endpoint {
    /// A server that wants no key of its own.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), key: None }
    }

    /// The same, with a key.
    #[must_use]
    pub fn with_key(self, key: impl Into<Secret>) -> Self {
        Self { key: Some(key.into()), ..self }
    }
}
