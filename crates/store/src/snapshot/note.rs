//! What there was beside a snapshot when it was taken.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::git::make_private;
use super::look::Look;
use crate::{Error, Result};

/// In so many folders a file is looked for; where there are more, there is one.
const MOST_FOLDERS: usize = 1000;

/// So many repositories within a workspace are looked at. Of more nobody knows whether they changed.
const MOST_REPOSITORIES: usize = 64;
/// A repository with more files is not looked at.
const MOST_FILES: u64 = 20_000;

/// What is in a workspace and in no tree.
#[derive(Debug)]
pub(super) struct Beside {
    /// What git lists as being in no index: paths with a NUL behind them.
    pub(super) others: Vec<u8>,
    /// The repositories within.
    pub(super) repositories: Vec<PathBuf>,
    /// Modes of files, and of folders with a slash behind them, if they are known.
    pub(super) modes: Option<Vec<(String, u32)>>,
}

/// What a snapshot cannot tell of the workspace that it was taken of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// What was there and is not in the snapshot, since it is ignored or could not be read: files, and folders of
    /// which nothing is in it, with a slash behind them.
    others: BTreeSet<String>,
    /// Folders without a file.
    empty: BTreeSet<String>,
    /// The modes of what was there; none if there was too much to look at.
    modes: Option<Modes>,
    /// What the repositories within looked like; none if there was too much to look at.
    repositories: BTreeMap<String, Option<String>>,
}

/// Modes of files, of which git only knows whether they are programs, and of folders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Modes {
    /// What most files have that are no programs.
    file: u32,
    /// What most programs have.
    program: u32,
    /// What most folders have.
    folder: u32,
    /// What others have. Folders have a slash behind them.
    unusual: BTreeMap<String, u32>,
}

impl Modes {
    fn new(found: Vec<(String, u32)>) -> Self {
        let class = |path: &str, mode: u32| match (path.ends_with('/'), mode & 0o100 != 0) {
            (true, _) => 2,
            (false, is_program) => usize::from(is_program),
        };
        let mut counts: BTreeMap<(usize, u32), usize> = BTreeMap::new();
        for (path, mode) in &found {
            *counts.entry((class(path, *mode), *mode)).or_default() += 1;
        }
        let usual = [0, 1, 2].map(|class| {
            let of_class = counts.iter().filter(|((of, _), _)| *of == class);
            of_class.max_by_key(|(_, count)| **count).map_or(0, |((_, mode), _)| *mode)
        });
        let is_usual = |path: &str, mode: u32| usual.get(class(path, mode)) == Some(&mode);
        let unusual = found.into_iter().filter(|(path, mode)| !is_usual(path, *mode)).collect();
        let [file, program, folder] = usual;
        Self { file, program, folder, unusual }
    }
}

impl Note {
    /// Notes what is there. A path that is no text is left out: it is not dealt with anyway.
    pub(super) fn new(workspace: &Path, store: &Path, beside: Beside) -> Self {
        let mut note = Self { modes: beside.modes.map(Modes::new), ..Self::default() };
        for (number, path) in beside.repositories.into_iter().enumerate() {
            let look = (number < MOST_REPOSITORIES)
                .then(|| Look::at(&workspace.join(&path), store, MOST_FILES, b""))
                .flatten();
            note.repositories.insert(path.to_string_lossy().into_owned(), look.map(|look| look.digest));
        }
        let listed = beside.others.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
        for path in listed.filter(|path| !path.is_empty()) {
            let folder = path.strip_suffix('/');
            if let Some(empty) = folder.and_then(|folder| without_files(workspace, folder)) {
                note.empty.extend(empty);
            } else {
                note.others.insert(path.to_owned());
            }
        }
        note
    }

    /// Whether something was, or may have been, at this path that is not in the snapshot.
    pub(super) fn has(&self, path: &str) -> bool {
        let mut folders = path.match_indices('/').filter_map(|(slash, _)| path.get(..=slash));
        self.others.contains(path) || folders.any(|folder| self.others.contains(folder))
    }

    /// The repositories within that look different in another note, or may be.
    pub(super) fn repositories_unlike(&self, other: &Self) -> Vec<String> {
        let all: BTreeSet<&String> = self.repositories.keys().chain(other.repositories.keys()).collect();
        let is_same = |path: &str| {
            let look = |note: &Self| note.repositories.get(path).cloned().flatten();
            look(self).is_some_and(|one| look(other) == Some(one))
        };
        all.into_iter().filter(|path| !is_same(path)).map(|path| format!("{path}/")).collect()
    }

    /// Whether this was a folder without a file, which git does not know of.
    pub(super) fn was_empty(&self, folder: &str) -> bool {
        self.empty.contains(folder)
    }

    /// The mode that a file of the snapshot had.
    pub(super) fn mode(&self, path: &str, is_program: bool) -> Option<u32> {
        let modes = self.modes.as_ref()?;
        let usual = if is_program { modes.program } else { modes.file };
        Some(modes.unusual.get(path).copied().unwrap_or(usual))
    }

    /// The mode that a folder had.
    pub(super) fn folder_mode(&self, folder: &str) -> Option<u32> {
        let modes = self.modes.as_ref()?;
        Some(modes.unusual.get(&format!("{folder}/")).copied().unwrap_or(modes.folder))
    }

    /// Keeps it in place of what is kept there.
    pub(super) fn keep(&self, path: &Path) -> Result<()> {
        let folder = path.parent().unwrap_or(path);
        let kept = make_private(folder).and_then(|()| {
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
    fn modes_are_noted() {
        let modes = [
            ("a", 0o664),
            ("b", 0o664),
            ("run", 0o775),
            ("key", 0o600),
            ("d/", 0o755),
            ("e/", 0o700),
            ("f/", 0o755),
        ];
        let modes = modes.map(|(path, mode)| (path.to_owned(), mode)).into();
        let beside = Beside { others: vec![], repositories: vec![], modes: Some(modes) };
        let note = Note::new(Path::new("/"), Path::new("/"), beside);
        assert_eq!(note.modes.as_ref().unwrap().unusual.len(), 2, "{note:?}");
        for (path, is_program, mode) in [("a", false, 0o664), ("run", true, 0o775), ("key", false, 0o600)] {
            assert_eq!(note.mode(path, is_program), Some(mode), "{path}");
        }
        assert_eq!((note.folder_mode("d"), note.folder_mode("e")), (Some(0o755), Some(0o700)));
        assert_eq!(Note::default().mode("a", false), None);
    }

    #[test]
    fn what_is_in_no_snapshot_is_noted() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["data/sub", "empty/more", "kept/none"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("data/sub/file"), "").unwrap();
        let others = b"data/\0empty/\0kept/none/\0kept/file\0gone/\0\xff\0".to_vec();
        let beside = Beside { others, repositories: vec![], modes: None };
        let note = Note::new(dir.path(), Path::new("/nowhere"), beside);
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
        for (folder, expected) in
            [("empty", true), ("empty/more", true), ("kept/none", true), ("data", false)]
        {
            assert_eq!(note.was_empty(folder), expected, "{folder}");
        }
        let kept = dir.path().join("notes/one");
        note.keep(&kept).unwrap();
        assert_eq!(Note::kept(&kept), Some(note));
        fs::write(&kept, "nonsense").unwrap();
        assert_eq!((Note::kept(&kept), Note::kept(&dir.path().join("none"))), (None, None));
    }
}
