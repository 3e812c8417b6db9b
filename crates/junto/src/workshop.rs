//! Makes agents of every kind by name: the composition root.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto_agent::{Environments, Overflow, Past, Profile, Session, SessionConfig, ToolRegistry, tools};
use junto_core::{
    Agent, AgentError, AgentErrorKind, AgentKind, AgentSpec, Body, EventLog, Fut, Journal, OnReject, Open,
    Parent, Policy, ResumeHandle, Spawner, Workdir,
};
use junto_env::ExecutionEnvironment;
use junto_llm::catalog::Catalog;
use junto_llm::{Allowance, Budget, Effort, Provider, Secret, SessionId, Unlimited, retry};
use junto_runner::{CliAgent, Definition, Host, Patience};
use junto_store::{Snapshots, Store};
use tokio_util::sync::CancellationToken;

use crate::turns::Snapshotting;
use crate::{Kept, SnapshotPolicy};

/// Makes the environment for a working directory.
type MakeEnv = Arc<dyn Fn(&Path) -> Result<Arc<dyn ExecutionEnvironment>, junto_env::Error> + Send + Sync>;

/// Changes what a session is made of.
pub type Adjust = Arc<dyn Fn(SessionConfig) -> SessionConfig + Send + Sync>;

/// A kind of agent that a [`Workshop`] can make.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one for each kind, and not for each agent")]
pub enum Kind {
    /// Our own loop over any provider.
    Native(Native),
    /// A command-line agent.
    Cli(Box<Cli>),
}

