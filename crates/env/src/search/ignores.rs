//! What `.gitignore` and its like leave out, read through any environment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tokio::io::AsyncReadExt as _;

use crate::{ByteRange, DirEntry, ExecutionEnvironment, RealPath};

/// The most that is read of a file with rules.
const RULES: u64 = 1 << 20;

/// The files with rules, the strongest first. That of git's own directory holds for one clone only.
const FILES: [&str; 4] = [".rgignore", ".ignore", ".gitignore", ".git/info/exclude"];
/// How many of these hold outside of git too.
const NOT_OF_GIT: usize = 2;

/// The rules of a directory, and of those above it.
#[derive(Clone, Default)]
pub(super) struct Ignores {
    /// The nearest last.
    levels: Vec<Arc<Level>>,
}

/// The rules that stand in one directory, in the order of `FILES`.
struct Level {
    rules: [Gitignore; FILES.len()],
    has_git: bool,
}

impl Ignores {
    /// The rules above a directory; what cannot be listed has none.
    pub(super) async fn above<E: ExecutionEnvironment + ?Sized>(env: &E, dir: &Path) -> Self {
        let mut ignores = Self::default();
        let mut parents: Vec<&Path> = dir.ancestors().skip(1).collect();
        parents.reverse();
        for parent in parents {
            let entries = env.list(&RealPath::resolved(parent), 1).await.unwrap_or_default();
            ignores = ignores.below(env, parent, &entries).await;
        }
        ignores
    }

    /// The rules for what is in a directory with these entries.
    pub(super) async fn below<E: ExecutionEnvironment + ?Sized>(
        &self,
        env: &E,
        dir: &Path,
        entries: &[DirEntry],
    ) -> Self {
        let has = |name: &str| entries.iter().any(|entry| entry.path.as_path() == Path::new(name));
        let has_git = has(".git");
        let mut rules = [const { None }; FILES.len()];
        for (slot, file) in rules.iter_mut().zip(FILES) {
            // Only the first part of the name is in this directory.
            if has(file.split('/').next().unwrap_or(file)) {
                *slot = read(env, dir, file).await;
            }
        }
        if !has_git && rules.iter().all(Option::is_none) {
            return self.clone();
        }
        let rules = rules.map(|rules| rules.unwrap_or_else(Gitignore::empty));
        let mut levels = self.levels.clone();
        levels.push(Arc::new(Level { rules, has_git }));
        Self { levels }
    }

    /// What the rules say of a path. For each kind of file the nearest that says something decides,
    /// and the rules of git end at the border of a repository.
    pub(super) fn matched(&self, path: &Path, is_dir: bool) -> Match<()> {
        let in_git = self.levels.iter().any(|level| level.has_git);
        let mut found = [const { Match::None }; FILES.len()];
        let mut left_git = false;
        for level in self.levels.iter().rev() {
            for (index, (slot, rules)) in found.iter_mut().zip(&level.rules).enumerate() {
                let holds = index < NOT_OF_GIT || (in_git && !left_git);
                if slot.is_none() && holds {
                    *slot = rules.matched(path, is_dir).map(|_| ());
                }
            }
            left_git |= level.has_git;
        }
        found.into_iter().fold(Match::None, Match::or)
    }
}

/// The rules in a file; none if it cannot be read. A rule that is not well formed is passed over.
async fn read<E: ExecutionEnvironment + ?Sized>(env: &E, dir: &Path, file: &str) -> Option<Gitignore> {
    let path: PathBuf = dir.join(file);
    let reader =
        env.open(&RealPath::resolved(&path), ByteRange { start: 0, length: Some(RULES) }).await.ok()?;
    let mut content = Vec::new();
    reader.take(RULES).read_to_end(&mut content).await.ok()?;
    let text = String::from_utf8_lossy(&content);
    let mut builder = GitignoreBuilder::new(dir);
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
