//! A session put together: the parts that are the same whether it is new or brought back, and what it has
//! in mind when it begins.

use std::sync::Arc;

use junto_core::{
    Abilities, AgentError, Approve, Body, EventLog, Gate, SessionState, Setup, Steer, ToolHost, When,
};
use junto_env::ExecutionEnvironment;
use junto_llm::{Counts, Spending};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::compact::Shortening;
use crate::context::Gauge;
use crate::desk::{Desk, Settings};
use crate::ear::Ear;
use crate::family::{Family, Home, TOO_DEEP};
use crate::history::History;
use crate::hooks::SessionHooks;
use crate::host::{Door, SessionTools};
use crate::loops::{Loops, Rules};
use crate::output::OutputLimits;
use crate::prefix::Prefixes;
use crate::reach::Reach;
use crate::round::Calls;
use crate::said::Said;
use crate::session::{Handle, Session};
use crate::skills::LoadSkill;
use crate::state::State;
use crate::status::Status;
use crate::task::{Life, Orders, Reception};
use crate::toolbox::Toolbox;
use crate::totals::Totals;
use crate::wallet::Wallet;
use crate::{SessionConfig, ToolRegistry, tools};

/// How many commands may wait for the session's ear.
const ORDERS: usize = 32;

/// What every session can be asked to do.
pub(crate) const ABILITIES: Abilities = Abilities {
    steer: Steer::Now,
    approve: Approve::PerCall,
    resume: true,
    interrupt: true,
    follow_up: true,
    compact: true,
};

/// A session that has not begun: its tools, its family and its sums. Nothing runs yet, and nothing was
/// written.
pub(crate) struct Frame {
    /// With its profile applied.
    pub(crate) config: SessionConfig,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) totals: Arc<Totals>,
    pub(crate) family: Arc<Family>,
    pub(crate) status: Arc<Status>,
    pub(crate) hooks: Arc<SessionHooks>,
    wallet: Arc<Wallet>,
    /// Ends everything in it.
    pub(crate) cancel: CancellationToken,
}

/// What a session has in mind when it begins.
pub(crate) struct Mind {
    pub(crate) settings: Settings,
    pub(crate) history: History,
    pub(crate) loops: Loops,
    /// What its requests so far began with.
    pub(crate) prefixes: Prefixes,
    /// The turns so far.
    pub(crate) turns: u32,
    /// The model that answered last, by its own name.
    pub(crate) answered_by: Option<String>,
    /// Whether it works in a place that the model does not know of.
    pub(crate) moved: bool,
    /// The input that is to be gone on with.
    pub(crate) open: Option<Unfinished>,
    /// What it is told with the next step.
    pub(crate) told: Option<Said>,
}

/// An input that was cut off, and how far it is.
#[derive(Default)]
pub(crate) struct Unfinished {
    /// The rounds of tools that are done.
    pub(crate) rounds: u32,
    /// The text of the last answer.
    pub(crate) text: String,
    /// The calls of the last answer, if not all of them have results that the model has read.
    pub(crate) left: Option<Calls>,
    /// What its model calls have cost.
    pub(crate) spent: Vec<Spending>,
}

impl Mind {
    /// That of a session with this conversation, as its configuration says.
    pub(crate) fn new(config: &SessionConfig, history: History) -> Self {
        let settings = Settings {
            provider: config.provider_name.clone(),
            model: config.model.clone(),
            effort: config.effort.clone(),
            limits: config.limits,
            env: Arc::clone(&config.env),
        };
        let loops = Loops::new(config.loop_rules());
        let prefixes = Prefixes::default();
        Self {
            settings,
            history,
            loops,
            prefixes,
            turns: 0,
            answered_by: None,
            moved: false,
            open: None,
            told: None,
        }
    }
}

impl SessionConfig {
    /// When the model is told that it goes in circles.
    pub(crate) fn loop_rules(&self) -> Rules {
        Rules {
            enabled: self.enable_loop_detection,
            window: self.loop_detection_window,
            stop: self.stop_on_loop,
        }
    }

    /// The first event of a session with this configuration and prompt.
    pub(crate) fn session_start(&self, system: &str) -> Body {
        let setup = Setup {
            system: system.into(),
            provider: self.provider_name.clone(),
            effort: self.effort.as_ref().map(|effort| effort.as_str().to_owned()),
            profile: self.profile.as_ref().map(|profile| profile.id.clone()),
            dialect: self.profile.as_ref().map(|profile| profile.dialect().name().to_owned()),
            limits: self.limits,
            forked_from: None,
        };
        Body::SessionStart {
            kind: self.kind.clone(),
            model: self.model.clone(),
            workdir: Some(self.env.facts().cwd.to_string()),
            abilities: ABILITIES,
            setup: Some(setup),
        }
    }
}

impl Frame {
    /// Puts a session together.
    ///
    /// # Errors
    /// `invalid` if a tool's schema has no object at its root.
    pub(crate) fn new(config: SessionConfig) -> Result<Self, AgentError> {
        Self::with_children_born(config, 0)
    }

