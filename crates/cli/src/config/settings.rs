//! Settings: values, and where each came from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use junto::policy::Rules;
use serde_json::json;

use super::problem::Problem;
use super::schema::{self, Key, Place};
use super::value::Value;

/// All settings of a layer, or of all layers.
pub(crate) type Settings = BTreeMap<KeyPath, Setting>;

/// Settings from one source, and what was wrong there.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    /// What is right.
    pub(crate) settings: Settings,
    /// What is wrong.
    pub(crate) problems: Vec<Problem>,
    /// The keys that were set to something wrong: they are not missing.
    pub(crate) spoiled: BTreeSet<KeyPath>,
    /// The rules of the policy.
    pub(crate) rules: Vec<Rules>,
}

impl Layer {
    /// Sets a key from text, if the text fits.
    pub(crate) fn set_text(&mut self, path: KeyPath, text: &str, origin: Origin) {
        let Place::Value(key) = schema::place(path.segments()) else { return };
        let name = path.segments().last().map_or("", String::as_str);
        match key.kind.read_text(name, text) {
            Ok(value) => drop(self.settings.insert(path, Setting { key, value, origin })),
            Err(message) => {
                self.problems.push(Problem::at(origin, message));
                self.spoiled.insert(path);
            }
        }
    }

    /// Lays another layer over this one.
    pub(crate) fn under(&mut self, upper: Self) {
        self.settings.extend(upper.settings);
        self.problems.extend(upper.problems);
        self.spoiled.extend(upper.spoiled);
        self.rules.extend(upper.rules);
    }
}

/// A value, its key and where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The key's row in the table.
    pub(crate) key: &'static Key,
    /// The value.
    pub(crate) value: Value,
    /// Where it came from.
    pub(crate) origin: Origin,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Built in.
    Default,
    /// A line of a file.
    File {
        /// The file.
        file: Arc<Path>,
        /// The line, counted from one.
        line: usize,
    },
    /// An environment variable.
    Variable(String),
    /// A flag of the command line.
    Flag(String),
}

impl Origin {
    /// How specific a choice from here is: a flag more than a variable, a variable more than a file.
    /// The user's file and the project's count alike.
    pub(crate) fn weight(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File { .. } => 1,
            Self::Variable(_) => 2,
            Self::Flag(_) => 3,
        }
    }

    /// The origin as JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Default => json!({"kind": "default"}),
            Self::File { file, line } => {
                json!({"kind": "file", "file": file.to_string_lossy(), "line": line})
            }
            Self::Variable(name) => json!({"kind": "variable", "name": name}),
            Self::Flag(name) => json!({"kind": "flag", "name": name}),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { file, line } => write!(f, "{}:{line}", file.display()),
            Self::Variable(name) => write!(f, "env {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// The path of a key, with the user's names in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyPath(Vec<String>);

impl KeyPath {
    /// The segments.
    pub(crate) fn segments(&self) -> &[String] {
        &self.0
    }

    /// A path of plain segments.
    pub(crate) fn of(segments: &[&str]) -> Self {
        Self(segments.iter().map(|s| (*s).to_owned()).collect())
    }
}

impl From<&[String]> for KeyPath {
    fn from(segments: &[String]) -> Self {
        Self(segments.to_vec())
    }
}

impl From<&Vec<String>> for KeyPath {
    fn from(segments: &Vec<String>) -> Self {
        Self(segments.clone())
    }
}

impl fmt::Display for KeyPath {
    /// As it is written in TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = |s: &str| {
            !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
                || s == "*"
        };
        for (index, segment) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            if bare(segment) {
                f.write_str(segment)?;
            } else {
                write!(f, "{}", toml_edit::Value::from(segment.as_str()))?;
            }
        }
        Ok(())
    }
}

/// The settings in the order of the table, those of one provider together.
pub(crate) fn in_order(settings: &Settings) -> Vec<(&KeyPath, &Setting)> {
    let mut all: Vec<_> = settings.iter().collect();
    all.sort_by_cached_key(|(path, setting)| {
        let section = setting.key.path.split('.').next().unwrap_or_default();
        let first = schema::KEYS.iter().position(|key| key.path.split('.').next() == Some(section));
        let owner = path.segments().get(1).filter(|_| path.segments().len() > 2).cloned();
        (first, owner, schema::rank(setting.key), (*path).clone())
    });
    all
}
