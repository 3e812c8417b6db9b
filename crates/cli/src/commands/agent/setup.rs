//! How an agent is set up, from flags.

use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use junto::core::Mode;
use junto::llm::names::nearest;
use junto::store::AgentSetup;

use crate::args::{AgentKind, SetupArgs, Unset};
use crate::config::duration;
use crate::environment::Environment;
use crate::failure::Failure;

/// What stands for nobody among those who take over.
const NOBODY: &str = "none";

/// The command-line agent that does the work if nobody says which.
const USUAL: &str = "claude";

/// Names that mean something else.
const RESERVED: &[&str] = &["native", "background", "latest", "none", "all"];

/// Refuses a name that is a kind of agent, or may become one.
pub(super) fn check_name(name: &str, runners: &[String]) -> Result<(), Failure> {
    let lower = name.to_ascii_lowercase();
    if RESERVED.contains(&lower.as_str()) || AgentKind::named(&lower, runners).is_some() {
        return Err(Failure::usage(
            format!("\"{name}\" has a meaning of its own, and cannot be an agent's name"),
            "choose a name that says what it does, such as code-review",
        ));
    }
    Ok(())
}

/// The setup of a new agent.
///
/// # Errors
/// What is wrong with the flags.
pub(super) fn new(
    args: &SetupArgs,
    runners: &[String],
    environment: &Environment,
) -> Result<AgentSetup, Failure> {
    let setup = AgentSetup {
        provider: USUAL.to_owned(),
        workspace: folder("--workspace", Path::new("."), environment)?,
        ..AgentSetup::default()
    };
    changed(setup, args, &[], runners, environment)
}

/// A setup with what flags change in it.
///
/// # Errors
/// What is wrong with them.
pub(super) fn changed(
    mut setup: AgentSetup,
    args: &SetupArgs,
    unset: &[Unset],
    runners: &[String],
    environment: &Environment,
) -> Result<AgentSetup, Failure> {
    for what in unset {
        take_back(&mut setup, *what);
    }
    if let Some(kind) = &args.provider {
        let kind = known("--provider", kind, runners)?;
        if kind != setup.provider {
            // They are the other provider's.
            (setup.model, setup.effort) = (None, None);
        }
        setup.provider = kind;
    }
    if let Some(workspace) = &args.workspace {
        setup.workspace = folder("--workspace", workspace, environment)?;
    }
    if !args.add_dir.is_empty() {
        let folders = args.add_dir.iter().map(|path| folder("--add-dir", path, environment));
        setup.directories = folders.collect::<Result<_, _>>()?;
    }
    if let Some(kinds) = &args.fallback {
        let kinds: Vec<&String> = kinds.iter().filter(|kind| *kind != NOBODY && !kind.is_empty()).collect();
        let kinds = kinds.into_iter().map(|kind| known("--fallback", kind, runners));
        setup.fallback = Some(kinds.collect::<Result<_, _>>()?);
    }
    setup.model = text(args.model.as_deref()).or(setup.model);
    setup.effort = text(args.effort.as_deref()).or(setup.effort);
    setup.instructions = text(args.instructions.as_deref()).or(setup.instructions);
    setup.mode = args.policy.as_deref().map(mode).or(setup.mode);
    let refresh = &mut setup.refresh;
    refresh.max_context = args.max_context.or(refresh.max_context);
    if let Some(time) = &args.daily_reset {
        let wrong = |error: String| Failure::usage(format!("--daily-reset: {error}"), "give it as 04:00");
        refresh.daily_at = Some(time.parse().map_err(wrong)?);
    }
    if let Some(time) = &args.idle_timeout {
        refresh.idle = Some(idle(time)?);
    }
    Ok(setup)
}

fn take_back(setup: &mut AgentSetup, what: Unset) {
    match what {
        Unset::Model => setup.model = None,
        Unset::Effort => setup.effort = None,
        Unset::Instructions => setup.instructions = None,
        Unset::AddDir => setup.directories.clear(),
        Unset::Policy => setup.mode = None,
        Unset::Fallback => setup.fallback = None,
        Unset::MaxContext => setup.refresh.max_context = None,
        Unset::DailyReset => setup.refresh.daily_at = None,
        Unset::IdleTimeout => setup.refresh.idle = None,
    }
}

