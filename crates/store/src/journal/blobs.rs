//! Payloads beside a journal, each in a file of its own.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use junto_core::BlobId;

use crate::files::{File, Files, How};
use crate::redact::Stream;
use crate::store::{is_name, is_name_char};
use crate::{Error, ErrorKind, Redactor, Result, Sync};

/// The folder they are in.
pub(crate) const FOLDER: &str = "blobs";

/// The payloads of a session that is written.
#[derive(Debug)]
pub(crate) struct Blobs {
    files: Arc<dyn Files>,
    folder: PathBuf,
    redact: Redactor,
    sync: Sync,
    /// Those that no event names yet.
    open: Mutex<HashMap<BlobId, Arc<Mutex<Blob>>>>,
    /// Those that will never be whole, and of which an event speaks.
    lost: Mutex<HashMap<BlobId, Error>>,
}

/// A payload that comes about.
#[derive(Debug)]
struct Blob {
    path: PathBuf,
    /// Whether its file was made.
    is_made: bool,
    /// How much of it is in the file. The rest is in the stream.
    size: u64,
    /// The checksum of that.
    crc: crc32fast::Hasher,
    stream: Stream,
    /// Why it will never be whole.
    fault: Option<Error>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Blobs {
    pub(crate) fn new(files: Arc<dyn Files>, session: &Path, redact: Redactor, sync: Sync) -> Self {
        Self {
            files,
            folder: session.join(FOLDER),
            redact,
            sync,
            open: Mutex::default(),
            lost: Mutex::default(),
        }
    }

    /// Adds a piece to a payload, which is made with its first.
    pub(crate) fn extend(&self, id: &BlobId, piece: &[u8]) -> Result<()> {
        let path = path(&self.folder, id)?;
        if let Some(fault) = locked(&self.lost).get(id) {
            return Err(fault.clone());
        }
        let blob = Arc::clone(locked(&self.open).entry(id.clone()).or_insert_with(|| {
            let (crc, stream) = (crc32fast::Hasher::new(), Stream::new(self.redact.clone()));
            Arc::new(Mutex::new(Blob { path, is_made: false, size: 0, crc, stream, fault: None }))
        }));
        let mut blob = locked(&blob);
        if let Some(fault) = &blob.fault {
            return Err(fault.clone());
        }
        let let_through = blob.stream.push(piece);
        self.write(&mut blob, &let_through)
    }

    /// Writes to the end of a payload's file, which is made if it is the first time.
    fn write(&self, blob: &mut Blob, bytes: &[u8]) -> Result<()> {
        let written = (|| {
            if !blob.is_made {
                self.files.make_folder(&self.folder)?;
            }
            let how = if blob.is_made { How::Write } else { How::New };
            let file = self.files.open(&blob.path, how)?;
            blob.is_made = true;
            file.write_all_at(bytes, blob.size)?;
            blob.size += bytes.len() as u64;
            blob.crc.update(bytes);
            Ok(())
        })();
        written.map_err(|error| self.give_up(blob, error))
    }

    /// A payload that will never be whole. Its file takes room that something else may need; if it
    /// cannot be removed now it is swept some day.
    fn give_up(&self, blob: &mut Blob, error: io::Error) -> Error {
        if blob.is_made {
            let _ = self.files.remove(&blob.path);
        }
        blob.stream = Stream::new(Redactor::off());
        let fault = Error::io(&blob.path, error);
        blob.fault = Some(fault.clone());
        fault
    }

    /// Those of the open payloads that are named in a text.
    pub(crate) fn named_in(&self, text: &[u8]) -> Vec<BlobId> {
        let open = locked(&self.open);
        if open.is_empty() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(text);
        open.keys().filter(|id| text.contains(&id.0)).cloned().collect()
    }

    /// Completes a payload that an event is going to name, and makes it safe against a crash of the
    /// machine. Tells the checksum of what is in the file; none if it was completed before.
    pub(crate) fn settle(&self, id: &BlobId) -> Result<Option<u32>> {
        let Some(blob) = locked(&self.open).get(id).cloned() else { return Ok(None) };
        let mut blob = locked(&blob);
        if let Some(fault) = &blob.fault {
            // Whoever wrote it was told, and refers to it nowhere. The event only speaks of it, as what tells
            // why it was lost does.
            locked(&self.lost).insert(id.clone(), fault.clone());
            locked(&self.open).remove(id);
            return Ok(None);
        }
        let rest = blob.stream.held();
        self.write(&mut blob, &rest)?;
        blob.stream = Stream::new(Redactor::off());
        if self.sync != Sync::Never {
            self.sync(&blob.path).map_err(|error| self.give_up(&mut blob, error))?;
        }
        locked(&self.open).remove(id);
        Ok(Some(blob.crc.clone().finalize()))
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.files.open(path, How::Write)?.sync()?;
        self.files.sync_folder(&self.folder)?;
        self.folder.parent().map_or(Ok(()), |session| self.files.sync_folder(session))
    }

    /// At most `max` bytes of a payload from a byte on.
    pub(crate) fn read(&self, id: &BlobId, from: u64, max: usize) -> Result<Vec<u8>> {
        let open = locked(&self.open).get(id).cloned();
        let Some(blob) = open else { return read(&*self.files, &self.folder, id, from, max) };
        let blob = locked(&blob);
        if let Some(fault) = &blob.fault {
            return Err(fault.clone());
        }
        let mut bytes = Vec::new();
        if from < blob.size {
            bytes = read(&*self.files, &self.folder, id, from, max)?;
        }
        let held = blob.stream.held();
        let skipped = usize::try_from(from.saturating_sub(blob.size)).unwrap_or(usize::MAX);
        let rest = held.get(skipped..).unwrap_or_default();
        let room = max.saturating_sub(bytes.len()).min(rest.len());
        bytes.extend_from_slice(rest.get(..room).unwrap_or_default());
        Ok(bytes)
    }
}

fn path(folder: &Path, id: &BlobId) -> Result<PathBuf> {
    if !is_name(&id.0) {
        return Err(Error::new(ErrorKind::Invalid, &id.0, "this is no id of a payload"));
    }
    Ok(folder.join(&id.0))
}

/// At most `max` bytes of a payload from a byte on.
pub(crate) fn read(files: &dyn Files, folder: &Path, id: &BlobId, from: u64, max: usize) -> Result<Vec<u8>> {
    let path = path(folder, id)?;
    let file = files.open(&path, How::Read).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, id, "there is no such payload"),
        _ => Error::io(&path, error),
    })?;
    read_file(&*file, from, max).map_err(|error| Error::io(&path, error))
}

