//! Writing a file, atomically and only if it is as expected.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use nix::unistd::{AccessFlags, eaccess};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::anchor::{self, Anchor};
use super::files::{DIGEST_LIMIT, regular, stamp};
use super::locks;
use crate::{Error, ErrorKind, Expect, RealPath, Result, Stamp};

/// Writes a whole file: beside it, to the disk, then in its place. A reader sees the old content or
/// the new, and a failure leaves the old and nothing beside it. Other names of the same file (hard
/// links) keep the old.
///
/// Of all writers in this process that expect the same, one wins. A writer elsewhere is seen up to
/// the moment of replacement; that a new file is new holds against everybody.
pub(super) fn write(path: &RealPath, data: &[u8], expect: Expect) -> Result<Stamp> {
    let _turn = locks::lock(path.as_path());
    let before = existing(path)?;
    check(path, before.is_some(), expect)?;
    let parent = path
        .as_path()
        .parent()
        .ok_or_else(|| Error::new(ErrorKind::WrongKind, path, "it is no regular file but a directory"))?;
    let place = Anchor::making(path).map_err(|e| not_made(path, parent, e))?;
    let temp = beside(place.path(), before.as_ref()).map_err(|e| not_made(path, parent, e))?;
    replace(place.path(), temp, data, before.as_ref(), expect).map_err(|e| Error::io(path, e))
}

/// Said of the directory: that the file beside cannot be made tells nobody anything.
fn not_made(path: &RealPath, parent: &Path, error: io::Error) -> Error {
    let message = format!("no file can be made in {}: {}", parent.display(), error.kind());
    let kind = match anchor::said(path, error).kind() {
        // What /proc says of a name that it does not know.
        ErrorKind::NotFound => ErrorKind::Denied,
        kind => kind,
    };
    Error::new(kind, path, message)
}

/// What is there now, if it may be written.
fn existing(path: &RealPath) -> Result<Option<Metadata>> {
    let found = Anchor::of(path).and_then(|place| Ok((fs::symlink_metadata(place.path())?, place)));
    let (metadata, place) = match found {
        Ok(found) => found,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(anchor::said(path, e)),
    };
    regular(path, &metadata)?;
    // Renaming over a file asks only its directory. Whoever protected the file meant it.
    eaccess(place.path(), AccessFlags::W_OK).map_err(|e| Error::io(path, e.into()))?;
    Ok(Some(metadata))
}

fn check(path: &RealPath, exists: bool, expect: Expect) -> Result<()> {
    match expect {
        Expect::Absent if exists => Err(Error::new(ErrorKind::Exists, path, "it is already there")),
        Expect::Any | Expect::Absent => Ok(()),
        Expect::Unchanged(then) => match stamp(path)? {
            Some(now) if now.same_content(&then) => Ok(()),
            Some(_) => Err(Error::new(ErrorKind::Changed, path, "it changed since it was read")),
            None => Err(Error::new(ErrorKind::Changed, path, "it was removed since it was read")),
        },
    }
}

fn replace(
    path: &Path,
    mut temp: NamedTempFile,
    data: &[u8],
    before: Option<&Metadata>,
    expect: Expect,
) -> io::Result<Stamp> {
    // Not through the temporary file itself, whose errors name it.
    temp.as_file_mut().write_all(data)?;
    if let Some(before) = before {
        dress(temp.as_file(), before)?;
    }
    temp.as_file().sync_all()?;
    let metadata = temp.as_file().metadata()?;
    if expect == Expect::Absent {
        temp.persist_noclobber(path)?;
    } else {
        temp.persist(path)?;
    }
    // The file is in place whatever becomes of this; it only makes the name last a power cut.
    drop(path.parent().map(|parent| File::open(parent).and_then(|dir| dir.sync_all())));
    Ok(Stamp {
        size: metadata.len(),
        modified: metadata.modified().ok(),
        digest: (metadata.len() <= DIGEST_LIMIT).then(|| Sha256::digest(data).into()),
    })
}

/// A temporary file in the same directory: closed to others while it stands for a file that may be, or
/// with the mode that any new file gets.
fn beside(path: &Path, before: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let parent = path.parent().unwrap_or(path);
    let mode = if before.is_some() { 0o600 } else { 0o666 };
    tempfile::Builder::new()
        .prefix(".junto-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(parent)
}

/// Gives a file the owner, if we may, and the mode of another.
fn dress(file: &File, like: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        // Only root may give files away; for others the file becomes theirs, as any editor does it.
        drop(fchown(file, Some(like.uid()), Some(like.gid())));
    }
    file.set_permissions(like.permissions())
}
