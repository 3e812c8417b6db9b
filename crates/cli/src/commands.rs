//! The commands, one file for each.

mod agent;
mod apply;
mod ask;
mod config;
mod cost;
mod demo;
mod doctor;
mod eval;
mod export;
mod fork;
mod gateway;
mod mcp;
mod models;
mod policy;
pub(crate) mod profile;
mod reach;
mod replay;
mod rewind;
mod run;
mod sandbox;
mod sessions;
mod trust;

use std::io::{self, Write as _};

use clap::CommandFactory;
use tokio::runtime::Builder;

pub(crate) use self::sandbox::{DOOR, door as sandbox_door};

use crate::args::{AgentArgs, AgentCommand, Cli, Command, GatewayArgs, WorkArgs};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::paint::Color;
use crate::output::{self, Output, Talk};

/// Runs a command, and says on standard error what went wrong if something did.
pub(crate) fn run(cli: Cli, environment: &Environment) -> Exit {
    let talk = match &cli.command {
        Some(Command::Ask(args)) if args.quiet => Talk::Quiet,
        command if work(command.as_ref()).is_some_and(|work| work.quiet) => Talk::Quiet,
        _ => Talk::Normal,
    };
    let color = work(cli.command.as_ref()).map_or(Color::Auto, |work| work.color);
    let output = Output::of_process(talk, color, environment);
    let result = match cli.command {
        None => output.data(&Cli::command().render_help().to_string()).map(|()| Exit::Done),
        Some(Command::Ask(args)) => interruptible(ask::run(args, environment, &output)),
        Some(Command::Models(args)) => models::run(&args, environment, &output),
        Some(Command::Config(args)) => interruptible(config::run(args.command, environment, &output)),
        Some(Command::Skills(args)) => reach::run(reach::Listed::Skills, &args, environment, &output),
        Some(Command::Commands(args)) => reach::run(reach::Listed::Commands, &args, environment, &output),
        Some(Command::Hooks(args)) => reach::run(reach::Listed::Hooks, &args, environment, &output),
        Some(Command::Policy(args)) => interruptible(policy::run(args.command, environment, &output)),
        Some(Command::Trust(args)) => interruptible(trust::run(args, environment, &output)),
        Some(Command::Run(args)) => on_runtime(run::run(args, environment, &output)),
        Some(Command::Council(args)) => on_runtime(run::council(args, environment, &output)),
        Some(Command::Apply(args)) => interruptible(apply::run(args, environment, &output)),
        Some(Command::Resume(args)) => on_runtime(run::resume(args, environment, &output)),
        Some(Command::Fork(args)) => on_runtime(run::fork(args, environment, &output)),
        Some(Command::Sessions(args)) => sessions::run(&args, environment, &output),
        Some(Command::Rewind(args)) => interruptible(rewind::rewind(args, environment, &output)),
        Some(Command::Undo(args)) => interruptible(rewind::undo(args, environment, &output)),
        Some(Command::Export(args)) => export::run(&args, environment, &output),
        Some(Command::Replay(args)) => interruptible(replay::run(args, environment, &output)),
        Some(Command::Agent(args)) => on_runtime(agent::run(args.command, environment, &output)),
        Some(Command::Cost(args)) => cost::run(&args, environment, &output),
        Some(Command::Gateway(GatewayArgs { command: Some(command), .. })) => {
            interruptible(gateway::run(command, environment, &output))
        }
        Some(Command::Gateway(GatewayArgs { serve, .. })) => {
            on(&mut gateway::runtime(environment), gateway::serve(serve, environment, &output))
        }
        Some(Command::Mcp(args)) => on_runtime(mcp::run(args, environment, &output)),
        Some(Command::Demo(args)) => on_runtime(demo::run(&args, environment, &output)),
        Some(Command::Eval(args)) => on_runtime(eval::run(args, environment, &output)),
        Some(Command::Sandbox(args)) => on_runtime(sandbox::run(args, environment, &output)),
        Some(Command::SandboxDoor(args)) => sandbox::open_door(args),
        Some(Command::Doctor(args)) => interruptible(doctor::run(&args, environment, &output)),
        Some(Command::Profile(args)) => interruptible(profile::run(args.command, environment, &output)),
    };
    let exit = result.unwrap_or_else(|failure| {
        output.failure(&failure);
        failure.exit
    });
    output.finish();
    exit
}

/// Prints what the command line comes to if it is no command: help, the version, or what is wrong with it.
pub(crate) fn tell(told: &clap::Error, environment: &Environment) -> Exit {
    let code = Exit::Of(u8::try_from(told.exit_code()).unwrap_or(u8::MAX));
    match told.print().and_then(|()| io::stdout().flush()) {
        // Whoever reads no more, or not at all what was wrong, need not be told.
        Ok(()) => code,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe || told.use_stderr() => code,
        Err(error) => {
            let failure = output::unwritten(&error);
            Output::of_process(Talk::Normal, Color::Auto, environment).failure(&failure);
            failure.exit
        }
    }
}

/// How the agent works that a command starts, if it starts one.
fn work(command: Option<&Command>) -> Option<&WorkArgs> {
    match command? {
        Command::Run(args) => Some(&args.work),
        Command::Council(args) => Some(&args.work),
        Command::Resume(args) => Some(&args.work),
        Command::Fork(args) => Some(&args.work),
        Command::Agent(AgentArgs { command: AgentCommand::Send(args) }) => Some(&args.work),
        Command::Agent(AgentArgs { command: AgentCommand::Background(args) }) => Some(&args.work),
        _ => None,
    }
}

/// Runs a command until it ends or is interrupted. An interrupt drops what it was doing, which closes its
/// connections and ends what it started.
fn interruptible(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    on_runtime(async {
        let mut interrupts = Interrupts::listen()?;
        tokio::select! {
            biased;
            () = interrupts.next() => Err(Failure::interrupted()),
            result = command => result,
        }
    })
}

/// Runs a command to its end.
fn on_runtime(command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    on(&mut Builder::new_current_thread(), command)
}

/// Runs a command to its end on such a runtime.
fn on(runtime: &mut Builder, command: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = runtime.enable_all().build().map_err(|error| {
        Failure::new(
            Exit::Failed,
            format!("cannot start: {error}"),
            "the system may be out of memory or file handles",
        )
    })?;
    let result = runtime.block_on(command);
    // Reading standard input cannot be interrupted; the process ends without waiting for it.
    runtime.shutdown_background();
    result
}
