//! Texts of any size, in events of bounded size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::BlobId;

/// A text: whole, or its ends and a handle for the whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Payload {
    /// The whole text.
    Inline(String),
    /// The text is kept beside the journal.
    Spilled {
        /// How it begins.
        head: String,
        /// How it ends.
        tail: String,
        /// How many bytes it has.
        bytes: u64,
        /// Where the whole is.
        blob: BlobId,
    },
}

impl Payload {
    /// The largest text that an event holds inline.
    pub const INLINE_LIMIT: usize = 1024 * 1024;
    /// How much of a spilled text's beginning and end the event shows.
    pub const END_LIMIT: usize = 16 * 1024;

    /// A text that is kept elsewhere, from its two ends, which may be longer than an event shows.
    pub fn ends(head: &str, tail: &str, bytes: u64, blob: BlobId) -> Self {
        let head_end = head.floor_char_boundary(Self::END_LIMIT);
        let tail_start = tail.ceil_char_boundary(tail.len().saturating_sub(Self::END_LIMIT));
        Self::Spilled { head: head[..head_end].to_owned(), tail: tail[tail_start..].to_owned(), bytes, blob }
    }

    /// The text, or what the event shows of it.
    pub fn preview(&self) -> String {
        match self {
            Self::Inline(text) => text.clone(),
            Self::Spilled { head, tail, bytes, .. } => {
                let left_out = bytes.saturating_sub((head.len() + tail.len()) as u64);
                format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
            }
        }
    }

    /// How many bytes the whole text has.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Inline(text) => text.len() as u64,
            Self::Spilled { bytes, .. } => *bytes,
        }
    }
}

impl From<String> for Payload {
    /// Inline, whatever the size: an [`crate::EventLog`] spills what is too large.
    fn from(text: String) -> Self {
        Self::Inline(text)
    }
}

impl From<&str> for Payload {
    fn from(text: &str) -> Self {
        Self::Inline(text.to_owned())
    }
}
