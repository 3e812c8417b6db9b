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

    /// The ends of a text that is kept elsewhere.
    pub fn spilled(text: &str, blob: BlobId) -> Self {
        let head_end = text.floor_char_boundary(Self::END_LIMIT);
        let tail_start = text.ceil_char_boundary(text.len().saturating_sub(Self::END_LIMIT));
        Self::Spilled {
            head: text[..head_end].to_owned(),
            tail: text[tail_start..].to_owned(),
            bytes: text.len() as u64,
            blob,
        }
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
