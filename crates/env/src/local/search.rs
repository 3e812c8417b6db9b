//! Searching the files of this machine, on all its processors.

mod times;

use std::cmp::Reverse;
use std::fs;
use std::io::{self, Read, Seek};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkParallel, WalkState};
use nix::sys::statfs::{self, FsType, statfs};
use tokio_util::sync::CancellationToken;

use self::times::Times;
use super::{anchor, files};
use crate::search::by_path::ByPath;
use crate::search::collect::{FileHit, FileSearcher, Origin, is_too_long};
use crate::search::first::First;
use crate::search::globs::Globs;
use crate::search::kept::Kept;
use crate::search::pattern::Pattern;
use crate::search::{cancelled, files_found};
use crate::{
    ByteRange, Error, ErrorKind, Filter, Grep, Hits, Limits, Order, RealPath, Result, Search, Target,
};

/// The memory for a file's content that every thread has.
const HEAP: usize = 512 << 10;
/// The memory for a file that does not fit in it. One at a time has it, so that the number of
/// processors does not count.
const LARGE_HEAP: usize = 16 << 20;

/// The file systems whose files are made by the kernel when they are read: to read one can wait for
/// ever, or do something.
const KERNEL_MADE: [FsType; 9] = [
    statfs::PROC_SUPER_MAGIC,
    statfs::SYSFS_MAGIC,
    statfs::DEBUGFS_MAGIC,
    statfs::TRACEFS_MAGIC,
    statfs::CGROUP_SUPER_MAGIC,
    statfs::CGROUP2_SUPER_MAGIC,
    statfs::SECURITYFS_MAGIC,
    statfs::BPF_FS_MAGIC,
    statfs::DEVPTS_SUPER_MAGIC,
];

/// Says of a path that it is not looked at, nor what is below it.
pub(crate) type Veil = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// Searches, until it is done or cancelled.
pub(super) fn search(query: &Search, veil: Option<Veil>, cancel: &CancellationToken) -> Result<Hits> {
    let Search { root, target, filter, limits } = query;
    let globs = Globs::compile(filter, root.as_path())?;
    anchor::check(root)?;
    let place = Place::look(root)?;
    let hits = match target {
        Target::Files(order) => {
            let lister =
                Lister { order: *order, limits: *limits, cancel, listed: Mutex::new(Listed::new(*limits)) };
            match place {
                Place::File => lister.visitor().take(root.as_path().to_owned()),
                Place::Directory => walk(root, filter, globs, veil).visit(&mut &lister),
            }
            let Listed { first, unreadable } = unlock(lister.listed);
            files_found(first, unreadable)
        }
        Target::Text(grep) => {
            let searchers = Greps::new(grep, *limits, cancel)?;
            match place {
                Place::File => searchers.named(root)?,
                Place::Directory => walk(root, filter, globs, veil).visit(&mut &searchers),
            }
            unlock(searchers.kept).into_hits()
        }
    };
    if cancel.is_cancelled() { Err(cancelled(root)) } else { Ok(hits) }
}

/// What is searched.
enum Place {
    File,
    Directory,
}

impl Place {
    fn look(root: &RealPath) -> Result<Self> {
        let metadata = fs::symlink_metadata(root).map_err(|e| Error::io(root, e))?;
        if !metadata.is_dir() {
            return files::regular(root, &metadata).map(|()| Self::File);
        }
        if is_kernel_made(root.as_path()) {
            let message = "its files are made by the kernel and are not searched\nhint: name one of them";
            return Err(Error::new(ErrorKind::Unsupported, root, message));
        }
        // Else a root that may not be read would look like an empty one.
        fs::read_dir(root).map_err(|e| Error::io(root, e))?;
        Ok(Self::Directory)
    }
}

fn is_kernel_made(dir: &Path) -> bool {
    statfs(dir).is_ok_and(|found| KERNEL_MADE.contains(&found.filesystem_type()))
}

/// A walk as `rg` does it, but for the user's own list of what git ignores everywhere: that is found
/// through the environment of the process, and a library does not look there.
fn walk(root: &RealPath, filter: &Filter, globs: Globs, veil: Option<Veil>) -> WalkParallel {
    let mut builder = WalkBuilder::new(root);
    builder
        .overrides(globs.overrides)
        .types(globs.types)
        .follow_links(false)
        .hidden(!filter.hidden)
        .parents(!filter.ignored)
        .ignore(!filter.ignored)
        .git_ignore(!filter.ignored)
        .git_exclude(!filter.ignored)
        .git_global(false);
    if !filter.ignored {
        builder.add_custom_ignore_filename(".rgignore");
    }
    if let Some(veil) = veil {
        builder.filter_entry(move |entry| !veil(entry.path()));
    }
    builder.build_parallel()
}

/// What the walk met, as far as it matters here.
enum Met {
    File(DirEntry),
    Directory(PathBuf),
    /// Neither a file nor a directory, or gone again.
    Nothing,
    Unreadable(PathBuf),
}

impl Met {
    fn new(entry: std::result::Result<DirEntry, ignore::Error>) -> Self {
        match entry {
            Ok(entry) => match entry.file_type() {
                Some(kind) if kind.is_file() => Self::File(entry),
                Some(kind) if kind.is_dir() => Self::Directory(entry.into_path()),
                _ => Self::Nothing,
            },
            Err(e) if e.io_error().is_some_and(|e| e.kind() == io::ErrorKind::NotFound) => Self::Nothing,
            Err(e) => Self::Unreadable(path_of(e)),
        }
    }
}

fn path_of(error: ignore::Error) -> PathBuf {
    match error {
        ignore::Error::WithPath { path, .. } => path,
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(*err),
        _ => PathBuf::new(),
    }
}

