//! `junto apply`: what a candidate changed, on a branch.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto::council::contest::{self, Applied, ErrorKind, RunId, Runs};
use junto::env::variables::Inherit;

use super::run::runs;
use crate::args::{ApplyArgs, LATEST};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::guard;
use crate::output::Output;

/// Runs `junto apply`.
pub(crate) async fn run(
    args: ApplyArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let runs = runs(environment)?;
    let directory = args.directory.as_deref();
    let run = find(&runs, &args.run, &place(directory, environment))?;
    if args.show {
        return show(&runs, &run, args.candidate, output);
    }
    put(&runs, &run, args.candidate, directory, environment, output).await?;
    Ok(Exit::Done)
}

/// Where it is to be applied.
fn place(directory: Option<&Path>, environment: &Environment) -> PathBuf {
    let here = environment.directory();
    directory.map_or_else(|| here.to_owned(), |directory| here.join(directory))
}

/// The run of this name, or the latest in the repository that the directory is in.
fn find(runs: &Runs, name: &str, directory: &Path) -> Result<RunId, Failure> {
    if name != LATEST {
        return runs.find(name).map_err(|error| failure(&error));
    }
    let latest = runs.latest_in(directory).map_err(|error| failure(&error))?;
    latest.ok_or_else(|| {
        let message = format!("no run of a council of agents was kept for {}", directory.display());
        Failure::usage(
            message,
            "`junto council \"…\"` makes one; one of another repository is applied by its name",
        )
    })
}

/// Puts a candidate on a branch for somebody who reads no output, and gives the branch.
///
/// # Errors
/// Why it was not applied.
pub(crate) async fn onto(
    run: Option<&str>,
    candidate: Option<u32>,
    directory: Option<&Path>,
    environment: &Environment,
) -> Result<String, Failure> {
    let runs = runs(environment)?;
    let run = find(&runs, run.unwrap_or(LATEST), &place(directory, environment))?;
    applied(&runs, &run, candidate, directory, environment).await.map(|applied| applied.branch)
}

/// Puts a candidate on a branch, and says which.
///
/// # Errors
/// Why it was not applied.
pub(crate) async fn put(
    runs: &Runs,
    run: &RunId,
    candidate: Option<u32>,
    directory: Option<&Path>,
    environment: &Environment,
    output: &Output,
) -> Result<(), Failure> {
    let applied = applied(runs, run, candidate, directory, environment).await?;
    output.note(&format!("candidate {} is on the branch {}", applied.candidate, applied.branch));
    output.data(&format!("{}\n", applied.branch))
}

async fn applied(
    runs: &Runs,
    run: &RunId,
    candidate: Option<u32>,
    directory: Option<&Path>,
    environment: &Environment,
) -> Result<Applied, Failure> {
    let directory = place(directory, environment);
    let env = guard::local(&directory, environment, &Inherit::Core).build();
    let env = env.map_err(|error| Failure::usage(error.to_string(), "name a folder that exists with -C"))?;
    let applied = contest::apply(runs, run, candidate, Arc::new(env), &directory).await;
    applied.map_err(|error| failure(&error))
}

/// Prints what a candidate changes, byte for byte: a diff may hold any.
fn show(runs: &Runs, run: &RunId, candidate: Option<u32>, output: &Output) -> Result<Exit, Failure> {
    let record = runs.read(run).map_err(|error| failure(&error))?;
    let number = candidate.or(record.winner).ok_or_else(|| {
        Failure::usage(format!("run {run} has no winner"), "name a candidate by its number")
    })?;
    let file = runs.diff_file(run, number).map_err(|error| failure(&error))?;
    let fault = |error: std::io::Error| {
        Failure::new(Exit::Failed, format!("{}: {error}", file.display()), "run it again")
    };
    if output.out().terminal {
        output.data(&String::from_utf8_lossy(&std::fs::read(&file).map_err(fault)?))?;
        return Ok(Exit::Done);
    }
    let mut diff = std::fs::File::open(&file).map_err(fault)?;
    let mut out = std::io::stdout().lock();
    match std::io::copy(&mut diff, &mut out).and_then(|_| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(fault(error)),
        _ => Ok(Exit::Done),
    }
}

/// What an error of a contest means for the command.
fn failure(error: &contest::Error) -> Failure {
    let exit = match error.kind() {
        ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::NoRepository => Exit::Usage,
        _ => Exit::Failed,
    };
    Failure::new(exit, error.to_string(), error.advice().unwrap_or("`junto apply --help` has more"))
}
