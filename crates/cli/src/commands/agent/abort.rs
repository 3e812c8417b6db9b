//! `junto agent abort`: stops what an agent is doing.

use std::time::Duration;

use junto::store::{Agents, RunId, RunStatus};
use serde_json::json;

use super::{kept, open, waiting};
use crate::args::AbortArgs;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// How long a run has to end. Its program has a few seconds of that, and what it started.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(50);

/// Stops a run, and waits until it has ended.
///
/// # Errors
/// If there is no such agent, or the process that runs it does not listen.
pub(super) async fn abort(
    args: &AbortArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let agents = open(environment)?;
    let name = agents.get(&args.name).map_err(|error| kept(&error))?.name;
    // First, so that nothing of it begins when the run has ended.
    let discarded = if args.all { agents.discard(&name).map_err(|error| kept(&error))? } else { 0 };
    let run = agents.abort(&name).map_err(|error| kept(&error))?;
    if let Some(run) = &run
        && !ends(&agents, &name, run.id).await?
    {
        let pid = run.pid.map_or_else(|| "its process".to_owned(), |pid| format!("process {pid}"));
        return Err(Failure::new(
            Exit::Failed,
            format!("{pid} was told to stop run {} of {name} and has not done so yet", run.id.0),
            "wait, or end that process yourself: the input is kept then",
        ));
    }
    let queue = agents.queue(&name).map_err(|error| kept(&error))?;
    let running = agents.running(&name).map_err(|error| kept(&error))?;
    let waiting = waiting(&queue, running.as_ref());
    if args.json {
        let run = run.as_ref().map(|run| run.id);
        let told = json!({"agent": name, "run": run, "discarded": discarded, "waiting": waiting});
        output.exact(&format!("{told:#}\n"))?;
        return Ok(Exit::Done);
    }
    match run {
        Some(run) => output.note(&format!("run {} of {name} was stopped", run.id.0)),
        None => output.note(&format!("{name} is not at work")),
    }
    if discarded > 0 {
        output.note(&format!("inputs that were taken back: {discarded}"));
    } else if waiting > 0 {
        output
            .note(&format!("inputs that wait: {waiting}; `junto agent abort {name} --all` takes them back"));
    }
    Ok(Exit::Done)
}

/// Whether a run ends in time.
async fn ends(agents: &Agents, name: &str, run: RunId) -> Result<bool, Failure> {
    let ended = async {
        loop {
            let now = agents.running(name).map_err(|error| kept(&error))?;
            if now.is_none_or(|now| now.id != run || now.status != RunStatus::Running) {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    match tokio::time::timeout(PATIENCE, ended).await {
        Ok(result) => result.map(|()| true),
        Err(_) => Ok(false),
    }
}
