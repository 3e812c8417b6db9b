//! `junto run`: an agent works on a task.

mod drive;
mod ending;
mod host;
mod mind;
mod view;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use junto::core::{AgentSpec, Input, Limits, OnReject};
use junto::env::variables::Inherit;
use junto::env::{ExecutionEnvironment, LocalEnvironment};
use junto::{AskFirst, Kind, Workshop, WorkshopBuilder};
use tokio_util::sync::CancellationToken;

use self::drive::{Drive, refused};
use self::host::{Host, Presence};
use self::mind::Mind;
use self::view::{Form, View};
use crate::args::{AgentKind, InputForm, RunArgs};
use crate::config::{Config, ProviderSettings};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;
use crate::output::paint::{Painted, Style};
use crate::{claude, connect};

/// Runs the command.
pub(crate) async fn run(args: RunArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    // Nothing has begun that would have to end.
    let (job, task) = tokio::select! {
        biased;
        () = interrupts.next() => return Err(Failure::interrupted()),
        prepared = prepare(&args, environment, output) => prepared?,
    };
    output.say(&Painted::new(output.err().paint).styled(Style::DIM, &job.line));
    let started = job.workshop.start(job.spec, CancellationToken::new()).await;
    let agent = started.map_err(|error| refused(&error))?;
    let form = if args.json { Form::Json } else { Form::Text };
    let view = View::new(form, output.clone(), agent.log().clone());
    let host = Host::new(presence(&args), output.clone());
    let drive = Drive::new(agent, view, host, output.clone()).at_most(job.time);
    let end = drive.run(task, &mut interrupts).await?;
    ending::ending(&end, &job.providers)
}

/// An agent that is ready to be started.
struct Job {
    workshop: Workshop,
    spec: AgentSpec,
    /// How long it may take.
    time: Option<Duration>,
    /// Whom it may ask.
    providers: Vec<ProviderSettings>,
    /// What is said of it at the start.
    line: String,
}

async fn prepare(
    args: &RunArgs,
    environment: &Environment,
    output: &Output,
) -> Result<(Job, Option<Input>), Failure> {
    let directory = directory(args.cwd.as_deref(), environment)?;
    // The project that counts is the one that is worked on.
    let config = Config::load(&environment.in_directory(&directory), &args.values())?;
    for note in &config.notes {
        output.note(note);
    }
    check_fit(args)?;
    let (time, providers, limits) = (config.duration("timeouts.run"), config.providers(), limits(&config));
    let workshop = workshop(&directory, environment, inherit(&config))
        .catalog(connect::catalog(&config))
        .retry(config.retry());
    // Our own agent may hand work to it.
    let workshop = workshop.kind(claude::NAME, Kind::Cli(Box::new(claude::agent(environment)?)));
    let (workshop, model, rules, limits) = match args.kind {
        AgentKind::Native => {
            let Mind { native, asked, has_children, warnings } =
                mind::mind(args, presence(args), config, environment, &directory)?;
            for warning in warnings {
                output.warning(&warning);
            }
            let workshop = if has_children { workshop } else { workshop.max_depth(0) };
            let rules = if args.ask { "asks first" } else { "everything is allowed" };
            (workshop.kind(args.kind.name(), Kind::Native(native)), asked, rules, limits)
        }
        AgentKind::Claude => {
            let model = args.settings.model.model.clone().unwrap_or_else(|| "its own model".to_owned());
            let limits = Limits { max_tool_rounds: 0, ..limits };
            (workshop, model, "may change files here; its own rules for the rest", limits)
        }
    };
    let workshop = if args.ask {
        // Where nobody can be asked, the model must find another way.
        let nobody = presence(args) == Presence::Nobody;
        let on_reject = if nobody { OnReject::TellModel } else { OnReject::EndTurn };
        workshop.policy(Arc::new(AskFirst), on_reject)
    } else {
        workshop
    };
    let spec = AgentSpec {
        kind: args.kind.name().to_owned(),
        model: args.settings.model.model.clone().filter(|_| args.kind == AgentKind::Claude),
        limits,
        ..AgentSpec::default()
    };
    let line = format!("{} · {model} · {} · {rules}", args.kind.name(), directory.display());
    Ok((Job { workshop: workshop.build(), spec, time, providers, line }, task(args).await?))
}

