//! Configuration in layers: built-in defaults, the user's file, the file of a trusted project,
//! `JUNTO_*` variables (or `FRITES_*`, where frites has one of the same meaning), flags. Each layer overrides the one before, key by key, and every value
//! remembers where it came from.
//!
//! The keys are one table ([`schema::KEYS`]). No secret is ever part of the configuration: it holds
//! only the names of the variables that hold keys.

mod aliases;
mod check;
mod contests;
mod councils;
mod files;
mod gateway;
mod problem;
mod programs;
mod project;
mod runners;
mod schema;
mod settings;
mod trust;
mod value;
mod vendors;
mod write;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use junto::llm::catalog::ModelInfo;
use junto::llm::names::nearest;
use junto::llm::retry::Policy;
use junto::llm::{Timeouts, Wire};
use junto::policy::{Origin as Whose, Rules};

use crate::environment::Environment;
use crate::failure::Failure;

pub(crate) use aliases::circles;
pub(crate) use check::read as read_file;
pub(crate) use councils::{CouncilSettings, PREFIX as COUNCIL_PREFIX, SeatSettings};
pub(crate) use files::{Files, Project};
pub(crate) use gateway::{COUNCIL_IDS, Route, Who, rank};
pub(crate) use junto::llm::vendor::VENDORS;
pub(crate) use problem::{Problem, failure as problems_failure};
pub(crate) use programs::anchor;
pub(crate) use project::{ProjectFiles, SERVERS, of_project};
pub(crate) use runners::RunnerSettings;
pub(crate) use schema::RUNNERS;
#[cfg(test)]
pub(crate) use schema::{COUNCIL_MODES, FAN_OUTS, SCOPES};
pub(crate) use schema::{DIALECTS, ENV_POLICIES, KERNEL_STATES, MODES, OVERFLOWS, SANDBOXES};
pub(crate) use settings::{KeyPath, Layer, Origin, Setting, Settings, in_order};
pub(crate) use trust::{CONFIG, Standing, Trust, digest};
pub(crate) use value::{Value, duration, duration_text};
pub(crate) use vendors::vendor;
pub(crate) use write::{add_rule, replace_file, with_rule};

/// Variables of ours that are no settings.
const OTHER_VARIABLES: &[&str] = &[
    "JUNTO_CONFIG",
    "JUNTO_GLOBAL_CONFIG",
    "JUNTO_GATEWAY_TOKEN",
    crate::saved::STATE_VARIABLE,
    "JUNTO_CHILD",
    "JUNTO_DEPTH",
    "JUNTO_RUN_TOKEN",
    "JUNTO_TREE",
    "FRITES_GLOBAL_CONFIG",
    "FRITES_GATEWAY_TOKEN",
    "FRITES_CHILD",
    "FRITES_DEPTH",
    // Codex shows it to frites' gateway, by the set-up that frites' guide has.
    "FRITES_KEY",
];

/// A value given by a flag.
#[derive(Clone, Debug)]
pub(crate) struct FlagValue {
    /// The key it sets.
    pub(crate) key: &'static str,
    /// The flag, with its dashes.
    pub(crate) flag: &'static str,
    /// What was given.
    pub(crate) text: String,
}

/// The configuration in force.
#[derive(Debug)]
pub(crate) struct Config {
    /// All settings.
    pub(crate) settings: Settings,
    /// The rules of the policy, of the user and of a trusted project.
    pub(crate) rules: Vec<Rules>,
    /// What the user should know of how it came about.
    pub(crate) notes: Vec<String>,
    /// What the project brings, if there is one.
    pub(crate) project: Option<ProjectFiles>,
}

/// A provider as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProviderSettings {
    /// Its name.
    pub(crate) name: String,
    /// The wire it speaks.
    pub(crate) wire: Wire,
    /// Where it is.
    pub(crate) base_url: String,
    /// The variable that holds its key.
    pub(crate) key_variable: Option<String>,
    /// Headers for every request.
    pub(crate) headers: Vec<(String, String)>,
}