fn text(given: Option<&str>) -> Option<String> {
    given.filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// A kind of command-line agent.
fn known(flag: &str, kind: &str, runners: &[String]) -> Result<String, Failure> {
    let all = runners.iter().map(String::as_str);
    if all.clone().any(|known| known == kind) {
        return Ok(kind.to_owned());
    }
    let near = nearest(kind, all).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
    let all = runners.join(", ");
    Err(Failure::usage(
        format!("{flag}: there is no command-line agent \"{kind}\"{near}"),
        format!("the kinds are {all}; our own agent has no name yet"),
    ))
}

fn mode(name: &str) -> Mode {
    match name {
        "read-only" => Mode::ReadOnly,
        "full" => Mode::Full,
        _ => Mode::WorkspaceWrite,
    }
}

/// A folder that is there, as no other can be called.
fn folder(flag: &str, path: &Path, environment: &Environment) -> Result<PathBuf, Failure> {
    let path = match (path.strip_prefix("~"), environment.path("HOME")) {
        (Ok(below), Some(home)) => home.join(below),
        _ => environment.directory().join(path),
    };
    let wrong = |what: String| {
        Failure::usage(format!("{flag}: {}: {what}", path.display()), "name a folder that exists")
    };
    let real = path.canonicalize().map_err(|error| wrong(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(wrong("it is no folder".to_owned())) }
}

/// A time in which nothing is done; days are of 24 hours.
fn idle(text: &str) -> Result<SignedDuration, Failure> {
    let days = || {
        let (days, rest) = text.split_once('d')?;
        let days = u64::from(days.parse::<u16>().ok()?).checked_mul(24 * 3600)?;
        let rest = if rest.is_empty() { std::time::Duration::ZERO } else { duration(rest)? };
        rest.checked_add(std::time::Duration::from_secs(days))
    };
    let time = duration(text).or_else(days).filter(|time| !time.is_zero());
    time.and_then(|time| SignedDuration::try_from(time).ok()).ok_or_else(|| {
        let message = format!("--idle-timeout: \"{text}\" is no time above zero");
        Failure::usage(message, "write it as 30m, 8h or 2d")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runners() -> Vec<String> {
        ["claude", "codex", "gemini"].map(str::to_owned).to_vec()
    }

    fn setup() -> AgentSetup {
        AgentSetup {
            provider: "claude".into(),
            model: Some("opus".into()),
            effort: Some("high".into()),
            workspace: "/".into(),
            ..AgentSetup::default()
        }
    }

    fn check(args: &SetupArgs, unset: &[Unset], expected: &AgentSetup) {
        let environment = Environment::of(Path::new("/"), &[("HOME", "/")]);
        assert_eq!(
            changed(setup(), args, unset, &runners(), &environment).as_ref(),
            Ok(expected),
            "{args:?}"
        );
    }

    #[test]
    fn what_is_not_said_stays() {
        check(&SetupArgs::default(), &[], &setup());
        let args = SetupArgs { max_context: Some(9), ..SetupArgs::default() };
        let mut expected = setup();
        expected.refresh.max_context = Some(9);
        check(&args, &[], &expected);
        check(&SetupArgs::default(), &[Unset::Model], &AgentSetup { model: None, ..setup() });
        let args = SetupArgs { model: Some("sonnet".into()), ..SetupArgs::default() };
        check(&args, &[Unset::Model], &AgentSetup { model: Some("sonnet".into()), ..setup() });
    }

    #[test]
    fn who_takes_over_can_be_nobody() {
        let args = |kinds: &[&str]| SetupArgs {
            fallback: Some(kinds.iter().map(|&kind| kind.to_owned()).collect()),
            ..SetupArgs::default()
        };
        check(&args(&["claude"]), &[], &AgentSetup { fallback: Some(vec!["claude".into()]), ..setup() });
        check(&args(&["none"]), &[], &AgentSetup { fallback: Some(Vec::new()), ..setup() });
        let environment = Environment::of(Path::new("/"), &[]);
        let failure = changed(setup(), &args(&["cluade"]), &[], &runners(), &environment).unwrap_err();
        assert_eq!(
            failure.errors,
            ["--fallback: there is no command-line agent \"cluade\"; did you mean \"claude\"?"]
        );
    }

    #[test]
    fn times_without_work_are_read() {
        let check = |text: &str, seconds: Option<i64>| {
            assert_eq!(idle(text).ok().map(|time| time.as_secs()), seconds, "{text}");
        };
        check("30m", Some(1800));
        check("8h", Some(28_800));
        check("2d", Some(172_800));
        check("1d12h", Some(129_600));
        for bad in ["", "0s", "d", "1", "soon", "-1h", "1d0", "99999d9h9"] {
            check(bad, None);
        }
    }

    #[test]
    fn names_of_kinds_are_no_names() {
        for taken in ["native", "claude", "Claude", "codex", "gemini", "background"] {
            assert!(check_name(taken, &runners()).is_err(), "{taken}");
        }
        assert!(check_name("nex", &runners()).is_ok());
    }
}
