//! On which terms an agent works: which project's configuration counts, what is allowed, what is enforced.

use std::path::Path;

use junto::core::{Mode as AgentMode, OnReject};
use junto::env::{Error, ErrorKind};
use junto::policy::Mode;
use junto::{Cli, Enforcement, Guard, Workshop, WorkshopBuilder};

use super::host::Presence;
use crate::commands::trust;
use crate::config::{Config, Files, FlagValue, ProjectFiles};
use crate::consent;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::guard;
use crate::output::Output;
use crate::sandbox_file;

/// The configuration of the project that is worked on. A person is asked whether a file of its own that
/// nobody has trusted shall count; where nobody can be asked it does not, and that is told.
///
/// # Errors
/// What is wrong with the configuration.
pub(super) async fn configuration(
    environment: &Environment,
    values: &[FlagValue],
    presence: Presence,
    output: &Output,
) -> Result<Config, Failure> {
    let config = Config::load(environment, values)?;
    match config.untrusted() {
        Some(file) if presence == Presence::Person && wanted(file, environment, output).await? => {
            trust::add(&Files::find(environment), file)?;
            Config::load(environment, values)
        }
        _ => {
            for note in &config.notes {
                output.note(note);
            }
            Ok(config)
        }
    }
}

async fn wanted(file: &ProjectFiles, environment: &Environment, output: &Output) -> Result<bool, Failure> {
    let shown = trust::shown(file, environment)?;
    Ok(consent::yes(output, &shown, "This project brings its own configuration. Trust it?").await)
}

/// What is in force, in words, and a workshop whose agents work on these terms.
pub(super) struct Terms {
    pub(super) workshop: WorkshopBuilder,
    /// For the first line.
    pub(super) words: String,
    /// What is open although it should not be.
    pub(super) gaps: Option<String>,
    /// What a no does.
    pub(super) on_reject: OnReject,
}

/// Puts the guard together. Where commands cannot be held, a person may say that it is to go on without.
///
/// # Errors
/// If commands cannot be held, and nobody said that this is accepted.
pub(super) async fn terms(
    config: &Config,
    environment: &Environment,
    directory: &Path,
    (presence, web): (Presence, bool),
    output: &Output,
) -> Result<Terms, Failure> {
    let guard = guard::guard(config, environment);
    let sandbox = sandbox_file::described(guard.sandbox.clone(), config, environment)?;
    let mut guard = Guard { web, sandbox, ..guard };
    let inherit = guard::inherit(config);
    let held = match guard.hold(guard::local(directory, environment, &inherit)) {
        Err(error) if may_go_on(&error, presence, output).await => {
            guard.enforcement = Enforcement::Off;
            guard.hold(guard::local(directory, environment, &inherit))
        }
        held => held,
    };
    let held = held.map_err(|error| guard::cannot_hold(&error))?;
    let (words, gaps) = (guard::words(&guard, &held), guard::gaps(&held));
    let workshop = Workshop::guarded(directory, guard, guard::locals(environment, inherit));
    let workshop = workshop.map_err(|error| guard::cannot_hold(&error))?;
    let usual = match presence {
        // The model must find another way.
        Presence::Nobody => OnReject::TellModel,
        Presence::Person => OnReject::EndUnlessTold,
        Presence::Program => OnReject::EndTurn,
    };
    let on_reject = guard::on_reject(config, usual);
    let workshop = workshop
        .on_reject(on_reject)
        .approval_timeout(config.duration("policy.approval_timeout"))
        .unread(guard::unread(config));
    Ok(Terms { workshop, words, gaps, on_reject })
}

async fn may_go_on(error: &Error, presence: Presence, output: &Output) -> bool {
    error.kind() == ErrorKind::Unsupported
        && presence == Presence::Person
        && consent::yes(output, &error.to_string(), "Go on, and be asked about what cannot be judged?").await
}

/// What a command-line agent may do.
pub(super) fn of_runner(mode: Mode) -> AgentMode {
    match mode {
        // It cannot ask anybody here.
        Mode::ReadOnly | Mode::Ask => AgentMode::ReadOnly,
        Mode::Workspace => AgentMode::WorkspaceWrite,
        Mode::Full => AgentMode::Full,
    }
}

/// The same for the first line.
pub(super) fn words(cli: &Cli, mode: AgentMode) -> String {
    let held = if cli.definition.enforces(mode) { "" } else { "held by our sandbox; " };
    format!("{held}{}", cli.definition.modes.of(mode).says)
}
