//! Secrets, taken out of what goes to disk.

use junto_llm::Secret;

/// Takes secrets out of texts on the way to disk: those the host knows, and whatever has the shape of a
/// well-known kind of key. A secret is replaced by a mask of the same length, so that positions and
/// sizes stay what they were.
#[derive(Clone, Debug, Default)]
pub struct Redactor {}

impl Redactor {
    /// Knows the shapes of keys, and these secrets.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self;
    /// Leaves everything as it is.
    pub fn off() -> Self;
}
