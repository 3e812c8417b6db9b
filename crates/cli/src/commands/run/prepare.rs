//! From flags and configuration to an agent that is ready to be started.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto::core::{Agent, AgentSpec, Body, Change, Limits, OnReject, Purse, Seq};
use junto::llm::{Allowance, Usd};
use junto::mcp::Hub;
use junto::named::Plan;
use junto::policy::Mode;
use junto::runner::sweep::Entry;
use junto::store::{ErrorKind, Extent, Store};
use junto::{Cli, Guard, Kind, SnapshotPolicy, Workshop, WorkshopBuilder};
use tokio_util::sync::CancellationToken;

use super::contest::{Hall, Seats};
use super::drive::refused;
use super::flags::Flags;
use super::mind::{self, Mind};
use super::past::{Asked, Past, told_of_lost};
use super::terms::{self, Terms};
use super::{From, Presence, Save, Wish, presence};
use crate::args::{AgentKind, WorkArgs};
use crate::config::{COUNCIL_PREFIX, Config, ProviderSettings};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::mcp::{self, Servers};
use crate::output::Output;
use crate::{code, connect, guard, runners, saved};

/// An agent that is ready to be started.
pub(super) struct Job {
    pub(super) workshop: Workshop,
    pub(super) spec: AgentSpec,
    args: WorkArgs,
    asked: Asked,
    pub(super) begin: Begin,
    /// The folder that its session is moved to.
    moved: Option<PathBuf>,
    /// What its session shall remember and does not yet.
    flags: Option<Body>,
    /// How long it may take.
    pub(super) time: Option<Duration>,
    /// What it may spend, if that is limited.
    pub(super) purse: Option<Purse>,
    /// Whom it may ask.
    pub(super) providers: Vec<ProviderSettings>,
    /// Whether its session is kept.
    pub(super) kept: bool,
    /// What is said of it at the start.
    pub(super) line: String,
    /// What is open although its policy says otherwise.
    pub(super) gaps: Option<String>,
    /// What a no does to it.
    pub(super) on_reject: OnReject,
    /// The MCP servers that it uses.
    pub(super) servers: Option<Hub>,
}

/// What it begins with.
pub(super) enum Begin {
    /// A session of its own.
    New(AgentKind),
    /// A session that was kept.
    Again(Box<Past>),
}

/// An agent that was started.
pub(super) struct Begun {
    pub(super) agent: Arc<dyn Agent>,
    /// The first of its events that is new.
    pub(super) from: Seq,
    /// The first that can end what it is told now: before it may be the end of an input that was cut off.
    pub(super) own: Seq,
    /// Whether it goes on with an input that was cut off.
    pub(super) goes_on: bool,
}

impl Job {
    /// The same for an agent that has a name: what it remembers, and what else it is told and may use.
    pub(super) fn for_plan(mut self, plan: &Plan) -> Self {
        let AgentSpec { model, effort, instructions, directories, resume, .. } = plan.spec.clone();
        // What is said to all agents, then what is said to this one.
        let instructions = match (self.spec.instructions.take(), instructions) {
            (Some(all), Some(own)) => Some(format!("{all}\n\n{own}")),
            (all, own) => own.or(all),
        };
        self.spec = AgentSpec { model, effort, instructions, directories, resume, ..self.spec };
        self.line = format!("{} · {}", plan.agent.name, self.line);
        self
    }

