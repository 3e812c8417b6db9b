//! A kernel's folder: its modules, its sockets, its settings.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// The longest path of a socket, as Linux has it, less what is put behind the name.
const LONGEST: usize = 107 - 2;

/// A fresh folder that only its owner can enter; gone with this value.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes one below `parent`, which must be there.
    pub(super) fn make(parent: &Path, modules: &[(String, String)]) -> io::Result<Self> {
        let name: String = Uuid::new_v4().simple().to_string().chars().take(16).collect();
        let folder = Self(parent.join(format!("kernel-{name}")));
        if folder.sockets().as_os_str().len() > LONGEST {
            let message =
                format!("`{}` is too long a path for sockets; choose a shorter one", parent.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        // The mode is given to the very call that makes it, so it is never open to anybody else.
        DirBuilder::new().mode(0o700).create(&folder.0)?;
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
        self.0.join("modules")
    }

    /// Where IPython keeps what it keeps.
    pub(super) fn settings(&self) -> PathBuf {
        self.0.join("ipython")
    }

    /// What the paths of its sockets begin with.
    pub(super) fn sockets(&self) -> PathBuf {
        self.0.join("s")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays: nobody is left to be told.
        let _ = fs::remove_dir_all(&self.0);
    }
}
