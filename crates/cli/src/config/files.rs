//! Where configuration files are, and which of them count.

use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// The folder of a project's own configuration.
const PROJECT_FOLDER: &str = ".junto";

/// The files considered, in the order in which they count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Files {
    /// The user's file.
    pub(crate) user: Option<PathBuf>,
    /// Whether `JUNTO_CONFIG` named the user's file, so that it must exist.
    pub(crate) user_is_named: bool,
    /// The list of trusted projects. `JUNTO_CONFIG` does not move it: a project that can place a
    /// file beside the one named there must not be able to trust itself.
    pub(crate) trust: Option<PathBuf>,
    /// The project one is in.
    pub(crate) project: Option<Project>,
}

/// A project: the nearest folder above the working directory that has `.junto` or `.git`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Project {
    /// Its folder.
    pub(crate) root: PathBuf,
    /// Its configuration, which need not exist.
    pub(crate) file: PathBuf,
}

impl Files {
    /// Finds the files for this environment. Reads none of them.
    pub(crate) fn find(environment: &Environment) -> Self {
        let folder = environment
            .path("XDG_CONFIG_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| environment.path("HOME").map(|home| home.join(".config")))
            .map(|folder| folder.join("junto"));
        let named = environment.path("JUNTO_CONFIG").map(|path| environment.directory().join(path));
        Self {
            user_is_named: named.is_some(),
            user: named.or_else(|| folder.as_ref().map(|folder| folder.join("config.toml"))),
            trust: folder.map(|folder| folder.join("trusted.toml")),
            project: Project::around(environment.directory()),
        }
    }
}

impl Project {
    /// The project around a folder.
    pub(crate) fn around(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        let root = folder.ancestors().find(|f| f.join(PROJECT_FOLDER).is_dir() || f.join(".git").exists())?;
        Some(Self { root: root.to_owned(), file: root.join(PROJECT_FOLDER).join("config.toml") })
    }
}
