//! What the tests need beside a compiler: made once, pinned, and kept in the cache folder.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::cache::{self, Cache};
use crate::clis::Clis;
use crate::command::{self, capture, cargo, said};
use crate::packaged;

/// The whole Python environment, pinned.
const PYTHON_LOCK: &str = include_str!("../requirements.lock");
/// What the binary makes for itself where code runs; made here once, so that tests need no network.
const KERNEL_LOCK: &str = include_str!("../../crates/kernel/python/requirements.lock");
/// What code actions are measured beside. Made by the benchmark: no test needs it.
const IPYBOX_LOCK: &str = include_str!("../../tests/peers/ipybox/requirements.lock");
/// The oldest Python that the pinned packages run on.
const PYTHON_MIN: (u32, u32) = (3, 11);
/// Installed unless the one that is there is this one; so are the next two.
const NEXTEST: &str = "0.9.143";
const CARGO_FUZZ: &str = "0.13.1";
const CARGO_MUTANTS: &str = "27.1.0";
/// The peer of grep and glob. Always this one, whatever is installed: its answers are compared.
const RIPGREP: &str = "15.2.0";

/// A system program that the tests use, and why; a missing one is named, and is an error only if
/// nothing works without it.
struct Program {
    name: &'static str,
    why: &'static str,
    required: bool,
}

const PROGRAMS: &[Program] = &[Program {
    name: "unshare",
    why: "to run the tests without network (Debian: util-linux)",
    required: false,
}];

/// Where things are.
pub(crate) struct Tools {
    /// Python with the pinned packages.
    pub(crate) python: PathBuf,
    /// Python with what a kernel needs, and nothing else.
    pub(crate) kernel: PathBuf,
    /// The `rg` that our searches are compared with.
    pub(crate) ripgrep: PathBuf,
    /// The `bwrap` that sandboxes are made with.
    pub(crate) bwrap: PathBuf,
    /// The `tmux` that shows clients with a screen.
    pub(crate) tmux: PathBuf,
    /// The command-line agents of others.
    pub(crate) clis: Clis,
    /// The search path with the installed cargo commands.
    path: OsString,
}

impl Tools {
    /// Cargo that finds the commands that were installed here.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = cargo();
        command.env("PATH", &self.path);
        command
    }
}

/// Makes what is missing and returns where it is.
pub(crate) fn ensure() -> Outcome<Tools> {
    let cache = Cache::open()?;
    for program in PROGRAMS.iter().filter(|p| packaged::on_path(p.name).is_none()) {
        let message = format!("the program `{}` is missing; it is used {}", program.name, program.why);
        if program.required {
            return Err(message);
        }
        eprintln!("setup: {message}");
    }
    let python = python_in(&cache)?;
    let kernel = kernel_in(&cache)?;
    let ripgrep = ripgrep_in(&cache)?;
    let bwrap = packaged::BWRAP.ensure(&cache)?;
    let tmux = packaged::TMUX.ensure(&cache)?;
    let clis = Clis::ensure(&cache)?;
    let path = cargo_command(&cache, "nextest", NEXTEST)?;
    Ok(Tools { python, kernel, ripgrep, bwrap, tmux, clis, path })
}

/// Cargo that finds the pinned `cargo nextest`, for tests that need nothing else.
pub(crate) fn cargo_nextest() -> Outcome<Command> {
    let mut command = cargo();
    command.env("PATH", cargo_command(&Cache::open()?, "nextest", NEXTEST)?);
    Ok(command)
}

/// The search path on which `cargo fuzz` is found.
pub(crate) fn cargo_fuzz() -> Outcome<OsString> {
    cargo_command(&Cache::open()?, "fuzz", CARGO_FUZZ)
}

/// The search path on which `cargo mutants` and `cargo nextest` are found.
pub(crate) fn cargo_mutants() -> Outcome<OsString> {
    let cache = Cache::open()?;
    let nextest = cargo_command(&cache, "nextest", NEXTEST)?;
    let mutants = cargo_command(&cache, "mutants", CARGO_MUTANTS)?;
    let dirs = env::split_paths(&mutants).chain(env::split_paths(&nextest));
    env::join_paths(dirs).map_err(|e| format!("cannot extend the search path: {e}"))
}

/// Where the pinned `rg` is.
pub(crate) fn ripgrep() -> Outcome<PathBuf> {
    ripgrep_in(&Cache::open()?)
}

fn ripgrep_in(cache: &Cache) -> Outcome<PathBuf> {
    let dir = cache.ensure("ripgrep", RIPGREP, |dir| {
        eprintln!("setup: installing ripgrep {RIPGREP}");
        // Built as its own releases are, so that a comparison of speed is fair.
        let args = ["install", "ripgrep", "--locked", "--profile", "release-lto", "--version", RIPGREP];
        command::run(cargo().args(args).arg("--root").arg(dir))
    })?;
    Ok(dir.join("bin/rg"))
}

/// Where a `bwrap` is.
pub(crate) fn bwrap() -> Outcome<PathBuf> {
    packaged::BWRAP.ensure(&Cache::open()?)
}

