//! The gateway, as it is configured.

use junto::llm::catalog::Catalog;
use junto::llm::names::nearest;

use super::Config;
use super::problem::Problem;
use super::settings::{KeyPath, Layer, Origin, Setting};
use super::value::{Kind, Value};
use crate::environment::Environment;

/// The models' names that stand for the council, and for nobody else.
pub(crate) const COUNCIL_IDS: [&str; 2] = ["junto-council", "frites-council"];

/// What stands for the council where one says who answers.
const COUNCIL: &str = "council";

/// How a command-line agent is written where one says who answers.
const CLI: &str = "cli:";

/// Where the key which clients must show is looked for by itself; the first that is set counts.
const TOKEN_VARIABLES: [&str; 2] = ["JUNTO_GATEWAY_TOKEN", "FRITES_GATEWAY_TOKEN"];

/// Who answers for which models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The model's name as clients say it, in which `*` stands for anything.
    pub(crate) pattern: String,
    /// Who answers.
    pub(crate) who: Who,
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// A provider, asked for this model, or for the one that the client names.
    Provider(String, Option<String>),
    /// A command-line agent, asked for this model, or for its own.
    Cli(String, Option<String>),
    /// A council of these; or, if that is all it is, the one of this name (`council:NAME`).
    Council(Vec<String>),
}

/// How special a pattern is: a name before a pattern, and a pattern before one that says less.
pub(crate) fn rank(pattern: &str) -> (bool, usize) {
    (!pattern.contains('*'), pattern.chars().filter(|c| *c != '*').count())
}

impl Config {
    /// The routes, the special before the general; and what is wrong with the others.
    pub(crate) fn routes(&self) -> (Vec<Route>, Vec<Problem>) {
        let (mut routes, mut problems) = (Vec::new(), Vec::new());
        for (path, setting) in &self.settings {
            let [section, table, pattern] = path.segments() else { continue };
            if section != "gateway" || table != "routes" {
                continue;
            }
            match self.who(pattern, setting) {
                Ok(who) => routes.push(Route { pattern: pattern.clone(), who }),
                Err(message) => problems.push(Problem::at(&setting.origin, format!("`{path}`: {message}"))),
            }
        }
        routes.sort_by_key(|route| std::cmp::Reverse(rank(&route.pattern)));
        (routes, problems)
    }

    /// Lays a route over those that are there, as a flag says it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn add_route(&mut self, text: &str) -> Result<(), Problem> {
        let origin = Origin::Flag("--route".to_owned());
        let Some((pattern, who)) = text.split_once('=') else {
            return Err(Problem::at(&origin, format!("expected NAME=WHO, found {text:?}")));
        };
        let path = KeyPath::of(&["gateway", "routes", pattern.trim()]);
        let mut layer = Layer::default();
        layer.set_text(path, who.trim(), origin);
        self.settings.extend(layer.settings);
        let problems = layer.problems.into_iter().chain(self.routes().1);
        problems.into_iter().next().map_or(Ok(()), Err)
    }

    fn who(&self, pattern: &str, setting: &Setting) -> Result<Who, String> {
        let who = match &setting.value {
            Value::Texts(members) if members.is_empty() => Err("a council has members".to_owned()),
            Value::Texts(members) => Ok(Who::Council(members.clone())),
            Value::Text(text) if text == COUNCIL => match self.texts("gateway.council") {
                Some(members) if !members.is_empty() => Ok(Who::Council(members.to_vec())),
                _ => Err("there is no council; `gateway.council` says who sits in it".to_owned()),
            },
            Value::Text(text) => self.one(text),
            _ => Err(format!("expected {}", setting.key.kind.expected())),
        }?;
        if COUNCIL_IDS.contains(&pattern) && !matches!(who, Who::Council(_)) {
            return Err("this name is the council's".to_owned());
        }
        Ok(who)
    }

    /// One who is meant by this text: a model, a command-line agent, or a council that has a name.
    pub(super) fn one(&self, text: &str) -> Result<Who, String> {
        if let Some(agent) = text.strip_prefix(CLI) {
            let (name, model) = match agent.split_once('/') {
                Some((name, model)) => (name, Some(model.to_owned())),
                None => (agent, None),
            };
            let known = self.runner_names();
            if !known.iter().any(|known| known == name) {
                return Err(format!("there is no command-line agent \"{name}\"{}", perhaps(name, &known)));
            }
            return Ok(Who::Cli(name.to_owned(), model));
        }
        let target = self.alias(text).unwrap_or(text);
        if let Some(council) = self.council_named(target) {
            return council.map(|_| Who::Council(vec![target.to_owned()]));
        }
        let providers = self.provider_names();
        if let Some((name, model)) = target.split_once('/') {
            if !providers.iter().any(|known| known == name) {
                return Err(format!("there is no provider \"{name}\"{}", perhaps(name, &providers)));
            }
            let model = Some(model.to_owned()).filter(|model| model != "*" && !model.is_empty());
            return Ok(Who::Provider(name.to_owned(), model));
        }
        let catalog = Catalog::builtin().overlay(self.models());
        catalog
            .get(target)
            .map(|info| Who::Provider(info.provider.clone(), Some(info.id.clone())))
            .ok_or_else(|| format!("nobody knows \"{target}\"; expected {}", Kind::Route.expected()))
    }
}

