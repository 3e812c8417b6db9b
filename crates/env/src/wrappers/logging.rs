//! Everything that happens is told.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Layer;
use crate::{
    ByteRange, CommandSpec, DirEntry, Error, ExecutionEnvironment, Exit, Expect, Fut, Hits, Process, Program,
    Reader, RealPath, Result, Search, Stamp,
};

/// Something that happened. Its `Display` is one line for a log. What files and commands said or were
/// given is not in it, nor are variables.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// Something was done with a file or directory, or could not be.
    File {
        /// What.
        action: Action<'a>,
        /// With which.
        path: &'a RealPath,
        /// Why it failed, if it did.
        error: Option<&'a Error>,
    },
    /// A command was started, or could not be.
    Started {
        /// The command.
        command: &'a Program,
        /// Why it failed, if it did.
        error: Option<&'a Error>,
    },
    /// A command ended.
    Ended {
        /// The command.
        command: &'a Program,
        /// How; absent if it ended with its handle, without being waited for.
        exit: Option<Exit>,
        /// How long it had run.
        duration: Duration,
    },
}

/// What is done with a file or directory. Resolving a path and looking at a stamp are not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// It is read.
    Read,
    /// So many bytes are written to it.
    Write(usize),
    /// It is listed.
    List,
    /// It is removed.
    Remove,
    /// It gets this name.
    Rename(&'a RealPath),
    /// It is searched.
    Search,
}

/// An environment whose every use is told to a function, when it is over; it must be quick, for
/// everything waits for it.
#[derive(Clone, Debug)]
pub struct Logging<E, F = fn(&Event<'_>)> {
    inner: E,
    log: Arc<F>,
}

impl<E: ExecutionEnvironment> Logging<E> {
    /// An environment whose uses become events of [`tracing`], at the level `DEBUG`.
    pub fn tracing(inner: E) -> Self {
        Self::new(inner, |event| tracing::debug!("{event}"))
    }
}

impl<E: ExecutionEnvironment, F: Fn(&Event<'_>) + Send + Sync + 'static> Logging<E, F> {
    /// An environment whose uses are told to `log`.
    pub fn new(inner: E, log: F) -> Self {
        Self { inner, log: Arc::new(log) }
    }

    fn file<'a, T: 'a>(
        &'a self,
        action: Action<'a>,
        path: &'a RealPath,
        doing: Fut<'a, Result<T>>,
    ) -> Fut<'a, Result<T>> {
        Box::pin(async move {
            let done = doing.await;
            (self.log)(&Event::File { action, path, error: done.as_ref().err() });
            done
        })
    }
}

impl<E: ExecutionEnvironment, F: Fn(&Event<'_>) + Send + Sync + 'static> Layer for Logging<E, F> {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.inner
    }

    fn open<'a>(&'a self, path: &'a RealPath, range: ByteRange) -> Fut<'a, Result<Reader>> {
        self.file(Action::Read, path, self.inner.open(path, range))
    }

    fn write<'a>(&'a self, path: &'a RealPath, data: &'a [u8], expect: Expect) -> Fut<'a, Result<Stamp>> {
        self.file(Action::Write(data.len()), path, self.inner.write(path, data, expect))
    }

    fn list<'a>(&'a self, path: &'a RealPath, depth: u32) -> Fut<'a, Result<Vec<DirEntry>>> {
        self.file(Action::List, path, self.inner.list(path, depth))
    }

    fn remove<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<()>> {
        self.file(Action::Remove, path, self.inner.remove(path))
    }

    fn rename<'a>(&'a self, from: &'a RealPath, to: &'a RealPath) -> Fut<'a, Result<()>> {
        self.file(Action::Rename(to), from, self.inner.rename(from, to))
    }

    fn spawn(&self, command: CommandSpec) -> Fut<'_, Result<Process>> {
        Box::pin(async move {
            let program = command.program.clone();
            let started = Instant::now();
            let mut spawned = self.inner.spawn(command).await;
            (self.log)(&Event::Started { command: &program, error: spawned.as_ref().err() });
            if let Ok(process) = &mut spawned {
                let log = Arc::clone(&self.log);
                process.on_end(move |exit| {
                    log(&Event::Ended { command: &program, exit, duration: started.elapsed() });
                });
            }
            spawned
        })
    }

    fn search<'a>(&'a self, query: Search, cancel: &'a CancellationToken) -> Fut<'a, Result<Hits>> {
        Box::pin(async move {
            let root = query.root.clone();
            self.file(Action::Search, &root, self.inner.search(query, cancel)).await
        })
    }

    fn unconfined(&self) -> Option<Arc<dyn ExecutionEnvironment>> {
        let inner = self.inner.unconfined()?;
        Some(Arc::new(Logging { inner, log: Arc::clone(&self.log) }))
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = match self {
            Self::File { action, path, error } => {
                match action {
                    Action::Read => write!(f, "read {path}")?,
                    Action::Write(bytes) => write!(f, "write {bytes} bytes to {path}")?,
                    Action::List => write!(f, "list {path}")?,
                    Action::Remove => write!(f, "remove {path}")?,
                    Action::Rename(to) => write!(f, "rename {path} to {to}")?,
                    Action::Search => write!(f, "search {path}")?,
                }
                error
            }
            Self::Started { command, error } => {
                write!(f, "start {command}")?;
                error
            }
            Self::Ended { command, exit, duration } => {
                let milliseconds = duration.as_millis();
                return match exit {
                    Some(exit) => write!(f, "{exit} after {milliseconds} ms: {command}"),
                    None => write!(f, "killed after {milliseconds} ms: {command}"),
                };
            }
        };
        error.map_or(Ok(()), |error| write!(f, ": failed: {error}"))
    }
}
