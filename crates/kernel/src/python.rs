//! Interpreters that can be kernels.

use std::path::{Path, PathBuf};

use junto_env::ExecutionEnvironment;

use crate::{Error, ErrorKind};

/// An interpreter that can be a kernel: Python 3.10 or later with `ipykernel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    program: PathBuf,
    version: (u32, u32),
}

impl Python {
    /// The user's own.
    ///
    /// # Errors
    /// `python`, with what to do: there is none, it is too old, or it has no `ipykernel`.
    #[expect(clippy::unused_async, reason = "the types before the rest")]
    pub async fn at(program: impl AsRef<Path>, _env: &dyn ExecutionEnvironment) -> Result<Self, Error> {
        Ok(Self { program: program.as_ref().to_owned(), version: (3, 11) })
    }

    /// The one that is made below `home` and kept there: with `uv` where there is one, else with the `venv`
    /// and `pip` of a Python on the path, from pinned packages. Once made it needs no network. One that is
    /// broken is made again. Several processes may ask at once. `tell` is told what takes time.
    ///
    /// # Errors
    /// `python`, with what to do: nothing to make it with, no network, no room.
    #[expect(clippy::unused_async, reason = "the types before the rest")]
    pub async fn kept(
        _home: &Path,
        _env: &dyn ExecutionEnvironment,
        _tell: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Self, Error> {
        Err(Error::new(ErrorKind::Python, "there is no Python"))
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Its version, such as 3.12.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }
}
