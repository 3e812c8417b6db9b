//! What a host gives to every run of a command.

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, fs, io};

use junto_env::{ExecutionEnvironment, RealPath};
use junto_llm::catalog::Catalog;
use junto_llm::{CallId, Effort, Secret, Usd};

use crate::sweep::Roster;
use crate::{Definition, Detail, Endpoint, HomeRule, Invocation, Purpose, environment};

/// What one run may spend where nobody says otherwise.
const USUAL_SPENDING: Usd = Usd(2_000_000_000);

/// Where commands run, with what, and how long they are waited for.
#[derive(Clone)]
pub struct Host {
    /// Where processes run.
    pub env: Arc<dyn ExecutionEnvironment>,
    /// The variables of this process, for the boundary to choose from: a child gets what is written down for it
    /// and nothing else, also not what the environment gives to other commands. Without `PATH` no program is found
    /// by its name. The values of those that are secrets are kept out of everything that is shown, unless they are
    /// shorter than eight bytes and could be any word.
    pub variables: BTreeMap<String, Secret>,
    /// How long a silent or endless command is waited for.
    pub patience: Patience,
    /// How many command-line agents may be nested, each started by the one above: the fuse for one that starts us
    /// again. How many are above this process its variables say.
    pub max_depth: u8,
    /// Whether a child gets the user's API keys. Its sign-in it gets in any case.
    pub pass_keys: bool,
    /// Where a child keeps its sessions and its login.
    pub home: Home,
    /// The server that children ask in the place of their vendor's.
    pub endpoint: Option<Endpoint>,
    /// What a run shows with its requests; absent: a fresh one for each run.
    pub run_token: Option<Secret>,
    /// The most that one run may spend, if the command can be held to it.
    pub max_usd_per_child: Option<Usd>,
    /// What models cost, where a command does not tell it.
    pub catalog: Catalog,
    /// How hard models think; absent: as the definition says.
    pub effort: Option<Effort>,
    /// What a child is told beside its own instructions.
    pub instructions: Option<String>,
    /// Directories that a child works in beside its working directory.
    pub directories: Vec<RealPath>,
    /// Whether children are run by root.
    pub is_root: bool,
    /// Whether agents can be told more while they work, where their command has a protocol for it.
    pub steerable: bool,
    /// The folder for the records of runs: what each printed, without secrets, in a file that is named by the kind
    /// and by the `corr` of its events. Absent: nothing is recorded.
    pub logs: Option<PathBuf>,
    /// Where running children are written down, so that a later host ends those that this one could not.
    pub roster: Option<Arc<Roster>>,
}

/// Where a child keeps its sessions and its login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Home {
    /// Where it always does: its user is signed in there.
    #[default]
    Own,
    /// In this folder, apart from what its user does with it.
    Isolated(PathBuf),
}

impl HomeRule {
    /// Makes an isolated home ready: a folder that only its user may enter, and the files that are not there yet.
    ///
    /// # Errors
    /// If the folder or a file cannot be made.
    pub fn furnish(&self, folder: &Path) -> io::Result<()> {
        let mut private = fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        private.create(folder)?;
        for (path, text) in &self.files {
            let path = folder.join(path);
            if let Some(parent) = path.parent() {
                private.create(parent)?;
            }
            let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            match file {
                Ok(mut file) => io::Write::write_all(&mut file, text.as_bytes())?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Host {
    /// A host that gives no variables and waits as long as is usual.
    pub fn new(env: Arc<dyn ExecutionEnvironment>) -> Self {
        Self {
            env,
            variables: BTreeMap::new(),
            patience: Patience::default(),
            max_depth: 1,
            pass_keys: false,
            home: Home::Own,
            endpoint: None,
            run_token: None,
            max_usd_per_child: Some(USUAL_SPENDING),
            catalog: Catalog::builtin(),
            effort: None,
            instructions: None,
            directories: Vec::new(),
            is_root: false,
            steerable: false,
            logs: None,
            roster: None,
        }
    }

    /// Whether an agent of this command can be told more while it works.
    pub fn can_steer(&self, definition: &Definition) -> bool {
        self.steerable && definition.steer.protocol.is_some()
    }

    /// A run for this purpose, with what the host wants of every run.
    pub fn invocation(&self, purpose: Purpose, detail: Detail) -> Invocation<'_> {
        Invocation {
            detail,
            effort: self.effort.as_ref(),
            instructions: self.instructions.as_deref(),
            directories: &self.directories,
            endpoint: self.endpoint.as_ref(),
            is_root: self.is_root,
            ..Invocation::new(purpose)
        }
    }

    /// The most that a run of a command may spend: the least of what the host and a budget say, unless it is only
    /// the host that says it and the command cannot be held to it.
    pub fn most(&self, definition: &Definition, budget: Option<Usd>) -> Option<Usd> {
        let own = self.max_usd_per_child.filter(|_| !definition.options.max_usd.is_empty());
        budget.into_iter().chain(own).min()
    }

    /// How many command-line agents are above this process.
    pub fn depth(&self) -> u8 {
        environment::depth(&self.variables)
    }

    /// What the next run shows with its requests.
    pub(crate) fn token(&self) -> Secret {
        self.run_token.clone().unwrap_or_else(|| Secret::new(CallId::fresh().to_string()))
    }

    /// The values of those variables that are secrets by their names, and the key of the endpoint.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let secret = |name: &str| junto_env::variables::is_secret(name.as_ref());
        let secrets = self.variables.iter().filter(|(name, _)| secret(name)).map(|(_, value)| value);
        let key = self.endpoint.iter().filter_map(|endpoint| endpoint.key.as_ref());
        secrets.chain(key).filter(|secret| !secret.expose().is_empty()).cloned().collect()
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("variables", &self.variables)
            .field("patience", &self.patience)
            .field("max_depth", &self.max_depth)
            .field("pass_keys", &self.pass_keys)
            .field("home", &self.home)
            .field("endpoint", &self.endpoint)
            .field("max_usd_per_child", &self.max_usd_per_child)
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
        Self { idle: Duration::from_mins(10), hard: None, grace: Duration::from_secs(3) }
    }
}
