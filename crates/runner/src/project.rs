//! What a project could make a command do.

use std::path::{Path, PathBuf};

use junto_llm::{Error, Secret};

use crate::{Definition, Home, Host};

/// Refuses to run a command where it would obey a file of the project. Those in the user's home and above are the
/// user's own.
///
/// # Errors
/// `configuration`, with the file.
pub(crate) fn check(definition: &Definition, host: &Host, cwd: &Path) -> Result<(), Error> {
    let rule = &definition.project;
    let with_own_home: &[PathBuf] = match host.home {
        Home::Own => &rule.obeyed_with_own_home,
        Home::Isolated(_) => &[],
    };
    let home = host.variables.get("HOME").map(|home| Path::new(Secret::expose(home)));
    let folders = cwd.ancestors().take_while(|folder| Some(*folder) != home);
    for folder in folders {
        let files = rule.obeyed.iter().chain(with_own_home).map(|file| folder.join(file));
        if let Some(file) = files.into_iter().find(|file| file.symlink_metadata().is_ok()) {
            let kind = &definition.kind;
            let message = format!(
                "{kind} would take its variables from {}, which it cannot be kept from",
                file.display()
            );
            let hint = match host.home {
                Home::Own => format!("remove the file, or try `home = \"isolated\"` in [runners.{kind}]"),
                Home::Isolated(_) => "remove the file, or run another agent here".to_owned(),
            };
            return Err(Error::configuration(message).with_hint(hint));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use junto_env::LocalEnvironment;

    use super::*;

    #[test]
    fn a_command_is_not_run_where_it_would_obey_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let at = |below: &str| folder.path().join(below);
        fs::create_dir_all(at("home/project/sub/.gemini")).unwrap();
        fs::write(at("home/.env"), "MINE=1").unwrap();
        let mut host = Host::new(Arc::new(LocalEnvironment::new(folder.path()).unwrap()));
        host.variables.insert("HOME".to_owned(), Secret::new(at("home").to_string_lossy()));
        let isolated = Host { home: Home::Isolated(at("own")), ..host.clone() };
        let refused = |kind: &str, host: &Host| {
            check(&Definition::shipped(kind).unwrap(), host, &at("home/project/sub")).err()
        };
        assert!(refused("gemini", &host).is_none(), "what is in the home is the user's");

        fs::write(at("home/project/.env"), "LD_PRELOAD=./x.so").unwrap();
        assert!(refused("gemini", &host).is_some_and(|error| error.to_string().contains("project/.env")));
        assert!(refused("gemini", &isolated).is_none());
        fs::write(at("home/project/sub/.gemini/.env"), "LD_PRELOAD=./x.so").unwrap();
        assert!(refused("gemini", &isolated).is_some_and(|error| error.to_string().contains(".gemini/.env")));
        for kind in ["claude", "codex"] {
            assert!(refused(kind, &host).is_none(), "{kind}");
        }
    }
}
