//! Reading a workspace into an index.
//!
//! Not by `git add`: that asks each repository within the workspace how it is, by a `git status` there, which does what
//! that repository's own configuration says and writes its index. What is used here looks at files, and enters no
//! repository but the one of the snapshots, whatever an index says.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use junto_env::ExecResult;
use rustix::fs::{Access, access};

use super::git::{Git, succeeded};
use crate::{Error, ErrorKind, Result};

/// Which files of an index are not what they were. Repositories are not asked.
const CHANGED: [&str; 5] = ["diff-files", "--name-only", "-z", "--no-renames", "--ignore-submodules=all"];
const ADD: [&str; 6] = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
const DROP: [&str; 4] = ["update-index", "--force-remove", "-z", "--stdin"];
/// How many files may turn out to be unreadable only when they are read.
const REFUSALS: usize = 100;

/// What differs between an index and its workspace.
#[derive(Debug, Default)]
struct Differing {
    /// Files to be taken as they are, or that are gone.
    taken: Vec<PathBuf>,
    /// How large these are.
    bytes: u64,
    /// What the index may have and cannot be taken: it is no file any more, or cannot be read.
    dropped: Vec<PathBuf>,
    /// Repositories within, which are no part of a snapshot.
    repositories: Vec<PathBuf>,
}

impl Git {
    /// Brings an index up to the workspace. What cannot be read is not in it then. Gives the repositories within that
    /// are not in it.
    ///
    /// # Errors
    /// `unsupported` if there are more bytes to be read than that.
    pub(super) async fn read(&self, index: &Path, most: u64) -> Result<Vec<PathBuf>> {
        let own = self.own_pattern();
        let others = ["ls-files", "-z", "--others", "--exclude-standard", &own];
        let (mut paths, others) =
            tokio::try_join!(self.run(&CHANGED, index, None), self.run(&others, index, None))?;
        paths.extend(others);
        let workspace = self.workspace().to_owned();
        let sorted = tokio::task::spawn_blocking(move || Differing::sort(&workspace, &paths)).await;
        let differing = sorted.map_err(|error| Error::new(ErrorKind::Io, "snapshot", error.to_string()))?;
        if differing.bytes > most {
            let message = format!("it has more than {most} bytes that are not kept yet");
            return Err(Error::new(ErrorKind::Unsupported, self.workspace().display(), message));
        }
        self.drop_all(index, &differing.dropped).await?;
        self.add(index, differing.taken).await?;
        Ok(differing.repositories)
    }

    async fn drop_all(&self, index: &Path, paths: &[PathBuf]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        self.run(&DROP, index, Some(list(paths))).await.map(drop)
    }

    /// Takes files into an index. One that cannot be read does not keep the others out.
    async fn add(&self, index: &Path, mut paths: Vec<PathBuf>) -> Result<()> {
        let mut refusals = 0;
        while !paths.is_empty() {
            let added = self.ask(&ADD, index, Some(list(&paths)), &mut |_| {}).await?;
            let refused = refused(&added, &paths).filter(|_| refusals < REFUSALS);
            let Some(refused) = refused else { return succeeded(&ADD, &added) };
            refusals += 1;
            let refused = paths.remove(refused);
            self.drop_all(index, &[refused]).await?;
        }
        Ok(())
    }
}

impl Differing {
    /// Sorts paths as git lists them: each with a NUL behind it, and a repository with a slash before that.
    fn sort(workspace: &Path, paths: &[u8]) -> Self {
        let mut sorted = Self::default();
        let mut folder: Option<(PathBuf, bool)> = None;
        for path in paths.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            if let Some(repository) = path.strip_suffix(b"/") {
                sorted.repositories.push(PathBuf::from(OsStr::from_bytes(repository)));
                continue;
            }
            let path = PathBuf::from(OsStr::from_bytes(path));
            let parent = path.parent().unwrap_or(Path::new(""));
            let behind_link = match &folder {
                Some((known, is_link)) if known == parent => *is_link,
                _ => {
                    let is_link = has_link(workspace, parent);
                    folder = Some((parent.to_owned(), is_link));
                    is_link
                }
            };
            match can_be_taken(&workspace.join(&path)).filter(|_| !behind_link) {
                Some(size) => {
                    sorted.bytes = sorted.bytes.saturating_add(size);
                    sorted.taken.push(path);
                }
                None => sorted.dropped.push(path),
            }
        }
        sorted
    }
}

/// Whether a part of a path is a link. What is behind it is elsewhere.
fn has_link(workspace: &Path, path: &Path) -> bool {
    let mut parts = path.ancestors().filter(|part| !part.as_os_str().is_empty());
    parts.any(|part| workspace.join(part).is_symlink())
}

/// The size of a file that can be read, a link, or nothing; none if it is something else.
fn can_be_taken(path: &Path) -> Option<u64> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => access(path, Access::READ_OK).ok().map(|()| meta.len()),
        Ok(meta) => meta.is_symlink().then_some(meta.len()),
        Err(error) => {
            matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
                .then_some(0)
        }
    }
}

/// Which path it was that git could not read, if that was it.
fn refused(ended: &ExecResult, paths: &[PathBuf]) -> Option<usize> {
    let said = String::from_utf8_lossy(ended.stderr.head());
    if ended.exit.success() || said.contains("failed to insert into database") {
        return None;
    }
    let (_, named) = said.trim_end().rsplit_once("Unable to process path ")?;
    paths.iter().position(|path| path.to_string_lossy() == named)
}

/// Paths as git reads them.
pub(super) fn list<P: AsRef<Path>>(paths: &[P]) -> Vec<u8> {
    paths.iter().flat_map(|path| [path.as_ref().as_os_str().as_bytes(), b"\0"].concat()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_are_sorted() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("folder/deep")).unwrap();
        fs::write(at("folder/deep/a"), "12345").unwrap();
        symlink("folder", at("link")).unwrap();
        let sorted = Differing::sort(
            dir.path(),
            b"folder\0folder/deep/a\0folder/gone\0link\0link/deep/a\0link/gone\0within/\0\xff\0",
        );
        let paths = |paths: &[&[u8]]| -> Vec<PathBuf> {
            paths.iter().map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
        };
        assert_eq!(sorted.taken, paths(&[b"folder/deep/a", b"folder/gone", b"link", b"\xff"]));
        assert_eq!(sorted.dropped, paths(&[b"folder", b"link/deep/a", b"link/gone"]));
        assert_eq!(sorted.repositories, paths(&[b"within"]));
        assert_eq!(sorted.bytes, 5 + "folder".len() as u64);
    }
}
