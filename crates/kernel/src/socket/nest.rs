//! A directory of the socket's own.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// A fresh directory that only its owner can enter; gone with this value.
pub(super) struct Nest {
    dir: PathBuf,
    socket: PathBuf,
}

impl Nest {
    /// Makes one below `parent`, which must exist, under a name that cannot be guessed.
    pub(super) fn make(parent: &Path) -> io::Result<Self> {
        let dir = parent.join(format!("junto-{}", Uuid::new_v4().simple()));
        // The mode is given to the very call that makes it, so it is never open to anybody else.
        DirBuilder::new().mode(0o700).create(&dir).map_err(|e| {
            io::Error::new(e.kind(), format!("cannot make the directory `{}`: {e}", dir.display()))
        })?;
        let socket = dir.join("tools");
        Ok(Self { dir, socket })
    }

    /// Where the socket belongs.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        // What cannot be removed stays: nobody is left to be told.
        let _ = fs::remove_dir_all(&self.dir);
    }
}