impl Kind {
    /// What a model is told that may start one.
    fn description(&self) -> String {
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

/// A command-line agent.
#[derive(Clone)]
pub struct Cli {
    /// How it is run and read.
    pub definition: Definition,
    /// Variables that the definition may pass on.
    pub variables: BTreeMap<String, Secret>,
    /// How long it is waited for.
    pub patience: Patience,
}

impl Cli {
    /// A command-line agent by its definition, with no variables of its own.
    pub fn new(definition: Definition) -> Self {
        Self { definition, variables: BTreeMap::new(), patience: Patience::default() }
    }
}

/// Makes agents of every kind by name. Cheap to clone; clones are the same workshop.
///
/// It is the [`Spawner`] of every agent it makes, so any kind can be a child of any kind that can
/// have children.
#[derive(Clone)]
pub struct Workshop(Arc<Inner>);

struct Inner {
    kinds: BTreeMap<String, Kind>,
    make_env: MakeEnv,
    workdir: std::path::PathBuf,
    clock: junto_core::Clock,
    store: Option<Store>,
    snapshots: Option<SnapshotPolicy>,
    catalog: Catalog,
    policy: Arc<dyn Policy>,
    on_reject: OnReject,
    retry: retry::Policy,
    budget: Arc<dyn Budget>,
    turn_budget: Allowance,
    max_depth: u8,
}

impl Workshop {
    /// A workshop whose agents work in this directory unless their spec says otherwise. `make_env`
    /// makes the environment for a directory.
    pub fn builder(
        workdir: impl AsRef<Path>,
        make_env: impl Fn(&Path) -> Result<Arc<dyn ExecutionEnvironment>, junto_env::Error>
        + Send
        + Sync
        + 'static,
    ) -> WorkshopBuilder {
        WorkshopBuilder(Inner {
            kinds: BTreeMap::new(),
            make_env: Arc::new(make_env),
            workdir: workdir.as_ref().to_owned(),
            clock: Arc::new(now),
            store: None,
            snapshots: None,
            catalog: Catalog::builtin(),
            policy: Arc::new(Open),
            on_reject: OnReject::default(),
            retry: retry::Policy::default(),
            budget: Arc::new(Unlimited),
            turn_budget: Allowance::UNLIMITED,
            max_depth: 1,
        })
    }

    /// The kinds it can make.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.0.kinds.keys().map(String::as_str)
    }

    /// Starts an agent of its own: nobody's child. Its session is kept if the workshop has a store.
    ///
    /// # Errors
    /// As [`Spawner::spawn`]; `journal` if the store takes no session.
    pub async fn start(
        &self,
        spec: AgentSpec,
        cancel: CancellationToken,
    ) -> Result<Arc<dyn Agent>, AgentError> {
        self.spawn(spec, self.nobody(cancel)).await
    }

    /// Brings an agent back whose session was kept. What it was told, the model it asks and its limits are
    /// as they were, but for what [`Kept::past`] changes; everything else, such as the tools, the policy and
    /// the directory, is as the workshop and the spec say now.
    ///
    /// # Errors
    /// As [`Spawner::spawn`] and [`Session::resume`].
    pub async fn resume(
        &self,
        spec: AgentSpec,
        kept: Kept,
        cancel: CancellationToken,
    ) -> Result<Arc<dyn Agent>, AgentError> {
        let parent = self.nobody(cancel);
        let env = self.env(&spec.workdir, &parent)?;
        let (session, last) = (kept.session().clone(), kept.last());
        let (journal, past) = kept.into_parts();
        let journal = self.snapshotting(journal, &session, env);
        let log = EventLog::new(session, journal, last, Arc::clone(&self.0.clock));
        match self.kind(&spec.kind)? {
            Kind::Native(native) => {
                let config = self.config(native, &spec, &parent, log)?;
                Ok(Arc::new(Session::resume(config, past).await?) as Arc<dyn Agent>)
            }
            Kind::Cli(cli) => {
                let resume = spec.resume.clone().or_else(|| handle(&past, &cli.definition.kind));
                let (host, spec) = self.host(cli, AgentSpec { resume, ..spec }, &parent)?;
                let (log, usage, cost) = past.rejoin(&log).await?;
                let definition = cli.definition.clone();
                let agent = CliAgent::resume(definition, host, spec, parent, log, (usage, cost)).await?;
                Ok(Arc::new(agent) as Arc<dyn Agent>)
            }
        }
    }

    /// Starts a native session of its own, as what it is: with a tool host.
    ///
    /// # Errors
    /// As [`Spawner::spawn`]; `invalid` if the kind is not a native one.
    pub async fn start_session(
        &self,
        spec: AgentSpec,
        cancel: CancellationToken,
    ) -> Result<Session, AgentError> {
        let parent = self.nobody(cancel);
        match self.kind(&spec.kind)? {
            Kind::Native(native) => {
                let log = self.log(&spec, &parent)?;
                Session::start(self.config(native, &spec, &parent, log)?).await
            }
            Kind::Cli(_) => {
                Err(AgentError::new(AgentErrorKind::Invalid, format!("`{}` is not a native kind", spec.kind)))
            }
        }
    }

    /// The parent of agents that are nobody's children.
    fn nobody(&self, cancel: CancellationToken) -> Parent {
        Parent { log: None, env: None, depth: 0, cancel, budget: Arc::clone(&self.0.budget) }
    }

    fn kind(&self, name: &str) -> Result<&Kind, AgentError> {
        self.0.kinds.get(name).ok_or_else(|| {
            let known = self.kinds().collect::<Vec<_>>().join(", ");
            AgentError::new(AgentErrorKind::Invalid, format!("there is no kind of agent named `{name}`"))
                .with_hint(format!("known kinds: {known}"))
        })
    }

    /// Where an agent works: where its parent says, else where its spec does.
    fn env(&self, workdir: &Workdir, parent: &Parent) -> Result<Arc<dyn ExecutionEnvironment>, AgentError> {
        if let Some(env) = &parent.env {
            return Ok(Arc::clone(env));
        }
        let path = match workdir {
            Workdir::Shared => self.0.workdir.clone(),
            Workdir::Path(path) => self.0.workdir.join(path),
        };
        (self.0.make_env)(&path).map_err(|e| AgentError::new(AgentErrorKind::Invalid, e.to_string()))
    }

    /// Where an agent's events go: to its parent's log, else to a session of its own.
    fn log(&self, spec: &AgentSpec, parent: &Parent) -> Result<EventLog, AgentError> {
        let clock = Arc::clone(&self.0.clock);
        match (&parent.log, &self.0.store) {
            (Some(log), _) => Ok(log.child()),
            (None, None) => Ok(EventLog::in_memory(clock)),
            (None, Some(store)) => {
                // First what may fail, so that no session is left that never began.
                let env = self.env(&spec.workdir, parent)?;
                let session = SessionId::fresh();
                let opened = store.create(&session).map_err(|error| not_kept(&error))?;
                let journal = self.snapshotting(opened.journal, &session, env);
                Ok(EventLog::new(session, journal, opened.last, clock))
            }
        }
    }

    /// The journal, with snapshots of the files if they are wanted.
    fn snapshotting(
        &self,
        journal: Arc<dyn Journal>,
        session: &SessionId,
        env: Arc<dyn ExecutionEnvironment>,
    ) -> Arc<dyn Journal> {
        match (&self.0.store, &self.0.snapshots) {
            (Some(store), Some(policy)) => {
                let snapshots = Snapshots::new(store.root(), env, session.clone(), policy.extent);
                Arc::new(Snapshotting::new(journal, snapshots, policy.clone()))
            }
            _ => journal,
        }
    }

    /// What a native session is made of.
    fn config(
        &self,
        native: &Native,
        spec: &AgentSpec,
        parent: &Parent,
        log: EventLog,
    ) -> Result<SessionConfig, AgentError> {
        let inner = &self.0;
        let config = SessionConfig {
            catalog: inner.catalog.clone(),
            provider_name: native.provider_name.clone(),
            model: spec.model.clone().or_else(|| native.model.clone()),
            effort: native.effort.clone(),
            system: native.system.clone(),
            instructions: native.instructions.clone(),
            on_overflow: native.on_overflow,
            tools: match &native.profile {
                Some(_) => ToolRegistry::default(),
                None => tools::standard().into(),
            },
            profile: native.profile.clone(),
            policy: Arc::clone(&inner.policy),
            on_reject: inner.on_reject,
            limits: spec.limits,
            retry: inner.retry,
            budget: parent.budget.clone(),
            turn_budget: if parent.log.is_none() { inner.turn_budget } else { Allowance::UNLIMITED },
            spawner: Some(Arc::new(self.clone())),
            depth: parent.depth,
            max_depth: inner.max_depth,
            cancel: parent.cancel.clone(),
            kind: spec.kind.clone(),
            environments: self.environments(parent),
            ..SessionConfig::new(Arc::clone(&native.provider), self.env(&spec.workdir, parent)?, log)
        };
        Ok(match &native.adjust {
            Some(adjust) => adjust(config),
            None => config,
        })
    }

    /// What a command-line agent is run with.
    fn host(&self, cli: &Cli, spec: AgentSpec, parent: &Parent) -> Result<(Host, AgentSpec), AgentError> {
        let env = self.env(&spec.workdir, parent)?;
        let host = Host { variables: cli.variables.clone(), patience: cli.patience, ..Host::new(env) };
        // The environment was made for the directory.
        Ok((host, AgentSpec { workdir: Workdir::Shared, ..spec }))
    }

    /// Makes the environments for other directories; not for an agent whose parent said where it works.
    fn environments(&self, parent: &Parent) -> Option<Environments> {
        if parent.env.is_some() {
            return None;
        }
        let make = Arc::clone(&self.0.make_env);
        Some(Arc::new(move |path: PathBuf| {
            let made = make(&path);
            Box::pin(async move { made })
        }))
    }
}

/// What brings the session's own agent back, if it is a command-line agent of this kind: its last handle.
fn handle(past: &Past, kind: &str) -> Option<ResumeHandle> {
    let own = &past.events().first()?.agent;
    past.events().iter().rev().find_map(|event| match &event.body {
        Body::Handle { handle } if event.agent == *own && handle.kind == kind => Some(handle.clone()),
        _ => None,
    })
}

fn not_kept(error: &junto_store::Error) -> AgentError {
    let failed = AgentError::new(AgentErrorKind::Journal, error.to_string());
    match error.hint() {
        Some(hint) => failed.with_hint(hint),
        None => failed,
    }
}

impl Spawner for Workshop {
    fn spawn(&self, spec: AgentSpec, parent: Parent) -> Fut<'_, Result<Arc<dyn Agent>, AgentError>> {
        Box::pin(async move {
            if parent.depth > self.0.max_depth {
                return Err(AgentError::new(AgentErrorKind::Limit, "agents may not be nested any deeper"));
            }
            let kind = self.kind(&spec.kind)?;
            let log = self.log(&spec, &parent)?;
            match kind {
                Kind::Native(native) => {
                    let config = self.config(native, &spec, &parent, log)?;
                    Ok(Arc::new(Session::start(config).await?) as Arc<dyn Agent>)
                }
                Kind::Cli(cli) => {
                    let (host, spec) = self.host(cli, spec, &parent)?;
                    let agent = CliAgent::start(cli.definition.clone(), host, spec, parent, log).await?;
                    Ok(Arc::new(agent) as Arc<dyn Agent>)
                }
            }
        })
    }

