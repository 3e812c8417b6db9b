//! Who is compared, from the words of `--with`.

use crate::config::{COUNCIL_PREFIX, Config};
use crate::failure::Failure;

/// How a council of agents is written.
const AGENTS: &str = "agents:";
/// How a native agent with a model is written among agents.
const NATIVE: &str = "native:";
/// The most agents that sit in a council.
const MOST: usize = 16;

/// A contender, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    /// What it is called.
    pub(super) name: String,
    /// Which command lets it work.
    pub(super) command: Command,
    /// Who sits in it, by the names that they have as contenders.
    pub(super) members: Vec<String>,
    /// What else makes it what it is.
    pub(super) settings: String,
}

/// Which command lets a contender work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// `junto run` with these flags.
    Run(Vec<String>),
    /// `junto council` with these agents.
    Council(Vec<String>),
}

/// Reads what was given with `--with`.
///
/// # Errors
/// If it makes no sense, or names a council that is not configured.
pub(super) fn read(text: &str, config: &Config) -> Result<Spec, Failure> {
    let text = text.trim();
    let run = |flags: &[&str]| Command::Run(flags.iter().map(|&flag| flag.to_owned()).collect());
    let solo = |name: &str, command| {
        Ok(Spec { name: name.to_owned(), command, members: Vec::new(), settings: String::new() })
    };
    if let Some(agents) = text.strip_prefix(AGENTS) {
        return council_of_agents(text, agents);
    }
    if text.starts_with(COUNCIL_PREFIX) {
        return with_flags(text, &["--model".to_owned(), text.to_owned()], config);
    }
    match text.split_once('=') {
        Some((name, flags)) if !name.is_empty() && !name.contains(['/', ':', ' ']) => {
            let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
            if flags.first().is_none_or(|flag| !flag.starts_with('-')) {
                let message = format!("--with: \"{text}\" has no flags after the name");
                return Err(Failure::usage(message, "write it as low='--model openai/x --effort low'"));
            }
            return with_flags(name, &flags, config);
        }
        _ => {}
    }
    match text {
        "" => Err(Failure::usage("--with: nobody is named", "give a model, an agent or a council")),
        "native" => solo(text, run(&[])),
        agent if config.runner_names().iter().any(|known| known == agent) => {
            solo(agent, run(&["--agent", agent]))
        }
        model => {
            let model = model.strip_prefix(NATIVE).unwrap_or(model);
            solo(model, run(&["--model", model]))
        }
    }
}

/// A run with flags, which may ask a council.
fn with_flags(name: &str, flags: &[String], config: &Config) -> Result<Spec, Failure> {
    let value = |names: &[&str]| {
        flags.iter().enumerate().find_map(|(place, flag)| match flag.split_once('=') {
            Some((name, value)) if names.contains(&name) => Some(value),
            None if names.contains(&flag.as_str()) => flags.get(place + 1).map(String::as_str),
            _ => None,
        })
    };
    let spec = |members: Vec<String>, settings: String| Spec {
        name: name.to_owned(),
        command: Command::Run(flags.to_vec()),
        members,
        settings,
    };
    if let Some(members) = value(&["--council"]) {
        return Ok(spec(members.split(',').map(str::to_owned).collect(), String::new()));
    }
    let named = value(&["--model", "-m"]).and_then(|model| config.council_named(model));
    match named.transpose().map_err(|message| {
        let known = config.council_names().join(", ");
        let hint = if known.is_empty() {
            "write a [council.NAME] into your own configuration: what a project says does not count here"
                .to_owned()
        } else {
            format!("your own configuration has {known}")
        };
        Failure::usage(format!("--with: {message}"), hint)
    })? {
        Some(council) => {
            let members = council.members.iter().map(|seat| seat.who.clone()).collect();
            Ok(spec(members, format!("{council:?}")))
        }
        None => Ok(spec(Vec::new(), String::new())),
    }
}

/// A council of agents, each as often as it is named.
fn council_of_agents(text: &str, agents: &str) -> Result<Spec, Failure> {
    let agents: Vec<String> = agents.split(',').map(|agent| agent.trim().to_owned()).collect();
    if agents.iter().any(String::is_empty) || agents.len() > MOST {
        let message = format!("--with: \"{text}\" names nobody, or more than {MOST}");
        return Err(Failure::usage(message, "write it as agents:claude,codex,native:openai/gpt-6.1-sol"));
    }
    let members = agents.iter().map(|agent| agent.strip_prefix(NATIVE).unwrap_or(agent).to_owned()).collect();
    Ok(Spec { name: text.to_owned(), command: Command::Council(agents), members, settings: String::new() })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::environment::Environment;

    fn config() -> Config {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        std::fs::write(&path, "[council.pair]\nmembers = [\"openai/a\", \"anthropic/b\"]\nmode = \"fuse\"\n")
            .unwrap();
        let environment = Environment::of(Path::new("/"), &[("JUNTO_CONFIG", path.to_str().unwrap())]);
        Config::load(&environment, &[]).unwrap()
    }

    #[test]
    fn everybody_is_a_command_and_councils_have_members() {
        let config = config();
        let check = |text: &str, name: &str, command: &str, members: &[&str]| {
            let spec = read(text, &config).unwrap_or_else(|failure| panic!("{text}: {failure:?}"));
            let words = match &spec.command {
                Command::Run(flags) => format!("run {}", flags.join(" ")),
                Command::Council(agents) => format!("council {}", agents.join(" ")),
            };
            let members: Vec<String> = members.iter().map(|&member| member.to_owned()).collect();
            assert_eq!((spec.name.as_str(), words.trim(), spec.members), (name, command, members), "{text}");
        };
        check("native", "native", "run", &[]);
        check("claude", "claude", "run --agent claude", &[]);
        check("openai/a", "openai/a", "run --model openai/a", &[]);
        check("native:openai/a", "openai/a", "run --model openai/a", &[]);
        check("low=-m openai/a --effort low", "low", "run -m openai/a --effort low", &[]);
        let pair = ["openai/a", "anthropic/b"];
        check("council:pair", "council:pair", "run --model council:pair", &pair);
        check("p=--model=council:pair --web", "p", "run --model=council:pair --web", &pair);
        check("c=--council openai/a,anthropic/b", "c", "run --council openai/a,anthropic/b", &pair);
        let agents = "agents:claude, native:openai/a,claude";
        check(agents, agents, "council claude native:openai/a claude", &["claude", "openai/a", "claude"]);
    }

    #[test]
    fn a_council_is_what_it_is_configured_as() {
        let spec = read("council:pair", &config()).unwrap();
        assert!(spec.settings.contains("fuse"), "another mode is another contender: {spec:?}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let many = format!("agents:{}", ["claude"; 17].join(","));
        for (text, said) in [
            ("", "nobody is named"),
            ("agents:", "names nobody"),
            (many.as_str(), "more than 16"),
            ("x=", "no flags"),
            ("x=openai/a", "no flags"),
            ("council:par", "did you mean \"pair\"?"),
        ] {
            let failure = read(text, &config()).unwrap_err();
            assert!(failure.errors[0].contains(said) && failure.hint.is_some(), "{text}: {failure:?}");
        }
    }
}
