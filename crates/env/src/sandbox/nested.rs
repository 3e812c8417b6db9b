//! Repositories below the working directory, and those elsewhere that git goes into from there.
//!
//! Git goes from a repository into its submodules by itself, and to wherever its `.git` leads, and obeys the settings
//! that it finds there. So these are kept as they are, like those of the repository around. Which are submodules the
//! index says: git goes by that, and `.gitmodules` need not be there.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::git_dir::GitDir;
use super::git_index::{self, Index};
use super::ground::Ground;
use super::standin::StandIn;

/// How many are kept: each is a wall of its own, and so is each directory on the way.
const MOST: usize = 16;
/// What of a repository makes git run something.
const EXECUTED: [&str; 3] = ["config", "config.worktree", HOOKS];
const HOOKS: &str = "hooks";
/// How many bytes of indexes are read; that of a large repository has a hundred for each file.
const BYTES: u64 = 128 << 20;

/// The repositories that were there when the environment was made.
#[derive(Default)]
pub(super) struct Nested {
    repositories: Vec<Repository>,
    /// Where a `.git` leads.
    elsewhere: Vec<PathBuf>,
    is_cut_short: bool,
}

/// Where the settings of one are.
struct Repository {
    /// Its `.git`: a directory, or a file that says where that is.
    git: PathBuf,
    /// Whether git goes there by itself, also if it is made only later.
    named: bool,
}

impl Nested {
    /// Those that commands could change; of many the submodules first, then of those that were found the nearest.
    /// `tops` are others that may be repositories and name some.
    pub(super) fn new(found: Vec<PathBuf>, tops: &[PathBuf], ground: &Ground) -> Self {
        if ground.writable.is_empty() {
            return Self::default();
        }
        let roots = ground.roots.iter().map(PathBuf::as_path);
        let kept: BTreeSet<&Path> = roots.clone().chain(roots.flat_map(|root| ground.above(root))).collect();
        let tops: BTreeSet<&Path> = kept.iter().copied().chain(tops.iter().map(PathBuf::as_path)).collect();
        let mut search = Search { ground, kept, left: BYTES, nested: Self::default() };
        for top in tops {
            search.follow(top.join(".git"));
        }
        for git in found {
            if search.keep(&git, false) {
                search.follow(git);
            }
        }
        search.nested
    }

    /// Where their settings are, or would be.
    pub(super) fn settings(&self) -> impl Iterator<Item = &Path> {
        let own = self.repositories.iter().map(|one| &one.git);
        own.chain(&self.elsewhere).map(PathBuf::as_path)
    }

    /// What must not be made, so that there are no settings where git would look for them.
    pub(super) fn missing(&self) -> impl Iterator<Item = PathBuf> {
        let named = self.repositories.iter().filter(|one| one.named).map(|one| &one.git);
        named.chain(&self.elsewhere).filter_map(|path| first_missing(path))
    }

    /// Whether there are submodules that are not kept, because there are too many.
    pub(super) fn is_cut_short(&self) -> bool {
        self.is_cut_short
    }
}

/// A path, or the first directory on the way to it, where nothing is; absent if it is there, or cannot be made.
fn first_missing(path: &Path) -> Option<PathBuf> {
    let is_free = |path: &Path| StandIn::is_free(path);
    let missing = path.ancestors().take_while(|path| is_free(path)).last()?;
    missing.parent().filter(|parent| is_in_place(parent)).map(|_| missing.to_owned())
}

/// Whether a directory is there, and no link on the way.
pub(super) fn is_in_place(dir: &Path) -> bool {
    dir.is_dir() && dir.canonicalize().is_ok_and(|real| real == dir)
}

/// A search that is under way.
struct Search<'a> {
    ground: &'a Ground,
    /// Directories whose own `.git` is kept in any case.
    kept: BTreeSet<&'a Path>,
    /// How much of indexes is still read.
    left: u64,
    nested: Nested,
}

