//! Makes agents of every kind by name: the composition root.

mod background;
mod builder;
mod command;
mod contest;
mod sessions;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto_agent::{Environments, Past, Session, SessionConfig, ToolRegistry, tools};
use junto_core::{
    Agent, AgentError, AgentErrorKind, AgentKind, AgentSpec, Body, EventLog, Fut, Journal, OnReject, Open,
    Parent, Policy, ResumeHandle, Spawner, ToolSource, Unread, Workdir,
};
use junto_council::contest::Contest;
use junto_env::{ExecutionEnvironment, LocalBuilder};
use junto_kernel::SecretIn;
use junto_llm::catalog::Catalog;
use junto_llm::{Allowance, Budget, Request, SessionId, Unlimited, retry};
use junto_runner::CliAgent;
use junto_store::{Snapshots, Store};
use tokio_util::sync::CancellationToken;

pub use self::builder::WorkshopBuilder;
use self::command::MakeCage;
use self::contest::MakePolicy;
use crate::code::Place;
use crate::turns::{Eve, Snapshotting};
use crate::{Code, Guard, Kept, Kind, Native, SnapshotPolicy};

/// Makes the environment for a working directory.
type MakeEnv = Arc<dyn Fn(&Path) -> Result<Arc<dyn ExecutionEnvironment>, junto_env::Error> + Send + Sync>;

/// Makes the environment of kernels that belong to sessions which work in one, with a folder for their sockets.
pub(crate) type MakeRoom = Arc<
    dyn Fn(&Arc<dyn ExecutionEnvironment>, &Path) -> Result<Arc<dyn ExecutionEnvironment>, junto_env::Error>
        + Send
        + Sync,
>;

/// Makes agents of every kind by name. Cheap to clone; clones are the same workshop.
///
/// It is the [`Spawner`] of every agent it makes, so any kind can be a child of any kind that can
/// have children.
#[derive(Clone)]
pub struct Workshop(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kinds: BTreeMap<String, Kind>,
    make_env: MakeEnv,
    /// Holds command-line agents to modes that they do not keep to by themselves; absent: nothing does.
    make_cage: Option<MakeCage>,
    /// Judges what is done in another directory; absent: who judges here judges there.
    make_policy: Option<MakePolicy>,
    workdir: std::path::PathBuf,
    clock: junto_core::Clock,
    store: Option<Store>,
    snapshots: Option<SnapshotPolicy>,
    catalog: Catalog,
    policy: Arc<dyn Policy>,
    on_reject: OnReject,
    approval_timeout: Option<Duration>,
    unread: Unread,
    retry: retry::Policy,
    budget: Arc<dyn Budget>,
    turn_budget: Allowance,
    max_depth: u8,
    /// Makes the tools of a session that come and go.
    late_tools: Option<LateTools>,
    /// Whether and how sessions have kernels.
    code: Option<Code>,
    /// Where those run; absent: where commands do.
    make_room: Option<MakeRoom>,
}

