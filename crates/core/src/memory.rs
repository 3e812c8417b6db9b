//! The journal of sessions that nobody wants to bring back.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::{BlobId, Durability, Event, Fut, Journal, JournalError, Seq};

/// A journal in memory: for sessions that nobody wants to bring back, and for tests. Large payloads are
/// not in memory but in one temporary file without a name, which is gone when the journal is dropped,
/// or the process ends in whatever way.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    events: Mutex<Vec<Event>>,
    payloads: Arc<Payloads>,
}

impl MemoryJournal {
    fn events(&self) -> MutexGuard<'_, Vec<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the file where that may block.
    async fn on_file<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Payloads) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let payloads = Arc::clone(&self.payloads);
        let done = tokio::task::spawn_blocking(move || work(&payloads)).await;
        done.unwrap_or_else(|error| Err(JournalError(error.to_string())))
    }
}

impl Journal for MemoryJournal {
    fn append<'a>(
        &'a self,
        events: &'a [Event],
        _durability: Durability,
    ) -> Fut<'a, Result<(), JournalError>> {
        self.events().extend_from_slice(events);
        Box::pin(async { Ok(()) })
    }

    fn read(&self, from: Seq, max: usize) -> Fut<'_, Result<Vec<Event>, JournalError>> {
        let events = self.events();
        let start = events.partition_point(|e| e.seq < from);
        let events = events.iter().skip(start).take(max).cloned().collect();
        Box::pin(async { Ok(events) })
    }

    fn extend_blob<'a>(&'a self, blob: &'a BlobId, piece: Bytes) -> Fut<'a, Result<(), JournalError>> {
        let blob = blob.clone();
        Box::pin(self.on_file(move |payloads| payloads.extend(blob, &piece)))
    }

    fn read_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        from: u64,
        max: usize,
    ) -> Fut<'a, Result<Vec<u8>, JournalError>> {
        let blob = blob.clone();
        Box::pin(self.on_file(move |payloads| payloads.read(&blob, from, max)))
    }
}

/// The payloads of a journal in one file. Payloads that are written at the same time lie in it piece by
/// piece beside each other.
#[derive(Debug, Default)]
struct Payloads(Mutex<Index>);

#[derive(Debug, Default)]
struct Index {
    /// Made when it is first needed.
    file: Option<Arc<File>>,
    /// Where the next piece goes.
    end: u64,
    /// Where the pieces of each payload are, in order.
    pieces: HashMap<BlobId, Vec<Extent>>,
}

/// A part of the file.
#[derive(Clone, Copy, Debug)]
struct Extent {
    at: u64,
    len: u64,
}

impl Payloads {
    fn index(&self) -> MutexGuard<'_, Index> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn extend(&self, blob: BlobId, piece: &[u8]) -> Result<(), JournalError> {
        let extent_len = piece.len() as u64;
        // The room is taken under the lock, and filled without it.
        let (file, at) = self.index().room(extent_len).map_err(|error| failed(&error))?;
        file.write_all_at(piece, at).map_err(|error| failed(&error))?;
        let mut index = self.index();
        let pieces = index.pieces.entry(blob).or_default();
        match pieces.last_mut() {
            Some(last) if last.at + last.len == at => last.len += extent_len,
            _ => pieces.push(Extent { at, len: extent_len }),
        }
        Ok(())
    }

    fn read(&self, blob: &BlobId, from: u64, max: usize) -> Result<Vec<u8>, JournalError> {
        let (file, wanted) = {
            let index = self.index();
            let found = index.file.clone().zip(index.pieces.get(blob));
            let (file, pieces) = found.ok_or_else(|| JournalError(format!("there is no payload {blob}")))?;
            (file, within(pieces, from, max as u64))
        };
        let mut read = Vec::new();
        for Extent { at, len } in wanted {
            let start = read.len();
            read.resize(start + usize::try_from(len).unwrap_or(usize::MAX), 0);
            file.read_exact_at(&mut read[start..], at).map_err(|error| failed(&error))?;
        }
        Ok(read)
    }
}

impl Index {
    fn room(&mut self, len: u64) -> io::Result<(Arc<File>, u64)> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(self.file.insert(Arc::new(tempfile::tempfile()?))),
        };
        let at = self.end;
        self.end += len;
        Ok((file, at))
    }
}

/// The parts of these pieces that hold at most `max` bytes of the payload from this byte on.
fn within(pieces: &[Extent], mut from: u64, mut max: u64) -> Vec<Extent> {
    let mut wanted = Vec::new();
    for Extent { at, len } in pieces {
        let skipped = from.min(*len);
        let taken = (len - skipped).min(max);
        if taken > 0 {
            wanted.push(Extent { at: at + skipped, len: taken });
        }
        from -= skipped;
        max -= taken;
    }
    wanted
}

fn failed(error: &io::Error) -> JournalError {
    JournalError(format!("its temporary file: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn payloads_written_side_by_side_are_read_in_parts() {
        let journal = MemoryJournal::default();
        let (one, two) = (BlobId::fresh(), BlobId::fresh());
        for n in 0..10_u8 {
            journal.extend_blob(&one, Bytes::from(vec![b'0' + n; 3])).await.unwrap();
            if n % 3 == 0 {
                journal.extend_blob(&two, Bytes::from(vec![b'a' + n])).await.unwrap();
            }
        }
        let check = async |blob: &BlobId, from, max, expected: &str| {
            let read = journal.read_blob(blob, from, max).await.unwrap();
            assert_eq!(String::from_utf8(read).unwrap(), expected, "{from} {max}");
        };
        check(&one, 0, 100, "000111222333444555666777888999").await;
        check(&one, 2, 5, "01112").await;
        check(&one, 28, 5, "99").await;
        check(&one, 30, 5, "").await;
        check(&one, 99, 5, "").await;
        check(&one, 0, 0, "").await;
        check(&two, 0, 100, "adgj").await;
        assert!(journal.read_blob(&BlobId::fresh(), 0, 1).await.is_err());
    }
}
