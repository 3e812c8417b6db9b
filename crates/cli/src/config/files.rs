//! Where configuration files are, and which of them count.

use std::path::{Path, PathBuf};

use junto::env::sandbox::is_stand_in;

use crate::environment::Environment;

/// The folder of a project's own configuration.
const PROJECT_FOLDER: &str = ".junto";

/// The variable by which frites is told of a file of its user's.
const FRITES: &str = "FRITES_GLOBAL_CONFIG";

/// The variables that name the user's file; the first that is set counts.
const VARIABLES: [&str; 3] = ["JUNTO_CONFIG", "JUNTO_GLOBAL_CONFIG", FRITES];

/// The files considered, in the order in which they count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Files {
    /// The user's file.
    pub(crate) user: Option<PathBuf>,
    /// The variable that named the user's file, if one did, so that it must exist.
    pub(crate) user_named_by: Option<&'static str>,
    /// A file that a variable names and that is frites' own.
    pub(crate) foreign: Option<PathBuf>,
    /// The list of trusted projects. No variable moves it: a project that can place a
    /// file beside the one named there must not be able to trust itself.
    pub(crate) trust: Option<PathBuf>,
    /// The folder of the user's configuration, whatever variable names the file. It holds skills, commands and
    /// hooks, too.
    pub(crate) folder: Option<PathBuf>,
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
        let at = |name| environment.path(name).map(|path| environment.directory().join(path));
        let named = VARIABLES.iter().find_map(|name| Some((*name, at(name)?)));
        let (foreign, named) = match named {
            Some((FRITES, path)) if path.extension().is_some_and(|end| end == "json") => (Some(path), None),
            named => (None, named),
        };
        Self {
            user_named_by: named.as_ref().map(|(name, _)| *name),
            user: named
                .map(|(_, path)| path)
                .or_else(|| folder.as_ref().map(|folder| folder.join("config.toml"))),
            foreign,
            trust: folder.as_ref().map(|folder| folder.join("trusted.toml")),
            folder,
            project: Project::around(environment.directory()),
        }
    }

    /// What is the user's own, wherever variables have put it. A file in the folder is not named by itself: whoever
    /// works in the folder has chosen it. Nor is what is no file, `/dev/null` for instance.
    pub(crate) fn own(&self) -> Vec<PathBuf> {
        let in_folder = |file: &Path| self.folder.as_deref().is_some_and(|folder| file.starts_with(folder));
        let named = [&self.user, &self.foreign].into_iter().flatten();
        let named = named.filter(|file| !in_folder(file) && file.is_file());
        self.folder.iter().chain(named).cloned().collect()
    }
}

impl Project {
    /// The project around a folder.
    pub(crate) fn around(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        // Above folders for temporary files, commands of others may have something stand there.
        let is_real = |path: &PathBuf| path.exists() && !is_stand_in(path);
        let is_one = |f: &&Path| [PROJECT_FOLDER, ".git"].iter().any(|name| is_real(&f.join(name)));
        let root = folder.ancestors().find(is_one)?;
        Some(Self { root: root.to_owned(), file: root.join(PROJECT_FOLDER).join("config.toml") })
    }
}
