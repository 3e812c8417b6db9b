//! `junto fork`: a new session with the first turns of another.

use junto::llm::SessionId;

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
    let made = junto::fork(&store, &from, at).await.map_err(|error| saved::failure(&error))?;
    let until = at.map(|turn| format!(" up to turn {turn}")).unwrap_or_default();
    output.note(&format!("session {made} begins as session {} did{until}", saved::short(&from)));
    Ok(made)
}
