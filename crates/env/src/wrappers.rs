//! Environments around environments.
//!
//! A [`Layer`] is an environment that has another one inside and says only what it does differently:
//! whatever it does not mention goes through. [`Logging`], [`ReadOnly`] and [`Scoped`] are layers, and
//! they go around each other.
//!
//! ```
//! # async fn example() -> junto_env::Result<()> {
//! use junto_env::wrappers::{Logging, ReadOnly, Scoped};
//! use junto_env::{ExecutionEnvironment, Expect, LocalEnvironment};
//!
//! let project = Scoped::new(LocalEnvironment::new("/")?, "/usr/share").await?;
//! let env = Logging::tracing(ReadOnly::new(project));
//!
//! let path = env.resolve("notes.txt").await?;
//! assert!(env.write(&path, b"", Expect::Any).await.is_err());
//! assert!(env.resolve("/etc/passwd").await.is_err());
//! # Ok(())
//! # }
//! ```

mod logging;
mod read_only;
mod scoped;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use self::logging::{Action, Event, Logging};
pub use self::read_only::ReadOnly;
pub use self::scoped::Scoped;
use crate::{
    ByteRange, CommandSpec, DirEntry, EnvFacts, ExecutionEnvironment, Expect, Fut, Hits, Process, Reader,
    RealPath, Result, Search, Stamp,
};

/// An environment around another. Every layer is an [`ExecutionEnvironment`]; what it does not define
/// is what the inner one does.
///
/// Both traits have the same methods. Where a layer is implemented and environments are used, name this
/// one by its path (`impl wrappers::Layer for …`) so that a call is of the other.
pub trait Layer: Send + Sync {
    /// The environment inside.
    fn inner(&self) -> &dyn ExecutionEnvironment;

    /// See [`ExecutionEnvironment::facts`].
    fn facts(&self) -> &EnvFacts {
        self.inner().facts()
    }

    /// See [`ExecutionEnvironment::resolve`].
    fn resolve<'a>(&'a self, path: &'a str) -> Fut<'a, Result<RealPath>> {
        self.inner().resolve(path)
    }

    /// See [`ExecutionEnvironment::stamp`].
    fn stamp<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<Option<Stamp>>> {
        self.inner().stamp(path)
    }

    /// See [`ExecutionEnvironment::open`].
    fn open<'a>(&'a self, path: &'a RealPath, range: ByteRange) -> Fut<'a, Result<Reader>> {
        self.inner().open(path, range)
    }

    /// See [`ExecutionEnvironment::write`].
    fn write<'a>(&'a self, path: &'a RealPath, data: &'a [u8], expect: Expect) -> Fut<'a, Result<Stamp>> {
        self.inner().write(path, data, expect)
    }

    /// See [`ExecutionEnvironment::list`].
    fn list<'a>(&'a self, path: &'a RealPath, depth: u32) -> Fut<'a, Result<Vec<DirEntry>>> {
        self.inner().list(path, depth)
    }

    /// See [`ExecutionEnvironment::remove`].
    fn remove<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<()>> {
        self.inner().remove(path)
    }

    /// See [`ExecutionEnvironment::rename`].
    fn rename<'a>(&'a self, from: &'a RealPath, to: &'a RealPath) -> Fut<'a, Result<()>> {
        self.inner().rename(from, to)
    }

    /// See [`ExecutionEnvironment::spawn`].
    fn spawn(&self, command: CommandSpec) -> Fut<'_, Result<Process>> {
        self.inner().spawn(command)
    }

    /// See [`ExecutionEnvironment::search`].
    fn search<'a>(&'a self, query: Search, cancel: &'a CancellationToken) -> Fut<'a, Result<Hits>> {
        self.inner().search(query, cancel)
    }

    /// See [`ExecutionEnvironment::unconfined`]. A layer that keeps something from happening, or tells
    /// of it, must see to it that this does not go around it.
    fn unconfined(&self) -> Option<Arc<dyn ExecutionEnvironment>> {
        self.inner().unconfined()
    }
}

impl<L: Layer> ExecutionEnvironment for L {
    fn facts(&self) -> &EnvFacts {
        Layer::facts(self)
    }

    fn resolve<'a>(&'a self, path: &'a str) -> Fut<'a, Result<RealPath>> {
        Layer::resolve(self, path)
    }

    fn stamp<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<Option<Stamp>>> {
        Layer::stamp(self, path)
    }

    fn open<'a>(&'a self, path: &'a RealPath, range: ByteRange) -> Fut<'a, Result<Reader>> {
        Layer::open(self, path, range)
    }

    fn write<'a>(&'a self, path: &'a RealPath, data: &'a [u8], expect: Expect) -> Fut<'a, Result<Stamp>> {
        Layer::write(self, path, data, expect)
    }

    fn list<'a>(&'a self, path: &'a RealPath, depth: u32) -> Fut<'a, Result<Vec<DirEntry>>> {
        Layer::list(self, path, depth)
    }

    fn remove<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<()>> {
        Layer::remove(self, path)
    }

    fn rename<'a>(&'a self, from: &'a RealPath, to: &'a RealPath) -> Fut<'a, Result<()>> {
        Layer::rename(self, from, to)
    }

    fn spawn(&self, command: CommandSpec) -> Fut<'_, Result<Process>> {
        Layer::spawn(self, command)
    }

    fn search<'a>(&'a self, query: Search, cancel: &'a CancellationToken) -> Fut<'a, Result<Hits>> {
        Layer::search(self, query, cancel)
    }

    fn unconfined(&self) -> Option<Arc<dyn ExecutionEnvironment>> {
        Layer::unconfined(self)
    }
}

/// A shared environment is one, so that layers go around it too.
impl Layer for Arc<dyn ExecutionEnvironment> {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &**self
    }
}
