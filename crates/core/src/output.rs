//! What a tool said.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::journal::whole_blob;
use crate::{BlobId, Journal, JournalError, Payload};

/// What a tool said: a text, or the ends of one that is too large to be held.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutput {
    /// The whole text.
    Text(String),
    /// A large text, made by a [`crate::Spool`].
    Spooled(Box<Spooled>),
}

/// A text that stands in a journal, and its ends.
#[derive(Clone)]
pub struct Spooled {
    pub(crate) head: String,
    pub(crate) tail: String,
    pub(crate) bytes: u64,
    pub(crate) chars: u64,
    /// Where the whole is, or why it is nowhere.
    pub(crate) kept: Result<BlobId, JournalError>,
    /// The checksum of what is kept, if somebody counted it.
    pub(crate) crc: Option<u32>,
    pub(crate) journal: Arc<dyn Journal>,
}

impl Spooled {
    /// How many bytes of the beginning, and of the end, are held at most. What is longer than both
    /// together is spooled, so the two never overlap.
    pub const END: usize = Payload::INLINE_LIMIT / 2;

    /// How it begins.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// How it ends.
    pub fn tail(&self) -> &str {
        &self.tail
    }

    /// How many bytes the whole has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many characters the whole has.
    pub fn chars(&self) -> u64 {
        self.chars
    }

    /// Why the journal does not have the whole.
    pub fn fault(&self) -> Option<&JournalError> {
        self.kept.as_ref().err()
    }

    /// The ends, at most so many bytes of each, and what is between them; if that is lost, a note
    /// at the end says so.
    fn shortened(&self, most: usize) -> String {
        let head = &self.head[..self.head.floor_char_boundary(most)];
        let tail = &self.tail[self.tail.ceil_char_boundary(self.tail.len().saturating_sub(most))..];
        let left_out = self.bytes.saturating_sub((head.len() + tail.len()) as u64);
        let ends = format!("{head}\n[… {left_out} bytes left out …]\n{tail}");
        match self.fault() {
            Some(fault) => format!("{ends}\n[WARNING: what was left out is lost: {fault}]"),
            None => ends,
        }
    }
}

impl ToolOutput {
    /// How many bytes the whole has.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Spooled(spooled) => spooled.bytes,
        }
    }

    /// The text, or its ends and how much is between them.
    pub fn preview(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Spooled(spooled) => Cow::Owned(spooled.shortened(Spooled::END)),
        }
    }

    /// The whole text if it has at most so many bytes and was not lost, else its ends, as
    /// [`ToolOutput::preview`] gives them.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn text(&self, most: u64) -> Result<String, JournalError> {
        match self {
            Self::Spooled(spooled) if spooled.bytes <= most => match &spooled.kept {
                Ok(blob) => whole_blob(&*spooled.journal, blob).await,
                Err(_) => Ok(self.preview().into_owned()),
            },
            _ => Ok(self.preview().into_owned()),
        }
    }

    /// Why the whole is not to be had.
    pub fn fault(&self) -> Option<&JournalError> {
        match self {
            Self::Text(_) => None,
            Self::Spooled(spooled) => spooled.fault(),
        }
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&ToolOutput> for Payload {
    fn from(output: &ToolOutput) -> Self {
        match output {
            ToolOutput::Text(text) => Self::Inline(text.clone()),
            ToolOutput::Spooled(spooled) => match &spooled.kept {
                Ok(blob) => {
                    let Spooled { head, tail, bytes, crc, .. } = &**spooled;
                    Self::ends(head, tail, *bytes, blob.clone(), *crc)
                }
                // Small enough to stand in the event, note included.
                Err(_) => Self::Inline(spooled.shortened(Spooled::END / 2)),
            },
        }
    }
}

impl PartialEq for Spooled {
    fn eq(&self, other: &Self) -> bool {
        let Self { head, tail, bytes, chars, kept, crc: _, journal: _ } = self;
        (head, tail, bytes, chars, kept)
            == (&other.head, &other.tail, &other.bytes, &other.chars, &other.kept)
    }
}

impl fmt::Debug for Spooled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spooled")
            .field("bytes", &self.bytes)
            .field("chars", &self.chars)
            .field("kept", &self.kept)
            .finish_non_exhaustive()
    }
}
