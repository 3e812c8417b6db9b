//! Changes of how a session works.

use std::path::Path;

use junto_core::{AgentError, AgentErrorKind, Change};
use junto_env::ExecutionEnvironment;
use junto_llm::{Provider, Request};

use crate::config::Environments;
use crate::desk::Settings;

/// This change with the names of the provider and the model that are meant by those it has. A provider that it names
/// is asked, whatever the name of the model says.
pub(crate) fn meant(mut change: Change, settings: &Settings, provider: &dyn Provider) -> Change {
    let asked = change.provider.as_ref().or(settings.provider.as_ref());
    let named = change.model.as_ref().filter(|model| settings.model.as_ref() != Some(model));
    let meant = named.and_then(|model| provider.meant(asked.map(String::as_str), model));
    if let Some((owner, model)) = meant
        && change.provider.as_ref().is_none_or(|named| *named == owner)
    {
        change.model = Some(model);
        if settings.provider.as_ref() != Some(&owner) {
            change.provider = Some(owner);
        }
    }
    change
}

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
