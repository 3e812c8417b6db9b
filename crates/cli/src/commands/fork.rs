//! `junto fork`: a new session with the first turns of another.

use junto::agent::Past;
use junto::llm::SessionId;
use junto::store::{ErrorKind, Store};

use super::rewind::{last_turn, turns};
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::Output;
use crate::saved;

/// Makes the new session.
///
/// # Errors
/// If there is no such session or turn, or the new one cannot be written.
pub(super) async fn fork(
    wanted: &str,
    at: Option<u32>,
    environment: &Environment,
    output: &Output,
) -> Result<SessionId, Failure> {
    let config = Config::load(environment, &[])?;
    let store = saved::open(&config, environment)?;
    let from = saved::find(&store, wanted, environment)?;
    let made = junto::fork(&store, &from, at).await.map_err(|error| {
        let failure = saved::failure(&error);
        // The session is there: it is the turn that is not.
        if error.kind() == ErrorKind::NotFound && error.subject() == from.0 {
            let hint = Some(format!("`junto export {}` shows its turns", saved::short(&from)));
            return Failure { hint, ..failure };
        }
        failure
    })?;
    if let Err(why) = take_files(&store, &from, &made, environment).await {
        let short = saved::short(&made);
        output
            .warning(&format!("session {short} cannot bring back the files of turns before it began: {why}"));
    }
    let until = at.map(|turn| format!(" up to turn {turn}")).unwrap_or_default();
    output.note(&format!("session {made} begins as session {} did{until}", saved::short(&from)));
    Ok(made)
}

/// Gives the new session what is known of the files at the turns that it shares with the other.
async fn take_files(
    store: &Store,
    from: &SessionId,
    made: &SessionId,
    environment: &Environment,
) -> Result<(), String> {
    let past = Past::new(store.read(made).map_err(|error| error.to_string())?.events);
    let workdir = past.workdir();
    if workdir.as_ref().is_some_and(|folder| !folder.is_dir()) {
        // There is nothing to bring them back to.
        return Ok(());
    }
    let turns = turns(store, made, workdir.as_deref(), environment);
    let turns = turns.map_err(|failure| failure.errors.join("; "))?;
    turns.take_over(from, last_turn(&past)).await.map_err(|error| error.to_string())
}