/// Makes the tools of a session that come and go.
type LateTools = Arc<dyn Fn() -> Arc<dyn ToolSource> + Send + Sync>;

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
        WorkshopBuilder::new(Inner {
            kinds: BTreeMap::new(),
            make_env: Arc::new(make_env),
            make_cage: None,
            make_policy: None,
            workdir: workdir.as_ref().to_owned(),
            clock: Arc::new(now),
            store: None,
            snapshots: None,
            catalog: Catalog::builtin(),
            policy: Arc::new(Open),
            on_reject: OnReject::default(),
            approval_timeout: None,
            unread: Unread::default(),
            retry: retry::Policy::default(),
            budget: Arc::new(Unlimited),
            turn_budget: Allowance::UNLIMITED,
            max_depth: 1,
            late_tools: None,
            code: None,
            make_room: None,
        })
    }

    /// A workshop whose agents work in this directory on this machine, held by a guard: its mode and rules
    /// judge what they do, and where the mode wants it the kernel keeps their commands in. `local` describes
    /// the environment for a directory.
    ///
    /// Command-line agents have their own rules, and reach the network to do anything: they run outside of
    /// the sandbox, and the guard only judges whether one is started. One that does not keep to its mode by itself
    /// ([`Definition::enforces`](junto_runner::Definition::enforces)) runs in a sandbox that holds it to that, with
    /// the network.
    ///
    /// ```no_run
    /// # async fn example(native: junto::Native) -> Result<(), Box<dyn std::error::Error>> {
    /// use junto::policy::Mode;
    /// use junto::prelude::*;
    /// use junto::{Guard, Workshop};
    ///
    /// let guard = Guard::new(Mode::Workspace);
    /// let workshop = Workshop::guarded("project", guard, |dir| LocalEnvironment::builder(dir))?
    ///     .kind("native", Kind::Native(native))
    ///     .build();
    /// # let _ = workshop; Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the directory is none, or what the guard wants cannot be enforced here: see [`Guard::hold`].
    pub fn guarded(
        workdir: impl AsRef<Path>,
        guard: Guard,
        local: impl Fn(&Path) -> LocalBuilder + Send + Sync + 'static,
    ) -> Result<WorkshopBuilder, junto_env::Error> {
        let mut guard = guard;
        // Whoever works in a part of it, or elsewhere for a while, reads no more of its secrets.
        guard.sandbox.searched.push(workdir.as_ref().to_owned());
        let held = guard.hold(local(workdir.as_ref()))?;
        let policy = held.policy(&guard);
        let (guard, local) = (Arc::new(guard), Arc::new(local));
        let make_cage = command::cages(Arc::clone(&guard), Arc::clone(&local));
        let make_policy = contest::judges(Arc::clone(&guard), Arc::clone(&local));
        let (of_rooms, local_of_rooms) = (Arc::clone(&guard), Arc::clone(&local));
        let make_room: MakeRoom = Arc::new(move |env, run_dir| {
            let cwd = env.facts().cwd.as_path();
            Ok(of_rooms.room(local_of_rooms(cwd), run_dir)?.unwrap_or_else(|| Arc::clone(env)))
        });
        let make = move |dir: &Path| guard.hold(local(dir)).map(|held| held.env);
        let builder = Self::builder(workdir, make).policy(policy, OnReject::default());
        Ok(builder.cage(make_cage).judges(make_policy).rooms(make_room))
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
        let (log, past) = self.reopened(&spec, kept, &parent)?;
        match self.kind(&spec.kind)? {
            Kind::Native(native) => {
                let config = self.config(native, &spec, &parent, log, Some(&past))?;
                Ok(Arc::new(Session::resume(config, past).await?) as Arc<dyn Agent>)
            }
            Kind::Cli(cli) => {
                let resume = spec.resume.clone().or_else(|| handle(&past, &cli.definition.kind));
                let (host, spec) = self.host(cli, AgentSpec { resume, ..spec }, &parent).await?;
                let (log, usage, cost) = past.rejoin(&log).await?;
                let definition = cli.definition.clone();
                let agent = CliAgent::resume(definition, host, spec, parent, log, (usage, cost)).await?;
                Ok(Arc::new(agent) as Arc<dyn Agent>)
            }
            Kind::Contest(_) => Err(contest::never_resumed(&spec.kind)),
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
            (None, Some(store)) => self.log_of(SessionId::fresh(), store, spec, parent),
        }
    }

    /// Where the events of a new session of this id go.
    fn log_of(
        &self,
        session: SessionId,
        store: &Store,
        spec: &AgentSpec,
        parent: &Parent,
    ) -> Result<EventLog, AgentError> {
        // First what may fail, so that no session is left that never began.
        let env = self.env(&spec.workdir, parent)?;
        let opened = store.create(&session).map_err(|error| not_kept(&error))?;
        let journal = self.snapshotting(opened.journal, &session, &spec.kind, env);
        Ok(EventLog::new(session, journal, opened.last, Arc::clone(&self.0.clock)))
    }

    /// The journal, with snapshots of the files if they are wanted.
    fn snapshotting(
        &self,
        journal: Arc<dyn Journal>,
        session: &SessionId,
        kind: &str,
        env: Arc<dyn ExecutionEnvironment>,
    ) -> Arc<dyn Journal> {
        let eve = match self.0.kinds.get(kind) {
            // Its members work elsewhere.
            Some(Kind::Contest(_)) => return journal,
            Some(Kind::Cli(_)) => Eve::Input,
            _ => Eve::Call,
        };
        match (&self.0.store, &self.0.snapshots) {
            (Some(store), Some(policy)) => {
                // They are kept outside of the place that is worked in.
                let env = env.unconfined().unwrap_or(env);
                let snapshots = Snapshots::new(store.root(), env, session.clone(), policy.extent);
                Arc::new(Snapshotting::new(journal, snapshots, policy.clone(), eve))
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
        past: Option<&Past>,
    ) -> Result<SessionConfig, AgentError> {
        let (inner, session) = (&self.0, log.session().clone());
        let (provider_name, model) = asked(native, spec)?;
        let config = SessionConfig {
            catalog: inner.catalog.clone(),
            provider_name,
            model,
            effort: spec.effort.clone().or_else(|| native.effort.clone()),
            system: native.system.clone(),
            instructions: spec.instructions.clone().or_else(|| native.instructions.clone()),
            on_overflow: native.on_overflow,
            tools: match &native.profile {
                Some(_) => ToolRegistry::default(),
                None => tools::standard().into(),
            },
            late_tools: self.late_tools(parent),
            profile: native.profile.clone(),
            reach: native.reach.clone(),
            policy: Arc::clone(&inner.policy),
            on_reject: inner.on_reject,
            approval_timeout: inner.approval_timeout,
            unread: inner.unread,
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
        let config = match &inner.code {
            Some(code) => code.furnish(config, self.place(parent, session, past))?,
            None => config,
        };
        Ok(match &native.adjust {
            Some(adjust) => adjust(config),
            None => config,
        })
    }

    /// Where a session's code runs.
    fn place<'a>(&'a self, parent: &Parent, session: SessionId, past: Option<&'a Past>) -> Place<'a> {
        // Also for one whose parent said where it works: whoever insists on a sandbox means all kernels.
        let make_room = self.0.make_room.as_ref();
        let folder = self.0.store.as_ref().and_then(|store| store.folder(&session).ok());
        let secret =
            self.0.store.clone().map(|store| -> Arc<SecretIn> { Arc::new(move |text| store.masks(text)) });
        Place { make_room, folder, secret, depth: parent.depth, past }
    }

    /// The tools that come and go; not for an agent whose parent said where it works: they act elsewhere.
    fn late_tools(&self, parent: &Parent) -> Option<Arc<dyn ToolSource>> {
        let make = self.0.late_tools.as_ref().filter(|_| parent.env.is_none());
        make.map(|make| make())
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

/// The provider and the model that an agent of our own asks: what its spec names, else what its kind does.
///
/// # Errors
/// `invalid` if the spec names what is known not to be there.
fn asked(native: &Native, spec: &AgentSpec) -> Result<(Option<String>, Option<String>), AgentError> {
    let provider = native.provider_name.clone();
    let Some(named) = spec.model.clone().filter(|named| native.model.as_ref() != Some(named)) else {
        return Ok((provider, native.model.clone()));
    };
    let (provider, model) = match native.provider.meant(provider.as_deref(), &named) {
        Some((owner, model)) => (Some(owner), Some(model)),
        None => (provider, Some(named)),
    };
    let names = Request { provider, model, ..Request::default() };
    native.provider.check_names(&names).map_err(|error| {
        let refused = AgentError::new(AgentErrorKind::Invalid, error.message());
        match error.hint() {
            Some(hint) => refused.with_hint(hint),
            None => refused,
        }
    })?;
    Ok((names.provider, names.model))
}

/// What brings the session's own agent back, if it is a command-line agent of this kind: its last handle.
fn handle(past: &Past, kind: &str) -> Option<ResumeHandle> {
    let own = &past.events().first()?.agent;
    past.events().iter().rev().find_map(|event| match &event.body {
        Body::Handle { handle } if event.agent == *own && handle.kind == kind => Some(handle.clone()),
        _ => None,
    })
}

pub(crate) fn not_kept(error: &junto_store::Error) -> AgentError {
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
            // Before there is a log, so that no session is left that never began.
            if let Kind::Native(native) = kind {
                asked(native, &spec)?;
            }
            let log = self.log(&spec, &parent)?;
            match kind {
                Kind::Native(native) => {
                    let config = self.config(native, &spec, &parent, log, None)?;
                    Ok(Arc::new(Session::start(config).await?) as Arc<dyn Agent>)
                }
                Kind::Cli(cli) => {
                    let (host, spec) = self.host(cli, spec, &parent).await?;
                    let agent = CliAgent::start(cli.definition.clone(), host, spec, parent, log).await?;
                    Ok(Arc::new(agent) as Arc<dyn Agent>)
                }
                Kind::Contest(rivals) => {
                    let setup = self.contest(rivals, &spec, &parent)?;
                    Ok(Arc::new(Contest::start(setup, parent, log).await?) as Arc<dyn Agent>)
                }
            }
        })
    }

    fn kinds(&self) -> Vec<AgentKind> {
        let kinds = self.0.kinds.iter();
        kinds.map(|(name, kind)| AgentKind { name: name.clone(), description: kind.description() }).collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "the composition root is where the world's clock comes in")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
