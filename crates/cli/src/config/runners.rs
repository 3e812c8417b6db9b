//! The command-line agents, as they are configured.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::problem::Problem;
use super::settings::{KeyPath, Origin, Setting};
use super::value::Value;
use super::{Config, schema};

/// The name of our own agent, which no other may have.
const NATIVE: &str = "native";

/// A command-line agent as it is configured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunnerSettings {
    /// The shipped agent that it is run like.
    pub(crate) like: Option<String>,
    /// A file that says how it is run.
    pub(crate) definition: Option<PathBuf>,
    /// The program and its first arguments, in the place of the definition's program.
    pub(crate) command: Option<Vec<String>>,
    /// The model.
    pub(crate) model: Option<String>,
    /// How hard its model thinks.
    pub(crate) effort: Option<String>,
    /// The server it asks.
    pub(crate) endpoint: Option<String>,
    /// The variable that holds the key for that server.
    pub(crate) key_variable: Option<String>,
    /// Whether it has a home of its own.
    pub(crate) is_isolated: bool,
    /// Whether it gets the user's API keys.
    pub(crate) pass_keys: bool,
    /// The most dollars one run may spend.
    pub(crate) max_usd: Option<f64>,
    /// How long it may be silent.
    pub(crate) idle: Option<Duration>,
    /// How long it may take.
    pub(crate) hard: Option<Duration>,
}

impl Config {
    /// The command-line agents: those that are shipped, then the user's by name.
    pub(crate) fn runner_names(&self) -> Vec<String> {
        let mut names: Vec<String> = schema::RUNNERS.iter().map(|name| (*name).to_owned()).collect();
        let own =
            self.configured_runners().into_iter().filter(|name| !schema::RUNNERS.contains(&name.as_str()));
        names.extend(own);
        names
    }

    /// How a command-line agent is configured.
    pub(crate) fn runner(&self, name: &str) -> RunnerSettings {
        let setting = |key: &str| self.settings.get(&KeyPath::of(&["runners", name, key]));
        let text = |key: &str| match &setting(key)?.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        };
        let duration = |key: &str| match setting(key)?.value {
            Value::Duration(duration) => Some(duration),
            _ => None,
        };
        RunnerSettings {
            like: text("like"),
            definition: setting("definition").and_then(beside),
            command: setting("command").and_then(|setting| match &setting.value {
                Value::Texts(texts) => Some(texts.clone()),
                _ => None,
            }),
            model: text("model"),
            effort: text("effort"),
            endpoint: text("endpoint"),
            key_variable: text("key_env"),
            is_isolated: text("home").is_some_and(|home| home == "isolated"),
            pass_keys: match setting("pass_keys") {
                Some(setting) => setting.value == Value::Flag(true),
                None => self.flag("pass_keys"),
            },
            max_usd: setting("max_usd").and_then(|setting| match setting.value {
                Value::Number(number) => Some(number),
                _ => None,
            }),
            idle: duration("idle"),
            hard: duration("hard"),
        }
    }

    /// Agents that nobody can run, because nothing says how, or that would hide our own.
    pub(super) fn impossible_runners(&self, spoiled: &BTreeSet<KeyPath>) -> Vec<Problem> {
        let mut problems = Vec::new();
        for name in self.configured_runners() {
            let path = KeyPath::of(&["runners", &name]);
            let of_it = |path: &KeyPath| matches!(path.segments(), [section, owner, ..] if section == "runners" && *owner == name);
            let Some((_, setting)) = self.settings.iter().find(|(path, _)| of_it(path)) else { continue };
            if name == NATIVE {
                problems.push(Problem::at(&setting.origin, format!("`{path}`: our own agent has this name")));
            }
            let is_told = |key: &str| {
                let path = KeyPath::of(&["runners", &name, key]);
                self.settings.contains_key(&path) || spoiled.contains(&path)
            };
            if !schema::RUNNERS.contains(&name.as_str()) && !is_told("like") && !is_told("definition") {
                let message =
                    format!("`{path}` has neither `like` nor `definition`, so nobody knows how it is run");
                problems.push(Problem::at(&setting.origin, message));
            }
        }
        problems
    }

    fn configured_runners(&self) -> BTreeSet<String> {
        let paths = self.settings.keys().map(KeyPath::segments);
        let names = paths.filter(|path| path.first().is_some_and(|section| section == "runners"));
        names.filter_map(|path| path.get(1)).cloned().collect()
    }
}

