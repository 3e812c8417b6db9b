//! Command-line agents as this command runs them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto::env::{Access, ExecutionEnvironment, LocalEnvironment};
use junto::llm::{CallCx, Error, EventStream, Fut, Provider, Request, Response, Secret, ToolChoice, Usd};
use junto::runner::sweep::Roster;
use junto::runner::{Definition, Endpoint, Home, Host, Patience, Probe, Purpose};
use junto::{Answers, Cli, LastResort, Relay, Runner, core::Mode};

use crate::config::{Config, RUNNERS, RunnerSettings};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::Output;
use crate::{connect, guard, saved};

/// Whether there is a command-line agent of this name.
pub(crate) fn is_known(name: &str, config: &Config) -> bool {
    config.runner_names().iter().any(|known| known == name)
}

/// Those whose programs are there to be started.
pub(crate) fn installed<'a>(
    config: &Config,
    environment: &'a Environment,
) -> impl Iterator<Item = String> + use<'a> {
    let known: Vec<(String, RunnerSettings)> =
        config.runner_names().into_iter().map(|name| (name.clone(), config.runner(&name))).collect();
    known
        .into_iter()
        .filter(|(name, settings)| is_installed(name, settings, environment))
        .map(|(name, _)| name)
}

/// Whether the program of an agent is there. The definitions of those that are run as they are shipped need not be read for
/// that: their programs have the names of their kinds.
fn is_installed(name: &str, settings: &RunnerSettings, environment: &Environment) -> bool {
    let kind = settings.like.as_deref().unwrap_or(name);
    if settings.definition.is_none() && settings.command.is_none() && RUNNERS.contains(&kind) {
        return environment.has_program(kind);
    }
    definition(name, settings).is_ok_and(|known| environment.has_program(known.program()))
}

/// The agent of a name. Its program is looked for when one is started, and not before.
///
/// # Errors
/// If there is none of this name, or it is configured in a way that makes no sense.
pub(crate) fn agent(name: &str, config: &Config, environment: &Environment) -> Result<Cli, Failure> {
    if !is_known(name, config) {
        return Err(unknown(name, config));
    }
    let settings = config.runner(name);
    let definition = definition(name, &settings)?;
    let text =
        |(name, value): (&OsStr, &OsStr)| Some((name.to_str()?.to_owned(), Secret::new(value.to_str()?)));
    let usual = Patience::default();
    let cli = Cli {
        variables: environment.all().filter_map(text).collect(),
        patience: Patience { idle: settings.idle.unwrap_or(usual.idle), hard: settings.hard, ..usual },
        pass_keys: settings.pass_keys,
        home: home(name, &settings, environment)?,
        endpoint: endpoint(name, &settings, environment)?,
        model: settings.model.clone(),
        effort: settings.effort.clone().map(Into::into),
        is_root: Environment::is_root(),
        ..Cli::new(definition)
    };
    // What a session may spend, its budget says; without one there is a limit all the same.
    let usual = cli.max_usd.filter(|_| config.number("limits.max_usd").is_none());
    let cli = Cli { max_usd: settings.max_usd.map(Usd::from_dollars).or(usual), ..cli };
    check(name, &cli)?;
    Ok(cli)
}

/// The agent asked for answers only. One that could answer nobody a while ago is left alone; where it was named alone,
/// those of the configuration's `fallback` take over.
///
/// # Errors
/// As [`agent`]; also if nothing can be run in the directory.
pub(crate) fn answers(
    name: &str,
    last_resort: LastResort,
    directory: &Path,
    config: &Config,
    environment: &Environment,
) -> Result<Arc<dyn Provider>, Failure> {
    let first = provider(name, directory, config, environment)?;
    let mut runners = vec![Runner { name: name.to_owned(), provider: first }];
    let others = config.texts("fallback").filter(|_| last_resort == LastResort::AskFirst).unwrap_or_default();
    for other in others.iter().filter(|other| *other != name) {
        let provider = provider(other, directory, config, environment)?;
        let own: Arc<dyn Provider> = match config.runner(other).model {
            Some(model) => Arc::new(WithModel { provider, model }),
            None => provider,
        };
        runners.push(Runner { name: other.clone(), provider: own });
    }
    // Who is left alone is not kept where nothing is, nor where it cannot be.
    let store = config.flag("store.save").then(|| saved::open(config, environment).ok()).flatten();
    let aside = store.and_then(|store| store.agents().ok());
    let zone = environment.zone();
    let now = Arc::new(move || Environment::now().to_zoned(zone.clone()));
    Ok(Arc::new(Relay::new(runners, aside, last_resort, now)))
}

