//! The journal of a session on disk, for its one writer.
//!
//! An event is written on the thread that appends it, under a lock that is held for that one write: a
//! hop to another thread would cost more than the write. What waits for the disk, a sync or a read, is
//! done where blocking is allowed; but as long as the disk is quick, so is a sync on the thread that asks for
//! it, where the hop would be half of it. Syncs are shared: while one runs, those who come wait, and the next
//! one is for all of them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use junto_core::{BlobId, Durability, Event, Fut, Journal, JournalError, Seq};
use junto_llm::SessionId;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::files::{File, Files};
use crate::{Error, ErrorKind, Redactor, Result, Sync};

mod blobs;
mod format;
mod fresh;
mod lines;
mod lock;
mod open;
mod places;
mod records;
mod recovery;
mod writer;

pub use format::Header;
pub(crate) use open::{create, not_opened, open, read_blob};
pub(crate) use records::Records;
pub use recovery::{Cut, Damage, LostText, Recovery};

use blobs::Blobs;
use fresh::Fresh;
pub(crate) use lock::{Lock, Taken};
use writer::{Writer, Written};

/// The file that the events are in.
pub(crate) const FILE: &str = "journal.jsonl";
/// How much of the file is read for one answer, whatever number of events is asked for. One event is
/// read in any case.
const ANSWER: u64 = 8 * 1024 * 1024;

/// How long a sync may take that is done on the thread that asks for it. When the disk gets slower, one sync is, and
/// the next ones are done elsewhere.
const QUICK: Duration = Duration::from_micros(600);

/// How long what is to be safe soon may wait for a sync that others need: one for each call of a tool would cost more than
/// all else that is written about it.
const SOON: Duration = Duration::from_secs(1);

/// Hears of events after they were written.
pub trait Watch: Send + std::marker::Sync {
    /// An event was written, as safely as was asked for. This is called on the session's path: it must
    /// not block, and what it cannot take now it reads from the journal later.
    fn written(&self, event: &Event);
}

/// A session's journal on disk, for its one writer. The session is locked until this is dropped.
///
/// - When `append` returns, the kernel has the events: a crash of the process loses nothing. With
///   [`Durability::Synced`] the disk has them, and all before them, unless [`Sync::Never`] was chosen. With
///   [`Durability::Soon`] it gets them with the next sync, or now if the last one is a second ago, and who appends does
///   not wait.
/// - Appending nothing, synced, makes everything before it safe.
/// - When `append` fails, or is dropped before it is done, the events are not there, and what follows
///   may have their positions.
/// - A payload is on the disk before the event that names it is written.
pub struct DiskJournal {
    shared: Arc<Shared>,
}

struct Shared {
    session: SessionId,
    folder: PathBuf,
    path: PathBuf,
    file: Arc<dyn File>,
    writer: Mutex<Writer>,
    blobs: Blobs,
    redact: Redactor,
    watch: Option<Arc<dyn Watch>>,
    sync: Sync,
    delay: Duration,
    /// Held by who syncs.
    syncing: Semaphore,
    /// Up to which write everything is synced.
    synced: AtomicU64,
    /// When the last sync began.
    synced_at: Mutex<Instant>,
    /// Whether the last sync was over soon.
    is_quick: Arc<AtomicBool>,
    files: Arc<dyn Files>,
    /// What is to be synced with the file the next time.
    fresh: Mutex<Fresh>,
    _lock: Lock,
}

impl DiskJournal {
    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.shared.session
    }

    /// The folder that holds the session.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// Does something where it may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let shared = Arc::clone(&self.shared);
        let done = spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|error| {
            Err(Error::new(ErrorKind::Io, self.shared.path.display(), error.to_string()))
        })
    }

    async fn add(&self, events: &[Event], durability: Durability) -> Result<()> {
        let shared = &*self.shared;
        let sync = match shared.sync {
            Sync::Always => true,
            Sync::TurnEnds => durability == Durability::Synced,
            Sync::Never => false,
        };
        let unsettled = loop {
            match shared.write(events, sync)? {
                Attempt::Written(written) => break written,
                Attempt::Names(blobs) => {
                    self.blocking(move |shared| {
                        blobs.iter().try_for_each(|id| shared.blobs.settle(id).map(drop))
                    })
                    .await?;
                }
            }
        };
        if let Some(unsettled) = unsettled {
            self.sync(unsettled.written.number).await?;
            unsettled.keep();
        } else if durability == Durability::Soon && shared.sync != Sync::Never {
            shared.sync_beside()?;
        }
        if let Some(watch) = &shared.watch {
            for event in events {
                watch.written(event);
            }
        }
        Ok(())
    }

    /// Returns when everything up to this write is synced.
    async fn sync(&self, number: u64) -> Result<()> {
        let shared = &*self.shared;
        // Never closed.
        let _turn = shared.syncing.acquire().await;
        if shared.synced.load(Ordering::Acquire) >= number {
            return Ok(());
        }
        if !shared.delay.is_zero() {
            tokio::time::sleep(shared.delay).await;
        }
        let is_quick = shared.is_quick.load(Ordering::Relaxed);
        if is_quick {
            // Those who are about to write shall share it, as they do while they wait for another thread.
            tokio::task::yield_now().await;
        }
        let started = Instant::now();
        if is_quick {
            shared.sync_all()?;
        } else {
            self.blocking(Shared::sync_all).await?;
        }
        shared.is_quick.store(started.elapsed() < QUICK, Ordering::Relaxed);
        Ok(())
    }
}

