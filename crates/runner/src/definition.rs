//! What is known of each command-line agent, as data.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use junto_core::Mode;
use junto_llm::{Error, Secret, Usd};
use serde::Deserialize;

use crate::{ClaudeParser, Parser};

/// The variable that says how many agents are above a process.
const DEPTH: &str = "JUNTO_DEPTH";

static SHIPPED: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    [include_str!("claude.toml")].into_iter().filter_map(|text| Definition::parse(text).ok()).collect()
});

/// How a command is run and read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The kind of agent.
    pub kind: String,
    /// The program, and the arguments of every run.
    pub command: Vec<String>,
    /// How it gets its prompt.
    pub prompt: PromptBy,
    /// What it prints.
    pub output: OutputFormat,
    /// Arguments for what not every run wants.
    pub options: Options,
    /// Arguments for what it may do.
    pub modes: Modes,
    /// Which variables it gets.
    pub variables: VariableRules,
}

/// How a command gets its prompt. Never among its arguments: they are limited in length, everybody
/// can see them, and a prompt can look like an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptBy {
    /// As text on standard input, which then ends.
    Stdin,
}

/// What a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputFormat {
    /// The lines of `claude --output-format stream-json`.
    ClaudeStreamJson,
}

impl OutputFormat {
    /// A parser for one run.
    pub fn parser(self) -> Box<dyn Parser> {
        match self {
            Self::ClaudeStreamJson => Box::new(ClaudeParser::new()),
        }
    }
}

/// Arguments for what not every run wants. `{}` stands for the value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// For an answer in pieces as it is written.
    pub deltas: Vec<String>,
    /// For a model.
    pub model: Vec<String>,
    /// For going on with a session.
    pub resume: Vec<String>,
    /// For a limit of model calls.
    pub max_turns: Vec<String>,
    /// For a limit of money, in dollars. Absent: the command cannot be held to one, and is not run under a
    /// budget of money.
    #[serde(default)]
    pub max_usd: Vec<String>,
    /// For an answer without any doing, in place of a mode's.
    pub answer: Vec<String>,
}

/// Arguments for what an agent may do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Modes {
    /// Look.
    pub read_only: Vec<String>,
    /// Change what is in the working directory.
    pub workspace_write: Vec<String>,
    /// Anything.
    pub full: Vec<String>,
}

/// Which variables a command gets beside those that its environment gives every process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariableRules {
    /// Names that are passed on from the host.
    pub allow: Vec<String>,
    /// Variables with a value of their own.
    pub set: BTreeMap<String, String>,
}

/// What one run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Work with its own tools.
    Work(Mode),
    /// An answer, and nothing done.
    Answer,
}

/// How closely a run is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Texts in pieces, as they are written.
    Deltas,
    /// Whole texts.
    Whole,
}

/// One run, as far as it shows among the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invocation<'a> {
    /// What it is for.
    pub purpose: Purpose,
    /// How closely it is followed.
    pub detail: Detail,
    /// The model; absent: the command's default.
    pub model: Option<&'a str>,
    /// The session to go on with.
    pub resume: Option<&'a str>,
    /// The most model calls.
    pub max_turns: Option<u32>,
    /// The most money.
    pub max_usd: Option<Usd>,
}

impl Definition {
    /// The shipped definition of a kind.
    pub fn shipped(kind: &str) -> Option<Self> {
        SHIPPED.iter().find(|definition| definition.kind == kind).cloned()
    }

