//! Where the settings of a git repository are: in its `.git`, or where that leads.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::places::real;

/// How long a file that leads elsewhere can be; it has one path in it.
const LONGEST: u64 = 64 << 10;

/// The directories of a repository.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GitDir {
    /// What is its own, or this worktree's: the index.
    pub(super) own: PathBuf,
    /// What all worktrees have together: the settings. Mostly the same.
    pub(super) common: PathBuf,
}

impl GitDir {
    /// That of a `.git`, which may lead where nothing is.
    pub(super) fn of(git: &Path) -> Option<Self> {
        let found = fs::metadata(git).ok()?;
        let own = match git.parent() {
            Some(work) if found.is_file() => real(&work.join(path_in(git, b"gitdir: ")?)),
            _ => real(git),
        };
        let common = path_in(&own.join("commondir"), b"").map(|path| real(&own.join(path)));
        Some(Self { common: common.unwrap_or_else(|| own.clone()), own })
    }
}

/// Whether git, on its way up, goes no further than a directory.
pub(super) fn is_repository(dir: &Path) -> bool {
    let git = dir.join(".git");
    git.is_file() || ["HEAD", "objects", "refs"].iter().all(|name| git.join(name).exists())
}

/// The path that a file holds, behind a word.
fn path_in(file: &Path, word: &[u8]) -> Option<PathBuf> {
    // Whatever else it is might have to be waited for.
    fs::metadata(file).ok().filter(|found| found.is_file() && found.len() <= LONGEST)?;
    let text = fs::read(file).ok()?;
    let mut path = text.strip_prefix(word)?;
    while let Some(shorter) = path.strip_suffix(b"\n").or_else(|| path.strip_suffix(b"\r")) {
        path = shorter;
    }
    (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_where_its_git_leads() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["plain/.git", "bare/worktrees/one", "one", "gone", "odd", "link"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("one/.git"), format!("gitdir: {}/bare/worktrees/one\r\n", root.display()))
            .unwrap();
        fs::write(root.join("bare/worktrees/one/commondir"), "../..\n").unwrap();
        fs::write(root.join("gone/.git"), "gitdir: ../none/x\n").unwrap();
        fs::write(root.join("odd/.git"), "something else").unwrap();
        std::os::unix::fs::symlink("../bare", root.join("link/.git")).unwrap();
        for (name, expected) in [
            ("plain", Some(("plain/.git", "plain/.git"))),
            ("one", Some(("bare/worktrees/one", "bare"))),
            ("gone", Some(("none/x", "none/x"))),
            ("link", Some(("bare", "bare"))),
            ("odd", None),
            ("none", None),
        ] {
            let expected =
                expected.map(|(own, common)| GitDir { own: root.join(own), common: root.join(common) });
            assert_eq!(GitDir::of(&root.join(name).join(".git")), expected, "{name}");
        }
    }
}
