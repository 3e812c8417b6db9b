//! A folder for sockets.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

/// A fresh folder that only its owner can enter, for the sockets of a session's kernel. Clones are the same folder; it is
/// gone with the last of them.
#[derive(Clone, Debug)]
pub struct RunFolder(Arc<TempDir>);

impl RunFolder {
    /// Makes one below a folder, whose path must be short: a socket's path has 107 bytes.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn below(parent: &Path) -> io::Result<Self> {
        tempfile::Builder::new()
            .prefix("junto-")
            .rand_bytes(8)
            .tempdir_in(parent)
            .map(|dir| Self(Arc::new(dir)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
