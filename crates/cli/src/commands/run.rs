//! `junto run`: an agent works on a task, headless.

mod drive;
mod ending;
mod host;
mod view;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto::core::{Agent, AgentSpec, Input, Limits, OnReject};
use junto::env::{ExecutionEnvironment, LocalEnvironment};
use junto::llm::Effort;
use junto::{AskFirst, Kind, Native, Workshop, WorkshopBuilder};
use tokio_util::sync::CancellationToken;

use self::drive::Drive;
use self::view::View;
use crate::args::{AgentKind, RunArgs};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;
use crate::{choice, claude, connect, council};

pub(crate) use self::drive::refused;
pub(crate) use self::host::{Host, Presence};
pub(crate) use self::view::Form;

/// The system prompt of our own agent.
const SYSTEM: &str = include_str!("run/system.md");

/// Runs the command.
pub(crate) async fn run(args: RunArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    // Nothing has begun that would have to end.
    let (job, task) = tokio::select! {
        biased;
        () = interrupts.next() => return Err(Failure::interrupted()),
        prepared = prepare(&args, environment, output) => prepared?,
    };
    output.note(&job.line);
    let started = job.workshop.start(job.spec, CancellationToken::new()).await;
    let agent = started.map_err(|error| refused(&error))?;
    let form = if args.json { Form::Json } else { Form::Text };
    let host = Host::new(presence(&args), output.clone());
    follow(agent, task, form, host, output, &mut interrupts).await
}

/// Lets an agent work on a task, and follows it to its end.
///
/// # Errors
/// Every end but that the agent is done.
pub(crate) async fn follow(
    agent: Arc<dyn Agent>,
    task: Input,
    form: Form,
    host: Host,
    output: &Output,
    interrupts: &mut Interrupts,
) -> Result<Exit, Failure> {
    let view = View::new(form, output.clone(), agent.log().clone());
    let end = Drive::new(agent, view, host, output.clone()).run(task, interrupts).await?;
    ending::ending(&end.reason, end.limit.as_deref())
}

/// An agent that is ready to be started.
struct Job {
    workshop: Workshop,
    spec: AgentSpec,
    /// What is said of it at the start.
    line: String,
}

async fn prepare(
    args: &RunArgs,
    environment: &Environment,
    output: &Output,
) -> Result<(Job, Input), Failure> {
    let config = Config::load(environment, &args.model.values())?;
    for note in &config.notes {
        output.note(note);
    }
    let directory = directory(args.cwd.as_deref(), environment)?;
    let workshop = workshop(&directory, environment).catalog(connect::catalog(&config)).retry(config.retry());
    check_fit(args)?;
    // Our own agent may hand work to it.
    let workshop = workshop.kind(claude::NAME, Kind::Cli(Box::new(claude::agent(environment)?)));
    let (workshop, model, rules) = match args.kind {
        AgentKind::Native => {
            let (native, model) = native(args, &config, environment, &directory)?;
            let rules = if args.ask { "asks first" } else { "everything is allowed" };
            (workshop.kind(args.kind.name(), Kind::Native(native)), model, rules)
        }
        AgentKind::Claude => {
            let model = args.model.model.clone().unwrap_or_else(|| "its own model".to_owned());
            (workshop, model, "may change files here; its own rules for the rest")
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
        model: args.model.model.clone().filter(|_| args.kind == AgentKind::Claude),
        limits: Limits {
            max_turns: args.max_turns.unwrap_or(0),
            max_tool_rounds: args.max_rounds.unwrap_or(0),
        },
        ..AgentSpec::default()
    };
    let line = format!("{} · {model} · {} · {rules}", args.kind.name(), directory.display());
    Ok((Job { workshop: workshop.build(), spec, line }, task(args).await?))
}

/// A workshop whose agents work in this directory, with the process's variables to choose from.
pub(crate) fn workshop(directory: &Path, environment: &Environment) -> WorkshopBuilder {
    let variables: Vec<_> =
        environment.all().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Workshop::builder(directory, move |directory| {
        let local = LocalEnvironment::builder(directory).variables(variables.clone()).build()?;
        Ok(Arc::new(local) as Arc<dyn ExecutionEnvironment>)
    })
}

/// The system prompt for work in this directory.
pub(crate) fn system(directory: &Path) -> String {
    SYSTEM.replace("{directory}", &directory.display().to_string()).replace("{system}", std::env::consts::OS)
}

/// Our own agent, and whom it asks, in words.
fn native(
    args: &RunArgs,
    config: &Config,
    environment: &Environment,
    directory: &Path,
) -> Result<(Native, String), Failure> {
    let (native, asked) = if args.council.is_empty() {
        let choice = choice::settle(config, environment)?;
        let client = connect::client(config, environment)?;
        let provider =
            choice.provider.as_deref().or(client.default_provider()).unwrap_or_default().to_owned();
        let latest = || client.catalog().latest(&provider, None).map(|model| model.id.clone());
        let model = choice.model.clone().or_else(latest).unwrap_or_else(|| "no model".to_owned());
        let native = Native::new(Arc::new(client));
        let native = Native { provider_name: choice.provider, model: choice.model, ..native };
        (native, format!("{provider}/{model}"))
    } else {
        let client = connect::client(config, environment)?;
        let council = council::council(&args.council, &client, directory, config, environment)?;
        let asked = council::words(&council);
        (Native::new(Arc::new(council)), asked)
    };
    let effort = config.text("effort").map(|(level, _)| Effort::from(level.to_owned()));
    Ok((Native { effort, system: system(directory), ..native }, asked))
}

/// Refuses flags that would do nothing.
fn check_fit(args: &RunArgs) -> Result<(), Failure> {
    let of_claude = [
        ("--ask", args.ask),
        ("--provider", args.model.provider.is_some()),
        ("--effort", args.model.effort.is_some()),
        ("--max-rounds", args.max_rounds.is_some()),
        ("--council", !args.council.is_empty()),
    ];
    let of_council = [("--provider", args.model.provider.is_some()), ("--model", args.model.model.is_some())];
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
        Failure::usage(message, "name a folder that exists with --cwd")
    };
    let real = directory.canonicalize().map_err(|error| fault(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(fault("it is no folder".to_owned())) }
}

/// Who is at the other end of standard input.
fn presence(args: &RunArgs) -> Presence {
    if args.commands {
        Presence::Program
    } else if args.ask && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        Presence::Person
    } else {
        Presence::Nobody
    }
}

/// The task: the argument, or what is piped in where there is none.
async fn task(args: &RunArgs) -> Result<Input, Failure> {
    let text = match &args.task {
        Some(task) => task.clone(),
        None => super::ask::piped_in().await?.unwrap_or_default(),
    };
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "there is no task",
            "give one, as in `junto run \"Fix the failing test.\"`, or pipe it in",
        ));
    }
    Ok(Input::text(text))
}