/// A path that is written in a file counts from there.
fn beside(setting: &Setting) -> Option<PathBuf> {
    let Value::Text(path) = &setting.value else { return None };
    let folder = match &setting.origin {
        Origin::File { file, .. } => file.parent(),
        Origin::Default | Origin::Variable(_) | Origin::Flag(_) => None,
    };
    Some(folder.map_or_else(|| PathBuf::from(path), |folder| folder.join(path)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use junto::runner::Definition;

    use super::*;
    use crate::environment::Environment;

    fn load(text: &str) -> Result<Config, Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        std::fs::write(&path, text).unwrap();
        let environment = Environment::of(Path::new("/"), &[("JUNTO_CONFIG", path.to_str().unwrap())]);
        Config::load(&environment, &[]).map_err(|failure| failure.errors)
    }

    #[test]
    fn the_shipped_ones_are_those_of_the_library() {
        assert_eq!(Definition::shipped_kinds().collect::<Vec<_>>(), schema::RUNNERS);
        for kind in schema::RUNNERS {
            assert_eq!(Definition::shipped(kind).unwrap().program(), *kind);
        }
        assert_eq!(load("").unwrap().runner_names(), schema::RUNNERS);
        assert_eq!(load("").unwrap().runner("claude"), RunnerSettings::default());
    }

    #[test]
    fn all_settings_are_read() {
        let config = load(
            "[runners.fast]\nlike = \"claude\"\nmodel = \"haiku\"\neffort = \"low\"\nmax_usd = 0.5\nidle = \"1m\"\n\
             hard = \"1h\"\nhome = \"isolated\"\npass_keys = true\nendpoint = \"http://127.0.0.1:1/\"\n\
             key_env = \"MY_KEY\"\ncommand = [\"nice\", \"claude\"]\n[runners.other]\ndefinition = \"other.toml\"\n",
        )
        .unwrap();
        assert_eq!(config.runner_names(), ["claude", "codex", "gemini", "fast", "other"]);
        let fast = RunnerSettings {
            like: Some("claude".to_owned()),
            definition: None,
            command: Some(vec!["nice".to_owned(), "claude".to_owned()]),
            model: Some("haiku".to_owned()),
            effort: Some("low".to_owned()),
            endpoint: Some("http://127.0.0.1:1".to_owned()),
            key_variable: Some("MY_KEY".to_owned()),
            is_isolated: true,
            pass_keys: true,
            max_usd: Some(0.5),
            idle: Some(Duration::from_mins(1)),
            hard: Some(Duration::from_hours(1)),
        };
        assert_eq!(config.runner("fast"), fast);
        let definition = config.runner("other").definition.unwrap();
        assert!(definition.is_absolute() && definition.ends_with("other.toml"), "{definition:?}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |text: &str, said: &str| {
            let errors = load(text).unwrap_err();
            let [error] = &errors[..] else { panic!("{text}: {errors:?}") };
            assert!(error.contains(said), "{text}: {error}");
        };
        check(
            "[runners.claude]\nmodle = \"x\"",
            "unknown key \"modle\" in `runners.claude`; did you mean \"model\"?",
        );
        check("[runners.mine]\nmodel = \"x\"", "`runners.mine` has neither `like` nor `definition`");
        check("[runners.mine]\nlike = \"clod\"", "expected one of \"claude\", \"codex\", \"gemini\"");
        check("[runners.native]\nlike = \"claude\"", "our own agent has this name");
        check("[runners.codex]\nhome = \"mine\"", "expected one of \"own\", \"isolated\"");
        check("[runners.codex]\nidle = \"0s\"", "expected a duration above zero");
        check("[runners.codex]\napi_key = \"sk-0123456789abcdef\"", "keys are not kept in configuration");
    }
}