fn read_file(file: &dyn File, from: u64, max: usize) -> io::Result<Vec<u8>> {
    let left = usize::try_from(file.size()?.saturating_sub(from)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; left.min(max)];
    let read = file.read_full_at(&mut bytes, from)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Finds the payloads that no event names.
#[derive(Debug)]
pub(crate) struct Sweep {
    folder: PathBuf,
    unnamed: HashSet<String>,
}

impl Sweep {
    /// Looks what is there.
    pub(crate) fn new(files: &dyn Files, session: &Path) -> Result<Self> {
        let folder = session.join(FOLDER);
        let unnamed = match files.list(&folder) {
            Ok(names) => names.into_iter().collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => HashSet::new(),
            Err(error) => return Err(Error::io(&folder, error)),
        };
        Ok(Self { folder, unnamed })
    }

    /// Looks which payloads an event names, in a field `blob`, also if that stands in JSON within JSON.
    pub(crate) fn look(&mut self, event: &[u8]) {
        if self.unnamed.is_empty() {
            return;
        }
        let Ok(text) = std::str::from_utf8(event) else {
            // It is none that was written here; who knows what it names.
            self.unnamed.clear();
            return;
        };
        for (at, key) in text.match_indices("blob") {
            let rest = text.get(at + key.len()..).unwrap_or_default();
            let rest = rest.trim_start_matches(['\\', '"', ':', ' ']);
            let end = rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len());
            self.unnamed.remove(rest.get(..end).unwrap_or_default());
        }
    }

    /// Removes what is unnamed; returns how much that was. What cannot be removed is left for the next
    /// time.
    pub(crate) fn sweep(self, files: &dyn Files) -> u64 {
        let removed = self.unnamed.iter().filter(|name| files.remove(&self.folder.join(name)).is_ok());
        removed.count() as u64
    }
}
