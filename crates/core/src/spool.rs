//! An output of any size, taken in pieces, of which little is held.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio_util::task::AbortOnDropHandle;

use crate::{BlobId, Journal, JournalError, Payload, Spooled, ToolOutput};

/// How much is written to the journal at once.
const PIECE: usize = 256 * 1024;

/// Takes the output of a tool in pieces while it runs. Up to [`Payload::INLINE_LIMIT`] bytes are held;
/// what is longer goes to the journal as it comes, and only its ends are held beside that.
///
/// A journal that fails loses the middle of the output and nothing else: the output says so.
pub struct Spool {
    journal: Arc<dyn Journal>,
    bytes: u64,
    chars: u64,
    /// What was not handed to the journal yet.
    held: BytesMut,
    /// Set once there is more than is held.
    stream: Option<Stream>,
}

/// An output on its way to the journal.
struct Stream {
    blob: BlobId,
    head: Vec<u8>,
    /// The pieces that were handed over last, at least as many as the tail needs.
    recent: VecDeque<Bytes>,
    /// The piece that is being written. There is one at most, so a slow disk slows the tool down.
    writing: Option<AbortOnDropHandle<Result<(), JournalError>>>,
    /// Why the journal does not have the whole. It is not tried again.
    fault: Option<JournalError>,
}

impl Spool {
    /// An empty one over this journal.
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        Self { journal, bytes: 0, chars: 0, held: BytesMut::new(), stream: None }
    }

    /// How many bytes were pushed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a piece at the end. Waits where the disk is slower than the tool; nothing is lost if the
    /// wait is dropped. Must be called within a Tokio runtime.
    pub async fn push(&mut self, piece: &str) {
        self.bytes += piece.len() as u64;
        self.chars += piece.chars().count() as u64;
        self.held.extend_from_slice(piece.as_bytes());
        if self.stream.is_none() && self.held.len() > Payload::INLINE_LIMIT {
            self.stream = Some(Stream::new());
        }
        if let Some(stream) = &mut self.stream {
            while self.held.len() >= PIECE {
                stream.settle().await;
                stream.write(&self.journal, self.held.split_to(PIECE).freeze());
            }
        }
    }

    /// The output, once everything was pushed.
    pub async fn finish(mut self) -> ToolOutput {
        let Some(mut stream) = self.stream else {
            // Only whole texts were pushed.
            return ToolOutput::Text(String::from_utf8_lossy(&self.held).into_owned());
        };
        stream.settle().await;
        stream.write(&self.journal, self.held.split().freeze());
        stream.settle().await;
        let (head, tail) = stream.ends();
        let Self { journal, bytes, chars, .. } = self;
        let (kept, crc) = match stream.fault {
            None => match journal.end_blob(&stream.blob).await {
                Ok(crc) => (Ok(stream.blob), crc),
                Err(fault) => (Err(fault), None),
            },
            Some(fault) => (Err(fault), None),
        };
        ToolOutput::Spooled(Box::new(Spooled { head, tail, bytes, chars, kept, crc, journal }))
    }
}

impl Stream {
    fn new() -> Self {
        let (head, recent) = (Vec::new(), VecDeque::new());
        Self { blob: BlobId::fresh(), head, recent, writing: None, fault: None }
    }

    /// Waits for the piece that is being written.
    async fn settle(&mut self) {
        if let Some(writing) = &mut self.writing {
            let written = writing.await.unwrap_or_else(|error| Err(JournalError(error.to_string())));
            self.writing = None;
            self.fault = self.fault.take().or(written.err());
        }
    }

    /// Begins to write a piece, and keeps of it what belongs to the ends.
    fn write(&mut self, journal: &Arc<dyn Journal>, piece: Bytes) {
        let room = Spooled::END.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(&piece[..room]);
        self.recent.push_back(piece.clone());
        let mut recent: usize = self.recent.iter().map(Bytes::len).sum();
        while let Some(oldest) = self.recent.front()
            && recent - oldest.len() >= Spooled::END
        {
            recent -= oldest.len();
            self.recent.pop_front();
        }
        if self.fault.is_none() && !piece.is_empty() {
            let (journal, blob) = (Arc::clone(journal), self.blob.clone());
            let writing = tokio::spawn(async move { journal.extend_blob(&blob, piece).await });
            self.writing = Some(AbortOnDropHandle::new(writing));
        }
    }

    /// How it begins and how it ends, without characters that were cut in two.
    fn ends(&mut self) -> (String, String) {
        let mut head = std::mem::take(&mut self.head);
        if let Err(error) = std::str::from_utf8(&head) {
            head.truncate(error.valid_up_to());
        }
        let mut tail: Vec<u8> = Vec::new();
        for piece in self.recent.drain(..) {
            tail.extend_from_slice(&piece);
        }
        let mut start = tail.len().saturating_sub(Spooled::END);
        while tail.get(start).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000) {
            start += 1;
        }
        tail.drain(..start);
        // Both are texts now: what was pushed was.
        (String::from_utf8_lossy(&head).into_owned(), String::from_utf8_lossy(&tail).into_owned())
    }
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spool").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
