//! Our own agent: whom it asks, how that model is treated, and what it can call.

use std::path::Path;
use std::sync::Arc;

use junto::Native;
use junto::agent::Overflow;
use junto::agent::profile::{Dialect, Profile};
use junto::agent::tools::{self, AskUser, Timeouts, WebFetch, WebSearch};
use junto::llm::names::nearest;
use junto::llm::{Effort, Wire};

use super::host::Presence;
use crate::args::WorkArgs;
use crate::config::{Config, Origin, duration_text};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::{choice, commands, connect, council, reach};

/// The tool by which children are started. It is the session's own.
const SPAWN: &str = "spawn_agent";

/// Our own agent, ready to be made.
pub(super) struct Mind {
    /// What it is made of.
    pub(super) native: Native,
    /// Whom it asks, in words.
    pub(super) who: String,
    /// Whether it may start children.
    pub(super) has_children: bool,
    /// What the user should know of how it came about.
    pub(super) warnings: Vec<String>,
}

/// Our own agent, as flags and configuration ask for it.
///
/// # Errors
/// What is wrong with them, or missing.
pub(super) fn mind(
    args: &WorkArgs,
    presence: Presence,
    mut config: Config,
    environment: &Environment,
    directory: &Path,
) -> Result<Mind, Failure> {
    let chosen = chosen_profile(&config, environment)?;
    if let Some(model) = chosen.as_ref().and_then(|profile| profile.model.as_deref()) {
        config.suppose("model", model);
    }
    let (native, who, provider, wire) = if args.council.is_empty() {
        let choice = choice::settle(&config, environment)?;
        let client = connect::client(&config, environment)?;
        let provider =
            choice.provider.as_deref().or(client.default_provider()).unwrap_or_default().to_owned();
        let latest = || client.catalog().latest(&provider, None).map(|model| model.id.clone());
        let model = choice.model.clone().or_else(latest);
        let wire = config.providers().into_iter().find(|p| p.name == provider).map(|p| p.wire);
        // Named in full, so that a session that is resumed asks whom it asked before, whatever has become
        // the usual choice since.
        let named = Some(provider.clone()).filter(|name| !name.is_empty());
        let native = Native { provider_name: named, model: model.clone(), ..Native::new(Arc::new(client)) };
        (native, format!("{provider}/{}", model.as_deref().unwrap_or("no model")), provider, wire)
    } else {
        let client = connect::client(&config, environment)?;
        let council = council::council(&args.council, Some(&client), directory, &config, environment)?;
        let who = council::words(&council);
        (Native::new(Arc::new(council)), who, String::new(), None)
    };
    let profile = chosen.unwrap_or_else(|| Profile::for_provider(&provider, wire.unwrap_or(Wire::Chat)));
    let mut profile = with_settings(profile, &config)?;
    let has_children = switch_tools(&mut profile, args, presence, wire)?;
    let mut warnings = warnings(&profile, &config, environment);
    let there = environment.in_directory(directory);
    let (reach, faults) = reach::reach(&config, &there, directory);
    warnings.extend(faults);
    let text = |key: &str| config.text(key).map(|(text, _)| text.to_owned());
    let native = Native {
        effort: text("effort").map(Effort::from),
        instructions: text("instructions"),
        profile: Some(profile),
        reach,
        on_overflow: match config.text("on_overflow") {
            Some(("close", _)) => Overflow::Close,
            Some(("fail", _)) => Overflow::Fail,
            _ => Overflow::Compact,
        },
        ..native
    };
    Ok(Mind { native, who, has_children, warnings })
}

/// What the user may not expect of the profile.
fn warnings(profile: &Profile, config: &Config, environment: &Environment) -> Vec<String> {
    let id = &profile.id;
    let mut warnings = Vec::new();
    if !profile.left_out.is_empty() {
        let names = profile.left_out.join(", ");
        warnings.push(format!("the profile {id} has tools that junto has not: {names}"));
    }
    let chosen = config.text("dialect").filter(|(_, origin)| !matches!(origin, Origin::Default));
    if chosen.is_some() && profile.lists_tools() {
        warnings
            .push(format!("the dialect does nothing for the profile {id}: its file says what its tools are"));
    }
    let named = config.text("profile").and_then(|(name, _)| commands::profile::shadowed(name, environment));
    warnings.extend(named.map(|path| commands::profile::in_the_shadow(&path)));
    warnings
}

/// The profile that the user wants, if one is named.
fn chosen_profile(config: &Config, environment: &Environment) -> Result<Option<Profile>, Failure> {
    let Some((name, origin)) = config.text("profile") else { return Ok(None) };
    // A file that a file names is looked for beside it.
    let beside = match origin {
        Origin::File { file, .. } => file.parent().map(|folder| environment.in_directory(folder)),
        Origin::Default | Origin::Variable(_) | Origin::Flag(_) => None,
    };
    commands::profile::find(name, beside.as_ref().unwrap_or(environment)).map(Some)
}

/// The profile, with what flags and configuration change in it.
fn with_settings(mut profile: Profile, config: &Config) -> Result<Profile, Failure> {
    if let Some((dialect, _)) = config.text("dialect") {
        let dialect = if dialect == "native" { Dialect::Native } else { Dialect::Spec };
        profile = profile.with_dialect(dialect);
    }
    if let Some(time) = config.duration("timeouts.command") {
        let most = Timeouts::default().max;
        if time > most {
            let message = format!("no command may take {}, whoever asks for it", duration_text(time));
            let hint =
                format!("give --command-timeout, or timeouts.command, at most {}", duration_text(most));
            return Err(Failure::usage(message, hint));
        }
        profile = profile.with_shell_timeout(time);
    }
    Ok(profile)
}

/// Adds and removes tools. Says whether children may be started.
fn switch_tools(
    profile: &mut Profile,
    args: &WorkArgs,
    presence: Presence,
    wire: Option<Wire>,
) -> Result<bool, Failure> {
    if presence != Presence::Nobody {
        profile.tools.register(Arc::new(AskUser::default()));
    }
    if args.web {
        profile.tools.register(Arc::new(WebFetch::default()));
        if let Some(search) = wire.and_then(WebSearch::at) {
            profile.tools.register(Arc::new(search));
        }
    }
    for name in &args.tool {
        let tool = tools::named(name).ok_or_else(|| {
            let all = tools::all();
            unknown_tool("--tool", name, all.iter().map(|tool| tool.spec().name.as_str()))
        })?;
        profile.tools.register(tool);
    }
    let mut has_children = true;
    for name in &args.no_tool {
        if name == SPAWN {
            has_children = false;
        } else if profile.tools.get(name).is_none() {
            return Err(unknown_tool("--no-tool", name, profile.tools.names().chain([SPAWN])));
        } else {
            profile.tools.unregister(name);
        }
    }
    Ok(has_children)
}

fn unknown_tool<'a>(flag: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let known: Vec<&str> = known.collect();
    let near = nearest(name, known.iter().copied());
    let near = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
    Failure::usage(
        format!("{flag}: there is no tool \"{name}\"{near}"),
        format!("the tools are {}", known.join(", ")),
    )
}