    /// Starts the agent, or brings it back. It ends with this token.
    ///
    /// # Errors
    /// Whatever keeps it from starting.
    pub(super) async fn start(self, cancel: CancellationToken) -> Result<Begun, Failure> {
        let mut told = Vec::new();
        let begun = match self.begin {
            Begin::New(_) => {
                let agent = Box::pin(self.workshop.start(self.spec, cancel)).await;
                let agent = agent.map_err(|error| refused(&error))?;
                Begun { agent, from: Seq::START, own: Seq::START, goes_on: false }
            }
            Begin::Again(past) => {
                let goes_on = past.is_cut_off();
                if past.kind() != AgentKind::Native {
                    // Our own tells it by itself.
                    let moved =
                        self.moved.clone().map(|to| Change { workdir: Some(to), ..Change::default() });
                    told.extend(moved.map(|change| Body::Configured { change }));
                }
                let kept = past.into_kept(&self.args, self.asked, self.moved);
                let from = kept.last().next();
                let agent = Box::pin(self.workshop.resume(self.spec, kept, cancel)).await;
                let agent = agent.map_err(|error| refused(&error))?;
                let own = if goes_on { from } else { agent.log().last().next() };
                Begun { agent, from, own, goes_on }
            }
        };
        told.extend(self.flags.filter(|_| self.kept));
        for event in told {
            begun.agent.log().emit(event).await.map_err(|error| super::view::journal(&error))?;
        }
        Ok(begun)
    }
}

