//! How each agent is started so that it asks a server of ours, as data.

use std::collections::BTreeMap;
use std::path::Path;

use junto::agent::profile::Family;
use junto::env::{CommandSpec, Stdin};
use junto::llm::Wire;
use serde::Deserialize;

use crate::args::CapturedAgent;
use crate::failure::{Exit, Failure};

/// What the agent is told; it need only ask its model once.
const PROMPT: &str = "Say OK.";

/// How an agent is started. In the texts `{url}`, `{key}`, `{home}` and `{model}` stand for a [`Place`]'s.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recipe {
    /// The name of the profile.
    pub(super) id: String,
    /// The models that it is made for.
    pub(super) family: Family,
    /// The wire on which it asks them.
    pub(super) wire: Wire,
    /// What installs it.
    pub(super) install: String,
    /// The program, and its arguments.
    command: Vec<String>,
    /// Arguments that choose a model.
    model_option: Vec<String>,
    /// The model if none is chosen; absent: the agent's own choice.
    #[serde(default)]
    model: Option<String>,
    /// Arguments that come last.
    #[serde(default)]
    last: Vec<String>,
    /// Variables.
    variables: BTreeMap<String, String>,
    /// Files in its home, by path.
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
}

/// Where an agent finds things.
pub(super) struct Place<'a> {
    /// The server.
    pub(super) url: &'a str,
    /// The key that the server takes.
    pub(super) key: &'a str,
    /// A folder for what it keeps.
    pub(super) home: &'a Path,
}

impl Recipe {
    /// That of an agent.
    ///
    /// # Errors
    /// If this build has none.
    pub(super) fn of(agent: CapturedAgent) -> Result<Self, Failure> {
        let broken = |what: String| {
            let message = format!("it is not known how {} is started: {what}", agent.name());
            Failure::new(Exit::Failed, message, "this build of junto is broken; install another")
        };
        let mut all: BTreeMap<String, Self> =
            toml::from_str(include_str!("agents.toml")).map_err(|error| broken(error.to_string()))?;
        all.remove(agent.name()).ok_or_else(|| broken("it is not in the list".to_owned()))
    }

    /// The command that asks the server once.
    pub(super) fn command(&self, model: Option<&str>, place: &Place<'_>) -> CommandSpec {
        let model = model.or(self.model.as_deref());
        let fill = |text: &String| {
            text.replace("{url}", place.url)
                .replace("{key}", place.key)
                .replace("{home}", &place.home.display().to_string())
                .replace("{model}", model.unwrap_or_default())
        };
        let option: &[String] = if model.is_some() { &self.model_option } else { &[] };
        let argv = self.command.iter().chain(option).chain(&self.last).map(fill);
        CommandSpec {
            variables: self.variables.iter().map(|(name, value)| (name.clone(), fill(value))).collect(),
            stdin: Stdin::Bytes(PROMPT.into()),
            ..CommandSpec::argv(argv)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;
    use junto::env::Program;

    use super::*;

    fn command(agent: CapturedAgent, model: Option<&str>) -> CommandSpec {
        let place = Place { url: "http://here", key: "k-1", home: Path::new("home") };
        Recipe::of(agent).unwrap().command(model, &place)
    }

    fn argv(agent: CapturedAgent, model: Option<&str>) -> Vec<String> {
        match command(agent, model).program {
            Program::Argv(argv) => argv,
            Program::Shell(line) => panic!("{line}"),
        }
    }

    #[test]
    fn every_agent_is_sent_here_with_a_key_of_ours() {
        for &agent in CapturedAgent::value_variants() {
            let recipe = Recipe::of(agent).unwrap();
            let all = format!("{:?}", command(agent, None));
            for part in ["http://here", "k-1", "home"] {
                assert!(all.contains(part), "no {part} in {all}");
            }
            assert!(!all.contains("{url}") && !all.contains("{model}"), "{all}");
            assert_eq!(recipe.family.wire(), Some(recipe.wire));
            assert_eq!(Family::named(&recipe.id), None, "that name is one of ours");
        }
    }

    #[test]
    fn a_model_is_an_option() {
        let has = |agent, model: Option<&str>, option: &[&str]| {
            let argv = argv(agent, model);
            argv.windows(option.len()).any(|window| window == option)
        };
        assert!(has(CapturedAgent::Claude, Some("opus"), &["--model", "opus"]));
        assert!(!has(CapturedAgent::Claude, None, &["--model"]));
        assert!(has(CapturedAgent::Codex, None, &["--model", "gpt-5.5", "-"]));
        assert!(has(CapturedAgent::Codex, Some("gpt-6"), &["--model", "gpt-6", "-"]));
    }
}
