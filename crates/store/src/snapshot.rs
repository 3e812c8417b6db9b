//! What the files of a workspace were, at the beginnings and ends of turns.
//!
//! A repository of git's in the store, with an index of its own and the workspace for its tree, holds them.
//! So a snapshot costs what has changed since the last one, and files that git does not know of are in
//! it too, but for those that the ignore files of the repository name. It is not read but for these, never written, and
//! nothing of the user's or the workspace's configuration of git counts: no hook, no filter, no program runs.
//! Repositories within the workspace are not entered, and are no part of a snapshot.

mod around;
mod changes;
mod git;
mod gone;
mod look;
mod note;
mod plan;
mod put;
mod read;
mod undo;

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto_env::ExecutionEnvironment;
use junto_llm::SessionId;
use sha2::{Digest as _, Sha256};

pub use self::changes::{FileChange, Kind};
use self::git::Git;
pub use self::undo::Undone;
use crate::{Error, ErrorKind, Result};

/// A workspace with more files is not snapshotted unless that is asked for.
const MOST_FILES: u64 = 20_000;
/// Nor is one if that means to read and copy more bytes at once.
const MOST_BYTES: u64 = 200_000_000;

/// Whether a workspace is snapshotted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// If it has not too many files, and what is new in them is not too large.
    #[default]
    Moderate,
    /// However large it is.
    Any,
}

/// The files of a workspace at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree(String);

impl Tree {
    /// A tree by its id.
    ///
    /// # Errors
    /// `invalid` if this is none.
    pub fn new(id: impl Into<String>) -> Result<Self> {
        let id = id.into();
        let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if is_id { Ok(Self(id)) } else { Err(Error::new(ErrorKind::Invalid, &id, "this is no id of a tree")) }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.0
    }
}

/// The snapshots of one workspace that one session takes.
pub struct Snapshots {
    git: Git,
    extent: Extent,
    session: SessionId,
}

impl Snapshots {
    /// Snapshots of the environment's working directory, in the store with this root.
    pub fn new(root: &Path, env: Arc<dyn ExecutionEnvironment>, session: SessionId, extent: Extent) -> Self {
        let workspace = env.facts().cwd.as_path().to_owned();
        let folder = root.join("snapshots").join(format!("{}.git", name(&workspace)));
        let git = Git::new(env, folder, workspace, real(root), &session);
        Self { git, extent, session }
    }

    /// Takes a snapshot, and keeps it under a name, which replaces the one that had it.
    ///
    /// # Errors
    /// `unsupported` if there is no git or the workspace is too large; else what git says.
    pub async fn take(&self, name: &str) -> Result<Tree> {
        if self.git.own().is_some_and(|own| own.as_os_str().is_empty()) {
            let message = "it is the folder in which sessions are kept";
            return Err(Error::new(ErrorKind::Unsupported, self.git.workspace().display(), message));
        }
        self.git.begin().await?;
        self.git.forget_gone().await;
        let look = self.git.look(MOST_FILES).await;
        let too_many = look.is_none() && self.extent == Extent::Moderate;
        if too_many && self.git.has_more_files_than(MOST_FILES).await? {
            let message = format!("it has more than {MOST_FILES} files");
            return Err(Error::new(ErrorKind::Unsupported, self.git.workspace().display(), message));
        }
        let most = if self.extent == Extent::Moderate { MOST_BYTES } else { u64::MAX };
        let tree = self.git.tree_of(look, most).await?;
        self.git.keep(&tree, &self.reference(name))?;
        Ok(tree)
    }

    /// The snapshot that is kept under a name; none if there is none.
    ///
    /// # Errors
    /// `unsupported` if there is no git; else what git says.
    pub async fn find(&self, name: &str) -> Result<Option<Tree>> {
        self.git.kept(&self.reference(name)).await
    }

    /// Keeps the snapshots of another session for this one too, under their names: those that are wanted. If there
    /// are none, nothing is done.
    ///
    /// # Errors
    /// As [`Snapshots::find`].
    pub async fn take_over(&self, from: &SessionId, wanted: impl Fn(&str) -> bool) -> Result<()> {
        let from = format!("refs/junto/{from}/");
        self.git.keep_too(&from, &self.reference(""), wanted).await
    }

    fn reference(&self, name: &str) -> String {
        format!("refs/junto/{}/{name}", self.session)
    }

    /// What changed between two snapshots, by path.
    ///
    /// # Errors
    /// `not_found` if one of them is not kept any more; else what git says.
    pub async fn changes(&self, from: &Tree, to: &Tree) -> Result<Vec<FileChange>> {
        self.git.changes(from, to).await
    }

    /// Takes back what changed from one snapshot to a later one. What was changed again since then, by
    /// whomever, is left as it is, and told; so is what is as it was before already, and what was there before though
    /// no snapshot has it. With `dry` nothing is done but told.
    ///
    /// # Errors
    /// As [`Snapshots::changes`]. Files that were taken back before a failure stay so.
    pub async fn undo(&self, before: &Tree, after: &Tree, dry: bool) -> Result<Undone> {
        self.git.begin().await?;
        undo::undo(&self.git, before, after, dry).await
    }
}

/// A path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|part| Some((fs::canonicalize(part).ok()?, part)));
    let rest = known.and_then(|(real, part)| Some(real.join(path.strip_prefix(part).ok()?)));
    rest.unwrap_or_else(|| path.to_owned())
}

/// A name for a workspace: always the same, and another for another.
fn name(workspace: &Path) -> String {
    let digest = Sha256::digest(workspace.as_os_str().as_bytes());
    look::hex(digest.get(..16).unwrap_or_default())
}

impl std::fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let folder: &PathBuf = self.git.folder();
        f.debug_struct("Snapshots").field("folder", folder).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_have_ids() {
        assert!(Tree::new("0123456789abcdef0123456789abcdef01234567").is_ok());
        for wrong in ["", "--help", "0123", "0123456789ABCDEF0123456789abcdef01234567", "HEAD"] {
            assert_eq!(Tree::new(wrong).unwrap_err().kind(), ErrorKind::Invalid, "{wrong}");
        }
    }

    #[test]
    fn links_are_resolved_as_far_as_there_is_something() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(root.join("there")).unwrap();
        std::os::unix::fs::symlink("there", root.join("link")).unwrap();
        for (path, expected) in [("link", "there"), ("link/not/yet", "there/not/yet"), ("gone", "gone")] {
            assert_eq!(real(&root.join(path)), root.join(expected), "{path}");
        }
    }

    #[test]
    fn each_workspace_has_a_name() {
        let names: Vec<String> = ["/a", "/b", "/a/b"].map(|path| name(Path::new(path))).into();
        assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), 3);
        // It stands on disks.
        assert_eq!(names[0], "6a50dc8584134c7de537c0052ff6d236");
    }
}
