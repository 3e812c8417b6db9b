//! The kinds of agents that can be made.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use junto_agent::{Overflow, Profile, Reach, SessionConfig};
use junto_council::contest::{ContestSetup, Member, Runs};
use junto_env::ExecutionEnvironment;
use junto_llm::{Effort, Provider, Secret, Usd};
use junto_runner::sweep::Roster;
use junto_runner::{Definition, Endpoint, Home, Host, Patience};

/// Changes what a session is made of.
pub type Adjust = Arc<dyn Fn(SessionConfig) -> SessionConfig + Send + Sync>;

/// A kind of agent that a [`Workshop`](crate::Workshop) can make.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one for each kind, and not for each agent")]
pub enum Kind {
    /// Our own loop over any provider.
    Native(Native),
    /// A command-line agent.
    Cli(Box<Cli>),
    /// A council of agents of the other kinds.
    Contest(Box<Rivals>),
}

impl Kind {
    /// What a model is told that may start one.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Native(Native { model: Some(model), .. }) => {
                format!("has tools like yours; its model is {model} unless you name another")
            }
            Self::Native(_) => "has tools like yours".to_owned(),
            Self::Cli(cli) => format!(
                "the command-line agent {} with its own tools and rules; it takes messages only between \
                 two tasks",
                cli.definition.kind
            ),
            Self::Contest(rivals) => {
                let names: Vec<&str> = rivals.members.iter().map(|member| member.name.as_str()).collect();
                format!(
                    "a council of {}: each solves the task in a checkout of its own, and the tests decide. It needs \
                     a git repository, changes nothing here, and answers with a run whose winner's diff you can \
                     apply. For one task that is hard to get right; it takes long and costs much",
                    names.join(", ")
                )
            }
        }
    }
}

/// Our own loop over any provider: a client, a council, a command-line agent asked for answers.
#[derive(Clone)]
pub struct Native {
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// The provider to ask, where `provider` holds several.
    pub provider_name: Option<String>,
    /// The model to ask, unless the spec names one.
    pub model: Option<String>,
    /// How hard it shall think.
    pub effort: Option<Effort>,
    /// What the loop does for the family of the model: tools, prompt, options. Absent: the standard
    /// tools, and no prompt but `system`.
    pub profile: Option<Profile>,
    /// The system prompt, whole; empty: the profile's.
    pub system: String,
    /// What the user wants, over everything else: the last layer of the system prompt.
    pub instructions: Option<String>,
    /// What is done when a conversation gets too long for the model.
    pub on_overflow: Overflow,
    /// What it has beside its tools: skills, commands, hooks, files in inputs.
    pub reach: Reach,
    /// Sets what nothing else here sets, such as when a loop is noticed or how much of an output the model
    /// sees. It is asked last, for each session of this kind, also for children.
    pub adjust: Option<Adjust>,
}

impl Native {
    /// The loop over this provider, with its defaults.
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self {
            provider,
            provider_name: None,
            model: None,
            effort: None,
            profile: None,
            system: String::new(),
            instructions: None,
            on_overflow: Overflow::default(),
            reach: Reach::default(),
            adjust: None,
        }
    }

    /// The same, with sessions that are changed like this before they start:
    ///
    /// ```
    /// # use junto::agent::SessionConfig;
    /// # fn native(native: junto::Native) -> junto::Native {
    /// native.adjusted(|config| SessionConfig { stop_on_loop: true, max_children: 2, ..config })
    /// # }
    /// ```
    #[must_use]
    pub fn adjusted(
        mut self,
        adjust: impl Fn(SessionConfig) -> SessionConfig + Send + Sync + 'static,
    ) -> Self {
        self.adjust = Some(Arc::new(adjust));
        self
    }
}

/// Changes what a contest is made of.
pub type AdjustContest = Arc<dyn Fn(ContestSetup) -> ContestSetup + Send + Sync>;

/// A council of agents: its members are agents of the workshop's other kinds, each in a worktree.
#[derive(Clone)]
pub struct Rivals {
    /// Who works, in this order.
    pub members: Vec<Member>,
    /// Where runs are kept.
    pub runs: Runs,
    /// Sets everything else, such as how many candidates there are and who judges them.
    pub adjust: Option<AdjustContest>,
}

impl Rivals {
    /// A council of these, with the defaults of a contest.
    pub fn new(members: Vec<Member>, runs: Runs) -> Self {
        Self { members, runs, adjust: None }
    }

    /// The same, with contests that are changed like this before they start.
    #[must_use]
    pub fn adjusted(mut self, adjust: impl Fn(ContestSetup) -> ContestSetup + Send + Sync + 'static) -> Self {
        self.adjust = Some(Arc::new(adjust));
        self
    }
}

/// A command-line agent.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Cli {
    /// How it is run and read.
    pub definition: Definition,
    /// The variables of this process. The agent gets those of them that are written down for it; without `PATH` its
    /// program is not found by its name.
    pub variables: BTreeMap<String, Secret>,
    /// How long it is waited for.
    pub patience: Patience,
    /// Whether it gets the user's API keys; its sign-in it gets in any case.
    pub pass_keys: bool,
    /// Where it keeps its sessions and its login.
    pub home: Home,
    /// The server that it asks in the place of its vendor's.
    pub endpoint: Option<Endpoint>,
    /// The most that one run may spend, if it can be held to that; absent: as much as the budget lets it.
    pub max_usd: Option<Usd>,
    /// The model, unless the spec names one; absent: its own choice.
    pub model: Option<String>,
    /// How hard its model thinks; absent: as the definition says.
    pub effort: Option<Effort>,
    /// What it is told beside its own instructions.
    pub instructions: Option<String>,
    /// Directories that it works in beside its working directory.
    pub directories: Vec<PathBuf>,
    /// Whether it is told what the project's documents say that it does not read by itself.
    pub reads_documents: bool,
    /// Whether root runs it.
    pub is_root: bool,
    /// Whether it can be told more while it works, where it has a protocol for that.
    pub steerable: bool,
    /// The folder for the records of its runs; absent: none are kept.
    pub logs: Option<PathBuf>,
    /// Where its running processes are written down, so that a later host ends what this one could not.
    pub roster: Option<Arc<Roster>>,
}

impl Cli {
    /// A command-line agent by its definition, with no variables of its own.
    pub fn new(definition: Definition) -> Self {
        Self {
            definition,
            variables: BTreeMap::new(),
            patience: Patience::default(),
            pass_keys: false,
            home: Home::Own,
            endpoint: None,
            max_usd: Some(Usd::from_dollars(2.0)),
            model: None,
            effort: None,
            instructions: None,
            directories: Vec::new(),
            reads_documents: true,
            is_root: false,
            steerable: false,
            logs: None,
            roster: None,
        }
    }

    /// What it is run with in an environment, but for the directories and the project's documents.
    pub fn host(&self, env: Arc<dyn ExecutionEnvironment>) -> Host {
        Host {
            variables: self.variables.clone(),
            patience: self.patience,
            pass_keys: self.pass_keys,
            home: self.home.clone(),
            endpoint: self.endpoint.clone(),
            max_usd_per_child: self.max_usd,
            effort: self.effort.clone(),
            instructions: self.instructions.clone(),
            is_root: self.is_root,
            steerable: self.steerable,
            logs: self.logs.clone(),
            roster: self.roster.clone(),
            ..Host::new(env)
        }
    }
}
