//! What a sandbox is like, as a file says it.

use std::path::PathBuf;

use junto_env::{Access, Network, ResourceLimits, Sandbox};
use serde::Deserialize;

/// Reads what a sandbox is like: a JSON object, each of whose fields may be absent. The host reads the file.
///
/// | field | what it says | absent |
/// |---|---|---|
/// | `network` | whom commands reach: `false`, `true`, or a list of hosts | `false` |
/// | `writable` | directories that are changed beside the working directory | none |
/// | `hidden` | files and directories that are not read, beside known secrets | none |
/// | `max_processes`, `max_memory`, `max_file` | how many processes, how many bytes of memory and of each file | no limit |
///
/// ```
/// let sandbox = junto::code_action::sandbox_config(r#"{"network": ["pypi.org"], "hidden": ["~/notes"]}"#)?;
/// assert_eq!(sandbox.hidden, [std::path::PathBuf::from("~/notes")]);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// What is wrong, and where, for whoever wrote it.
pub fn sandbox_config(text: &str) -> Result<Sandbox, String> {
    let file: File = serde_json::from_str(text).map_err(|error| format!("the sandbox's file: {error}"))?;
    Ok(Sandbox {
        access: Access::Workspace,
        network: match file.network {
            Reaches::All(false) => Network::Off,
            Reaches::All(true) => Network::On,
            Reaches::Hosts(hosts) if hosts.is_empty() => Network::Off,
            Reaches::Hosts(hosts) => Network::Hosts(hosts),
        },
        writable: file.writable,
        hidden: file.hidden,
        limits: ResourceLimits {
            processes: file.max_processes,
            memory: file.max_memory,
            file_size: file.max_file,
        },
        ..Sandbox::default()
    })
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    network: Reaches,
    writable: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    max_processes: Option<u64>,
    max_memory: Option<u64>,
    max_file: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "true, false, or a list of hosts")]
enum Reaches {
    All(bool),
    Hosts(Vec<String>),
}

impl Default for Reaches {
    fn default() -> Self {
        Self::All(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says() {
        let network = |text: &str| sandbox_config(text).map(|sandbox| sandbox.network);
        assert_eq!(sandbox_config("{}"), Ok(Sandbox::workspace()));
        assert_eq!(network(r#"{"network": true}"#), Ok(Network::On));
        assert_eq!(network(r#"{"network": []}"#), Ok(Network::Off));
        assert_eq!(network(r#"{"network": ["a.org"]}"#), Ok(Network::Hosts(vec!["a.org".to_owned()])));
        let limits = sandbox_config(r#"{"max_memory": 5}"#).map(|sandbox| sandbox.limits.memory);
        assert_eq!(limits, Ok(Some(5)));
    }

    #[test]
    fn what_is_wrong_in_a_file_is_said() {
        for (text, said) in [
            ("", "line 1"),
            (r#"{"netwrok": true}"#, "netwrok"),
            (r#"{"network": "all"}"#, "a list of hosts"),
            (r#"{"max_memory": -1}"#, "max_memory"),
        ] {
            let error = sandbox_config(text).unwrap_err();
            assert!(error.contains(said) || said == "max_memory" && error.contains("-1"), "{text}: {error}");
        }
    }
}
