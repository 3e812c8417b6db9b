//! A session's configuration and its profile, put together.

use std::sync::Arc;

use crate::SessionConfig;

/// Lays the profile under what the configuration says itself: its tools come first, and those of the
/// configuration take the place of those with their names; its model and its effort hold where the
/// configuration names none. What else the profile says is asked of it when it is needed.
pub(crate) fn apply(mut config: SessionConfig) -> SessionConfig {
    let Some(mut profile) = config.profile.take() else { return config };
    if let Some(timeout) = config.shell_timeout {
        profile = profile.with_shell_timeout(timeout);
    }
    let mut tools = profile.tools.clone();
    tools.extend(profile.in_dialect(&config.tools).iter().cloned());
    config.tools.behind().iter().for_each(|tool| tools.put_behind(Arc::clone(tool)));
    config.tools = tools;
    config.model = config.model.or_else(|| profile.model.clone());
    if profile.capabilities_of(&config.catalog, config.model.as_deref()).reasoning {
        config.effort = config.effort.or_else(|| profile.effort.clone());
    }
    config.profile = Some(profile);
    config
}
