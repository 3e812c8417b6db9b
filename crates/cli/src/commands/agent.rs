//! `junto agent`: agents that have a name.

mod abort;
mod setup;
mod status;

use junto::store::{AgentInput, AgentRun, AgentSetup, Agents, InputState, NamedAgent, Store};
use serde_json::{Value, json};

use super::run::{Busy, Errand, kept};
use crate::args::{AddArgs, AgentCommand, NameArgs, SendArgs, SetArgs};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;
use crate::{runners, saved};

/// Runs the command.
pub(crate) async fn run(
    command: AgentCommand,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        AgentCommand::Add(args) => add(&args, environment, output),
        AgentCommand::Set(args) => set(&args, environment, output),
        AgentCommand::List(args) => status::list(args.json, environment, output),
        AgentCommand::Status(args) => status::status(&args, environment, output),
        AgentCommand::Send(args) => send(args, environment, output).await,
        AgentCommand::New(args) => new(&args, environment, output),
        AgentCommand::Abort(args) => {
            let mut interrupts = Interrupts::listen()?;
            tokio::select! {
                biased;
                () = interrupts.next() => Err(Failure::interrupted()),
                exit = abort::abort(&args, environment, output) => exit,
            }
        }
        AgentCommand::Remove(args) => remove(&args, environment, output),
        AgentCommand::Background(args) => Box::pin(super::run::background(args, environment, output)).await,
    }
}

fn add(args: &AddArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let config = Config::load(environment, &[])?;
    let runners = config.runner_names();
    setup::check_name(&args.name, &runners)?;
    let setup = setup::new(&args.setup, &runners, environment)?;
    check_wishes(&setup, &config)?;
    let agents = open(environment)?;
    agents.add(&args.name, &setup, Environment::now()).map_err(|error| kept(&error))?;
    let agent = agents.get(&args.name).map_err(|error| kept(&error))?;
    told(&agent, &agents, args.json, output)?;
    let NamedAgent { name, setup, .. } = &agent;
    if !runners::installed(&config, environment).any(|known| known == setup.provider) {
        output.warning(&format!("{} is not installed: {name} cannot work before it is", setup.provider));
    }
    if !args.json {
        output.note(&format!(
            "{name} works in {}; to let it: junto agent send {name} \"…\"",
            setup.workspace.display()
        ));
    }
    Ok(Exit::Done)
}

fn set(args: &SetArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let agents = open(environment)?;
    let before = agents.get(&args.name).map_err(|error| kept(&error))?;
    let config = Config::load(environment, &[])?;
    let runners = config.runner_names();
    let setup = setup::changed(before.setup, &args.setup, &args.unset, &runners, environment)?;
    check_wishes(&setup, &config)?;
    let forgot = agents.set(&before.name, &setup).map_err(|error| kept(&error))?;
    let agent = agents.get(&before.name).map_err(|error| kept(&error))?;
    told(&agent, &agents, args.json, output)?;
    if forgot {
        output.note(&format!("the next run of {} begins a new conversation", agent.name));
    }
    Ok(Exit::Done)
}

fn new(args: &NameArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let agents = open(environment)?;
    let name = agents.get(&args.name).map_err(|error| kept(&error))?.name;
    let forgot = agents.forget(&name).map_err(|error| kept(&error))?;
    if args.json {
        output.exact(&format!("{:#}\n", json!({"agent": name, "forgot": forgot})))?;
    } else if forgot {
        output.note(&format!("the next run of {name} begins a new conversation"));
    } else {
        output.note(&format!("{name} has nothing to forget: its next run begins a new conversation anyway"));
    }
    Ok(Exit::Done)
}

fn remove(args: &NameArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let agents = open(environment)?;
    let name = agents.get(&args.name).map_err(|error| kept(&error))?.name;
    agents.remove(&name).map_err(|error| kept(&error))?;
    let folder = agents.folder(&name);
    if args.json {
        output.exact(&format!("{:#}\n", json!({"agent": name, "removed": true, "folder": folder})))?;
    } else {
        output.note(&format!("{name} is removed; its folder stays: {}", folder.display()));
    }
    Ok(Exit::Done)
}

async fn send(args: SendArgs, environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let SendArgs { name, text, later, again, debug, work } = args;
    super::run::check_named(&work)?;
    let busy = if later { Busy::Later } else { Busy::Queue };
    let errand = Errand { name, text, again, busy, debug, args: work };
    Box::pin(errand.run(environment, output)).await
}

/// Refuses a setup with which no run could begin.
fn check_wishes(setup: &AgentSetup, config: &Config) -> Result<(), Failure> {
    let AgentSetup { provider, model, effort, .. } = setup;
    runners::check_wishes(provider, model.as_deref(), effort.as_deref(), config)
}

/// Tells how an agent is set up.
fn told(agent: &NamedAgent, agents: &Agents, as_json: bool, output: &Output) -> Result<(), Failure> {
    if as_json { output.exact(&format!("{:#}\n", to_json(agent, agents))) } else { Ok(()) }
}

/// An agent's name, folder and setup.
fn to_json(agent: &NamedAgent, agents: &Agents) -> Value {
    let NamedAgent { name, setup, created } = agent;
    json!({"name": name, "created": created.to_string(), "folder": agents.folder(name), "setup": setup})
}

/// How many inputs of an agent wait. What is on lease to nobody does, too.
pub(super) fn waiting(queue: &[AgentInput], running: Option<&AgentRun>) -> usize {
    let waits = |input: &&AgentInput| match input.state {
        InputState::Waiting => true,
        InputState::Leased => running.is_none(),
        _ => false,
    };
    queue.iter().filter(waits).count()
}

/// What is kept of agents. Makes its file if it is not there.
fn open(environment: &Environment) -> Result<Agents, Failure> {
    let config = Config::load(environment, &[])?;
    saved::open(&config, environment)?.agents().map_err(|error| kept(&error))
}

/// The same, if there is anything: whoever only looks leaves nothing behind.
fn open_existing(environment: &Environment) -> Result<Option<Agents>, Failure> {
    let config = Config::load(environment, &[])?;
    let store = saved::open_existing(&config, environment)?;
    store.as_ref().map(Store::agents).transpose().map_err(|error| kept(&error))
}
