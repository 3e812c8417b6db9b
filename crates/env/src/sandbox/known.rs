//! What was hidden once stays hidden, wherever it was moved.
//!
//! Directories that have something hidden in them can be renamed: by their user, and by a command where there are more
//! than are held in their places. Whatever such a file is called then, it is the same, and by that it is found for the
//! next command.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How many entries of directories are looked at for what was moved.
const ENTRIES: usize = 500_000;

/// What makes a file this one: where its file system is, and its number there.
type Identity = (u64, u64);

/// Files and directories that were hidden from a command.
#[derive(Default)]
pub(super) struct Known(Mutex<BTreeMap<PathBuf, Identity>>);

impl Known {
    /// Where those are now that are not where they were, if they are still in one of these directories. From now on
    /// they are known there, and what is hidden now is known too.
    pub(super) fn moved<'a>(&self, tops: impl Iterator<Item = &'a Path>, hidden: &[PathBuf]) -> Vec<PathBuf> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<Identity> =
            known.extract_if(.., |path, is| identity(path) != Some(*is)).map(|(_, is)| is).collect();
        let found = if gone.is_empty() { Vec::new() } else { find(tops, &gone) };
        for path in hidden.iter().chain(&found) {
            known.extend(identity(path).map(|is| (path.clone(), is)));
        }
        // Also those that were found for an earlier command, and by no name since.
        known.keys().cloned().collect()
    }
}

fn identity(path: &Path) -> Option<Identity> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Everything below these directories that is one of those.
fn find<'a>(tops: impl Iterator<Item = &'a Path>, those: &[Identity]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending: Vec<PathBuf> = tops.map(Path::to_owned).collect();
    let mut seen = 0;
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            seen += 1;
            if seen > ENTRIES {
                return found;
            }
            let is_alike = those.iter().any(|(_, number)| *number == entry.ino());
            if is_alike && identity(&entry.path()).is_some_and(|is| those.contains(&is)) {
                found.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_is_found_and_what_is_gone_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("app/keys")).unwrap();
        fs::create_dir(at("node_modules")).unwrap();
        for path in ["app/.env", "app/keys/one", "other"] {
            fs::write(at(path), "x").unwrap();
        }
        let known = Known::default();
        let moved = |hidden: &[&str]| {
            let hidden: Vec<PathBuf> = hidden.iter().map(|path| at(path)).collect();
            known.moved([dir.path()].into_iter(), &hidden)
        };
        assert_eq!(moved(&["app/.env", "app/keys"]), [at("app/.env"), at("app/keys")]);
        fs::rename(at("app"), at("node_modules/x")).unwrap();
        // Something else in its place is no reason to stop looking.
        fs::create_dir(at("app")).unwrap();
        fs::write(at("app/.env"), "").unwrap();
        let there = [at("app/.env"), at("node_modules/x/.env"), at("node_modules/x/keys")];
        assert_eq!(moved(&["app/.env"]), there);
        assert_eq!(moved(&[]), there);
        fs::remove_dir_all(at("node_modules")).unwrap();
        assert_eq!(moved(&[]), there[..1]);
    }
}
