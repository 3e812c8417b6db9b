//! Taking changes back.

use std::collections::HashSet;

use junto_env::RealPath;

use super::Tree;
use super::changes::{Changes, FileChange, Kind};
use super::git::{Git, Reading};
use super::note::Note;
use super::plan::{self, Touched};
use super::put::{Past, put};
use crate::{Error, ErrorKind, Result};

/// What was taken back, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// The files as they changed, which they did no longer afterwards.
    pub files: Vec<FileChange>,
    /// Files that were changed again since, and are as they were left.
    pub left: Vec<String>,
    /// Files that are as they were before already: they went back then, and there is nothing left to do.
    pub back: Vec<String>,
    /// Files that are new to the snapshots and are not known to be new: they were there before and ignored, or could not be
    /// read. They are as they were left.
    pub older: Vec<String>,
    /// What cannot be taken back, and changed or may have: repositories within the workspace, with a slash behind them, which
    /// no snapshot has, and files whose names are no text.
    pub beyond: Vec<String>,
}

pub(super) async fn undo(git: &Git, before: &Tree, after: &Tree, dry: bool) -> Result<Undone> {
    let (now, _) = git.write_tree(Reading::Files).await?;
    let past = Past { before: git.note(before), after: git.note(after) };
    let since = Touched::new(paths(git.changes(after, &now).await?));
    let Changes { files: changes, mut beyond } = git.all_changes(before, after).await?;
    if let Past { before: Some(before), after: Some(after) } = &past {
        beyond.extend(before.repositories_unlike(after));
    }
    let (mut left, files): (Vec<FileChange>, Vec<FileChange>) =
        changes.into_iter().partition(|change| since.meets(&change.path));
    let (older, files): (Vec<FileChange>, Vec<FileChange>) = files.into_iter().partition(|change| {
        change.kind == Kind::Added && past.before.as_ref().is_none_or(|note| note.has(&change.path))
    });
    let older = paths(older).collect();
    let (files, in_the_way) = plan::sort(git.workspace(), files);
    left.extend(in_the_way);
    left.sort_by(|one, other| one.path.cmp(&other.path));
    let different: HashSet<String> =
        if left.is_empty() { HashSet::new() } else { paths(git.changes(before, &now).await?).collect() };
    let (left, back) = paths(left).partition(|path| different.contains(path));
    if !dry {
        take_back(git, before, &files, past).await?;
    }
    Ok(Undone { files, left, back, older, beyond })
}

/// Takes changes back. What comes back is read before anything goes away.
async fn take_back(git: &Git, before: &Tree, files: &[FileChange], past: Past) -> Result<()> {
    let (added, others): (Vec<&FileChange>, Vec<&FileChange>) =
        files.iter().partition(|change| change.kind == Kind::Added);
    let back: Vec<&str> = others.iter().map(|change| &*change.path).collect();
    let stage = if back.is_empty() { None } else { Some(git.stage(before, &back).await?) };
    // First what is in the way of what comes back: a folder that was a file.
    for change in added {
        remove(git, &change.path, past.before.as_ref()).await?;
    }
    let Some(stage) = stage else { return Ok(()) };
    let (workspace, back) =
        (git.workspace().to_owned(), back.into_iter().map(str::to_owned).collect::<Vec<_>>());
    let put = tokio::task::spawn_blocking(move || {
        back.iter().try_for_each(|path| {
            let put = put(&workspace, path, &stage.path().join(path), &past);
            put.map_err(|error| Error::io(&workspace.join(path), error))
        })
    });
    put.await.map_err(|error| Error::new(ErrorKind::Io, "undo", error.to_string()))?
}

fn paths(changes: Vec<FileChange>) -> impl Iterator<Item = String> {
    changes.into_iter().map(|change| change.path)
}

/// Removes a file, and the folders that are empty then and were not before.
async fn remove(git: &Git, path: &str, note: Option<&Note>) -> Result<()> {
    // Not resolved: a link is removed, and not what it leads to.
    let file = git.workspace().join(path);
    git.env()
        .remove(&RealPath::resolved(&file))
        .await
        .map_err(|error| Error::new(ErrorKind::Io, file.display(), error.to_string()))?;
    let mut folder = path;
    while let Some((parent, _)) = folder.rsplit_once('/') {
        let was_empty = note.is_some_and(|note| note.was_empty(parent));
        if was_empty || std::fs::remove_dir(git.workspace().join(parent)).is_err() {
            break;
        }
        folder = parent;
    }
    Ok(())
}
