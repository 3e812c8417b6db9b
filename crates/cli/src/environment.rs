//! The one place where the process's environment is read.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

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

    /// The time as its user tells it.
    pub(crate) fn here(&self) -> jiff::Zoned {
        Self::now().to_zoned(self.zone())
    }

    /// The zone of its user: what `TZ` says, else that of the machine, else UTC. Command-line agents, which get the
    /// same variable, print times in it.
    pub(crate) fn zone(&self) -> TimeZone {
        let read = |path: &Path| TimeZone::tzif("", &std::fs::read(path).ok()?).ok();
        let said = self.variables.get(OsStr::new("TZ")).and_then(|text| text.to_str());
        let zone = match said.map(|text| text.strip_prefix(':').unwrap_or(text)) {
            None => read(Path::new("/etc/localtime")),
            Some("") => None,
            Some(path) if path.starts_with('/') => read(Path::new(path)),
            Some(name) => TimeZone::get(name).or_else(|_| TimeZone::posix(name)).ok(),
        };
        zone.unwrap_or(TimeZone::UTC)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon in UTC, as it is told there.
    fn noon(zone: Option<&str>) -> String {
        let variables: Vec<_> = zone.map(|zone| ("TZ", zone)).into_iter().collect();
        let noon: jiff::Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        noon.to_zoned(Environment::of(Path::new("/"), &variables).zone()).time().to_string()
    }

    #[test]
    fn the_zone_is_the_users() {
        for (zone, told) in [
            ("UTC", "12:00:00"),
            ("Europe/Paris", "13:00:00"),
            (":America/Los_Angeles", "04:00:00"),
            ("JST-9", "21:00:00"),
            ("", "12:00:00"),
            ("Nowhere/At_All", "12:00:00"),
            ("/no/such/file", "12:00:00"),
        ] {
            assert_eq!(noon(Some(zone)), told, "{zone}");
        }
        // Whatever the machine's is, it is one.
        noon(None);
    }
}
