//! Paths that were resolved.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// An absolute path without `~`, `..` and symbolic links. Only an environment makes one, by
/// resolving; what a policy judged is then what is opened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RealPath(PathBuf);

impl RealPath {
    /// A path that the caller has resolved. For implementors of environments.
    pub fn resolved(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The path, for keeps.
    pub fn into_path(self) -> PathBuf {
        self.0
    }

    /// Whether this is the other path, or below it.
    pub fn is_within(&self, other: &RealPath) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl fmt::Display for RealPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl AsRef<Path> for RealPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}
