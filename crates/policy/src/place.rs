//! What is known of the place where the calls act.

use std::path::PathBuf;

/// What the caller knows of the place where the calls act. The paths are absolute and resolved; nothing
/// here looks at the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The working directory, in which `workspace` lets write.
    pub workdir: PathBuf,
    /// Directories for temporary files, in which it lets write as well.
    pub temp: Vec<PathBuf>,
    /// The user's home: what `~` means, and where keys are kept.
    pub home: Option<PathBuf>,
    /// What the environment enforces.
    pub confined: Confined,
}

/// What the environment enforces by itself, whatever a command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confined {
    /// Writes stay in the working directory and the temporary ones (none at all, where the mode is
    /// `read-only`), and keys cannot be read.
    pub files: bool,
    /// Nothing is reached over the network.
    pub network: bool,
}

impl Confined {
    /// Whether both are enforced, so that a command may run without being understood.
    pub fn whole(self) -> bool {
        self.files && self.network
    }
}