    /// Puts a session together that has had so many children.
    ///
    /// # Errors
    /// As [`Frame::new`].
    pub(crate) fn with_children_born(config: SessionConfig, born: u32) -> Result<Self, AgentError> {
        let cancel = config.cancel.child_token();
        let totals = Arc::new(Totals::default());
        let wallet = Arc::new(Wallet::new(Arc::clone(&config.budget), config.turn_budget));
        let family = Arc::new(Family::new(Home {
            spawner: config.spawner.clone(),
            log: config.log.clone(),
            depth: config.depth,
            max_depth: config.max_depth,
            max_children: config.max_children,
            budget: wallet.clone(),
            totals: Arc::clone(&totals),
            cancel: cancel.clone(),
            born,
        }));
        let status = Arc::new(Status::new());
        let (log, kind) = (config.log.clone(), config.kind.clone());
        let hooks = Arc::new(SessionHooks::new(Arc::clone(&config.reach.hooks), log, config.depth, kind));
        let toolbox = Arc::new(toolbox(&config, &family, &status, &hooks)?);
        Ok(Self { config, toolbox, totals, family, status, hooks, wallet, cancel })
    }

    pub(crate) fn log(&self) -> &EventLog {
        &self.config.log
    }

    /// Lets it begin. Must be called within a Tokio runtime, which runs it.
    pub(crate) fn begin(self, mind: Mind) -> Session {
        let Self { config, toolbox, totals, family, status, hooks, wallet, cancel } = self;
        let Mind { settings, history, loops, prefixes, turns, answered_by, moved, open, told } = mind;
        let history = history.with_turns(turns);
        let goes_on = open.is_some();
        let Unfinished { rounds, text, left, spent } = open.unwrap_or_default();
        if goes_on {
            status.begin_as(SessionState::Processing);
        }
        let log = config.log;
        let desk = Arc::new(Desk::new(cancel.clone(), settings));
        if let Some(told) = told {
            // There is room: nothing was said before.
            let _ = desk.steer(told, When::Round);
        }
        let ear = Ear {
            toolbox: Arc::clone(&toolbox),
            hooks: Arc::clone(&hooks),
            log: log.clone(),
            // What is said to a child is its parent's.
            reach: if config.depth == 0 { config.reach } else { Reach::default() },
            session: cancel.clone(),
        };
        let door = Arc::new(Door::new(cancel.clone()));
        let tools: Arc<dyn ToolHost> =
            Arc::new(SessionTools { toolbox: Arc::clone(&toolbox), door: Arc::clone(&door) });
        for companion in &config.companions {
            companion.begin(Arc::downgrade(&tools), log.clone());
        }
        let (orders, received) = mpsc::channel(ORDERS);
        let life = Life {
            state: State {
                log: log.clone(),
                desk: Arc::clone(&desk),
                toolbox: Arc::clone(&toolbox),
                history,
                on_reject: config.on_reject,
                text,
                provider: Arc::clone(&config.provider),
                profile: config.profile,
                catalog: config.catalog,
                minutes: config.minutes,
                retry: config.retry,
                budget: wallet.clone(),
                counts: Counts::default(),
                totals,
                loops,
                gauge: Gauge::default(),
                warned: Vec::new(),
                prefixes,
                context_window: config.context_window,
                on_overflow: config.on_overflow,
                compaction: config.compaction,
                shortening: Shortening::default(),
                status: Arc::clone(&status),
                hooks,
                stops: 0,
                ask_on_question: config.ask_on_question,
                depth: config.depth,
                rounds,
                moved,
                left,
                answered_by,
            },
            reception: Reception {
                desk,
                toolbox: Arc::clone(&toolbox),
                family: Arc::clone(&family),
                provider: config.provider,
                environments: config.environments,
                ear,
            },
            wallet,
            door: Arc::clone(&door),
            companions: config.companions.clone(),
            _tools: tools,
            status: Arc::clone(&status),
            goes_on,
            spent,
            orders: Orders::new(received),
        };
        let (ended, outcome) = watch::channel(None);
        // Owned by the handle: its token ends the task, and `close` waits for what it sends last.
        tokio::spawn(async move {
            let outcome = Box::pin(life.run()).await;
            let _ = ended.send(Some(outcome));
        });
        let state = status.watch();
        Session::of(Handle {
            log,
            orders,
            cancel,
            outcome,
            state,
            toolbox,
            family,
            door,
            companions: config.companions,
        })
    }
}

/// The tools of a session: those for its family, in the profile's dialect, and its own.
fn toolbox(
    config: &SessionConfig,
    family: &Arc<Family>,
    status: &Arc<Status>,
    hooks: &Arc<SessionHooks>,
) -> Result<Toolbox, AgentError> {
    let mut tools = ToolRegistry::default();
    if family.spawner().is_some() {
        tools.extend(tools::family(family, &config.kind));
    }
    if config.reach.skills.are_listed() {
        tools.register(Arc::new(LoadSkill::new(Arc::clone(&config.reach.skills))));
    }
    if let Some(profile) = &config.profile {
        tools = profile.in_dialect(&tools);
    }
    tools.extend(config.tools.iter().cloned());
    config.tools.behind().iter().for_each(|tool| tools.put_behind(Arc::clone(tool)));
    let gate = Gate::new(Arc::clone(&config.policy), config.log.clone()).patient(config.approval_timeout);
    let limits =
        OutputLimits { chars: config.tool_output_limits.clone(), lines: config.tool_line_limits.clone() };
    let env: Arc<dyn ExecutionEnvironment> = Arc::clone(&config.env);
    let mut toolbox = Toolbox::new(tools, env, gate, config.log.clone(), Arc::clone(status), limits)?;
    toolbox.unread(config.unread);
    if let Some(source) = &config.late_tools {
        toolbox.late(Arc::clone(source));
    }
    toolbox.watched_by(Arc::clone(hooks));
    if family.is_too_deep() {
        toolbox.withhold(tools::FAMILY, TOO_DEEP);
    }
    Ok(toolbox)
}
