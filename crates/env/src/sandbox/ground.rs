//! Where commands change files.

use std::path::{Path, PathBuf};

/// The directories in which commands change files; none, if they change nothing.
pub(super) struct Ground {
    /// The working directory and those that somebody named: in them settings are kept.
    pub(super) roots: Vec<PathBuf>,
    /// The same, and those for temporary files.
    pub(super) writable: Vec<PathBuf>,
}

impl Ground {
    /// Whether a path is below one of the directories.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.writable.iter().any(|top| path != top && path.starts_with(top))
    }

    /// The directories on the way from these to a path. If one of them could be moved away, another could be put in its
    /// place, and what is hidden by its path be read at another.
    pub(super) fn on_the_way<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Path> {
        path.ancestors().skip(1).filter(|dir| self.holds(dir))
    }

    /// The directories above a root that commands change too and that are none, the nearest first.
    pub(super) fn above<'a>(&'a self, root: &'a Path) -> impl Iterator<Item = &'a Path> {
        let is_changed = |dir: &&Path| self.writable.iter().any(|top| dir.starts_with(top));
        root.ancestors().skip(1).filter(is_changed).filter(|dir| self.roots.iter().all(|root| root != dir))
    }
}
