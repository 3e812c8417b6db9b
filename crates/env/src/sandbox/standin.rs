//! Directories that stand where settings would be, so that no command makes them.
//!
//! What is not there cannot be kept read-only. So an empty directory is put there while a command runs,
//! and taken away after it; nobody takes it for settings. Several commands, also of other processes,
//! share one: each has a lock on it, and the last takes it away. One that was left behind by a process
//! that was killed is taken for one of ours.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The mode by which ours are known, if they are empty. Nobody makes such a directory by chance.
const MODE: u32 = 0o500;

/// How often it is tried again because another was just taking it away.
const ATTEMPTS: usize = 8;

/// An empty directory that is there as long as this is.
pub(super) struct StandIn {
    path: PathBuf,
    lock: File,
}

impl StandIn {
    /// Stands at a path where nothing else is; `None` if something is, or none can be made there, as no
    /// command could either.
    pub(super) fn at(path: &Path) -> Option<Self> {
        for _ in 0..ATTEMPTS {
            match DirBuilder::new().mode(MODE).create(path) {
                Ok(()) => {}
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_ours(path) => {}
                Err(_) => return None,
            }
            let Ok(lock) = File::open(path) else { continue };
            // Who takes it away has the lock for itself; then this is one that is gone.
            if lock.lock_shared().is_ok() && is_same(&lock, path) {
                return Some(Self { path: path.to_owned(), lock });
            }
        }
        None
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if self.lock.try_lock().is_ok() && is_same(&self.lock, &self.path) {
            // If somebody has put something into it, it is theirs and stays.
            drop(fs::remove_dir(&self.path));
        }
    }
}

/// Takes away what a process that was killed left in a directory, under one of these names. What somebody still needs
/// stays.
pub(super) fn sweep(root: &Path, names: &[&str]) {
    for path in names.iter().map(|name| root.join(name)).filter(|path| is_ours(path)) {
        if let Ok(lock) = File::open(&path) {
            drop(StandIn { path, lock });
        }
    }
}

fn is_ours(path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    let alike = found.is_ok_and(|found| found.is_dir() && found.permissions().mode() & 0o777 == MODE);
    alike && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn is_same(held: &File, path: &Path) -> bool {
    match (held.metadata(), fs::symlink_metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_as_long_as_somebody_needs_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".git");
        let first = StandIn::at(&path).unwrap();
        let second = StandIn::at(&path).unwrap();
        drop(first);
        assert!(path.is_dir());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_somebody_elses_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        assert!(StandIn::at(&theirs).is_none());
        assert!(theirs.is_dir());
        let filled = dir.path().join("filled");
        let stand_in = StandIn::at(&filled).unwrap();
        fs::set_permissions(&filled, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(filled.join("x"), "").unwrap();
        drop(stand_in);
        assert!(filled.join("x").exists());
    }

    #[test]
    fn those_that_were_left_are_swept_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let left = |name: &str| DirBuilder::new().mode(MODE).create(dir.path().join(name)).unwrap();
        left(".git");
        left(".claude");
        left("mine");
        let needed = StandIn::at(&dir.path().join(".claude")).unwrap();
        fs::create_dir(dir.path().join(".codex")).unwrap();
        sweep(dir.path(), &[".git", ".claude", ".codex", ".gemini"]);
        let there = |name: &str| dir.path().join(name).exists();
        assert_eq!([".git", ".claude", ".codex", "mine"].map(there), [false, true, true, true]);
        drop(needed);
        assert!(!there(".claude"));
    }

    #[test]
    fn one_that_was_left_behind_is_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".git");
        DirBuilder::new().mode(MODE).create(&path).unwrap();
        drop(StandIn::at(&path).unwrap());
        assert!(!path.exists());
    }
}