/// Lists files: every thread by itself, and together at the end.
struct Lister<'a> {
    order: Order,
    limits: Limits,
    cancel: &'a CancellationToken,
    listed: Mutex<Listed>,
}

struct Listed {
    first: First<(Reverse<Option<SystemTime>>, ByPath)>,
    unreadable: usize,
}

impl Listed {
    fn new(limits: Limits) -> Self {
        Self { first: First::new(limits.results), unreadable: 0 }
    }
}

impl<'a> Lister<'a> {
    fn visitor(&'a self) -> ListVisitor<'a> {
        ListVisitor { lister: self, own: Listed::new(self.limits), times: Times::default() }
    }
}

impl<'s> ParallelVisitorBuilder<'s> for &'s Lister<'s> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 's> {
        Box::new(self.visitor())
    }
}

struct ListVisitor<'a> {
    lister: &'a Lister<'a>,
    own: Listed,
    times: Times,
}

impl ListVisitor<'_> {
    fn take(&mut self, path: PathBuf) {
        let modified = match self.lister.order {
            Order::Newest => self.times.modified(&path),
            Order::Path => None,
        };
        self.own.first.add((Reverse(modified), ByPath(path)));
    }
}

impl ParallelVisitor for ListVisitor<'_> {
    fn visit(&mut self, entry: std::result::Result<DirEntry, ignore::Error>) -> WalkState {
        if self.lister.cancel.is_cancelled() {
            return WalkState::Quit;
        }
        match Met::new(entry) {
            Met::File(entry) => self.take(entry.into_path()),
            Met::Directory(path) if is_kernel_made(&path) => return WalkState::Skip,
            Met::Directory(_) | Met::Nothing => {}
            Met::Unreadable(_) => self.own.unreadable += 1,
        }
        WalkState::Continue
    }
}

impl Drop for ListVisitor<'_> {
    fn drop(&mut self) {
        let mut own = mem::replace(&mut self.own.first, First::new(0));
        own.sort();
        let mut listed = lock(&self.lister.listed);
        listed.unreadable += self.own.unreadable;
        listed.first.merge(own);
    }
}

/// Searches files: every thread by itself, with what is kept in common.
struct Greps<'a> {
    pattern: Pattern,
    limits: Limits,
    cancel: &'a CancellationToken,
    kept: Mutex<Kept>,
    /// Held by who uses the large memory.
    large: Mutex<()>,
}

impl<'a> Greps<'a> {
    fn new(grep: &Grep, limits: Limits, cancel: &'a CancellationToken) -> Result<Self> {
        let pattern = Pattern::compile(grep)?;
        let kept = Mutex::new(Kept::new(grep.show, limits));
        Ok(Self { pattern, limits, cancel, kept, large: Mutex::new(()) })
    }

    fn searcher(&self, heap: usize) -> FileSearcher {
        FileSearcher::new(self.pattern.clone(), self.limits, heap)
    }

    /// Searches the one file that was named.
    fn named(&self, root: &RealPath) -> Result<()> {
        if let Some(hit) = self.search(&mut self.searcher(HEAP), root, Origin::Named)? {
            lock(&self.kept).add(root.as_path().to_owned(), hit);
        }
        Ok(())
    }

    fn search(
        &self,
        searcher: &mut FileSearcher,
        path: &RealPath,
        origin: Origin,
    ) -> Result<Option<FileHit>> {
        let file = files::open(path, ByteRange::ALL)?;
        let watched = |file| Watched { file, cancel: self.cancel };
        let found = match searcher.search(watched(&file), origin) {
            Err(e) if is_too_long(&e) => (&file).rewind().and_then(|()| {
                let _turn = lock(&self.large);
                self.searcher(LARGE_HEAP).search(watched(&file), origin)
            }),
            found => found,
        };
        found.map_err(|e| if self.cancel.is_cancelled() { cancelled(path) } else { Error::io(path, e) })
    }
}

impl<'s> ParallelVisitorBuilder<'s> for &'s Greps<'s> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 's> {
        Box::new(GrepVisitor { greps: self, searcher: self.searcher(HEAP) })
    }
}

struct GrepVisitor<'a> {
    greps: &'a Greps<'a>,
    searcher: FileSearcher,
}

impl ParallelVisitor for GrepVisitor<'_> {
    fn visit(&mut self, entry: std::result::Result<DirEntry, ignore::Error>) -> WalkState {
        let greps = self.greps;
        if greps.cancel.is_cancelled() {
            return WalkState::Quit;
        }
        match Met::new(entry) {
            Met::File(entry) => {
                let path = RealPath::resolved(entry.into_path());
                if lock(&greps.kept).is_beyond(path.as_path()) {
                    return WalkState::Continue;
                }
                match greps.search(&mut self.searcher, &path, Origin::Walk) {
                    Ok(Some(hit)) => lock(&greps.kept).add(path.into_path(), hit),
                    Ok(None) => {}
                    // It was there a moment ago, and no more.
                    Err(e) if e.kind() == ErrorKind::NotFound => {}
                    Err(_) => lock(&greps.kept).add_unreadable(path.into_path()),
                }
            }
            Met::Directory(path) if lock(&greps.kept).is_beyond(&path) || is_kernel_made(&path) => {
                return WalkState::Skip;
            }
            Met::Directory(_) | Met::Nothing => {}
            Met::Unreadable(path) => lock(&greps.kept).add_unreadable(path),
        }
        WalkState::Continue
    }
}

/// A file that stops giving when the search is cancelled.
struct Watched<'a> {
    file: &'a fs::File,
    cancel: &'a CancellationToken,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.file.read(buffer)
    }
}

/// What a thread that panicked has left is still whole: nothing is changed in steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unlock<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
