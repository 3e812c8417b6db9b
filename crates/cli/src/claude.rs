//! Claude Code as this command runs it.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use junto::Cli;
use junto::env::LocalEnvironment;
use junto::llm::{Provider, Secret};
use junto::runner::{CliProvider, Definition, Host};

use crate::environment::Environment;
use crate::failure::{Exit, Failure};

/// What it is called among the kinds of agents and among the members of a council.
pub(crate) const NAME: &str = "claude";

/// Whether its program is there to be started.
pub(crate) fn is_installed(environment: &Environment) -> bool {
    environment.has_program(NAME)
}

/// The agent. Its program is looked for when one is started, and not before.
///
/// # Errors
/// If this build knows nothing of it.
pub(crate) fn agent(environment: &Environment) -> Result<Cli, Failure> {
    let definition = Definition::shipped(NAME).ok_or_else(|| {
        Failure::new(
            Exit::Failed,
            format!("nothing is known of {NAME}"),
            "this build of junto is broken; install another",
        )
    })?;
    let text =
        |(name, value): (&OsStr, &OsStr)| Some((name.to_str()?.to_owned(), Secret::new(value.to_str()?)));
    let variables = environment.all().filter_map(text).collect();
    Ok(Cli { variables, ..Cli::new(definition) })
}

/// The agent asked for answers only: it may look around in the directory, and do nothing.
///
/// # Errors
/// As [`agent`]; also if nothing can be run in the directory.
pub(crate) fn provider(directory: &Path, environment: &Environment) -> Result<Arc<dyn Provider>, Failure> {
    let Cli { definition, variables, patience } = agent(environment)?;
    let local = LocalEnvironment::builder(directory).variables(environment.all()).build();
    let local = local.map_err(|error| {
        let message = format!("cannot run {NAME} in {}: {error}", directory.display());
        Failure::usage(message, "start in a folder that exists")
    })?;
    let host = Host { variables, patience, ..Host::new(Arc::new(local)) };
    Ok(Arc::new(CliProvider::new(definition, host)))
}
