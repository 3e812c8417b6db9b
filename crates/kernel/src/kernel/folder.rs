//! A kernel's folder: its modules, its sockets, its settings.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::folder::{OwnFolder, UNLIKE};

/// The longest path of a socket, as Linux has it, less what is put behind the name.
const LONGEST: usize = 107 - 2;

/// What its name begins with, and the paths of its sockets in it.
const BEGINS: &str = "kernel-";
const SOCKETS: &str = "s";

/// A kernel's folder; gone with this value.
pub(super) struct Folder(OwnFolder);

impl Folder {
    /// Makes one below `parent`, which must be there.
    pub(super) fn make(parent: &Path, modules: &[(String, String)]) -> io::Result<Self> {
        let longest = Path::new(BEGINS).join(SOCKETS).as_os_str().len() + UNLIKE + 1;
        if parent.as_os_str().len() + longest > LONGEST {
            let message =
                format!("`{}` is too long a path for sockets; choose a shorter one", parent.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let folder = Self(OwnFolder::make(parent, BEGINS)?);
        fs::create_dir(folder.modules())?;
        for (name, text) in modules {
            if Path::new(name).file_name() != Some(name.as_ref()) {
                let message = format!("`{name}` is no name of a file");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            fs::write(folder.modules().join(name), text)?;
        }
        Ok(folder)
    }

    /// Where its modules are.
    pub(super) fn modules(&self) -> PathBuf {
        self.0.path().join("modules")
    }

    /// Where IPython keeps what it keeps.
    pub(super) fn settings(&self) -> PathBuf {
        self.0.path().join("ipython")
    }

    /// What the paths of its sockets begin with.
    pub(super) fn sockets(&self) -> PathBuf {
        self.0.path().join(SOCKETS)
    }
}