impl Config {
    /// Loads all layers.
    ///
    /// # Errors
    /// All problems of all layers at once.
    pub(crate) fn load(environment: &Environment, flags: &[FlagValue]) -> Result<Self, Failure> {
        let (layer, notes, project) = layers(environment, flags);
        let config = Self { settings: layer.settings, rules: layer.rules, notes, project };
        let circles = aliases::circles(&config.settings);
        let (providers, runners) =
            (config.incomplete_providers(&layer.spoiled), config.impossible_runners(&layer.spoiled));
        let (_, routes) = config.routes();
        let councils = config.impossible_councils(&layer.spoiled);
        let problems = [layer.problems, providers, runners, circles, councils, routes].concat();
        if problems.is_empty() { Ok(config) } else { Err(problems_failure(&problems)) }
    }

    /// What the project brings, if nobody has said that it shall be in force.
    pub(crate) fn untrusted(&self) -> Option<&ProjectFiles> {
        self.project.as_ref().filter(|project| project.needs_trust() && !project.is_trusted())
    }

    /// The setting of a key without a name in its path.
    pub(crate) fn setting(&self, key: &str) -> Option<&Setting> {
        self.settings.get(&KeyPath::of(&key.split('.').collect::<Vec<_>>()))
    }

    /// The keys that nobody set and that have no default.
    pub(crate) fn unset(&self) -> impl Iterator<Item = &'static schema::Key> {
        schema::KEYS.iter().filter(|key| !key.path.contains('*') && self.setting(key.path).is_none())
    }

    /// A text and where it came from.
    pub(crate) fn text(&self, key: &str) -> Option<(&str, &Origin)> {
        let setting = self.setting(key)?;
        match &setting.value {
            Value::Text(text) => Some((text, &setting.origin)),
            _ => None,
        }
    }

    /// A whole number.
    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        match self.setting(key)?.value {
            Value::Count(number) => Some(number),
            _ => None,
        }
    }

    /// A number.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        match self.setting(key)?.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Several texts.
    pub(crate) fn texts(&self, key: &str) -> Option<&[String]> {
        match &self.setting(key)?.value {
            Value::Texts(texts) => Some(texts),
            _ => None,
        }
    }

    /// A yes or no; one that nobody set is a no.
    pub(crate) fn flag(&self, key: &str) -> bool {
        matches!(self.setting(key), Some(Setting { value: Value::Flag(true), .. }))
    }

    /// Sets a text where nobody else did.
    pub(crate) fn suppose(&mut self, key: &str, text: &str) {
        if self.setting(key).is_none() {
            let mut layer = Layer::default();
            layer.set_text(KeyPath::of(&key.split('.').collect::<Vec<_>>()), text, Origin::Default);
            self.settings.extend(layer.settings);
        }
    }

    /// Whether caches are used on wires where one must ask for it.
    pub(crate) fn auto_cache(&self) -> bool {
        self.flag("auto_cache")
    }

    /// The timeouts.
    pub(crate) fn timeouts(&self) -> Timeouts {
        let usual = Timeouts::default();
        Timeouts {
            connect: self.duration("timeouts.connect").unwrap_or(usual.connect),
            request: self.duration("timeouts.request").unwrap_or(usual.request),
            idle: self.duration("timeouts.idle").unwrap_or(usual.idle),
        }
    }

    /// The timeouts of a call that a client of the gateway waits for. The client has limits of its own; a shorter one
    /// here would cut off what it waits for, unless somebody wants that.
    pub(crate) fn patient_timeouts(&self) -> Timeouts {
        let set = self.timeouts();
        let of_request = self.setting("timeouts.request");
        let is_default = of_request.is_none_or(|setting| matches!(setting.origin, Origin::Default));
        Timeouts { request: if is_default { Duration::from_mins(10) } else { set.request }, ..set }
    }

    /// The retry policy.
    pub(crate) fn retry(&self) -> Policy {
        let usual = Policy::default();
        Policy {
            max_retries: self
                .count("retry.max_retries")
                .map_or(usual.max_retries, |number| u32::try_from(number).unwrap_or(u32::MAX)),
            base: self.duration("retry.base").unwrap_or(usual.base),
            cap: self.duration("retry.cap").unwrap_or(usual.cap),
            ..usual
        }
    }

    /// The providers: the built-in ones first, in their order, then the user's by name.
    pub(crate) fn providers(&self) -> Vec<ProviderSettings> {
        let names = self.provider_names();
        names.into_iter().filter_map(|name| self.provider(&name)).collect()
    }

    /// What a name stands for in the end, if it is an alias: what it stands for may be one, too.
    pub(crate) fn alias(&self, name: &str) -> Option<&str> {
        aliases::resolve(&self.settings, name)
    }

    /// The aliases and what they stand for.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.iter().filter_map(|(path, setting)| match (path.segments(), &setting.value) {
            ([section, name], Value::Text(target)) if section == "aliases" => {
                Some((name.as_str(), target.as_str()))
            }
            _ => None,
        })
    }

    /// The models that are laid over the catalog.
    pub(crate) fn models(&self) -> Vec<ModelInfo> {
        self.settings
            .values()
            .filter_map(|setting| match &setting.value {
                Value::Model(model) => Some((**model).clone()),
                _ => None,
            })
            .collect()
    }

    /// A time.
    pub(crate) fn duration(&self, key: &str) -> Option<Duration> {
        match self.setting(key)?.value {
            Value::Duration(duration) => Some(duration),
            _ => None,
        }
    }

    fn provider_names(&self) -> Vec<String> {
        let mut names: Vec<String> = VENDORS.iter().map(|vendor| vendor.name.to_owned()).collect();
        let all: BTreeSet<&String> = self
            .settings
            .keys()
            .filter(|path| path.segments().first().is_some_and(|section| section == "providers"))
            .filter_map(|path| path.segments().get(1))
            .collect();
        names.extend(all.into_iter().filter(|name| vendor(name).is_none()).cloned());
        names
    }

    /// A provider, if its wire and address are known.
    fn provider(&self, name: &str) -> Option<ProviderSettings> {
        let text = |key: &str| match &self.settings.get(&KeyPath::of(&["providers", name, key]))?.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        };
        let wire = text("wire")?;
        let headers =
            self.settings.iter().filter_map(|(path, setting)| match (path.segments(), &setting.value) {
                ([section, owner, table, header], Value::Text(text))
                    if section == "providers" && owner == name && table == "headers" =>
                {
                    Some((header.clone(), text.clone()))
                }
                _ => None,
            });
        Some(ProviderSettings {
            name: name.to_owned(),
            wire: Wire::ALL.into_iter().find(|known| known.name() == wire)?,
            base_url: text("base_url")?,
            key_variable: text("key_env"),
            headers: headers.collect(),
        })
    }

    /// Providers that no layer told how or where to reach them, be it wrongly.
    fn incomplete_providers(&self, spoiled: &BTreeSet<KeyPath>) -> Vec<Problem> {
        let mut problems = Vec::new();
        for name in self.provider_names() {
            let of_it = |path: &KeyPath| matches!(path.segments(), [section, owner, ..] if section == "providers" && *owner == name);
            for needed in ["wire", "base_url"] {
                let path = KeyPath::of(&["providers", &name, needed]);
                if !self.settings.contains_key(&path)
                    && !spoiled.contains(&path)
                    && let Some((_, setting)) = self.settings.iter().find(|(path, _)| of_it(path))
                {
                    problems.push(Problem::at(
                        &setting.origin,
                        format!("`{}` has no `{needed}`", KeyPath::of(&["providers", &name])),
                    ));
                }
            }
        }
        problems
    }
}