/// An agent that is asked for a model of its own, whatever others are asked for.
struct WithModel {
    provider: Arc<dyn Provider>,
    model: String,
}

impl Provider for WithModel {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        self.provider.complete(Request { model: Some(self.model.clone()), ..request }, cx)
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        self.provider.stream(Request { model: Some(self.model.clone()), ..request }, cx)
    }

    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        self.provider.supports_tool_choice(choice)
    }
}

/// The agent asked for answers only: it may look around in the directory, and do nothing.
fn provider(
    name: &str,
    directory: &Path,
    config: &Config,
    environment: &Environment,
) -> Result<Arc<dyn Provider>, Failure> {
    let state = saved::root(environment).ok();
    let cli = Cli {
        // Whoever kills us with everything else leaves it to the next run to end what is asked now.
        roster: state
            .as_deref()
            .and_then(|root| Roster::open(&children(root)).ok())
            .map(|(own, _)| Arc::new(own)),
        logs: state.filter(|_| config.flag("store.save")).map(|root| root.join("runs")),
        ..agent(name, config, environment)?
    };
    let mut own = Vec::new();
    if let Home::Isolated(folder) = &cli.home {
        let failed = |error| no_home(folder, &error);
        cli.definition.home.furnish(folder).map_err(failed)?;
        own.push(folder.clone());
    }
    let mut host = if cli.definition.enforces(Mode::ReadOnly) {
        host(&cli, directory, environment)?
    } else {
        let local = guard::local(directory, environment, &guard::inherit(config));
        let cage = guard::guard(config, environment).cage(local, Access::ReadOnly, own);
        cli.host(cage.map_err(|error| guard::cannot_hold(&error))?)
    };
    host.catalog = connect::catalog(config);
    Ok(Arc::new(Answers::new(cli.definition, host)))
}

/// What an agent is run with in a directory.
///
/// # Errors
/// If nothing can be run there.
pub(crate) fn host(cli: &Cli, directory: &Path, environment: &Environment) -> Result<Host, Failure> {
    let local = LocalEnvironment::builder(directory).variables(environment.all()).build();
    let local: Arc<dyn ExecutionEnvironment> = Arc::new(local.map_err(|error| {
        let message = format!("cannot run {} in {}: {error}", cli.definition.kind, directory.display());
        Failure::usage(message, "start in a folder that exists")
    })?);
    Ok(cli.host(local))
}

/// Where running agents are written down. What former hosts that were killed left behind is ended, and that is told.
pub(crate) fn roster(environment: &Environment, output: &Output) -> Option<Arc<Roster>> {
    match Roster::open(&children(&saved::root(environment).ok()?)) {
        Ok((roster, swept)) => {
            if swept.processes > 0 {
                let left = swept.processes;
                output.note(&format!(
                    "{left} processes of agents were left behind by a run that was killed; ended"
                ));
            }
            Some(Arc::new(roster))
        }
        Err(error) => {
            output.warning(&format!(
                "agents that outlive this run would not be found again: {}",
                error.message()
            ));
            None
        }
    }
}

/// The folder in which hosts write down which agents they run.
fn children(state: &Path) -> PathBuf {
    state.join("children")
}

/// What a user should know before an agent is run. It is asked for its version if nothing else tells it.
///
/// # Errors
/// If it would be misunderstood.
pub(crate) async fn doubt(
    cli: &Cli,
    directory: &Path,
    environment: &Environment,
) -> Result<Option<String>, Failure> {
    let host = host(cli, directory, environment)?;
    Ok(Probe::ask(&cli.definition, &host).await.doubt(&cli.definition)?)
}

/// The limits of a session that an agent cannot be held to, as keys of the configuration, with what they are a limit of.
pub(crate) fn unkept_limits(name: &str, config: &Config) -> Vec<(&'static str, &'static str)> {
    let is_boundless = |definition: Definition| definition.options.max_usd.is_empty();
    let money = definition(name, &config.runner(name)).is_ok_and(is_boundless);
    let money = money.then_some(("limits.max_usd", "an amount of money"));
    // They ask their models by themselves.
    money.into_iter().chain([("limits.max_tokens", "a number of tokens")]).collect()
}

