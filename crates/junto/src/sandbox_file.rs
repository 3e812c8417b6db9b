//! A file that describes a sandbox, in the words of `junto sandbox`.

use std::path::{Path, PathBuf};

use junto_env::{Error, ErrorKind, Network, ResourceLimits, Sandbox};
use serde::Deserialize;

const MIB: u64 = 1 << 20;
/// What the file may say, for whoever wrote something else.
const WORDS: &str =
    "it may have network, writable, hide (lists) and max_processes, max_memory, max_file (numbers)";

/// What the file may say. Everything is beside what is known already.
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

/// A sandbox, with what a file says beside it (TOML):
///
/// ```toml
/// network = ["pypi.org"]     # or "*"
/// writable = ["../results"]
/// hide = ["~/notes"]
/// max_processes = 200
/// max_memory = 4096          # MiB, of each process
/// max_file = 1024            # MiB
/// ```
///
/// Paths are meant from the folder of the file; of those that are hidden, `~` is the home. Whether they are there is
/// not looked at: see [`Sandbox::check_named`].
///
/// # Errors
/// If there is no such file; `Invalid` if it has another form, with what it may have.
pub fn sandbox_from_file(path: &Path, over: Sandbox) -> Result<Sandbox, Error> {
    // So that its folder is one, whatever the path.
    let path = std::path::absolute(path).map_err(|error| Error::io(path.display(), error))?;
    let text = std::fs::read_to_string(&path).map_err(|error| Error::io(path.display(), error))?;
    let file: File = toml::from_str(&text).map_err(|error| {
        Error::new(ErrorKind::Invalid, path.display(), format!("{}; {WORDS}", error.message()))
    })?;
    Ok(file.over(over, path.parent().unwrap_or(Path::new("/"))))
}

impl File {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_adds_to_what_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("box.toml");
        let read = |text: &str, over: Sandbox| {
            std::fs::write(&path, text).unwrap();
            sandbox_from_file(&path, over)
        };
        let text = "network = [\"pypi.org\"]\nwritable = [\"../out\"]\nhide = [\"~/notes\", \"plan.md\"]\nmax_memory = 2\n";
        let before = Sandbox { network: Network::Hosts(vec!["a.org".to_owned()]), ..Sandbox::default() };
        let sandbox = read(text, before).unwrap();
        assert_eq!(sandbox.network, Network::Hosts(vec!["a.org".to_owned(), "pypi.org".to_owned()]));
        assert_eq!(sandbox.writable, [dir.path().join("../out")]);
        assert_eq!(sandbox.hidden, [PathBuf::from("~/notes"), dir.path().join("plan.md")]);
        assert_eq!(sandbox.limits.memory, Some(2 * MIB));
        assert_eq!(read("network = [\"*\"]", Sandbox::default()).unwrap().network, Network::On);
        let wrong = read("netwrok = []", Sandbox::default()).unwrap_err();
        assert_eq!(wrong.kind(), ErrorKind::Invalid);
        assert!(wrong.to_string().contains("netwrok") && wrong.to_string().contains("max_file"), "{wrong}");
        let absent = sandbox_from_file(&dir.path().join("none"), Sandbox::default()).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound);
    }
}
