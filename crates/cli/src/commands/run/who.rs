//! Who is meant by `--agent`: a kind, or an agent that has a name.

use junto::llm::names::nearest;
use junto::store::ErrorKind;

use super::contest;
use super::named::kept;
use crate::args::AgentKind;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::saved;

/// Who is meant by `--agent`.
pub(super) enum Who {
    /// A kind of agent.
    Kind(AgentKind),
    /// An agent of the user's.
    Named(String),
}

/// Finds out who is meant.
///
/// # Errors
/// If there is neither of this name; the nearest is named.
pub(super) fn who(name: &str, environment: &Environment) -> Result<Who, Failure> {
    let config = Config::load(environment, &[])?;
    let runners = config.runner_names();
    if let Some(kind) = AgentKind::named(name, &runners) {
        return Ok(Who::Kind(kind));
    }
    if let Some(council) = contest::name_of(name) {
        let known = config.contest_names().iter().any(|known| known == council);
        let kind = || Who::Kind(AgentKind::Contest(name.to_owned()));
        return known.then(kind).ok_or_else(|| contest::unknown(council, &config));
    }
    let agents = match saved::open_existing(&config, environment)? {
        Some(store) => Some(store.agents().map_err(|error| kept(&error))?),
        None => None,
    };
    let kinds = ["native"].into_iter().chain(runners.iter().map(String::as_str));
    let all = match &agents {
        Some(agents) => match agents.get(name) {
            Ok(agent) => return Ok(Who::Named(agent.name)),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(kept(&error)),
            Err(_) => agents.list().map_err(|error| kept(&error))?,
        },
        None => Vec::new(),
    };
    let known: Vec<&str> = kinds.clone().chain(all.iter().map(|agent| agent.name.as_str())).collect();
    let near = nearest(name, known).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    Err(Failure::usage(
        format!("--agent: there is no agent \"{name}\"{near}"),
        format!("the kinds are {kinds}; `junto agent list` lists yours, and `junto agent add` adds one"),
    ))
}

/// The session that is meant, which must be of this kind; the latest of this folder is the latest of the kind.
///
/// # Errors
/// If there is none, or it is of another kind.
pub(super) fn of_kind(wanted: &str, kind: &AgentKind, environment: &Environment) -> Result<String, Failure> {
    let config = Config::load(environment, &[])?;
    let store = saved::open(&config, environment)?;
    saved::find_of_kind(&store, wanted, kind.name(), environment).map(|id| id.0)
}