/// Refuses a budget that an agent cannot be held to.
///
/// # Errors
/// If there is one.
pub(crate) fn check_budget(name: &str, config: &Config) -> Result<(), Failure> {
    let is_set = |key: &str| config.number(key).is_some() || config.count(key).is_some();
    let Some((key, what)) = unkept_limits(name, config).into_iter().find(|(key, _)| is_set(key)) else {
        return Ok(());
    };
    let flag = key.trim_start_matches("limits.").replace('_', "-");
    Err(Failure::usage(
        format!("{name} cannot be held to {what}: it asks its models by itself"),
        format!("leave out --{flag}, and `{key}` in the configuration; or run another agent"),
    ))
}

fn definition(name: &str, settings: &RunnerSettings) -> Result<Definition, Failure> {
    let definition = if let Some(file) = &settings.definition {
        let shown = file.display();
        let text = std::fs::read_to_string(file).map_err(|error| {
            let message = format!("cannot read {shown}, which says how {name} is run: {error}");
            Failure::usage(message, format!("correct `runners.{name}.definition` in the configuration"))
        })?;
        Definition::parse(&text).map_err(|error| {
            let message = format!("{shown}, which says how {name} is run: {}", error.message());
            Failure::usage(message, "the guide page \"Command-line agents\" says what may stand there")
        })?
    } else {
        let like = settings.like.as_deref().unwrap_or(name);
        Definition::shipped(like).ok_or_else(|| {
            let message = format!("nothing is known of {like}");
            Failure::usage(message, "this build of junto is broken; install another")
        })?
    };
    let mut definition = Definition { kind: name.to_owned(), ..definition };
    if let Some(command) = settings.command.as_ref().filter(|command| !command.is_empty()) {
        definition.start_by(command.iter().cloned());
    }
    Ok(definition)
}

fn home(name: &str, settings: &RunnerSettings, environment: &Environment) -> Result<Home, Failure> {
    if !settings.is_isolated {
        return Ok(Home::Own);
    }
    Ok(Home::Isolated(saved::root(environment)?.join("runners").join(name)))
}

fn endpoint(
    name: &str,
    settings: &RunnerSettings,
    environment: &Environment,
) -> Result<Option<Endpoint>, Failure> {
    let Some(url) = &settings.endpoint else { return Ok(None) };
    let key = settings.key_variable.as_deref().map(|variable| {
        environment.get(variable).map(Secret::new).ok_or_else(|| {
            let message = format!("the variable {variable} is empty or not set");
            Failure::usage(message, format!("set it to the key for the endpoint of {name}"))
        })
    });
    Ok(Some(Endpoint { url: url.clone(), key: key.transpose()? }))
}

/// Whether an agent can be asked for this model and this effort.
///
/// # Errors
/// If not, or if it is configured in a way that makes no sense.
pub(crate) fn check_wishes(
    name: &str,
    model: Option<&str>,
    effort: Option<&str>,
    config: &Config,
) -> Result<(), Failure> {
    let effort = effort.map(|effort| effort.to_owned().into());
    let run = junto::runner::Invocation {
        model,
        effort: effort.as_ref(),
        ..junto::runner::Invocation::new(Purpose::Work(Mode::ReadOnly))
    };
    let definition = definition(name, &config.runner(name))?;
    definition.command_line(&run).map(drop).map_err(|error| {
        Failure::usage(error.message().to_owned(), error.hint().unwrap_or("choose another, or leave it out"))
    })
}

/// Finds out what makes no sense before anything is started.
fn check(name: &str, cli: &Cli) -> Result<(), Failure> {
    let run = junto::runner::Invocation {
        model: cli.model.as_deref(),
        effort: cli.effort.as_ref(),
        endpoint: cli.endpoint.as_ref(),
        ..junto::runner::Invocation::new(Purpose::Work(Mode::ReadOnly))
    };
    cli.definition.command_line(&run).map(drop).map_err(|error| {
        let hint = error.hint().map_or_else(|| format!("correct [runners.{name}]"), str::to_owned);
        Failure::usage(error.message().to_owned(), hint)
    })
}

fn unknown(name: &str, config: &Config) -> Failure {
    let known = config.runner_names().join(", ");
    Failure::usage(
        format!("there is no command-line agent \"{name}\""),
        format!("there are {known}; [runners.NAME] in the configuration makes others"),
    )
}

fn no_home(folder: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot make the home {}: {error}", folder.display());
    Failure::usage(message, "JUNTO_STATE_DIR says where such folders are")
}
