//! Where events are kept.

use std::fmt;

use bytes::Bytes;

use crate::{BlobId, Event, Fut, Seq};

/// How safe events must be when `append` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Written.
    Written,
    /// Written, and soon safe against a crash of the machine: with the next sync, and where that is not to be expected
    /// soon, one is begun. Nobody waits for it; that it failed is told by the next append that is synced.
    Soon,
    /// Written, and safe against a crash of the machine.
    Synced,
}

/// The journal could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalError(pub String);

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the journal failed: {}", self.0)
    }
}

impl std::error::Error for JournalError {}

/// Keeps events, and beside them payloads that are too large for them.
///
/// A payload is written in pieces while it comes about and read in pieces of any size, so that neither
/// side holds the whole. It may be left without an event that names it: its writer was interrupted.
pub trait Journal: Send + Sync {
    /// Appends events, in order. Appending none, synced, makes everything safe that was appended before.
    fn append<'a>(&'a self, events: &'a [Event], durability: Durability)
    -> Fut<'a, Result<(), JournalError>>;

    /// Reads at most `max` events from a position on.
    fn read(&self, from: Seq, max: usize) -> Fut<'_, Result<Vec<Event>, JournalError>>;

    /// Adds a piece to the end of a payload; the first piece makes the payload. The pieces of one
    /// payload come one after another, and all of them before an event that names it. After a failure
    /// the payload is never named.
    fn extend_blob<'a>(&'a self, blob: &'a BlobId, piece: Bytes) -> Fut<'a, Result<(), JournalError>>;

    /// Ends a payload that has all its pieces, and says the CRC-32 of it as it is kept; none where that is not counted. One
    /// that is not ended is when an event names it.
    fn end_blob<'a>(&'a self, _blob: &'a BlobId) -> Fut<'a, Result<Option<u32>, JournalError>> {
        Box::pin(async { Ok(None) })
    }

    /// Reads at most `max` bytes of a payload from this byte on: fewer only where it ends, and none
    /// beyond that.
    fn read_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        from: u64,
        max: usize,
    ) -> Fut<'a, Result<Vec<u8>, JournalError>>;
}

/// How much of a payload is read at once where the whole is wanted.
const PIECE: usize = 1024 * 1024;

/// The whole of a payload.
pub(crate) async fn whole_blob(journal: &dyn Journal, blob: &BlobId) -> Result<String, JournalError> {
    let mut whole = Vec::new();
    loop {
        let piece = journal.read_blob(blob, whole.len() as u64, PIECE).await?;
        if piece.is_empty() {
            return String::from_utf8(whole).map_err(|_| JournalError(format!("payload {blob} is no text")));
        }
        whole.extend(piece);
    }
}
