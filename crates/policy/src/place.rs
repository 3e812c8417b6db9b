//! What is known of the place where the calls act.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the caller knows of the place where the calls act. The paths are absolute and resolved; nothing
/// here looks at the disk, unless [`Links`] does.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The working directory, in which `workspace` lets write.
    pub workdir: PathBuf,
    /// Directories for temporary files, in which it lets write as well.
    pub temp: Vec<PathBuf>,
    /// The user's home: what `~` means, and where keys are kept.
    pub home: Option<PathBuf>,
    /// What the environment enforces.
    pub confined: Confined,
    /// Where paths in a shell line lead.
    pub links: Links,
    /// What is there.
    pub finds: Finds,
}

impl Place {
    /// Whether a directory holds a repository, in `.git`; nothing, if nobody can look. An empty one is none, and git then
    /// takes the directory itself for one, if it looks like that.
    pub(crate) fn is_repository(&self, dir: &Path) -> Option<bool> {
        let there = |name: &str| self.finds.any(&dir.join(name));
        Some(there(".git/HEAD")? || there(".git")? && !there(".git/.")?)
    }
}

/// Tells whether something is at a path. Without it nothing is known of that.
#[derive(Clone, Default)]
pub struct Finds(Option<Arc<Find>>);

type Find = dyn Fn(&Path) -> bool + Send + Sync;

impl Finds {
    /// Asks `find` whether something is at an absolute path.
    pub fn new(find: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    pub(crate) fn any(&self, path: &Path) -> Option<bool> {
        self.0.as_ref().map(|find| find(path))
    }
}

impl fmt::Debug for Finds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Finds(looked for)" } else { "Finds(not known)" })
    }
}

/// Tells where a path leads through the links that are there. Without it paths are taken as they are written.
#[derive(Clone, Default)]
pub struct Links(Option<Arc<Follow>>);

type Follow = dyn Fn(&Path) -> Option<PathBuf> + Send + Sync;

impl Links {
    /// Asks `follow` for the real path of an absolute one, which may have `..` in it; none if it leads nowhere.
    pub fn new(follow: impl Fn(&Path) -> Option<PathBuf> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(follow)))
    }

    pub(crate) fn follow(&self, path: &Path) -> Option<PathBuf> {
        self.0.as_ref()?(path)
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Links(followed)" } else { "Links(as written)" })
    }
}

/// What the environment enforces by itself, whatever a command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confined {
    /// Writes stay in the working directory and the temporary ones (none at all, where the mode is
    /// `read-only`), and keys cannot be read.
    pub files: bool,
    /// Nothing is reached over the network.
    pub network: bool,
}

impl Confined {
    /// Whether both are enforced, so that a command may run without being understood.
    pub fn whole(self) -> bool {
        self.files && self.network
    }
}
