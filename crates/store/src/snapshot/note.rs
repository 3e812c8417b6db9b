//! What there was beside a snapshot when it was taken.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// In so many folders a file is looked for; where there are more, there is one.
const MOST_FOLDERS: usize = 1000;

/// What a snapshot cannot tell of the workspace that it was taken of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// What was there and is not in the snapshot, since it is ignored or could not be read: files, and folders of
    /// which nothing is in it, with a slash behind them.
    others: BTreeSet<String>,
    /// Folders without a file.
    empty: BTreeSet<String>,
}

impl Note {
    /// Notes what git lists as being in no index: paths with a NUL behind them. A path that is no text is left out: it is
    /// not dealt with anyway.
    pub(super) fn new(workspace: &Path, listed: &[u8]) -> Self {
        let mut note = Self::default();
        let listed = listed.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
        for path in listed.filter(|path| !path.is_empty()) {
            let folder = path.strip_suffix('/');
            match folder.and_then(|folder| without_files(workspace, folder)) {
                Some(empty) => note.empty.extend(empty),
                None => {
                    note.others.insert(path.to_owned());
                }
            }
        }
        note
    }

    /// Whether something was, or may have been, at this path that is not in the snapshot.
    pub(super) fn has(&self, path: &str) -> bool {
        let folders = path.match_indices('/').filter_map(|(slash, _)| path.get(..=slash));
        self.others.contains(path) || folders.into_iter().any(|folder| self.others.contains(folder))
    }

    /// Whether this was a folder without a file, which git does not know of.
    pub(super) fn was_empty(&self, folder: &str) -> bool {
        self.empty.contains(folder)
    }

    /// Keeps it in place of what is kept there.
    pub(super) fn keep(&self, path: &Path) -> Result<()> {
        let folder = path.parent().unwrap_or(path);
        let kept = fs::create_dir_all(folder).and_then(|()| {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.persist(path).map_err(|error| error.error)
        });
        kept.map(drop).map_err(|error| Error::io(path, error))
    }

    /// What is kept there; none if that cannot be read.
    pub(super) fn kept(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }
}

/// The folder and those in it, if there is no file in any of them; none if there is one, or may be.
fn without_files(workspace: &Path, folder: &str) -> Option<Vec<String>> {
    let (mut found, mut next) = (vec![folder.to_owned()], 0);
    while let Some(folder) = found.get(next).cloned() {
        for entry in fs::read_dir(workspace.join(&folder)).ok()? {
            let entry = entry.ok()?;
            if !entry.file_type().ok()?.is_dir() || found.len() >= MOST_FOLDERS {
                return None;
            }
            found.push(format!("{folder}/{}", entry.file_name().into_string().ok()?));
        }
        next += 1;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_no_snapshot_is_noted() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["data/sub", "empty/more", "kept/none"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("data/sub/file"), "").unwrap();
        let note = Note::new(dir.path(), b"data/\0empty/\0kept/none/\0kept/file\0gone/\0\xff\0");
        for (path, expected) in [
            ("data/sub/file", true),
            ("data/new", true),
            ("data", false),
            ("datas/new", false),
            ("empty/new", false),
            ("kept/file", true),
            ("kept/other", false),
            ("gone/away", true),
        ] {
            assert_eq!(note.has(path), expected, "{path}");
        }
        for (folder, expected) in [("empty", true), ("empty/more", true), ("kept/none", true), ("data", false)] {
            assert_eq!(note.was_empty(folder), expected, "{folder}");
        }
        let kept = dir.path().join("notes/one");
        note.keep(&kept).unwrap();
        assert_eq!(Note::kept(&kept), Some(note));
        fs::write(&kept, "nonsense").unwrap();
        assert_eq!((Note::kept(&kept), Note::kept(&dir.path().join("none"))), (None, None));
    }
}
