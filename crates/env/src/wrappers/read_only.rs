//! Nothing is changed.

use std::sync::Arc;

use super::Layer;
use crate::{
    CommandSpec, Error, ErrorKind, ExecutionEnvironment, Expect, Fut, Process, RealPath, Result, Stamp,
};

/// An environment in which nothing is changed. What would change a file is `Denied`.
///
/// A command can change anything, so commands are denied too, unless the inner environment keeps them
/// from it ([`Enforces::read_only`](crate::Enforces::read_only)).
#[derive(Clone, Debug)]
pub struct ReadOnly<E>(E);

impl<E: ExecutionEnvironment> ReadOnly<E> {
    /// An environment, without its changes.
    pub fn new(inner: E) -> Self {
        Self(inner)
    }
}

impl<E: ExecutionEnvironment> Layer for ReadOnly<E> {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.0
    }

    fn write<'a>(&'a self, path: &'a RealPath, _: &'a [u8], _: Expect) -> Fut<'a, Result<Stamp>> {
        Box::pin(async move { Err(denied(path)) })
    }

    fn remove<'a>(&'a self, path: &'a RealPath) -> Fut<'a, Result<()>> {
        Box::pin(async move { Err(denied(path)) })
    }

    fn rename<'a>(&'a self, from: &'a RealPath, _: &'a RealPath) -> Fut<'a, Result<()>> {
        Box::pin(async move { Err(denied(from)) })
    }

    fn spawn(&self, command: CommandSpec) -> Fut<'_, Result<Process>> {
        if self.0.facts().enforces.read_only {
            return self.0.spawn(command);
        }
        let message = "this environment is read-only and cannot keep a command from changing files";
        Box::pin(async move { Err(Error::new(ErrorKind::Denied, command.program, message)) })
    }

    fn unconfined(&self) -> Option<Arc<dyn ExecutionEnvironment>> {
        None
    }
}

fn denied(path: &RealPath) -> Error {
    Error::new(ErrorKind::Denied, path, "this environment is read-only")
}
