//! Searching any environment, by listing and reading.

use std::cmp::Reverse;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::vec;

use tokio::io::AsyncReadExt as _;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::by_path::ByPath;
use super::collect::{FileSearcher, Origin};
use super::first::First;
use super::globs::Globs;
use super::ignores::Ignores;
use super::kept::Kept;
use super::pattern::Pattern;
use super::{Filter, Grep, Hits, Limits, Order, Search, Target, cancelled, files_found};
use crate::{ByteRange, DirEntry, Error, ErrorKind, ExecutionEnvironment, Reader, RealPath, Result};

/// The most memory for a file's content.
const HEAP: usize = 16 << 20;

/// Searches, file by file in the order of paths.
pub(crate) async fn search<E: ExecutionEnvironment + ?Sized>(
    env: &E,
    query: Search,
    cancel: &CancellationToken,
) -> Result<Hits> {
    let Search { root, target, filter, limits } = query;
    match target {
        Target::Files(order) => files(env, root, order, &filter, limits, cancel).await,
        Target::Text(grep) => text(env, root, &grep, &filter, limits, cancel).await,
    }
}

async fn files<E: ExecutionEnvironment + ?Sized>(
    env: &E,
    root: RealPath,
    order: Order,
    filter: &Filter,
    limits: Limits,
    cancel: &CancellationToken,
) -> Result<Hits> {
    let mut walk = Walk::start(env, root, filter, cancel).await?;
    let mut first = First::new(limits.results);
    let mut unreadable = 0;
    while let Some((path, _)) = walk.next().await? {
        unreadable += walk.unreadable.drain(..).count();
        let modified = match order {
            Order::Path => None,
            Order::Newest => match env.stamp(&RealPath::resolved(&path)).await {
                Ok(stamp) => stamp.and_then(|stamp| stamp.modified),
                Err(_) => None,
            },
        };
        first.add((Reverse(modified), ByPath(path)));
    }
    Ok(files_found(first, unreadable + walk.unreadable.len()))
}

async fn text<E: ExecutionEnvironment + ?Sized>(
    env: &E,
    root: RealPath,
    grep: &Grep,
    filter: &Filter,
    limits: Limits,
    cancel: &CancellationToken,
) -> Result<Hits> {
    let mut searcher = FileSearcher::new(Pattern::compile(grep)?, limits, HEAP);
    let mut kept = Kept::new(grep.show, limits);
    let mut walk = Walk::start(env, root, filter, cancel).await?;
    while !kept.is_truncated()
        && let Some((path, origin)) = walk.next().await?
    {
        for path in walk.unreadable.drain(..) {
            kept.add_unreadable(path);
        }
        let real = RealPath::resolved(&path);
        let reader = match env.open(&real, ByteRange::ALL).await {
            Ok(reader) => reader,
            Err(e) if origin == Origin::Named => return Err(e),
            // It was there a moment ago, and no more.
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(_) => {
                kept.add_unreadable(path);
                continue;
            }
        };
        let reader = Blocking { reader, handle: Handle::current(), cancel: cancel.clone() };
        let (used, found) = tokio::task::spawn_blocking(move || {
            let found = searcher.search(reader, origin);
            (searcher, found)
        })
        .await
        .map_err(|e| Error::io(&real, io::Error::other(e)))?;
        searcher = used;
        match found {
            Ok(Some(hit)) => kept.add(path, hit),
            Ok(None) => {}
            Err(_) if cancel.is_cancelled() => return Err(cancelled(&real)),
            Err(e) if origin == Origin::Named => return Err(Error::io(&real, e)),
            Err(_) => kept.add_unreadable(path),
        }
    }
    for path in walk.unreadable {
        kept.add_unreadable(path);
    }
    Ok(kept.into_hits())
}

/// Goes through the files below a directory in the order of their paths.
struct Walk<'a, E: ?Sized> {
    env: &'a E,
    filter: &'a Filter,
    globs: Globs,
    cancel: &'a CancellationToken,
    /// What is still to do, the innermost directory last.
    pending: Vec<Level>,
    /// The root, if it is a file.
    named: Option<PathBuf>,
    /// Directories that could not be listed since this was last emptied.
    unreadable: Vec<PathBuf>,
}

struct Level {
    dir: PathBuf,
    entries: vec::IntoIter<DirEntry>,
    ignores: Ignores,
}

impl<'a, E: ExecutionEnvironment + ?Sized> Walk<'a, E> {
    async fn start(
        env: &'a E,
        root: RealPath,
        filter: &'a Filter,
        cancel: &'a CancellationToken,
    ) -> Result<Self> {
        let globs = Globs::compile(filter, root.as_path())?;
        let mut walk = Self { env, filter, globs, cancel, pending: vec![], named: None, unreadable: vec![] };
        match env.list(&root, 1).await {
            Ok(entries) => {
                let above = if filter.ignored {
                    Ignores::default()
                } else {
                    Ignores::above(env, root.as_path()).await
                };
                walk.enter(root.as_path().to_owned(), entries, &above).await;
            }
            Err(e) if e.kind() == ErrorKind::WrongKind => walk.named = Some(root.as_path().to_owned()),
            Err(e) => return Err(e),
        }
        Ok(walk)
    }

    async fn enter(&mut self, dir: PathBuf, entries: Vec<DirEntry>, above: &Ignores) {
        let ignores =
            if self.filter.ignored { above.clone() } else { above.below(self.env, &dir, &entries).await };
        self.pending.push(Level { dir, entries: entries.into_iter(), ignores });
    }

    async fn next(&mut self) -> Result<Option<(PathBuf, Origin)>> {
        if let Some(named) = self.named.take() {
            return Ok(Some((named, Origin::Named)));
        }
        while let Some(level) = self.pending.last_mut() {
            let Some(entry) = level.entries.next() else {
                self.pending.pop();
                continue;
            };
            if self.cancel.is_cancelled() {
                return Err(cancelled(level.dir.display()));
            }
            let path = level.dir.join(&entry.path);
            let ignores = level.ignores.clone();
            // What is neither a directory nor has a size is a link, a pipe, a device: never opened.
            if !(entry.is_dir || entry.size.is_some()) || self.is_left_out(&path, entry.is_dir, &ignores) {
                continue;
            }
            if !entry.is_dir {
                return Ok(Some((path, Origin::Walk)));
            }
            match self.env.list(&RealPath::resolved(&path), 1).await {
                Ok(entries) => self.enter(path, entries, &ignores).await,
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(_) => self.unreadable.push(path),
            }
        }
        Ok(None)
    }

    /// In the order of ripgrep: globs, then ignore files, then types, then what is hidden.
    fn is_left_out(&self, path: &Path, is_dir: bool, ignores: &Ignores) -> bool {
        let named = self.globs.overrides.matched(path, is_dir);
        if !named.is_none() {
            return named.is_ignore();
        }
        let ignored = ignores.matched(path, is_dir);
        let typed = self.globs.types.matched(path, is_dir);
        if ignored.is_ignore() || typed.is_ignore() {
            return true;
        }
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        hidden && !self.filter.hidden && !ignored.is_whitelist() && !typed.is_whitelist()
    }
}

/// An asynchronous reader on a thread that may block.
struct Blocking {
    reader: Reader,
    handle: Handle,
    cancel: CancellationToken,
}

impl Read for Blocking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self { reader, handle, cancel } = self;
        handle.block_on(async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(io::ErrorKind::ConnectionAborted.into()),
                read = reader.read(buffer) => read,
            }
        })
    }
}
