//! What a host gives to every run of a command.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use junto_env::ExecutionEnvironment;
use junto_llm::Secret;

/// Where commands run, with what, and how long they are waited for.
#[derive(Clone)]
pub struct Host {
    /// Where processes run.
    pub env: Arc<dyn ExecutionEnvironment>,
    /// Variables that a definition may pass on. Their values are kept out of everything that is
    /// shown.
    pub variables: BTreeMap<String, Secret>,
    /// How long a silent or endless command is waited for.
    pub patience: Patience,
    /// How many agents may be above a command: the fuse for one that starts us again.
    pub max_depth: u8,
}

impl Host {
    /// A host that gives no variables and waits as long as is usual.
    pub fn new(env: Arc<dyn ExecutionEnvironment>) -> Self {
        Self { env, variables: BTreeMap::new(), patience: Patience::default(), max_depth: 4 }
    }

    /// The values of those variables that are secrets by their names.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let secret = |name: &str| junto_env::variables::is_secret(name.as_ref());
        let secrets =
            self.variables.iter().filter(|(name, value)| secret(name) && !value.expose().is_empty());
        secrets.map(|(_, value)| value.clone()).collect()
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("variables", &self.variables)
            .field("patience", &self.patience)
            .field("max_depth", &self.max_depth)
            .finish_non_exhaustive()
    }
}

/// How long a command is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How long it may be silent. A tool of its own that takes long is silent all the while.
    pub idle: Duration,
    /// How long it may take altogether, however busy it is; absent: as long as it likes.
    pub hard: Option<Duration>,
    /// How long it has to end by itself once it was told to.
    pub grace: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { idle: Duration::from_mins(15), hard: None, grace: Duration::from_secs(3) }
    }
}