impl Search<'_> {
    /// Keeps what a repository leads to, and its submodules, and theirs.
    fn follow(&mut self, git: PathBuf) {
        let mut pending = VecDeque::from([git]);
        while let Some(git) = pending.pop_front() {
            let (Some(dir), Some(work)) = (GitDir::of(&git), git.parent()) else { continue };
            self.keep_elsewhere(&git, &dir);
            for below in self.submodules(&dir.own) {
                let one = work.join(below).join(".git");
                if self.keep(&one, true) {
                    pending.push_back(one);
                }
            }
        }
    }

    /// Keeps one, unless it is kept, or nobody changes it; says whether it is a new one.
    fn keep(&mut self, git: &Path, named: bool) -> bool {
        let is_kept = git.parent().is_some_and(|dir| self.kept.contains(dir));
        let is_known = self.nested.repositories.iter().any(|own| own.git == git);
        if is_kept || is_known || !self.ground.holds(git) {
            return false;
        }
        if self.nested.repositories.len() >= MOST {
            // Into others than submodules git goes only with somebody.
            self.nested.is_cut_short |= named;
            return false;
        }
        self.nested.repositories.push(Repository { git: git.to_owned(), named });
        true
    }

    /// Keeps what a `.git` leads to.
    fn keep_elsewhere(&mut self, git: &Path, dir: &GitDir) {
        let roots = &self.ground.roots;
        let mut all = Vec::new();
        for settings in [&dir.common, &dir.own] {
            let is_chosen = |root: &PathBuf| {
                root.starts_with(&dir.common) && *root != dir.common && settings.starts_with(root)
            };
            if roots.iter().any(|root| root.starts_with(settings)) {
                // The work is in it, or something in it is to be changed: so only what runs something.
                let parts = EXECUTED.iter().map(|name| settings.join(name));
                all.extend(parts.filter(|part| part.exists() || part.ends_with(HOOKS)));
            } else if settings != git && !roots.iter().any(is_chosen) {
                all.push(settings.clone());
            }
        }
        for path in all {
            let is_known = self.nested.elsewhere.iter().any(|known| path.starts_with(known));
            if !is_known && self.ground.holds(&path) {
                self.nested.elsewhere.push(path);
            }
        }
    }

    /// Where git looks for the submodules of a repository, from its top.
    fn submodules(&mut self, dir: &Path) -> Vec<PathBuf> {
        let Some(mut index) = self.index(&dir.join("index")) else { return Vec::new() };
        if let Some(rest) = index.rest.take().and_then(|name| self.index(&dir.join(name))) {
            index.repositories.extend(rest.repositories);
        }
        index.repositories
    }

    fn index(&mut self, path: &Path) -> Option<Index> {
        // Whatever else it is might have to be waited for.
        let length = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
        let Some(left) = self.left.checked_sub(length) else {
            self.nested.is_cut_short = true;
            return None;
        };
        self.left = left;
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(length).read_to_end(&mut bytes).ok()?;
        git_index::read(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_comes_first_and_not_all_that_is_found_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let git = |name: &str| root.join(name).join(".git");
        let found: Vec<PathBuf> =
            ["z", ""].map(git).into_iter().chain((0..30).map(|n| git(&n.to_string()))).collect();
        for git in &found {
            fs::create_dir_all(git).unwrap();
        }
        let ground = |top: &Path| Ground { roots: vec![top.to_owned()], writable: vec![top.to_owned()] };
        let nested = Nested::new(found.clone(), &[], &ground(&root));
        let settings: Vec<&Path> = nested.settings().collect();
        assert_eq!((settings.len(), nested.is_cut_short()), (MOST, false));
        assert_eq!(settings[..2], [git("z"), git("0")]);
        let nested = Nested::new(found, &[], &ground(&root.join("0")));
        assert_eq!(nested.settings().count(), 0);
    }

    #[test]
    fn what_is_missing_is_the_first_folder_on_the_way() {
        use std::os::unix::fs::{DirBuilderExt as _, symlink};
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        symlink("a", root.join("link")).unwrap();
        fs::DirBuilder::new().mode(0o500).create(root.join("ours")).unwrap();
        for (path, expected) in [
            ("a/b/.git", Some("a/b/.git")),
            ("a/c/d/.git", Some("a/c")),
            ("ours/b/.git", Some("ours")),
            ("a/b", None),
            ("file/.git", None),
            ("link/b/.git", None),
            ("link/c/.git", None),
        ] {
            assert_eq!(first_missing(&root.join(path)), expected.map(|path| root.join(path)), "{path}");
        }
    }
}
