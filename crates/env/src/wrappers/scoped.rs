//! Files below one directory only.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Layer;
use crate::{
    ByteRange, CommandSpec, DirEntry, EnvFacts, Error, ErrorKind, ExecutionEnvironment, Expect, Fut, Hits,
    Process, Reader, RealPath, Result, Search, Stamp,
};

/// An environment whose files are those below one directory, which is its working directory. Any other
/// path, also one that a link leads to, is `Denied`.
///
/// Commands start there but are not confined: they reach whatever the inner environment lets them
/// reach. Whether it confines them is in its [`Enforces`](crate::Enforces).
#[derive(Clone, Debug)]
pub struct Scoped<E> {
    inner: E,
    facts: EnvFacts,
}

impl<E: ExecutionEnvironment> Scoped<E> {
    /// An environment within a directory of another.
    ///
    /// # Errors
    /// If the path cannot be resolved.
    pub async fn new(inner: E, directory: &str) -> Result<Self> {
        let cwd = inner.resolve(directory).await?;
        let mut facts = inner.facts().clone();
        // What is kept within the outer directory may still leave this one.
        facts.enforces.scope &= facts.cwd == cwd;
        facts.cwd = cwd;
        Ok(Self { inner, facts })
    }

    /// That the paths are in scope, and then what the inner environment does.
    fn within<'a, T: 'a>(
        &'a self,
        paths: &[&RealPath],
        act: impl FnOnce(&'a E) -> Fut<'a, Result<T>>,
    ) -> Fut<'a, Result<T>> {
        match paths.iter().find(|path| !path.is_within(&self.facts.cwd)) {
            None => act(&self.inner),
            Some(path) => {
                let error = self.outside(path);
                Box::pin(async move { Err(error) })
            }
        }
    }

    fn outside(&self, path: &RealPath) -> Error {
        Error::new(ErrorKind::Denied, path, format!("it is outside {}", self.facts.cwd))
    }
}

impl<E: ExecutionEnvironment> Layer for Scoped<E> {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.inner
    }

    fn facts(&self) -> &EnvFacts {
        &self.facts
    }

    fn resolve<'a>(&'a self, path: &'a str) -> Fut<'a, Result<RealPath>> {
        Box::pin(async move {
            let own = path.is_empty() || path.starts_with('/') || path == "~" || path.starts_with("~/");
            let real = if own {
                self.inner.resolve(path).await?
            } else {
                let cwd = self.facts.cwd.as_path().to_str().ok_or_else(|| {
                    Error::new(ErrorKind::Unsupported, &self.facts.cwd, "its name is no UTF-8")
                })?;
                self.inner.resolve(&format!("{cwd}/{path}")).await?
            };
            if real.is_within(&self.facts.cwd) { Ok(real) } else { Err(self.outside(&real)) }
        })
    }

    fn stamp<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<Option<Stamp>>> {
        self.within(&[path], |inner| inner.stamp(path))
    }

    fn open<'a>(&'a self, path: &'a RealPath, range: ByteRange) -> Fut<'a, Result<Reader>> {
        self.within(&[path], |inner| inner.open(path, range))
    }

    fn write<'a>(&'a self, path: &'a RealPath, data: &'a [u8], expect: Expect) -> Fut<'a, Result<Stamp>> {
        self.within(&[path], |inner| inner.write(path, data, expect))
    }

    fn list<'a>(&'a self, path: &'a RealPath, depth: u32) -> Fut<'a, Result<Vec<DirEntry>>> {
        self.within(&[path], |inner| inner.list(path, depth))
    }

    fn remove<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<()>> {
        self.within(&[path], |inner| inner.remove(path))
    }

    fn rename<'a>(&'a self, from: &'a RealPath, to: &'a RealPath) -> Fut<'a, Result<()>> {
        self.within(&[from, to], |inner| inner.rename(from, to))
    }

    fn spawn(&self, mut command: CommandSpec) -> Fut<'_, Result<Process>> {
        let cwd = command.cwd.get_or_insert_with(|| self.facts.cwd.clone()).clone();
        self.within(&[&cwd], |inner| inner.spawn(command))
    }

    fn search<'a>(&'a self, query: Search, cancel: &'a CancellationToken) -> Fut<'a, Result<Hits>> {
        let root = query.root.clone();
        self.within(&[&root], |inner| inner.search(query, cancel))
    }

    fn unconfined(&self) -> Option<Arc<dyn ExecutionEnvironment>> {
        None
    }
}
