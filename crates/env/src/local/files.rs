//! Reading, listing, removing and renaming files.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::anchor::{self, Anchor};
use super::locks;
use crate::{ByteRange, DirEntry, Error, ErrorKind, RealPath, Result, Stamp};

/// Larger files are told apart by size and time alone: reading them whole takes too long.
pub(super) const DIGEST_LIMIT: u64 = 64 << 20;

/// Opens a regular file. Anything else is refused without waiting for it, as a pipe would make us.
fn open_regular(path: &RealPath) -> Result<(File, Metadata)> {
    let file = anchor::open_to_read(path).map_err(|e| not_opened(path, e))?;
    let metadata = file.metadata().map_err(|e| Error::io(path, e))?;
    regular(path, &metadata)?;
    Ok((file, metadata))
}

/// What the system says, unless it is in riddles because this is no regular file.
fn not_opened(path: &RealPath, error: io::Error) -> Error {
    let named = fs::symlink_metadata(path).ok().and_then(|metadata| regular(path, &metadata).err());
    named.unwrap_or_else(|| anchor::said(path, error))
}

/// Refuses what is no regular file, and says what it is.
pub(super) fn regular(path: &RealPath, metadata: &Metadata) -> Result<()> {
    let kind = metadata.file_type();
    let name = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_symlink() => "a symbolic link by now",
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_block_device() || kind.is_char_device() => "a device",
        () => "something unknown",
    };
    Err(Error::new(ErrorKind::WrongKind, path, format!("it is no regular file but {name}")))
}

/// What a file is like now.
pub(super) fn stamp(path: &RealPath) -> Result<Option<Stamp>> {
    let (mut file, metadata) = match open_regular(path) {
        Ok(found) => found,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let digest = if metadata.len() > DIGEST_LIMIT {
        None
    } else {
        digest(&mut file).map_err(|e| Error::io(path, e))?
    };
    Ok(Some(Stamp { size: metadata.len(), modified: metadata.modified().ok(), digest }))
}

/// The digest of a file in pieces; none if the file turns out to be longer than it said.
fn digest(file: &mut File) -> io::Result<Option<[u8; 32]>> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    let mut total = 0;
    loop {
        let read = match file.read(&mut buffer) {
            Ok(0) => return Ok(Some(hasher.finalize().into())),
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        hasher.update(&buffer[..read]);
        total += read as u64;
        if total > DIGEST_LIMIT {
            return Ok(None);
        }
    }
}

/// Opens a file at the start of a range.
pub(super) fn open(path: &RealPath, range: ByteRange) -> Result<File> {
    let (mut file, _) = open_regular(path)?;
    if range.start > 0 {
        file.seek(SeekFrom::Start(range.start)).map_err(|e| Error::io(path, e))?;
    }
    Ok(file)
}

/// What is in a directory. Links are entries of their own and not followed; a directory below that
/// cannot be read is listed without what is in it.
pub(super) fn list(path: &RealPath, depth: u32, limit: usize) -> Result<Vec<DirEntry>> {
    let folder = anchor::directory(path).map_err(|e| anchor::said(path, e))?;
    let mut entries = Vec::new();
    let mut pending = vec![(PathBuf::new(), depth)];
    while let Some((below, levels)) = pending.pop() {
        let Some(deeper) = levels.checked_sub(1) else { continue };
        let found = match fs::read_dir(folder.path().join(&below)) {
            Ok(found) => found,
            Err(e) if below.as_os_str().is_empty() => return Err(Error::io(path, e)),
            Err(_) => continue,
        };
        for entry in found {
            let entry = entry.map_err(|e| Error::io(path, e))?;
            // What is gone again by now was never there.
            let Ok(metadata) = entry.metadata() else { continue };
            if entries.len() == limit {
                let message = format!("it has more than {limit} entries; list a part of it");
                return Err(Error::new(ErrorKind::TooLarge, path, message));
            }
            let below = below.join(entry.file_name());
            if metadata.is_dir() {
                pending.push((below.clone(), deeper));
            }
            let size = metadata.is_file().then_some(metadata.len());
            entries.push(DirEntry { path: below, is_dir: metadata.is_dir(), size });
        }
    }
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

/// Removes a file.
pub(super) fn remove(path: &RealPath) -> Result<()> {
    let _turn = locks::lock(path.as_path());
    Anchor::of(path).and_then(|anchor| fs::remove_file(anchor.path())).map_err(|e| anchor::said(path, e))
}

/// Renames a file, and makes the directories this needs.
pub(super) fn rename(from: &RealPath, to: &RealPath) -> Result<()> {
    let _turns = locks::lock_both(from.as_path(), to.as_path());
    // Said of the source before anything is made for the target.
    let source = Anchor::of(from)
        .and_then(|source| fs::symlink_metadata(source.path()).map(|_| source))
        .map_err(|e| anchor::said(from, e))?;
    Anchor::making(to)
        .and_then(|target| fs::rename(source.path(), target.path()))
        .map_err(|e| anchor::said(to, e))
}
