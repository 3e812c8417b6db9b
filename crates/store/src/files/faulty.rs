//! Files in memory that fail when they are told to, and that remember what a crash would have left.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{File, Files, How};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The operation with this number, from 0, fails.
    Once(u64, io::ErrorKind),
    /// All operations from this number on fail.
    From(u64, io::ErrorKind),
    /// All operations that change something fail.
    Changes(io::ErrorKind),
    /// The operation with this number, if it is a write, writes half of what it should.
    Short(u64),
    /// There is room for so many bytes, in all files together.
    Full(u64),
    /// After so many bytes were written, and in the middle of that write, everything stops.
    CrashAfter(u64),
    /// Everything stops with this operation.
    CrashAt(u64),
}

/// What a crash takes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The process was killed: what it wrote is there.
    Nothing,
    /// The machine stopped: what was not synced is lost.
    Unsynced,
    /// The machine stopped: of what was not synced, the first half of each file's new bytes is there.
    HalfOfUnsynced,
}

/// Files in memory. Clones are the same files.
#[derive(Clone, Debug, Default)]
pub struct Faulty {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    fault: Option<Fault>,
    /// How many operations there were.
    operations: u64,
    /// How many bytes were written.
    written: u64,
    /// How many files were synced.
    syncs: u64,
    crashed: bool,
    folders: BTreeSet<PathBuf>,
    /// Those that would be listed after a crash of the machine, if those above them are.
    safe_folders: BTreeSet<PathBuf>,
    /// What is listed, as a running process sees it.
    names: BTreeMap<PathBuf, usize>,
    /// What would be listed after a crash of the machine.
    safe_names: BTreeMap<PathBuf, usize>,
    contents: Vec<Content>,
}

#[derive(Clone, Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    /// The bytes after a crash of the machine.
    safe: Vec<u8>,
    locked: bool,
}

impl Faulty {
    /// Files on which this goes wrong.
    pub fn new(fault: Fault) -> Self {
        let files = Self::default();
        files.set(Some(fault));
        files
    }

    /// From now on this goes wrong, or nothing. Operations and bytes are counted anew, and what stopped
    /// goes on.
    pub fn set(&self, fault: Option<Fault>) {
        let mut state = self.state();
        (state.fault, state.operations, state.written, state.crashed) = (fault, 0, 0, false);
    }

    /// How many operations there were.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// How many bytes were written.
    pub fn written(&self) -> u64 {
        self.state().written
    }

    /// How many times a file was synced, ever.
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// The files that a crash at this moment leaves, on which nothing goes wrong.
    pub fn after_crash(&self, loss: Loss) -> Self {
        let state = self.state();
        let (folders, mut names) = if loss == Loss::Nothing {
            (state.folders.clone(), state.names.clone())
        } else {
            let is_left = |path: &&PathBuf| path.ancestors().all(|folder| state.is_safe(folder));
            (state.safe_folders.iter().filter(is_left).cloned().collect(), state.safe_names.clone())
        };
        names.retain(|path, _| path.parent().is_some_and(|parent| is_in(&folders, parent)));
        let contents = state.contents.iter().map(|content| {
            let bytes = match loss {
                Loss::Nothing => content.bytes.clone(),
                Loss::Unsynced => content.safe.clone(),
                Loss::HalfOfUnsynced => {
                    let new = content.bytes.len().saturating_sub(content.safe.len());
                    let kept = content.bytes.len().min(content.safe.len()) + new / 2;
                    content.bytes.get(..kept).unwrap_or_default().to_vec()
                }
            };
            Content { safe: bytes.clone(), bytes, locked: false }
        });
        let left = State {
            safe_folders: folders.clone(),
            folders,
            names: names.clone(),
            safe_names: names,
            contents: contents.collect(),
            ..State::default()
        };
        Self { state: Arc::new(Mutex::new(left)) }
    }

