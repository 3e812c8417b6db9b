//! A folder for sockets.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::folder::OwnFolder;

/// A fresh folder that only its owner can enter, for the sockets of a session's kernel. Clones are the same folder; it is
/// gone with the last of them.
#[derive(Clone, Debug)]
pub struct RunFolder(Arc<OwnFolder>);

impl RunFolder {
    /// Makes one below a folder, whose path must be short: a socket's path has 107 bytes.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn below(parent: &Path) -> io::Result<Self> {
        OwnFolder::make(parent, "junto-").map(|folder| Self(Arc::new(folder)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
