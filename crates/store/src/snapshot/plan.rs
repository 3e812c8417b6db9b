//! What can be taken back without taking anything from anybody.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use rustix::fs::{Access, access};

use super::changes::{FileChange, Kind};

/// Paths that were changed by others.
pub(super) struct Touched(BTreeSet<String>);

impl Touched {
    pub(super) fn new(paths: impl Iterator<Item = String>) -> Self {
        Self(paths.collect())
    }

    /// Whether one of them is this path, or above or below it.
    pub(super) fn meets(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let is_below = self.0.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below));
        is_below || self.0.contains(path) || above(path).any(|folder| self.0.contains(folder))
    }
}

/// Sorts changes into those that can be taken back, and those in whose way there is something on the disk that no snapshot
/// has: it was never read, or is none of what snapshots have.
pub(super) fn sort(workspace: &Path, changes: Vec<FileChange>) -> (Vec<FileChange>, Vec<FileChange>) {
    let is_there = |change: &FileChange| {
        is_behind_folders(workspace, &change.path, None) && is_file(&workspace.join(&change.path))
    };
    let (added, others): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| change.kind == Kind::Added);
    let (mut files, mut left): (Vec<_>, Vec<_>) = added.into_iter().partition(is_there);
    let going: HashSet<String> = files.iter().map(|change| change.path.clone()).collect();
    for change in others {
        let can_be = match change.kind {
            Kind::Changed => is_there(&change),
            _ => {
                is_behind_folders(workspace, &change.path, Some(&going))
                    && !is_in_repository(workspace, &change.path)
                    && is_free(workspace, &change.path, &going)
            }
        };
        if can_be { files.push(change) } else { left.push(change) }
    }
    for changes in [&mut files, &mut left] {
        changes.sort_by(|one, other| one.path.cmp(&other.path));
    }
    (files, left)
}

/// The folders above a path.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(slash, _)| path.get(..slash))
}

/// Whether what is above a path is folders, and no links to folders. With what goes away, it may be that, or nothing.
fn is_behind_folders(workspace: &Path, path: &str, going: Option<&HashSet<String>>) -> bool {
    above(path).all(|folder| match fs::symlink_metadata(workspace.join(folder)) {
        Ok(meta) => meta.is_dir() || going.is_some_and(|going| going.contains(folder)),
        Err(error) => going.is_some() && is_missing(&error),
    })
}

/// Whether a repository stands where the folders of a path were: it is put nothing into.
fn is_in_repository(workspace: &Path, path: &str) -> bool {
    above(path).any(|folder| workspace.join(folder).join(".git").symlink_metadata().is_ok())
}

/// Whether this is a link, or a file that can be read. What cannot be read may be another than the snapshots have.
fn is_file(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => access(path, Access::READ_OK).is_ok(),
        Ok(meta) => meta.is_symlink(),
        Err(_) => false,
    }
}

/// Whether there is nothing at a path, or only what goes away.
fn is_free(workspace: &Path, path: &str, going: &HashSet<String>) -> bool {
    match fs::symlink_metadata(workspace.join(path)) {
        Err(error) => is_missing(&error),
        Ok(_) if going.contains(path) => true,
        Ok(meta) if meta.is_dir() => {
            let Ok(mut entries) = fs::read_dir(workspace.join(path)) else { return false };
            entries.all(|entry| {
                let name = entry.ok().and_then(|entry| entry.file_name().into_string().ok());
                name.is_some_and(|name| is_free(workspace, &format!("{path}/{name}"), going))
            })
        }
        Ok(_) => false,
    }
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_above_or_below_is_touched() {
        let touched = Touched::new(["a/b", "c", "d-e/f"].map(str::to_owned).into_iter());
        for (path, expected) in [
            ("a", true),
            ("a/b", true),
            ("a/b/c", true),
            ("a/bc", false),
            ("a/c", false),
            ("c/d", true),
            ("d", false),
            ("", false),
        ] {
            assert_eq!(touched.meets(path), expected, "{path}");
        }
    }

    #[test]
    fn what_is_in_the_way_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for folder in ["was-file", "was-other", "real", "bare/folder"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["was-file/new", "was-other/new", "was-other/unknown", "real/file", "becomes"] {
            fs::write(at(file), "").unwrap();
        }
        symlink("real", at("link")).unwrap();
        fs::create_dir_all(at("cloned/.git")).unwrap();
        let change = |path: &str, kind| FileChange { path: path.to_owned(), kind };
        let changes = [
            ("was-file", Kind::Removed, true),
            ("was-file/new", Kind::Added, true),
            ("was-other", Kind::Removed, false),
            ("was-other/new", Kind::Added, true),
            ("bare", Kind::Removed, true),
            ("link/file", Kind::Changed, false),
            ("link/gone", Kind::Removed, false),
            ("link", Kind::Changed, true),
            ("real/file", Kind::Removed, false),
            ("real/gone", Kind::Removed, true),
            ("real/gone-too", Kind::Changed, false),
            ("cloned/gone", Kind::Removed, false),
            ("becomes", Kind::Added, true),
            ("becomes/a/file", Kind::Removed, true),
        ];
        let all = changes.iter().map(|(path, kind, _)| change(path, *kind)).collect();
        let (files, left) = sort(dir.path(), all);
        for (path, kind, expected) in changes {
            let change = change(path, kind);
            assert_eq!((files.contains(&change), left.contains(&change)), (expected, !expected), "{path}");
        }
    }
}
