//! The one place where the process's environment is read.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The environment variables and the working directory, read once at the start and then passed as
/// a value. It holds keys, so it has no `Debug`.
pub(crate) struct Environment {
    variables: BTreeMap<OsString, OsString>,
    directory: PathBuf,
}

impl Environment {
    /// The environment of this process.
    #[expect(clippy::disallowed_methods, reason = "this is the place that reads the environment")]
    pub(crate) fn of_process() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        }
    }

    /// An environment of these variables.
    #[cfg(test)]
    pub(crate) fn of(directory: &Path, variables: &[(&str, &str)]) -> Self {
        Self {
            variables: variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            directory: directory.to_owned(),
        }
    }

    /// The same environment in another working directory.
    pub(crate) fn in_directory(&self, directory: &Path) -> Self {
        Self { variables: self.variables.clone(), directory: directory.to_owned() }
    }

    /// A variable's text. An empty variable counts as absent, and so does one that is not UTF-8.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.raw(name)?.to_str()
    }

    /// A variable that holds a path.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.raw(name).map(PathBuf::from)
    }

    /// The names of all variables that are set and start so.
    pub(crate) fn names_from<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.variables.keys().filter_map(|name| name.to_str()).filter(move |name| name.starts_with(prefix))
    }

    /// All variables, for the environments of agents, which choose among them.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The time.
    #[expect(clippy::disallowed_methods, reason = "the binary is where the world's clock comes in")]
    pub(crate) fn now() -> jiff::Timestamp {
        jiff::Timestamp::now()
    }

    /// Whether a program of this name is in the PATH.
    pub(crate) fn has_program(&self, name: &str) -> bool {
        let folders = self.raw("PATH").unwrap_or_default();
        std::env::split_paths(folders).any(|folder| {
            let found = std::fs::metadata(self.directory.join(folder).join(name));
            found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
    }

    /// Whether this is root's process.
    pub(crate) fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }

    /// The working directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn raw(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }
}
