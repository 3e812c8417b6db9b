//! Interpreters that can be kernels.

mod kept;
mod probe;

use std::path::{Path, PathBuf};

use junto_env::ExecutionEnvironment;

use crate::Error;

/// An interpreter that can be a kernel: Python 3.10 or later with `ipykernel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    program: PathBuf,
    version: (u32, u32),
    /// What says that it is whole, if it is one of ours.
    seal: Option<PathBuf>,
}

/// How the environment stands that is made and kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was not made yet.
    NotMade,
    /// Something of it is missing; whoever asks for it makes it anew.
    Broken,
    /// It is whole.
    Whole(Python),
}

/// What an environment is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    /// Its name on the path: `uv`, or a Python.
    pub program: String,
    /// Its version.
    pub version: String,
}

impl Python {
    /// The user's own: a path, or a name that is found on the environment's `PATH`.
    ///
    /// # Errors
    /// `python`, with what to do: there is none, it is too old, or it has no `ipykernel`.
    pub async fn at(program: impl AsRef<Path>, env: &dyn ExecutionEnvironment) -> Result<Self, Error> {
        let program = program.as_ref();
        let found = probe::probe(program, env).await?;
        let version = found.for_kernels(program)?;
        Ok(Self { program: program.to_owned(), version, seal: None })
    }

    /// The one that is made below `home` and kept there: with `uv` where there is one, else with the `venv`
    /// and `pip` of a Python on the path, from pinned packages. Once made it needs no network. One that is
    /// broken is made again. Several processes may ask at once. `tell` is told what takes time.
    ///
    /// # Errors
    /// `python`, with what to do: nothing to make it with, no network, no room.
    pub async fn kept(
        home: &Path,
        env: &dyn ExecutionEnvironment,
        tell: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Self, Error> {
        kept::kept(home, env, tell).await
    }

    /// The one below `home`, if it was made and is whole. Nothing is made.
    pub fn made(home: &Path) -> Option<Self> {
        kept::made(home)
    }

    /// How the one below `home` stands, and in which folder. Nothing is made.
    pub fn standing(home: &Path) -> (PathBuf, Standing) {
        kept::standing(home)
    }

    /// What the one below a home would be made with.
    ///
    /// # Errors
    /// `python`, with what to do: there is neither `uv` nor a Python that is new enough.
    pub async fn maker(env: &dyn ExecutionEnvironment) -> Result<Maker, Error> {
        kept::maker(env).await
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Its version, such as 3.12.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Takes note that it did not work: one of ours is then made again by the next who asks. Says whether it
    /// is one of ours.
    pub(crate) fn distrust(&self) -> bool {
        let Some(seal) = &self.seal else { return false };
        // If the seal cannot be broken, somebody else has broken it or nothing can be done.
        let _ = std::fs::remove_file(seal);
        true
    }
}
