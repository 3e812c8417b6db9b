//! Claude Code and its like, as this command runs them.

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

/// The kinds of command-line agents that may be known, the usual one first.
pub(crate) const KINDS: &[&str] = &[NAME, "codex", "gemini"];

/// Whether this is a kind of command-line agent.
pub(crate) fn is_known(kind: &str) -> bool {
    Definition::shipped(kind).is_some()
}

/// The kinds that are known.
pub(crate) fn known() -> impl Iterator<Item = &'static str> {
    KINDS.iter().copied().filter(|kind| is_known(kind))
}

/// Whether the program of a kind is there to be started.
pub(crate) fn is_installed(kind: &str, environment: &Environment) -> bool {
    let program = Definition::shipped(kind).and_then(|definition| definition.command.first().cloned());
    program.is_some_and(|program| environment.has_program(&program))
}

/// The agent of a kind. Its program is looked for when one is started, and not before.
///
/// # Errors
/// If this build knows nothing of it.
pub(crate) fn agent(kind: &str, environment: &Environment) -> Result<Cli, Failure> {
    let definition = Definition::shipped(kind).ok_or_else(|| {
        Failure::new(
            Exit::Failed,
            format!("nothing is known of {kind}"),
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
    let Cli { definition, variables, patience } = agent(NAME, environment)?;
    let local = LocalEnvironment::builder(directory).variables(environment.all()).build();
    let local = local.map_err(|error| {
        let message = format!("cannot run {NAME} in {}: {error}", directory.display());
        Failure::usage(message, "start in a folder that exists")
    })?;
    let host = Host { variables, patience, ..Host::new(Arc::new(local)) };
    Ok(Arc::new(CliProvider::new(definition, host)))
}