/// The search path with the directory of this program in front.
pub(crate) fn beside(program: &Path) -> Outcome<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = program.parent().map(Path::to_path_buf).into_iter().chain(env::split_paths(&path));
    env::join_paths(dirs).map_err(|e| format!("cannot extend the search path: {e}"))
}

/// Where Python with the pinned packages is.
pub(crate) fn python() -> Outcome<PathBuf> {
    python_in(&Cache::open()?)
}

fn python_in(cache: &Cache) -> Outcome<PathBuf> {
    venv(cache, "python", "xtask/requirements.lock", PYTHON_LOCK, "about 1 GB")
}

/// Where Python with what a kernel needs is.
pub(crate) fn kernel() -> Outcome<PathBuf> {
    kernel_in(&Cache::open()?)
}

/// Where Python with ipybox is.
pub(crate) fn ipybox() -> Outcome<PathBuf> {
    venv(&Cache::open()?, "ipybox", "tests/peers/ipybox/requirements.lock", IPYBOX_LOCK, "about 300 MB")
}

fn kernel_in(cache: &Cache) -> Outcome<PathBuf> {
    venv(cache, "kernel", "crates/kernel/python/requirements.lock", KERNEL_LOCK, "about 120 MB")
}

/// A Python environment with the packages of a list.
fn venv(cache: &Cache, name: &str, list: &str, pinned: &str, size: &str) -> Outcome<PathBuf> {
    let about = "import platform, sys; print(*sys.version_info[:3], platform.platform(), sys.prefix)";
    let about = capture(Command::new("python3").args(["-c", about]))
        .map_err(|e| format!("{e}\nhint: the tests need Python 3 with its venv module"))?;
    let mut version = about.split_whitespace().map_while(|word| word.parse::<u32>().ok());
    let version = (version.next().unwrap_or(0), version.next().unwrap_or(0));
    if version < PYTHON_MIN {
        let (major, minor) = PYTHON_MIN;
        return Err(format!("python3 is {}.{}, the tests need {major}.{minor}", version.0, version.1));
    }
    let venv = cache.ensure(name, &cache::key(&[pinned, &about]), |dir| {
        eprintln!("setup: making the Python environment `{name}` ({size}, once)");
        command::run(Command::new("python3").args(["-m", "venv"]).arg(dir))
            .map_err(|e| format!("{e}\nhint: Debian has the venv module in python3-venv"))?;
        // No resolving and no building: the list is complete, and every package has a wheel.
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"];
        command::run(
            Command::new(dir.join("bin/python"))
                .args(pip)
                .args(["--no-deps", "--no-compile", "--only-binary", ":all:", "--requirement"])
                .arg(command::root().join(list)),
        )?;
        settle(dir)
    })?;
    Ok(venv.join("bin/python"))
}

/// Has the scripts of an environment name the interpreter where it will be: it is made in a folder that is renamed.
fn settle(partial: &Path) -> Outcome {
    let cannot = |e: std::io::Error| format!("cannot settle the scripts of {}: {e}", partial.display());
    let ready = partial.with_extension("");
    let (from, to) = (format!("#!{}", partial.display()), format!("#!{}", ready.display()));
    for entry in fs::read_dir(partial.join("bin")).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        // What is no text is no script.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if let Some(rest) = text.strip_prefix(&from) {
            fs::write(&path, format!("{to}{rest}")).map_err(cannot)?;
        }
    }
    Ok(())
}

/// Finds or installs this version of a cargo command; returns the search path on which it is.
fn cargo_command(cache: &Cache, name: &str, version: &str) -> Outcome<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let package = format!("cargo-{name}");
    if said(cargo().args([name, "--version"])).is_some_and(|said| is_version(&said, &package, version)) {
        return Ok(path);
    }
    let dir = cache.ensure(&package, version, |dir| {
        eprintln!("setup: installing {package} {version}");
        command::run(cargo().args(["install", &package, "--locked", "--version", version, "--root"]).arg(dir))
    })?;
    beside(&dir.join("bin").join(&package))
}

/// Whether a program that was asked for its version says that it is this one.
fn is_version(said: &str, package: &str, version: &str) -> bool {
    let mut words = said.split_whitespace();
    words.next() == Some(package) && words.next() == Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pinned_version_is_taken() {
        let check = |said: &str, expected: bool| {
            assert_eq!(is_version(said, "cargo-nextest", "0.9.143"), expected, "{said:?}");
        };
        check("cargo-nextest 0.9.143 (60fa45f63 2026-08-04)\nrelease: 0.9.143\n", true);
        check("cargo-nextest 0.9.143\n", true);
        check("cargo-nextest 0.9.14\n", false);
        check("cargo-nextest 0.9.144 (0.9.143)\n", false);
        check("cargo 0.9.143\n", false);
        check("", false);
    }

    /// What is installed may be nothing, or another version.
    #[test]
    fn whoever_runs_nextest_takes_it_from_here() {
        for entry in std::fs::read_dir(command::root().join("xtask/src")).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            assert!(!text.contains("\"nextest\"") || text.contains("setup::"), "{}", path.display());
        }
    }
}
