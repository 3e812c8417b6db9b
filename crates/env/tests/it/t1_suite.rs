//! Every environment keeps the promises of the trait: ours, and one that is not.

use std::sync::Arc;

use junto_env::wrappers::{Layer, Logging, Scoped};
use junto_env::{ExecutionEnvironment, LocalEnvironment};

use crate::memory::Memory;
use crate::support::HANG;

/// This machine, in a directory that goes with it. Nothing it started lives on.
struct Local {
    env: LocalEnvironment,
    _dir: tempfile::TempDir,
}

impl Local {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
        Self { env: LocalEnvironment::builder(dir.path()).variables(path).build().unwrap(), _dir: dir }
    }
}

impl Layer for Local {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.env
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        assert_eq!(junto_env::survivors::after(&self.env, HANG), []);
    }
}

mod local {
    junto_env::env_suite!(async || super::Local::new());
}

mod shared {
    use super::*;
    junto_env::env_suite!(async || Arc::new(Local::new()) as Arc<dyn ExecutionEnvironment>);
}

mod logging {
    use super::*;
    junto_env::env_suite!(async || Logging::tracing(Local::new()));
}

mod scoped {
    use super::*;
    junto_env::env_suite!(async || {
        let local = Local::new();
        std::fs::create_dir(local.env.facts().cwd.as_path().join("scope")).unwrap();
        Scoped::new(local, "scope").await.unwrap()
    });
}

mod memory {
    use super::*;
    junto_env::env_suite!(async || Memory::new(), no_commands);
}

mod scoped_memory {
    use super::*;
    junto_env::env_suite!(async || Scoped::new(Memory::new(), ".").await.unwrap(), no_commands);
}
