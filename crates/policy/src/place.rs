//! What is known of the place where the calls act.

use std::cell::Cell;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::glob::{component_fits, is_pattern};

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
    /// What else is its user's own, wherever it is: files and directories that are asked about like those where keys
    /// are kept, to be read and to be written.
    pub private: Vec<PathBuf>,
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
pub struct Links {
    follow: Option<Arc<Follow>>,
    list: Option<Arc<List>>,
}

type Follow = dyn Fn(&Path) -> Option<PathBuf> + Send + Sync;
type List = dyn Fn(&Path) -> Vec<(OsString, Entry)> + Send + Sync;

/// What a name in a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A symbolic link.
    Link,
    /// A directory.
    Directory,
    /// A file, or something else.
    Other,
}

/// How much is still looked up for a line: a directory counts as one, and as one more for so many names in it.
#[derive(Debug)]
pub(crate) struct Patience(Cell<usize>);

const NAMES_PER_LOOK: usize = 100;

impl Default for Patience {
    fn default() -> Self {
        Self(Cell::new(2000))
    }
}

impl Links {
    /// Asks `follow` for the real path of an absolute one, which may have `..` in it; none if it leads nowhere.
    pub fn new(follow: impl Fn(&Path) -> Option<PathBuf> + Send + Sync + 'static) -> Self {
        Self { follow: Some(Arc::new(follow)), list: None }
    }

    /// Asks `list` for what is in a directory, so that links are found which a pattern of the shell stands for, or
    /// which are below a directory.
    #[must_use]
    pub fn listed(mut self, list: impl Fn(&Path) -> Vec<(OsString, Entry)> + Send + Sync + 'static) -> Self {
        self.list = Some(Arc::new(list));
        self
    }

    pub(crate) fn follow(&self, path: &Path) -> Option<PathBuf> {
        self.follow.as_ref()?(path)
    }

    /// The paths that one with patterns stands for, as far as a link is among them or on the way: only the last name
    /// may still be a pattern. None if they are too many.
    pub(crate) fn expanded(&self, path: &Path, patience: &Patience) -> Option<Vec<PathBuf>> {
        if self.list.is_none() {
            return Some(Vec::new());
        }
        let mut places = vec![PathBuf::from("/")];
        let mut components = path.components().peekable();
        while let Some(component) = components.next() {
            let name = component.as_os_str();
            let pattern = name.to_string_lossy();
            if !is_pattern(&pattern) {
                for place in &mut places {
                    place.push(name);
                }
                continue;
            }
            // It may go on below, if the shell is told so.
            if pattern == "**" {
                return None;
            }
            let last = components.peek().is_none();
            let mut next = Vec::new();
            for place in places {
                for (name, entry) in self.entries(&place, patience)? {
                    let matters = entry == Entry::Link || entry == Entry::Directory && !last;
                    if matters && component_fits(&pattern, &name.to_string_lossy()) {
                        next.push(place.join(name));
                    }
                }
                if last {
                    next.push(place.join(name));
                }
            }
            places = next;
        }
        Some(places)
    }

    /// Whether there is a link below a path, or a name that is `odd`; also if there is too much to look at. Nothing, if
    /// nobody can look.
    pub(crate) fn below(&self, path: &Path, patience: &Patience, odd: impl Fn(&str) -> bool) -> Option<bool> {
        self.list.as_ref()?;
        let mut places = vec![path.to_owned()];
        while let Some(place) = places.pop() {
            let Some(entries) = self.entries(&place, patience) else { return Some(true) };
            for (name, entry) in entries {
                match entry {
                    Entry::Link => return Some(true),
                    _ if odd(&name.to_string_lossy()) => return Some(true),
                    Entry::Directory => places.push(place.join(name)),
                    Entry::Other => {}
                }
            }
        }
        Some(false)
    }

    /// What is in a directory; none if enough has been looked at.
    fn entries(&self, directory: &Path, patience: &Patience) -> Option<Vec<(OsString, Entry)>> {
        let left = patience.0.get().checked_sub(1)?;
        let entries = self.list.as_ref()?(directory);
        patience.0.set(left.saturating_sub(entries.len() / NAMES_PER_LOOK));
        Some(entries)
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.follow.is_some() { "Links(followed)" } else { "Links(as written)" })
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