/// The key of this path, as flags name it; none if there is no such key (any more).
pub(crate) fn known_key(path: &str) -> Option<&'static str> {
    schema::KEYS.iter().map(|key| key.path).find(|known| *known == path)
}

/// Reads and checks a file of the user's as a layer; a file that is not there is an empty one.
pub(crate) fn file_layer(file: &Path) -> Layer {
    match check::read(file) {
        Ok(Some(text)) => check::check(file, &text, Whose::User),
        Ok(None) => Layer::default(),
        Err(problem) => Layer { problems: vec![problem], ..Layer::default() },
    }
}

/// All layers over each other, notes for the user, and what the project brings.
fn layers(environment: &Environment, flags: &[FlagValue]) -> (Layer, Vec<String>, Option<ProjectFiles>) {
    let files = Files::find(environment);
    let mut all = defaults(environment);
    let mut notes = Vec::new();
    if let Some(file) = &files.foreign {
        notes.push(format!(
            "warning: {} is frites' own configuration and not read; junto's is TOML",
            file.display()
        ));
    }
    if let Some(file) = &files.user {
        if let Some(variable) = files.user_named_by
            && !file.exists()
        {
            let message = format!("there is no file {}", file.display());
            all.problems.push(Problem::at(format!("env {variable}"), message));
        }
        all.under(file_layer(file));
    }
    let mut brought = None;
    match of_project(&files) {
        Ok(None) => {}
        Ok(Some(project)) => {
            if !project.needs_trust() || project.is_trusted() {
                all.under(project.layer());
            } else {
                notes.push(project.note());
            }
            brought = Some(project);
        }
        Err(problem) => all.problems.push(problem),
    }
    let (variables, doubts) = variables(environment);
    all.under(variables);
    notes.extend(doubts);
    for flag in flags {
        let path = KeyPath::of(&flag.key.split('.').collect::<Vec<_>>());
        all.set_text(path, &flag.text, Origin::Flag(flag.flag.to_owned()));
    }
    (all, notes, brought)
}