/// A workshop whose agents work in this directory, with the process's variables to choose from.
fn workshop(directory: &Path, environment: &Environment, inherit: Inherit) -> WorkshopBuilder {
    let variables: Vec<_> =
        environment.all().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Workshop::builder(directory, move |directory| {
        let local = LocalEnvironment::builder(directory);
        let local = local.variables(variables.clone()).inherit(inherit.clone()).build()?;
        Ok(Arc::new(local) as Arc<dyn ExecutionEnvironment>)
    })
}

/// Which variables commands inherit.
fn inherit(config: &Config) -> Inherit {
    match config.text("env_policy") {
        Some(("all", _)) => Inherit::All,
        Some(("none", _)) => Inherit::None,
        _ => Inherit::Core,
    }
}

fn limits(config: &Config) -> Limits {
    let limit = |key| config.count(key).map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX));
    Limits { max_turns: limit("limits.max_turns"), max_tool_rounds: limit("limits.max_rounds") }
}

/// Refuses flags that would do nothing.
fn check_fit(args: &RunArgs) -> Result<(), Failure> {
    let model = &args.settings.model;
    let of_claude = [
        ("--ask", args.ask),
        ("--provider", model.provider.is_some()),
        ("--effort", model.effort.is_some()),
        ("--max-tokens", args.settings.max_tokens.is_some()),
        ("--max-rounds", args.max_rounds.is_some()),
        ("--council", !args.council.is_empty()),
        ("--profile", args.profile.is_some()),
        ("--dialect", args.dialect.is_some()),
        ("--instructions", args.instructions.is_some()),
        ("--command-timeout", args.command_timeout.is_some()),
        ("--on-overflow", args.on_overflow.is_some()),
        ("--tool", !args.tool.is_empty()),
        ("--no-tool", !args.no_tool.is_empty()),
        ("--web", args.web),
    ];
    let of_council = [("--provider", model.provider.is_some()), ("--model", model.model.is_some())];
    let (unfit, whom, hint) = match args.kind {
        AgentKind::Claude => {
            (&of_claude[..], "for agents of the kind claude", "leave it out, or run the kind native")
        }
        AgentKind::Native if !args.council.is_empty() => (
            &of_council[..],
            "beside --council",
            "leave it out: the members of the council say what is asked",
        ),
        AgentKind::Native => return Ok(()),
    };
    match unfit.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::usage(format!("{flag} does nothing {whom}"), hint)),
        None => Ok(()),
    }
}

/// Where the agent works.
fn directory(cwd: Option<&Path>, environment: &Environment) -> Result<PathBuf, Failure> {
    let directory =
        cwd.map_or_else(|| environment.directory().to_owned(), |cwd| environment.directory().join(cwd));
    let fault = |what: String| {
        let message = format!("cannot work in {}: {what}", directory.display());
        Failure::usage(message, "name a folder that exists with -C")
    };
    let real = directory.canonicalize().map_err(|error| fault(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(fault("it is no folder".to_owned())) }
}

/// Who is at the other end of standard input.
fn presence(args: &RunArgs) -> Presence {
    if args.input == InputForm::Json {
        Presence::Program
    } else if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        Presence::Person
    } else {
        Presence::Nobody
    }
}

/// The task: the argument, or what is piped in where there is none. A program that writes commands may
/// give it later.
async fn task(args: &RunArgs) -> Result<Option<Input>, Failure> {
    let text = match (&args.task, args.input) {
        (Some(task), _) => task.clone(),
        (None, InputForm::Json) => return Ok(None),
        (None, InputForm::Text) => super::ask::piped_in().await?.unwrap_or_default(),
    };
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "there is no task",
            "give one, as in `junto run \"Fix the failing test.\"`, or pipe it in",
        ));
    }
    Ok(Some(Input::text(text)))
}
