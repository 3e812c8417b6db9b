//! Folders of our own, for what lives as long as we do.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// How long the part of a name is that is like no other. Paths of sockets have 107 bytes, and a kernel's are two such
/// folders deep.
pub(crate) const UNLIKE: usize = 12;

/// A fresh folder that only its owner can enter; gone with this value.
#[derive(Debug)]
pub(crate) struct OwnFolder(PathBuf);

impl OwnFolder {
    /// Makes one below `parent`, which must be there, with a name that begins so.
    pub(crate) fn make(parent: &Path, begins: &str) -> io::Result<Self> {
        let unlike: String = Uuid::new_v4().simple().to_string().chars().take(UNLIKE).collect();
        let path = parent.join(format!("{begins}{unlike}"));
        // The mode is given to the very call that makes it, so it is never open to anybody else.
        DirBuilder::new().mode(0o700).create(&path).map_err(|e| {
            io::Error::new(e.kind(), format!("cannot make the folder `{}`: {e}", path.display()))
        })?;
        Ok(Self(path))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // What cannot be removed stays: nobody is left to be told.
        let _ = fs::remove_dir_all(&self.0);
    }
}