fn defaults(environment: &Environment) -> Layer {
    let mut layer = Layer::default();
    for key in schema::KEYS {
        if let Some(default) = key.default {
            layer.set_text(KeyPath::of(&key.path.split('.').collect::<Vec<_>>()), default, Origin::Default);
        }
    }
    for vendor in VENDORS {
        vendors::settings(&vendor, environment, &mut layer);
    }
    gateway::token_variable(environment, &mut layer);
    layer
}

/// The layer of `JUNTO_*` and `FRITES_*` variables, and a doubt for each that looks misspelled.
fn variables(environment: &Environment) -> (Layer, Vec<String>) {
    let mut layer = Layer::default();
    for key in schema::KEYS {
        let given = key.variables().find_map(|name| Some((name, environment.get(name)?)));
        if let Some((name, text)) = given {
            let path = KeyPath::of(&key.path.split('.').collect::<Vec<_>>());
            layer.set_text(path, &with_unit(name, text), Origin::Variable(name.to_owned()));
        }
    }
    let known: Vec<&str> =
        schema::KEYS.iter().flat_map(schema::Key::variables).chain(OTHER_VARIABLES.iter().copied()).collect();
    let doubts = ["JUNTO_", "FRITES_"]
        .into_iter()
        .flat_map(|prefix| environment.names_from(prefix))
        .filter(|name| !known.contains(name))
        .filter_map(|name| Some((name, nearest(name, known.iter().copied())?)))
        .map(|(name, near)| format!("warning: the variable {name} means nothing; did you mean {near}?"))
        .collect();
    (layer, doubts)
}

/// The text of a variable; of one whose name says that it counts milliseconds, with that unit.
fn with_unit<'a>(name: &str, text: &'a str) -> Cow<'a, str> {
    let is_bare = name.ends_with("_MS") && text.bytes().all(|b| b.is_ascii_digit());
    if is_bare { Cow::Owned(format!("{text}ms")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests;