/// Makes everything ready.
///
/// # Errors
/// What is wrong with the flags, the configuration or the session.
pub(super) async fn prepare(wish: &Wish, environment: &Environment, output: &Output) -> Result<Job, Failure> {
    let mut args = wish.args.clone();
    seat_model(&mut args);
    let begin = match &wish.from {
        From::Nothing { kind, .. } => Begin::New(kind.clone()),
        From::Session(wanted) => {
            let alone = wish.task.is_none();
            Begin::Again(Box::new(Past::open(wanted, alone, environment, output)?))
        }
    };
    let (kind, own) = match &begin {
        Begin::New(kind) => (kind.clone(), Vec::new()),
        Begin::Again(past) => {
            past.flags().clone().under(&mut args);
            (past.kind(), past.values(&args))
        }
    };
    let directory = directory(&args, &begin, environment)?;
    // The project that counts is the one that is worked on.
    let values = [own, args.values()].concat();
    let there = environment.in_directory(&directory);
    let presence = presence(&args);
    let config = terms::configuration(&there, &values, presence, output).await?;
    check_fit(&kind, &args)?;
    if let AgentKind::Cli(name) = &kind {
        runners::check_budget(name, &config)?;
        runners::check_wishes(name, args.model.model.as_deref(), args.model.effort.as_deref(), &config)?;
    }
    if let Begin::Again(past) = &begin {
        past.check(&args, &config, environment)?;
    }
    let (time, providers, limits) = (config.duration("timeouts.run"), config.providers(), limits(&config));
    let cli_mode = terms::of_runner(guard::mode(&config));
    let clis = command_line_agents(&kind, &config, environment, output)?;
    let Terms { workshop, words: rules, gaps, on_reject } = match &kind {
        AgentKind::Native | AgentKind::Contest(_) => {
            terms::terms(&config, environment, &directory, (presence, args.web), output).await?
        }
        // It has rules of its own, and can do nothing without the network.
        AgentKind::Cli(name) => {
            let local = guard::locals(environment, guard::inherit(&config));
            let open = Guard { mode: Mode::Full, ..guard::guard(&config, environment) };
            let workshop = Workshop::guarded(&directory, open, local);
            let workshop = workshop.map_err(|error| guard::cannot_hold(&error))?;
            let agent = clis.iter().find(|(known, _)| known == name).map(|(_, cli)| cli);
            if let Some(cli) = agent
                && let Some(doubt) = runners::doubt(cli, &directory, environment).await?
            {
                output.warning(&doubt);
            }
            let words = agent.map_or_else(String::new, |cli| terms::words(cli, cli_mode));
            Terms { workshop, words, gaps: None, on_reject: OnReject::default() }
        }
    };
    let workshop = workshop.catalog(connect::catalog(&config)).retry(config.retry());
    let workshop = match code::code(&config, &there)?.filter(|_| kind == AgentKind::Native) {
        Some(code) => workshop.code(code),
        None => workshop,
    };
    let saves = match &wish.from {
        From::Nothing { save: Save::No, .. } => false,
        From::Nothing { .. } => config.flag("store.save"),
        From::Session(_) => true,
    };
    let purse = wish.purse.clone().or_else(|| budget(&config, &begin, output));
    let workshop = match &purse {
        Some(purse) => workshop.budget(Arc::new(purse.clone())),
        None => workshop,
    };
    let workshop = match &begin {
        Begin::New(kind) if saves => {
            // Councils of agents are always kept.
            let open = if matches!(kind, AgentKind::Contest(_)) { saved::open } else { saved::open_for_run };
            keeping(workshop, open(&config, environment)?, &config, output)
        }
        Begin::New(_) => workshop,
        Begin::Again(past) => keeping(workshop, past.store().clone(), &config, output),
    };
    let logs = saves.then(|| saved::root(environment)).transpose()?.map(|root| root.join("runs"));
    let steerable = presence == Presence::Program;
    let workshop = clis.into_iter().fold(workshop, |workshop, (name, cli)| {
        workshop.kind(name, Kind::Cli(Box::new(Cli { logs: logs.clone(), steerable, ..cli })))
    });
    let own_model = match &begin {
        Begin::Again(past) => past.model().map(str::to_owned),
        Begin::New(_) => None,
    };
    let model = args.model.model.clone().or(own_model);
    let text = |key| config.text(key).map(|(text, _)| text.to_owned());
    let (effort, instructions) = (args.model.effort.clone().map(Into::into), text("instructions"));
    let mut asked = Asked::default();
    let servers = match &kind {
        AgentKind::Native => mcp_servers(&config, &there, &directory, output)?,
        AgentKind::Cli(_) | AgentKind::Contest(_) => None,
    };
    let hall = Hall {
        args: &args,
        values: &values,
        presence,
        config: &config,
        environment,
        directory: &directory,
        limits,
        output,
    };
    let Seats { kinds, who: seated } = match &kind {
        AgentKind::Native => Seats { kinds: hall.configured(), who: String::new() },
        AgentKind::Cli(_) => Seats { kinds: Vec::new(), who: String::new() },
        AgentKind::Contest(kind) => hall.seats(kind, wish.council.clone())?,
    };
    let workshop = kinds.into_iter().fold(workshop, |workshop, (name, kind)| workshop.kind(name, kind));
    let (workshop, who, limits) = match &kind {
        AgentKind::Native => {
            let Mind { native, who, has_children, warnings } =
                mind::mind(&args, presence, config, environment, &directory)?;
            for warning in warnings {
                output.warning(&warning);
            }
            let workshop = if has_children { workshop } else { workshop.max_depth(0) };
            asked = Asked { provider: native.provider_name.clone(), model: native.model.clone() };
            (workshop.kind(kind.name(), Kind::Native(native)), who, limits)
        }
        AgentKind::Contest(_) => (workshop, seated, limits),
        AgentKind::Cli(_) => {
            let usual = || config.runner(kind.name()).model.unwrap_or_else(|| "its own model".to_owned());
            let who = model.clone().unwrap_or_else(usual);
            let limits = Limits { max_tool_rounds: 0, ..limits };
            (workshop, who, limits)
        }
    };
    let is_cli = matches!(kind, AgentKind::Cli(_));
    let (workshop, servers) = match servers {
        Some((hub, running)) => {
            let of_session = hub.clone();
            let tools = move || {
                // It is written down as long as there is somebody who could start them.
                let _running = &running;
                of_session.tools_for_session()
            };
            (workshop.late_tools(tools), Some(hub))
        }
        None => (workshop, None),
    };
    let spec = AgentSpec {
        kind: kind.name().to_owned(),
        model: model.filter(|_| is_cli),
        // Our own has them from its configuration.
        effort: effort.filter(|_| is_cli),
        instructions: instructions.filter(|_| is_cli),
        mode: cli_mode,
        limits,
        ..AgentSpec::default()
    };
    let line = format!("{} · {who} · {} · {rules}", kind.name(), directory.display());
    let moved = match &begin {
        Begin::Again(past) if args.cwd.is_some() => past.moves_to(&directory),
        Begin::Again(_) | Begin::New(_) => None,
    };
    let flags = Flags::of(&args, environment);
    let flags = match &begin {
        Begin::New(_) => flags.event(&Flags::default()),
        Begin::Again(past) => flags.upon(past.flags()).event(past.flags()),
    };
    let workshop = workshop.build();
    Ok(Job {
        workshop,
        spec,
        args,
        asked,
        begin,
        moved,
        flags,
        time,
        purse,
        providers,
        kept: saves,
        line,
        gaps,
        on_reject,
        servers,
    })
}