/// What became of events that were to be written.
enum Attempt<'a> {
    /// They were; what is to be synced before it counts is unsettled.
    Written(Option<Unsettled<'a>>),
    /// They name these payloads, which have to be completed first.
    Names(Vec<BlobId>),
}

/// Events that were written and that nobody relies on yet. Dropped, they are taken back.
struct Unsettled<'a> {
    shared: &'a Shared,
    written: Written,
    is_kept: bool,
}

impl Unsettled<'_> {
    fn keep(mut self) {
        self.is_kept = true;
        self.shared.writer().keep(&self.written);
    }
}

impl Drop for Unsettled<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.shared.writer().withdraw(&self.written);
        }
    }
}

impl Shared {
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, events: &[Event], sync: bool) -> Result<Attempt<'_>> {
        let mut writer = self.writer();
        let lines = writer.encode(events, &self.session, &self.redact)?;
        let names = self.blobs.named_in(lines);
        if !names.is_empty() {
            return Ok(Attempt::Names(names));
        }
        let written = writer.write()?;
        if !sync {
            writer.keep(&written);
            return Ok(Attempt::Written(None));
        }
        Ok(Attempt::Written(Some(Unsettled { shared: self, written, is_kept: false })))
    }

    fn synced_at(&self) -> MutexGuard<'_, Instant> {
        self.synced_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sync_all(&self) -> Result<()> {
        *self.synced_at() = Instant::now();
        let number = {
            let writer = self.writer();
            if let Some(error) = writer.failure() {
                return Err(error.clone());
            }
            writer.writes()
        };
        let mut fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        let synced = fresh.wait().and_then(|()| self.file.sync());
        let synced = synced.map_err(|error| Error::io(&self.path, error)).and_then(|()| {
            let sync = |folder| self.files.sync_folder(folder).map_err(|error| Error::io(folder, error));
            fresh.folders().try_for_each(sync)
        });
        if let Err(error) = synced {
            self.writer().fail(error.clone());
            return Err(error);
        }
        fresh.clear();
        self.synced.fetch_max(number, Ordering::AcqRel);
        Ok(())
    }

    /// Begins to sync what is written, beside what goes on, if the last sync is a while ago. Who syncs next waits for
    /// that, and hears if it failed. Where somebody syncs at this moment, it is left to the next one.
    fn sync_beside(&self) -> Result<()> {
        let now = Instant::now();
        if now.duration_since(*self.synced_at()) < SOON {
            return Ok(());
        }
        let Ok(mut fresh) = self.fresh.try_lock() else { return Ok(()) };
        match fresh.is_underway() {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => {
                let error = Error::io(&self.path, error);
                self.writer().fail(error.clone());
                return Err(error);
            }
        }
        *self.synced_at() = now;
        let folders = fresh.folders().map(Path::to_owned).collect();
        *fresh = Fresh::begin(&self.files, &self.file, folders, QUICK, &self.is_quick);
        Ok(())
    }

    fn read(&self, from: Seq, max: usize) -> Result<Vec<Event>> {
        let (part, before) = self.writer().part_from(from);
        let mut records =
            Records::part(Arc::clone(&self.file), self.path.clone(), &self.session, part, before);
        let mut events = Vec::new();
        let mut first = 0;
        while events.len() < max && (events.is_empty() || records.place() < first + ANSWER) {
            let Some(event) = records.next_event(from)? else { break };
            if events.is_empty() {
                first = records.place();
            }
            events.push(event);
        }
        Ok(events)
    }
}

impl Journal for DiskJournal {
    fn append<'a>(
        &'a self,
        events: &'a [Event],
        durability: Durability,
    ) -> Fut<'a, std::result::Result<(), JournalError>> {
        Box::pin(async move { Ok(self.add(events, durability).await?) })
    }

    fn read(&self, from: Seq, max: usize) -> Fut<'_, std::result::Result<Vec<Event>, JournalError>> {
        Box::pin(async move { Ok(self.blocking(move |shared| shared.read(from, max)).await?) })
    }

    fn extend_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        piece: Bytes,
    ) -> Fut<'a, std::result::Result<(), JournalError>> {
        let blob = blob.clone();
        Box::pin(async move { Ok(self.blocking(move |shared| shared.blobs.extend(&blob, &piece)).await?) })
    }

    fn end_blob<'a>(&'a self, blob: &'a BlobId) -> Fut<'a, std::result::Result<Option<u32>, JournalError>> {
        let blob = blob.clone();
        Box::pin(async move { Ok(self.blocking(move |shared| shared.blobs.settle(&blob)).await?) })
    }

    fn read_blob<'a>(
        &'a self,
        blob: &'a BlobId,
        from: u64,
        max: usize,
    ) -> Fut<'a, std::result::Result<Vec<u8>, JournalError>> {
        let blob = blob.clone();
        Box::pin(async move { Ok(self.blocking(move |shared| shared.blobs.read(&blob, from, max)).await?) })
    }
}

impl fmt::Debug for DiskJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskJournal").field("path", &self.shared.path).finish_non_exhaustive()
    }
}
