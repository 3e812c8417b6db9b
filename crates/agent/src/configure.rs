//! Changes of how a session works.

use std::path::Path;

use junto_core::{AgentError, AgentErrorKind, Change};
use junto_env::ExecutionEnvironment;
use junto_llm::{Provider, Request};

use crate::config::Environments;
use crate::desk::Settings;

/// These settings, changed. Nobody is told, and nothing is written.
///
/// # Errors
/// `invalid` for a provider that is not there, a model that is known to be another's, or a directory that
/// cannot be worked in; `unsupported` if there is nobody to make an environment for another directory.
pub(crate) async fn changed(
    settings: Settings,
    change: &Change,
    provider: &dyn Provider,
    environments: Option<&Environments>,
) -> Result<Settings, AgentError> {
    let invalid = |message: String| AgentError::new(AgentErrorKind::Invalid, message);
    let mut settings = settings.changed(change);
    if change.provider.is_some() || change.model.is_some() {
        let (asked, model) = (settings.provider.clone(), settings.model.clone());
        let names = Request { provider: asked, model, ..Request::default() };
        provider.check_names(&names).map_err(|error| {
            let invalid = invalid(error.message().to_owned());
            match error.hint() {
                Some(hint) => invalid.with_hint(hint),
                None => invalid,
            }
        })?;
    }
    if let Some(workdir) = &change.workdir {
        let workdir = settings.env.facts().cwd.as_path().join(workdir);
        if !is_in(&*settings.env, &workdir) {
            let Some(make) = environments else {
                return Err(AgentError::unsupported("change its working directory"));
            };
            settings.env = make(workdir).await.map_err(|error| invalid(error.to_string()))?;
        }
    }
    Ok(settings)
}

/// Whether an environment is in this directory. Events have paths as texts, so that one that is none is known by what the
/// text has of it.
pub(crate) fn is_in(env: &dyn ExecutionEnvironment, directory: &Path) -> bool {
    let cwd = env.facts().cwd.as_path();
    cwd == directory || cwd.to_string_lossy() == directory.to_string_lossy()
}
