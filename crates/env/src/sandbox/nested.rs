//! Repositories below the working directory: submodules, and others that are there.
//!
//! Git goes from a repository into its submodules by itself, and obeys the settings that it finds there. So these are kept
//! as they are, like those of the repository around.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// How many are kept: each is a wall of its own, and so is each directory on the way.
const MOST: usize = 16;

/// The repositories that were there when the environment was made.
pub(super) struct Nested(Vec<Repository>);

/// Where the settings of one are.
pub(super) struct Repository {
    /// Its `.git`: a directory, or a file that says where that is.
    pub(super) git: PathBuf,
    /// Whether git goes there by itself, also if it is made only later.
    pub(super) named: bool,
}

impl Nested {
    /// Those below one of these roots; of many the submodules first, which `.gitmodules` in one of the tops names, then the
    /// nearest.
    pub(super) fn new(found: Vec<PathBuf>, tops: &[PathBuf], roots: &[PathBuf]) -> Self {
        let submodules =
            tops.iter().flat_map(|top| submodules(top)).map(|git| Repository { git, named: true });
        let found = found.into_iter().map(|git| Repository { git, named: false });
        let mut all: Vec<Repository> = Vec::new();
        for one in submodules.chain(found) {
            let is_below = |root: &PathBuf| one.git.starts_with(root) && one.git.parent() != Some(root);
            if all.len() < MOST && roots.iter().any(is_below) && all.iter().all(|own| own.git != one.git) {
                all.push(one);
            }
        }
        Self(all)
    }

    /// Those whose directories are where they were.
    pub(super) fn now(&self) -> impl Iterator<Item = &Repository> {
        let is_there = |dir: &Path| dir.is_dir() && dir.canonicalize().is_ok_and(|real| real == dir);
        self.0.iter().filter(move |one| one.git.parent().is_some_and(is_there) && !one.git.is_symlink())
    }
}

/// Where git looks for the submodules of a repository.
fn submodules(top: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(top.join(".gitmodules")).unwrap_or_default();
    let path = |line: &str| {
        let value = line.trim().strip_prefix("path")?.trim_start().strip_prefix('=')?;
        let below = Path::new(value.trim().trim_matches('"'));
        let is_below = below.components().all(|part| matches!(part, Component::Normal(_)));
        is_below.then(|| top.join(below).join(".git"))
    };
    text.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submodules_come_first_and_not_all_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let git = |name: &str| root.join(name).join(".git");
        fs::create_dir_all(git("z")).unwrap();
        fs::create_dir(root.join("y")).unwrap();
        let named = "[submodule \"a\"]\n\tpath = z\n[submodule \"b\"]\n\tpath=\"y\"\n\turl = path\n[submodule \"c\"]\n path = ../x\n";
        fs::write(root.join(".gitmodules"), named).unwrap();
        let others: Vec<PathBuf> = (0..30).map(|n| git(&n.to_string())).chain([git("z"), git("")]).collect();
        for other in &others {
            fs::create_dir_all(other).unwrap();
        }
        let tops = [root.clone()];
        let nested = Nested::new(others, &tops, &tops);
        let now: Vec<(&Path, bool)> = nested.now().map(|one| (one.git.as_path(), one.named)).collect();
        assert_eq!(now.len(), MOST);
        let (z, y, first) = (git("z"), git("y"), git("0"));
        assert_eq!(now[..3], [(z.as_path(), true), (y.as_path(), true), (first.as_path(), false)]);
        fs::remove_dir_all(root.join("0")).unwrap();
        std::os::unix::fs::symlink(root.join("1"), root.join("0")).unwrap();
        assert_eq!(nested.now().count(), MOST - 1);
    }
}
