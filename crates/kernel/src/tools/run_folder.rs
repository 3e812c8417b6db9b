//! A folder for sockets.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::folder::OwnFolder;

/// How the names of the folders begin.
const BEGINS: &str = "junto-";
/// How the name of the file ends that says beside a folder whether somebody has it.
const LOCK: &str = "lock";

/// A fresh folder that only its owner can enter, for the sockets of a session's kernel. Clones are the same folder; it is
/// gone with the last of them.
#[derive(Clone, Debug)]
pub struct RunFolder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: OwnFolder,
    /// Let go once the folder is gone.
    _claim: Option<Claim>,
}

impl RunFolder {
    /// Makes one below a folder, whose path must be short: a socket's path has 107 bytes. Removes what others have left
    /// there who were killed.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn below(parent: &Path) -> io::Result<Self> {
        let inner = loop {
            let folder = OwnFolder::make(parent, BEGINS)?;
            match Claim::on(folder.path()) {
                Ok(Some(claim)) => break Inner { folder, _claim: Some(claim) },
                // Somebody who swept was faster than us.
                Ok(None) => {}
                // Where nothing can be locked nobody can tell whose it is: it stays if we are killed.
                Err(_) => break Inner { folder, _claim: None },
            }
        };
        sweep(parent, fs::metadata(inner.folder.path())?.uid());
        Ok(Self(Arc::new(inner)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.folder.path()
    }
}

/// A locked file beside a folder: the system lets go of it when its owner ends, however that happens. It is not in the
/// folder, where a kernel could remove it.
#[derive(Debug)]
struct Claim {
    path: PathBuf,
    file: File,
}

impl Claim {
    /// Claims a folder; none if it was swept before that.
    fn on(folder: &Path) -> io::Result<Option<Self>> {
        let path = folder.with_extension(LOCK);
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        let claim = Self { path, file };
        match claim.file.try_lock() {
            Ok(()) => Ok((claim.file.metadata()?.nlink() > 0).then_some(claim)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the folders of this user that were claimed by somebody who is gone.
fn sweep(parent: &Path, user: u32) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let begins = path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(BEGINS));
        let is_lock = begins && path.extension() == Some(OsStr::new(LOCK));
        let is_own = || fs::symlink_metadata(&path).is_ok_and(|found| found.is_file() && found.uid() == user);
        if !is_lock || !is_own() {
            continue;
        }
        let Ok(file) = File::options().write(true).open(&path) else { continue };
        if file.try_lock().is_err() {
            continue;
        }
        // What could not be removed is tried again by the next one.
        match fs::remove_dir_all(path.with_extension("")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {}
            _ => drop(fs::remove_file(&path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_left_who_is_gone_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let living = RunFolder::below(parent.path()).unwrap();
        let make = |name: &str| {
            fs::create_dir(parent.path().join(name)).unwrap();
            fs::write(parent.path().join(name).join("socket"), "").unwrap();
        };
        // A lock that nobody holds is what the system leaves of one who was killed.
        make("junto-killed");
        fs::write(parent.path().join("junto-killed.lock"), "").unwrap();
        // Names tell nothing.
        make("junto-images");
        make("other");
        fs::write(parent.path().join("other.lock"), "").unwrap();
        let next = RunFolder::below(parent.path()).unwrap();
        let there = |name: &str| parent.path().join(name).exists();
        assert!(!there("junto-killed") && !there("junto-killed.lock"));
        assert!(there("junto-images/socket") && there("other/socket") && there("other.lock"));
        assert!(living.path().exists() && next.path().exists());
        drop((living, next));
        let left = fs::read_dir(parent.path()).unwrap().count();
        assert_eq!(left, 3, "folders end with their owners, and so do their locks");
    }
}
