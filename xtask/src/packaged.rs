//! Programs of the distribution that the tests use: the one that is installed; else its package, with what that
//! needs and the system lacks, unpacked in the cache folder and not installed.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::cache::{self, Cache};
use crate::command;

/// Starts a program with the libraries that were unpacked beside it.
const STARTER: &str = r#"#!/bin/sh
here=$(dirname "$0")
for libraries in "$here"/usr/lib/*-linux-gnu; do
    LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
done
export LD_LIBRARY_PATH
exec "$here/usr/bin/PROGRAM" "$@"
"#;

/// A program and the package that has it.
#[derive(Clone, Copy)]
pub(crate) struct Packaged {
    pub(crate) program: &'static str,
    pub(crate) package: &'static str,
}

/// Makes sandboxes.
pub(crate) const BWRAP: Packaged = Packaged { program: "bwrap", package: "bubblewrap" };
/// Shows programs that want a terminal.
pub(crate) const TMUX: Packaged = Packaged { program: "tmux", package: "tmux" };

impl Packaged {
    /// Where it is. The distribution's own version: it fits the libraries.
    pub(crate) fn ensure(self, cache: &Cache) -> Outcome<PathBuf> {
        let Self { program, package } = self;
        if let Some(found) = on_path(program) {
            return Ok(found);
        }
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let dir = cache.ensure(package, &cache::key(&[&release]), |dir| {
            eprintln!("setup: fetching {package}");
            self.unpack(dir).map_err(|e| {
                format!("{e}\nhint: the tests need the program `{program}`; install the package {package}")
            })
        })?;
        let starter = dir.join(program);
        Ok(if starter.exists() { starter } else { dir.join("usr/bin").join(program) })
    }

    fn unpack(self, dir: &Path) -> Outcome {
        let packages = self.fetch(dir)?;
        for package in &packages {
            command::run(Command::new("dpkg").arg("--extract").arg(package).arg(dir))?;
        }
        if packages.len() < 2 {
            return Ok(());
        }
        let starter = dir.join(self.program);
        fs::write(&starter, STARTER.replace("PROGRAM", self.program))
            .and_then(|()| fs::set_permissions(&starter, fs::Permissions::from_mode(0o755)))
            .map_err(|e| format!("cannot write {}: {e}", starter.display()))
    }

    /// Puts the package, and those that it needs and the system lacks, into a folder. A fresh system has no lists
    /// of packages; then they are read into the folder, and the system's own stay as they are.
    fn fetch(self, dir: &Path) -> Outcome<Vec<PathBuf>> {
        let (archives, lists) = (dir.join("archives"), dir.join("lists"));
        for folder in [&archives, &lists] {
            let partial = folder.join("partial");
            fs::create_dir_all(&partial).map_err(|e| format!("cannot make {}: {e}", partial.display()))?;
        }
        // Nothing of the system's is written, so nothing of it need be locked.
        let apt = |own_lists: bool, args: &[&str]| {
            let mut apt = Command::new("apt-get");
            apt.args(["--quiet", "--yes", "-o", "Debug::NoLocking=true"]);
            apt.arg("-o").arg(format!("Dir::Cache::archives={}", archives.display()));
            if own_lists {
                apt.arg("-o").arg(format!("Dir::State::Lists={}", lists.display()));
            }
            command::run(apt.args(args))
        };
        let install = ["install", "--download-only", "--reinstall", "--no-install-recommends", self.package];
        if apt(false, &install).is_err() {
            apt(true, &["update"])?;
            apt(true, &install)?;
        }
        // They are large, and only for this.
        let _ = fs::remove_dir_all(&lists);
        let entries =
            fs::read_dir(&archives).map_err(|e| format!("cannot read {}: {e}", archives.display()))?;
        let packages: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension() == Some("deb".as_ref()))
            .collect();
        if packages.is_empty() { Err("apt-get left no package".to_owned()) } else { Ok(packages) }
    }
}

/// Where on the search path a program is.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}