    /// The bytes of a file, for tests to look at.
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let content = state.names.get(path).and_then(|id| state.contents.get(*id))?;
        Some(content.bytes.clone())
    }

    /// Puts a file there, safely.
    pub fn put(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.state();
        let id = state.contents.len();
        state.contents.push(Content { bytes: bytes.to_vec(), safe: bytes.to_vec(), locked: false });
        state.names.insert(path.to_owned(), id);
        state.safe_names.insert(path.to_owned(), id);
        for folder in path.ancestors().skip(1) {
            state.folders.insert(folder.to_owned());
            state.safe_folders.insert(folder.to_owned());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reading(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        state.count(Effect::Reads)?;
        Ok(state)
    }

    fn changing(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        state.count(Effect::Changes)?;
        Ok(state)
    }
}

#[derive(PartialEq)]
enum Effect {
    Reads,
    Changes,
}

fn crash() -> io::Error {
    io::Error::other("everything stopped")
}

/// Whether there is such a folder; the uppermost there always is.
fn is_in(folders: &BTreeSet<PathBuf>, folder: &Path) -> bool {
    folder.parent().is_none() || folders.contains(folder)
}

impl State {
    /// Whether the folder above it would list it after a crash of the machine.
    fn is_safe(&self, folder: &Path) -> bool {
        is_in(&self.safe_folders, folder)
    }

    /// Counts an operation, which fails here if it is to fail whole.
    fn count(&mut self, effect: Effect) -> io::Result<()> {
        if self.crashed {
            return Err(crash());
        }
        let number = self.operations;
        self.operations += 1;
        match self.fault {
            Some(Fault::Once(n, kind)) if n == number => Err(kind.into()),
            Some(Fault::From(n, kind)) if n <= number => Err(kind.into()),
            Some(Fault::Changes(kind)) if effect == Effect::Changes => Err(kind.into()),
            Some(Fault::CrashAt(n)) if n == number => {
                self.crashed = true;
                Err(crash())
            }
            _ => Ok(()),
        }
    }

    /// How much of a write of so many bytes gets through.
    fn allowed(&mut self, wanted: usize) -> io::Result<usize> {
        let left = |limit: u64| usize::try_from(limit.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let allowed = match self.fault {
            Some(Fault::Short(n)) if n + 1 == self.operations => wanted.div_ceil(2),
            Some(Fault::Full(limit)) => match left(limit).min(wanted) {
                0 if wanted > 0 => return Err(io::ErrorKind::StorageFull.into()),
                some => some,
            },
            Some(Fault::CrashAfter(limit)) => {
                let allowed = left(limit).min(wanted);
                self.crashed = allowed < wanted;
                allowed
            }
            _ => wanted,
        };
        self.written += allowed as u64;
        Ok(allowed)
    }

    fn content(&mut self, id: usize) -> io::Result<&mut Content> {
        self.contents.get_mut(id).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Files for Faulty {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.changing()?.folders.extend(path.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn open(&self, path: &Path, how: How) -> io::Result<Arc<dyn File>> {
        let mut state = if how == How::Read { self.reading()? } else { self.changing()? };
        let found = state.names.get(path).copied();
        let id = match (found, how) {
            (Some(_), How::New) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(id), _) => id,
            (None, How::Read | How::Write) => return Err(io::ErrorKind::NotFound.into()),
            (None, How::Create | How::New) => {
                if !path.parent().is_some_and(|parent| state.folders.contains(parent)) {
                    return Err(io::ErrorKind::NotFound.into());
                }
                let id = state.contents.len();
                state.contents.push(Content::default());
                state.names.insert(path.to_owned(), id);
                id
            }
        };
        Ok(Arc::new(Handle { files: self.clone(), id, has_lock: AtomicBool::new(false) }))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let state = self.reading()?;
        if !state.folders.contains(folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let paths = state.names.keys().chain(&state.folders);
        let inside = paths.filter(|path| path.parent() == Some(folder));
        Ok(inside.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect())
    }

    fn is_there(&self, path: &Path) -> bool {
        self.reading().is_ok_and(|state| state.names.contains_key(path))
    }

    fn has_folder(&self, path: &Path) -> bool {
        self.reading().is_ok_and(|state| is_in(&state.folders, path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = self.changing()?.names.remove(path);
        removed.map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.changing()?;
        if state.names.keys().chain(&state.folders).any(|inside| inside.parent() == Some(path)) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        state.folders.remove(path);
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.changing()?;
        let State { names, safe_names, folders, safe_folders, .. } = &mut *state;
        safe_folders.retain(|path| path.parent() != Some(folder));
        safe_folders.extend(folders.iter().filter(|path| path.parent() == Some(folder)).cloned());
        safe_names.retain(|path, _| path.parent() != Some(folder));
        let inside = names.iter().filter(|(path, _)| path.parent() == Some(folder));
        safe_names.extend(inside.map(|(path, id)| (path.clone(), *id)));
        Ok(())
    }
}

#[derive(Debug)]
struct Handle {
    files: Faulty,
    id: usize,
    has_lock: AtomicBool,
}

impl File for Handle {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        let mut state = self.files.reading()?;
        let content = state.content(self.id)?;
        let from = usize::try_from(at).unwrap_or(usize::MAX);
        let rest = content.bytes.get(from..).unwrap_or_default();
        let read = rest.len().min(into.len());
        into[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let mut state = self.files.changing()?;
        let allowed = state.allowed(bytes.len())?;
        let crashed = state.crashed;
        let content = state.content(self.id)?;
        let from = usize::try_from(at).map_err(io::Error::other)?;
        let end = from + allowed;
        if content.bytes.len() < end {
            content.bytes.resize(end, 0);
        }
        content.bytes[from..end].copy_from_slice(&bytes[..allowed]);
        if crashed { Err(crash()) } else { Ok(allowed) }
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.files.reading()?.content(self.id)?.bytes.len() as u64)
    }

    fn resize(&self, size: u64) -> io::Result<()> {
        let size = usize::try_from(size).map_err(io::Error::other)?;
        self.files.changing()?.content(self.id)?.bytes.resize(size, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.files.changing()?;
        state.syncs += 1;
        let content = state.content(self.id)?;
        content.safe.clone_from(&content.bytes);
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut state = self.files.changing()?;
        let content = state.content(self.id)?;
        if content.locked {
            return Ok(self.has_lock.load(Ordering::Relaxed));
        }
        content.locked = true;
        self.has_lock.store(true, Ordering::Relaxed);
        Ok(true)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.has_lock.load(Ordering::Relaxed)
            && let Ok(content) = self.files.state().content(self.id)
        {
            content.locked = false;
        }
    }
}
