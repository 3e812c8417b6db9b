//! `junto profile`: what models are told and which tools they have.

mod capture;
mod find;
mod recipe;
mod seen;
mod show;

use crate::args::ProfileCommand;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(crate) use self::find::{find, folder, in_the_shadow, shadowed};

/// Runs the command.
pub(crate) async fn run(
    command: ProfileCommand,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        ProfileCommand::List { json } => show::list(json, environment, output),
        ProfileCommand::Show { name, dialect, json } => show::show(&name, dialect, json, environment, output),
        ProfileCommand::Capture(args) => capture::run(&args, environment, output).await,
    }
}