    /// A definition from TOML.
    ///
    /// # Errors
    /// `configuration`, with the line and the field.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let definition: Self = toml::from_str(text).map_err(|e| Error::configuration(e.to_string()))?;
        if definition.command.first().is_none_or(String::is_empty) {
            return Err(Error::configuration(format!("{}: `command` names no program", definition.kind)));
        }
        Ok(definition)
    }

    /// The program, for people.
    pub fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// The whole command of a run.
    ///
    /// # Errors
    /// `configuration` for a model or session that would be taken for an option.
    pub fn argv(&self, run: &Invocation<'_>) -> Result<Vec<String>, Error> {
        let mut argv = self.command.clone();
        argv.extend_from_slice(match run.purpose {
            Purpose::Answer => &self.options.answer,
            Purpose::Work(Mode::ReadOnly) => &self.modes.read_only,
            Purpose::Work(Mode::WorkspaceWrite) => &self.modes.workspace_write,
            Purpose::Work(Mode::Full) => &self.modes.full,
        });
        if run.detail == Detail::Deltas {
            argv.extend_from_slice(&self.options.deltas);
        }
        let max_turns = run.max_turns.map(|turns| turns.to_string());
        let max_usd = run.max_usd.map(|usd| usd.dollars().to_string());
        for (what, template, value) in [
            ("model", &self.options.model, run.model),
            ("session", &self.options.resume, run.resume),
            ("limit", &self.options.max_turns, max_turns.as_deref()),
            ("limit", &self.options.max_usd, max_usd.as_deref()),
        ] {
            let Some(value) = value else { continue };
            if value.is_empty() || value.starts_with('-') {
                return Err(Error::configuration(format!("{value:?} is no {what} that {} takes", self.kind)));
            }
            argv.extend(template.iter().map(|argument| argument.replace("{}", value)));
        }
        Ok(argv)
    }

    /// The variables of a run that has `depth` agents above it.
    pub fn variables(&self, given: &BTreeMap<String, Secret>, depth: u8) -> BTreeMap<String, String> {
        let allowed = given.iter().filter(|(name, _)| self.variables.allow.contains(name));
        let mut variables: BTreeMap<String, String> =
            allowed.map(|(name, value)| (name.clone(), value.expose().to_owned())).collect();
        variables.extend(self.variables.set.clone());
        variables.insert(DEPTH.to_owned(), depth.saturating_add(1).to_string());
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claude() -> Definition {
        Definition::parse(include_str!("claude.toml")).unwrap()
    }

    const PLAIN: Invocation<'static> = Invocation {
        purpose: Purpose::Answer,
        detail: Detail::Whole,
        model: None,
        resume: None,
        max_turns: None,
        max_usd: None,
    };

    /// What comes after the command's own arguments.
    fn check(run: Invocation<'_>, expected: &[&str]) {
        let claude = claude();
        let argv = claude.argv(&run).unwrap();
        let (head, rest) = argv.split_at(claude.command.len());
        assert_eq!(head, claude.command);
        assert_eq!(rest, expected, "{run:?}");
    }

    #[test]
    fn arguments_follow_the_run() {
        let full = Invocation { purpose: Purpose::Work(Mode::Full), ..PLAIN };
        let mode = ["--permission-mode", "bypassPermissions"];
        check(full, &mode);
        check(
            Invocation { detail: Detail::Deltas, ..full },
            &[&mode[..], &["--include-partial-messages"]].concat(),
        );
        check(
            Invocation { model: Some("opus"), resume: Some("id-1"), max_turns: Some(3), ..full },
            &[&mode[..], &["--model", "opus", "--resume", "id-1", "--max-turns", "3"]].concat(),
        );
        check(
            Invocation { max_usd: Some(Usd::from_dollars(0.25)), ..full },
            &[&mode[..], &["--max-budget-usd", "0.25"]].concat(),
        );
        check(
            Invocation { purpose: Purpose::Work(Mode::WorkspaceWrite), ..PLAIN },
            &["--permission-mode", "acceptEdits"],
        );
    }

    #[test]
    fn only_full_mode_may_do_anything() {
        for purpose in [Purpose::Answer, Purpose::Work(Mode::ReadOnly), Purpose::Work(Mode::WorkspaceWrite)] {
            let argv = claude().argv(&Invocation { purpose, ..PLAIN }).unwrap();
            assert!(!argv.iter().any(|argument| argument == "bypassPermissions"), "{argv:?}");
        }
        for purpose in [Purpose::Answer, Purpose::Work(Mode::ReadOnly)] {
            let argv = claude().argv(&Invocation { purpose, ..PLAIN }).unwrap();
            assert!(argv.contains(&"Bash,Edit,Write,NotebookEdit".to_owned()), "{argv:?}");
        }
    }

    #[test]
    fn values_cannot_be_options() {
        for value in ["", "-r", "--dangerously-skip-permissions"] {
            assert!(claude().argv(&Invocation { model: Some(value), ..PLAIN }).is_err(), "{value}");
            assert!(claude().argv(&Invocation { resume: Some(value), ..PLAIN }).is_err(), "{value}");
        }
    }

    #[test]
    fn variables_are_allowed_by_name() {
        let given = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "AWS_SECRET_ACCESS_KEY", "DISABLE_TELEMETRY"];
        let given = given.map(|name| (name.to_owned(), Secret::new("given")));
        let variables = claude().variables(&BTreeMap::from(given), 2);
        assert_eq!(variables.get("ANTHROPIC_API_KEY").map(String::as_str), Some("given"));
        assert_eq!(variables.get("DISABLE_TELEMETRY").map(String::as_str), Some("1"));
        assert_eq!(variables.get("JUNTO_DEPTH").map(String::as_str), Some("3"));
        assert!(!variables.contains_key("ANTHROPIC_BASE_URL"));
        assert!(!variables.contains_key("AWS_SECRET_ACCESS_KEY"));
    }

    #[test]
    fn shipped_definitions_are_readable() {
        assert_eq!(Definition::shipped("claude"), Some(claude()));
        assert_eq!(Definition::shipped("nobody"), None);
        assert!(Definition::parse("kind = 'x'").is_err());
    }
}