/// A guess at what was meant.
pub(super) fn perhaps(name: &str, known: &[String]) -> String {
    let near = nearest(name, known.iter().map(String::as_str));
    near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default()
}

/// Names the variable that holds the clients' key, if it is frites' that is set.
pub(super) fn token_variable(environment: &Environment, into: &mut Layer) {
    let [ours, frites] = TOKEN_VARIABLES;
    if environment.get(ours).is_none() && environment.get(frites).is_some() {
        let path = KeyPath::of(&["gateway", "key_env"]);
        into.set_text(path, frites, Origin::Variable(frites.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::schema;

    fn load(text: &str, variables: &[(&str, &str)]) -> Result<Config, Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        std::fs::write(&path, text).unwrap();
        let all = [&[("JUNTO_CONFIG", path.to_str().unwrap())], variables].concat();
        Config::load(&Environment::of(Path::new("/"), &all), &[]).map_err(|failure| failure.errors)
    }

    fn routes(text: &str) -> Vec<Route> {
        let text = format!("[gateway]\ncouncil = [\"openai/a\", \"claude\"]\n[gateway.routes]\n{text}");
        load(&text, &[]).unwrap().routes().0
    }

    #[test]
    fn a_route_says_who_answers() {
        let check = |text: &str, expected: Who| {
            let expected = Route { pattern: "m".to_owned(), who: expected };
            assert_eq!(routes(&format!("m = {text}")), [expected], "{text}");
        };
        let provider = |name: &str, model: Option<&str>| Who::Provider(name.into(), model.map(str::to_owned));
        check("\"openai/gpt-x\"", provider("openai", Some("gpt-x")));
        check("\"openai/org/gpt-x\"", provider("openai", Some("org/gpt-x")));
        check("\"openai/*\"", provider("openai", None));
        check("\"claude-opus-5-5\"", provider("anthropic", Some("claude-opus-5-5")));
        check("\"cli:codex\"", Who::Cli("codex".to_owned(), None));
        check("\"cli:claude/haiku\"", Who::Cli("claude".to_owned(), Some("haiku".to_owned())));
        let council = |names: [&str; 2]| Who::Council(names.map(str::to_owned).to_vec());
        check("\"council\"", council(["openai/a", "claude"]));
        check("[\"openai/b\", \"codex\"]", council(["openai/b", "codex"]));
        check("\"openai/b,codex\"", council(["openai/b", "codex"]));
    }

    #[test]
    fn the_special_comes_before_the_general() {
        let routes = routes(
            "\"*\" = \"openai/a\"\n\"claude-*\" = \"openai/b\"\n\"claude-haiku-*\" = \"openai/c\"\n\
             \"gpt-5.5\" = \"openai/d\"\n\"*mini*\" = \"openai/e\"",
        );
        let order: Vec<&str> = routes.iter().map(|route| route.pattern.as_str()).collect();
        assert_eq!(order, ["gpt-5.5", "claude-haiku-*", "claude-*", "*mini*", "*"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let check = |text: &str, said: &str| {
            let errors = load(&format!("[gateway.routes]\n{text}"), &[]).unwrap_err();
            let [error] = &errors[..] else { panic!("{text}: {errors:?}") };
            assert!(error.contains("c.toml:2: `gateway.routes.") && error.contains(said), "{text}: {error}");
        };
        check("m = \"cli:claud\"", "there is no command-line agent \"claud\"; did you mean \"claude\"?");
        check("m = \"opnai/x\"", "there is no provider \"opnai\"; did you mean \"openai\"?");
        check("m = \"council\"", "there is no council; `gateway.council`");
        check("m = \"zebra\"", "nobody knows \"zebra\"; expected \"PROVIDER/MODEL\"");
        check("m = []", "a council has members");
        check("m = 3", "expected \"PROVIDER/MODEL\"");
        check("junto-council = \"openai/x\"", "this name is the council's");
        check("frites-council = \"openai/x\"", "this name is the council's");
        check("gpt-5.5 = \"openai/x\"", "a name with a dot in it is written in quotes");
    }

    #[test]
    fn a_flag_lays_a_route_over_the_others() {
        let mut config = load("[gateway.routes]\n\"a.b\" = \"openai/x\"", &[]).unwrap();
        config.add_route("a.b=anthropic/y").unwrap();
        config.add_route("c-* = cli:gemini").unwrap();
        let patterns: Vec<Who> = config.routes().0.into_iter().map(|route| route.who).collect();
        let anthropic = Who::Provider("anthropic".to_owned(), Some("y".to_owned()));
        assert_eq!(patterns, [anthropic, Who::Cli("gemini".to_owned(), None)]);
        for (text, said) in
            [("x", "expected NAME=WHO"), ("x=", "must not be empty"), ("x=cli:no", "command-line agent")]
        {
            let problem = load("", &[]).unwrap().add_route(text).unwrap_err();
            assert!(problem.to_string().starts_with("flag --route: "), "{problem}");
            assert!(problem.to_string().contains(said), "{problem}");
        }
    }

    /// A name of a variable, its text, the key it sets, and what `config show` says of that.
    const FRITES: &[(&str, &str, &str, &str)] = &[
        ("FRITES_GATEWAY_HOST", "::1", "gateway.host", "\"::1\""),
        ("FRITES_GATEWAY_PORT", "7000", "gateway.port", "7000"),
        ("FRITES_GATEWAY_TOKEN", "secret", "gateway.key_env", "\"FRITES_GATEWAY_TOKEN\""),
        ("FRITES_HEARTBEAT_MS", "1500", "gateway.heartbeat", "\"1s500ms\""),
        ("FRITES_TELEMETRY_MS", "250", "gateway.telemetry", "\"250ms\""),
        ("FRITES_PROGRESS_DETAIL", "interleaved", "gateway.progress_detail", "\"interleaved\""),
        ("FRITES_LOG_LEVEL", "debug", "gateway.log_level", "\"debug\""),
        ("FRITES_LOG_JSON", "1", "gateway.log_json", "true"),
        ("FRITES_PASS_API_KEYS", "1", "pass_keys", "true"),
    ];

    #[test]
    fn every_variable_of_frites_is_another_name_of_ours() {
        let said = |variables: &[(&str, &str)], key: &str| {
            let config = load("", variables).unwrap();
            assert_eq!(config.notes, Vec::<String>::new(), "{variables:?}");
            let setting = config.setting(key).unwrap();
            (setting.value.to_string(), setting.origin.to_string())
        };
        for (name, text, key, shown) in FRITES {
            assert_eq!(said(&[(name, text)], key), ((*shown).to_owned(), format!("env {name}")));
            let ours = name.replace("FRITES_", "JUNTO_");
            let shown = if ours.ends_with("TOKEN") { "\"JUNTO_GATEWAY_TOKEN\"" } else { shown };
            let other = if text.parse::<u64>().is_ok() { "1" } else { text };
            let (value, origin) = said(&[(&ours, text), (name, other)], key);
            assert_eq!(value, shown);
            assert!(!origin.contains("FRITES"), "ours counts more: {origin}");
        }
        let all: Vec<&str> = schema::KEYS.iter().filter_map(|key| key.frites).collect();
        assert!(all.iter().all(|name| FRITES.iter().any(|(known, ..)| known == name)), "{all:?}");
    }

    #[test]
    fn the_file_that_frites_is_told_of_is_ours_unless_it_is_in_its_own_form() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let load = |path: &str| {
            Config::load(&Environment::of(Path::new("/"), &[("FRITES_GLOBAL_CONFIG", path)]), &[]).unwrap()
        };
        let config = load(&path("c.toml", "model = \"m\""));
        assert_eq!((config.text("model").unwrap().0, config.notes.len()), ("m", 0));
        let config = load(&path("c.json", "{}"));
        assert!(config.notes[0].contains("c.json is frites' own"), "{:?}", config.notes);
    }

    #[test]
    fn misspelled_variables_of_frites_are_noticed() {
        let notes = load("", &[("FRITES_GATEWAY_PROT", "1")]).unwrap().notes;
        let said =
            "warning: the variable FRITES_GATEWAY_PROT means nothing; did you mean FRITES_GATEWAY_PORT?";
        assert_eq!(notes, [said]);
    }

    /// What the guide shows is a configuration, and it names every variable of frites'.
    #[test]
    fn the_guide_is_right() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/gateway.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        let (_, rest) = guide.split_once("```toml\n").unwrap();
        let (example, _) = rest.split_once("```").unwrap();
        assert_eq!(load(example, &[]).unwrap().routes().0.len(), 6);
        for (name, _, key, _) in FRITES {
            let row = guide.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
            let row = row.unwrap_or_else(|| panic!("no row for {name}"));
            assert!(row.contains(&name.replace("FRITES_", "JUNTO_")), "{row}");
            assert!(row.contains(key) || name.ends_with("TOKEN"), "{row}");
        }
    }
}