/// The MCP servers that agents here use; none if there are none. None is started.
fn mcp_servers(
    config: &Config,
    there: &Environment,
    directory: &Path,
    output: &Output,
) -> Result<Option<(Hub, Option<Entry>)>, Failure> {
    let Servers { known, warnings } = mcp::servers(config, there)?;
    for warning in &warnings {
        output.warning(warning);
    }
    let mut servers: Vec<_> =
        known.into_iter().map(|known| known.server).filter(|server| server.enabled).collect();
    if servers.is_empty() {
        return Ok(None);
    }
    let running = mcp::note(&mut servers, runners::roster(there, output));
    let (hub, warning) = mcp::hub(servers, config, there, directory)?;
    if let Some(warning) = warning {
        output.warning(&warning);
    }
    Ok(Some((hub, running)))
}

/// A council that is named as the model is one that is asked for as a council, so that its session remembers it.
fn seat_model(args: &mut WorkArgs) {
    if args.council.is_empty() {
        args.council.extend(args.model.model.take_if(|model| model.starts_with(COUNCIL_PREFIX)));
    }
}

/// The command-line agent that is meant; for those who may hand work to others, the ones that are there. What former runs
/// left behind is ended.
///
/// # Errors
/// If the one that is meant is configured in a way that makes no sense. Of the others that is told.
fn command_line_agents(
    kind: &AgentKind,
    config: &Config,
    environment: &Environment,
    output: &Output,
) -> Result<Vec<(String, Cli)>, Failure> {
    let names: Vec<String> = match kind {
        AgentKind::Cli(name) => vec![name.clone()],
        AgentKind::Native | AgentKind::Contest(_) => runners::installed(config, environment).collect(),
    };
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let roster = runners::roster(environment, output);
    let mut all = Vec::new();
    for name in names {
        match runners::agent(&name, config, environment) {
            Ok(cli) => all.push((name, Cli { roster: roster.clone(), ..cli })),
            Err(failure) if *kind == AgentKind::Cli(name.clone()) => return Err(failure),
            Err(failure) => {
                output.warning(&format!("{name} can be given no work: {}", failure.errors.join("; ")));
            }
        }
    }
    Ok(all)
}

/// A workshop that keeps its sessions, and snapshots of the files if they are wanted.
fn keeping(workshop: WorkshopBuilder, store: Store, config: &Config, output: &Output) -> WorkshopBuilder {
    let workshop = workshop.store(store);
    let (extent, silent) = match config.text("store.snapshots") {
        Some(("off", _)) => return workshop,
        Some(("on", _)) => (Extent::Any, None),
        // That there is no git, or the folder is large, is no fault where nobody asked for snapshots.
        _ => (Extent::Moderate, Some(ErrorKind::Unsupported)),
    };
    let output = output.clone();
    let on_fault = move |error: &junto::store::Error| {
        if Some(error.kind()) != silent {
            output.warning(&format!("the files are not kept, so that nothing can be undone: {error}"));
        }
    };
    workshop.snapshots(SnapshotPolicy { extent, on_fault: Arc::new(on_fault) })
}

