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
        /// The CRC-32 of the whole, as it is kept. Absent where nobody counted it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        crc: Option<u32>,
    },
}

impl Payload {
    /// The largest text that an event holds inline.
    pub const INLINE_LIMIT: usize = 1024 * 1024;
    /// How much of a spilled text's beginning and end the event shows.
    pub const END_LIMIT: usize = 16 * 1024;

    /// A text that is kept elsewhere, from its two ends, which may be longer than an event shows.
    pub fn ends(head: &str, tail: &str, bytes: u64, blob: BlobId, crc: Option<u32>) -> Self {
        let head_end = head.floor_char_boundary(Self::END_LIMIT);
        let tail_start = tail.ceil_char_boundary(tail.len().saturating_sub(Self::END_LIMIT));
        let (head, tail) = (head[..head_end].to_owned(), tail[tail_start..].to_owned());
        Self::Spilled { head, tail, bytes, blob, crc }
    }

    /// What is wrong with what was read as the whole of a text that is kept elsewhere; nothing if it is what was written,
    /// as far as anybody can tell.
    pub fn fault_of(&self, whole: &[u8]) -> Option<String> {
        let Self::Spilled { bytes, crc, .. } = self else { return None };
        if whole.len() as u64 != *bytes {
            return Some(format!("it has {} bytes and not {bytes}", whole.len()));
        }
        (*crc).is_some_and(|crc| crc32fast::hash(whole) != crc).then(|| "its checksum is wrong".to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_told_from_what_was_not() {
        let of = |crc| Payload::ends("on", "ce", 4, BlobId("b".to_owned()), crc);
        let known = of(Some(crc32fast::hash(b"once")));
        assert_eq!(known.fault_of(b"once"), None);
        assert_eq!(known.fault_of(b"oncf").as_deref(), Some("its checksum is wrong"));
        assert_eq!(known.fault_of(b"onc").as_deref(), Some("it has 3 bytes and not 4"));
        // As earlier versions wrote it.
        let old = r#"{"head":"on","tail":"ce","bytes":4,"blob":"b"}"#;
        assert_eq!(serde_json::from_str::<Payload>(old).unwrap(), of(None));
        assert_eq!(serde_json::to_string(&of(None)).unwrap(), old);
        assert_eq!(of(None).fault_of(b"oncf"), None);
        let again: Payload = serde_json::from_str(&serde_json::to_string(&known).unwrap()).unwrap();
        assert_eq!(again, known);
    }
}
