//! A file that describes a sandbox, in the words of `junto sandbox`.

use std::path::{Path, PathBuf};

use junto::env::{Network, ResourceLimits, Sandbox};
use serde::Deserialize;

use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{code, config};

const MIB: u64 = 1 << 20;

/// What the file may say. Everything is beside what flags and configuration say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    /// The hosts that are reached; `*` is all of them.
    network: Vec<String>,
    /// Folders that may be changed, too.
    writable: Vec<PathBuf>,
    /// What is not read.
    hide: Vec<PathBuf>,
    max_processes: Option<u64>,
    /// In MiB.
    max_memory: Option<u64>,
    /// In MiB.
    #[serde(rename = "max_file")]
    max_size: Option<u64>,
}

/// The sandbox, with what the file says that the configuration names.
///
/// # Errors
/// If there is no such file, or it has another form.
pub(crate) fn described(
    sandbox: Sandbox,
    config: &Config,
    environment: &Environment,
) -> Result<Sandbox, Failure> {
    let Some(path) = code::path("policy.sandbox_config", config, environment) else { return Ok(sandbox) };
    let text = config::read_file(&path).map_err(|problem| config::problems_failure(&[problem]))?;
    let text = text.ok_or_else(|| fault(&path, "there is no such file"))?;
    let file: File = toml::from_str(&text).map_err(|error| fault(&path, error.message()))?;
    Ok(file.over(sandbox, path.parent().unwrap_or(Path::new("/"))))
}

impl File {
    /// Paths are meant from the folder of the file; of those that are hidden, `~` is the home.
    fn over(self, mut sandbox: Sandbox, folder: &Path) -> Sandbox {
        if self.network.iter().any(|host| host == "*") {
            sandbox.network = Network::On;
        } else if !self.network.is_empty() && sandbox.network != Network::On {
            let known = match sandbox.network {
                Network::Hosts(hosts) => hosts,
                Network::Off | Network::On => Vec::new(),
            };
            sandbox.network = Network::Hosts(known.into_iter().chain(self.network).collect());
        }
        sandbox.writable.extend(self.writable.into_iter().map(|path| folder.join(path)));
        let is_home = |path: &Path| path.starts_with("~");
        let hidden = self.hide.into_iter().map(|path| if is_home(&path) { path } else { folder.join(path) });
        sandbox.hidden.extend(hidden);
        let bytes = |size: Option<u64>| size.map(|size| size.saturating_mul(MIB));
        let ResourceLimits { processes, memory, file_size } = sandbox.limits;
        sandbox.limits = ResourceLimits {
            processes: self.max_processes.or(processes),
            memory: bytes(self.max_memory).or(memory),
            file_size: bytes(self.max_size).or(file_size),
        };
        sandbox
    }
}

fn fault(path: &Path, why: &str) -> Failure {
    Failure::usage(
        format!("{}: {why}", path.display()),
        "it may have network, writable, hide (lists) and max_processes, max_memory, max_file (numbers)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_adds_to_what_is_known() {
        let text = "network = [\"pypi.org\"]\nwritable = [\"../out\"]\nhide = [\"~/notes\", \"plan.md\"]\nmax_memory = 2\n";
        let file: File = toml::from_str(text).unwrap();
        let before = Sandbox { network: Network::Hosts(vec!["a.org".to_owned()]), ..Sandbox::default() };
        let sandbox = file.over(before, Path::new("/p"));
        assert_eq!(sandbox.network, Network::Hosts(vec!["a.org".to_owned(), "pypi.org".to_owned()]));
        assert_eq!(sandbox.writable, [PathBuf::from("/p/../out")]);
        assert_eq!(sandbox.hidden, [PathBuf::from("~/notes"), PathBuf::from("/p/plan.md")]);
        assert_eq!(sandbox.limits.memory, Some(2 * MIB));
        let all: File = toml::from_str("network = [\"*\"]").unwrap();
        assert_eq!(all.over(Sandbox::default(), Path::new("/p")).network, Network::On);
        assert!(toml::from_str::<File>("netwrok = []").is_err());
    }
}