fn limits(config: &Config) -> Limits {
    let limit = |key| config.count(key).map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX));
    Limits { max_turns: limit("limits.max_turns"), max_tool_rounds: limit("limits.max_rounds") }
}

/// What the session may spend, if that is limited; what it has spent already is spent.
fn budget(config: &Config, begin: &Begin, output: &Output) -> Option<Purse> {
    let usd = config.number("limits.max_usd").map(Usd::from_dollars);
    let limit = Allowance { usd, tokens: config.count("limits.max_tokens") };
    if limit.is_unlimited() {
        return None;
    }
    let purse = Purse::new(limit).named("the session's budget");
    if let Begin::Again(past) = begin {
        let catalog = connect::catalog(config);
        let lost = past.bill_of_lost(&catalog);
        for spending in past.bill(&catalog).into_iter().chain(lost.iter().copied()) {
            purse.book(spending);
        }
        if let Some(told) = told_of_lost(&lost, limit) {
            output.warning(&told);
        }
    }
    Some(purse)
}

/// Refuses flags that would do nothing.
pub(super) fn check_fit(kind: &AgentKind, args: &WorkArgs) -> Result<(), Failure> {
    let model = &args.model;
    let of_cli = [
        ("--ask", args.ask),
        ("--policy ask", args.policy.as_deref() == Some("ask")),
        ("--sandbox", args.sandbox.is_some()),
        ("--sandbox-config", args.sandbox_config.is_some()),
        ("--code", args.code),
        ("--code-resume", args.code_resume.is_some()),
        ("--approval-timeout", args.approval_timeout.is_some()),
        ("--provider", model.provider.is_some()),
        ("--max-answer-tokens", args.max_answer_tokens.is_some()),
        ("--max-rounds", args.max_rounds.is_some()),
        ("--council", !args.council.is_empty()),
        ("--profile", args.profile.is_some()),
        ("--dialect", args.dialect.is_some()),
        ("--command-timeout", args.command_timeout.is_some()),
        ("--on-overflow", args.on_overflow.is_some()),
        ("--tool", !args.tool.is_empty()),
        ("--no-tool", !args.no_tool.is_empty()),
        ("--web", args.web),
    ];
    let of_council = [("--provider", model.provider.is_some()), ("--model", model.model.is_some())];
    let (unfit, whom, hint) = match kind {
        AgentKind::Cli(kind) => {
            (&of_cli[..], format!("for agents of the kind {kind}"), "leave it out, or run the kind native")
        }
        AgentKind::Native if !args.council.is_empty() => (
            &of_council[..],
            "beside --council".to_owned(),
            "leave it out: the members of the council say what is asked",
        ),
        AgentKind::Native | AgentKind::Contest(_) => return Ok(()),
    };
    match unfit.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::usage(format!("{flag} does nothing {whom}"), hint)),
        None => Ok(()),
    }
}

/// Where the agent works: where the user says, else where its session did, else here.
fn directory(args: &WorkArgs, begin: &Begin, environment: &Environment) -> Result<PathBuf, Failure> {
    let own = match begin {
        Begin::Again(past) => past.workdir(),
        Begin::New(_) => None,
    };
    let here = environment.directory();
    let directory = match (args.cwd.as_deref(), own) {
        (Some(given), _) => here.join(given),
        // Sessions have paths as texts.
        (None, Some(own)) if saved::folder(environment).to_string_lossy() == own.to_string_lossy() => {
            here.to_owned()
        }
        (None, Some(own)) => own.to_owned(),
        (None, None) => here.to_owned(),
    };
    let fault = |what: String| {
        let message = format!("cannot work in {}: {what}", directory.display());
        Failure::usage(message, "name a folder that exists with -C")
    };
    let real = directory.canonicalize().map_err(|error| fault(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(fault("it is no folder".to_owned())) }
}
