//! Programs of others that npm has, which the tests drive: command-line agents, MCP servers and a client. Installed
//! pinned, and kept in the cache folder.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::cache::{self, Cache};
use crate::command::{self, capture};

/// Which command-line agents there are.
pub(crate) const PACKAGES: &str = include_str!("../../tests/peers/cli/package.json");

/// Packages that are installed together.
struct Set {
    /// What it is called in the cache.
    name: &'static str,
    /// What is said before it is fetched.
    about: &'static str,
    packages: &'static str,
    /// The packages and all that they need, by version and hash. It names no registry: the user's own is asked.
    lock: &'static str,
    programs: &'static [Cli],
}

const SETS: [Set; 2] = [
    Set {
        name: "clis",
        about: "claude, codex and gemini (about 900 MB, once)",
        packages: PACKAGES,
        lock: include_str!("../../tests/peers/cli/package-lock.json"),
        programs: &CLIS,
    },
    Set {
        name: "mcp",
        about: "MCP servers and the inspector's command line (about 180 MB, once)",
        packages: include_str!("../../tests/peers/mcp/package.json"),
        lock: include_str!("../../tests/peers/mcp/package-lock.json"),
        programs: &MCP,
    },
];

/// A program, and where its package has it.
struct Cli {
    /// The variable by which tests find it.
    variable: &'static str,
    /// A path below the packages, where `*` stands for one name: the platform is in it.
    program: &'static str,
}

/// The programs themselves, and not the scripts that npm puts before them: those of claude are linked by a
/// script of its installation, which is not run, and that of codex is a process more to look after.
const CLIS: [Cli; 3] = [
    Cli { variable: "JUNTO_PEER_CLAUDE", program: "@anthropic-ai/claude-code-*/claude" },
    Cli { variable: "JUNTO_PEER_CODEX", program: "@openai/codex-*/vendor/*/bin/codex" },
    Cli { variable: "JUNTO_PEER_GEMINI", program: "@google/gemini-cli/bundle/gemini.js" },
];

/// MCP servers that others wrote, and a client.
const MCP: [Cli; 3] = [
    Cli {
        variable: "JUNTO_PEER_MCP_EVERYTHING",
        program: "@modelcontextprotocol/server-everything/dist/index.js",
    },
    Cli {
        variable: "JUNTO_PEER_MCP_FILESYSTEM",
        program: "@modelcontextprotocol/server-filesystem/dist/index.js",
    },
    Cli { variable: "JUNTO_PEER_MCP_INSPECTOR", program: "@modelcontextprotocol/inspector/cli/build/cli.js" },
];

/// Where the programs are, by the variables of the tests.
#[derive(Clone, Debug)]
pub(crate) struct Clis(Vec<(&'static str, PathBuf)>);

impl Clis {
    /// Installs them if they are not there.
    pub(crate) fn ensure(cache: &Cache) -> Outcome<Self> {
        let mut found = Vec::new();
        for set in &SETS {
            let key = cache::key(&[set.packages, set.lock, OS, ARCH]);
            let modules = cache.ensure(set.name, &key, |folder| set.install(folder))?.join("node_modules");
            for cli in set.programs {
                let program = find(&modules, cli.program)
                    .ok_or_else(|| format!("{} has no {}", modules.display(), cli.program))?;
                found.push((cli.variable, program));
            }
        }
        Ok(Self(found))
    }

    /// The variables of the tests.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.0.iter().map(|(variable, program)| (*variable, program.as_path()))
    }
}

/// Where they are, for a benchmark.
pub(crate) fn ensure() -> Outcome<Clis> {
    Clis::ensure(&Cache::open()?)
}

impl Set {
    fn install(&self, folder: &Path) -> Outcome {
        let hint = |e| format!("{e}\nhint: the tests need Node 20 or newer with npm (Debian: nodejs, npm)");
        capture(Command::new("node").arg("--version")).map_err(hint)?;
        eprintln!("setup: installing {}", self.about);
        for (name, text) in [("package.json", self.packages), ("package-lock.json", self.lock)] {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        }
        // No scripts: nothing of a package runs before a test runs it.
        let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        command::run(Command::new("npm").args(arguments).current_dir(folder)).map_err(hint)
    }
}

/// The first path, in the order of names, that a pattern describes.
fn find(folder: &Path, pattern: &str) -> Option<PathBuf> {
    let Some((part, rest)) = pattern.split_once('/') else {
        return candidates(folder, pattern).into_iter().find(|path| path.is_file());
    };
    candidates(folder, part).iter().find_map(|path| find(path, rest))
}

/// What in a folder has a name with this beginning and end around the `*`, in order.
fn candidates(folder: &Path, part: &str) -> Vec<PathBuf> {
    let Some((start, end)) = part.split_once('*') else { return vec![folder.join(part)] };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let fits = |name: &str| name.starts_with(start) && name.ends_with(end);
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(fits))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn the_lock_is_of_these_packages_and_names_no_registry() {
        for set in &SETS {
            let (packages, lock): (Value, Value) =
                (serde_json::from_str(set.packages).unwrap(), serde_json::from_str(set.lock).unwrap());
            assert_eq!(lock["packages"][""]["dependencies"], packages["dependencies"]);
            for (name, version) in packages["dependencies"].as_object().unwrap() {
                let locked = &lock["packages"][format!("node_modules/{name}")];
                assert_eq!(&locked["version"], version, "{name}");
            }
            for (name, package) in
                lock["packages"].as_object().unwrap().iter().filter(|(name, _)| !name.is_empty())
            {
                assert!(package["integrity"].is_string(), "{name} has no hash");
            }
            assert!(!set.lock.contains("://") && !set.lock.contains("\"resolved\""), "{}", set.name);
        }
    }

    #[test]
    fn a_pattern_finds_the_program_of_this_platform() {
        let folder = std::env::temp_dir().join(format!("junto-clis-{}", std::process::id()));
        let program = folder.join("@openai/codex-linux-x64/vendor/x86_64/bin/codex");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::create_dir_all(folder.join("@openai/codex")).unwrap();
        fs::write(&program, "").unwrap();
        let found = find(&folder, "@openai/codex-*/vendor/*/bin/codex");
        let missing = find(&folder, "@anthropic-ai/claude-code-*/claude");
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((found, missing), (Some(program), None));
        let variables: BTreeSet<_> = CLIS.iter().chain(&MCP).map(|cli| cli.variable).collect();
        assert_eq!(variables.len(), CLIS.len() + MCP.len());
    }
}