    fn kinds(&self) -> Vec<AgentKind> {
        let kinds = self.0.kinds.iter();
        kinds.map(|(name, kind)| AgentKind { name: name.clone(), description: kind.description() }).collect()
    }
}

/// Puts a [`Workshop`] together.
#[must_use]
pub struct WorkshopBuilder(Inner);

impl WorkshopBuilder {
    /// Adds a kind of agent.
    pub fn kind(mut self, name: impl Into<String>, kind: Kind) -> Self {
        self.0.kinds.insert(name.into(), kind);
        self
    }

    /// Judges what native agents do. By default everything is allowed.
    pub fn policy(mut self, policy: Arc<dyn Policy>, on_reject: OnReject) -> Self {
        (self.0.policy, self.0.on_reject) = (policy, on_reject);
        self
    }

    /// What models cost.
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.0.catalog = catalog;
        self
    }

    /// How failed model calls are retried.
    pub fn retry(mut self, policy: retry::Policy) -> Self {
        self.0.retry = policy;
        self
    }

    /// What all agents together may spend.
    pub fn budget(mut self, budget: Arc<dyn Budget>) -> Self {
        self.0.budget = budget;
        self
    }

    /// How much of that one input to a native agent may take, with what its children spend meanwhile.
    pub fn turn_budget(mut self, allowance: Allowance) -> Self {
        self.0.turn_budget = allowance;
        self
    }

    /// How many levels of children there may be; 1 by default.
    pub fn max_depth(mut self, depth: u8) -> Self {
        self.0.max_depth = depth;
        self
    }

    /// Keeps the sessions of agents that are nobody's children; their children's events are in the same
    /// journal. By default no session is kept.
    pub fn store(mut self, store: Store) -> Self {
        self.0.store = Some(store);
        self
    }

    /// Has the files snapshotted at the turns of sessions that are kept, so that [`crate::Turns`] can take
    /// changes back. By default they are not.
    pub fn snapshots(mut self, policy: SnapshotPolicy) -> Self {
        self.0.snapshots = Some(policy);
        self
    }

    /// Stamps events with this clock instead of the system's.
    pub fn clock(mut self, clock: junto_core::Clock) -> Self {
        self.0.clock = clock;
        self
    }

    /// The workshop.
    pub fn build(self) -> Workshop {
        Workshop(Arc::new(self.0))
    }
}

#[expect(clippy::disallowed_methods, reason = "the composition root is where the world's clock comes in")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
