//! What is known of each command-line agent, as data.

mod line;
mod rules;
mod version;

use std::sync::LazyLock;

use junto_core::Mode;
use junto_llm::Error;
use serde::Deserialize;

use crate::{ClaudeParser, CodexParser, GeminiParser, Parser};

pub use self::line::{CommandLine, Detail, Invocation, PrivateFile, Purpose};
pub use self::rules::{
    AnswerRule, EffortRule, EndSignal, EndingRule, EndpointRule, HomeRule, ModeRule, Modes, Options,
    ProjectRule, SignInRule, SteerProtocol, SteerRule, TokenRule, VariableRules,
};
pub use self::version::{Standing, Version, VersionRange, Versions};

static SHIPPED: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    [include_str!("claude.toml"), include_str!("codex.toml"), include_str!("gemini.toml")]
        .into_iter()
        .filter_map(|text| Definition::parse(text).ok())
        .collect()
});

/// How a command is run and read. Every part is data, so that a command that speaks one of the known
/// formats can be added without code; `claude.toml` beside this file has all of it explained.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The kind of agent.
    pub kind: String,
    /// The program, and the arguments of every run.
    pub command: Vec<String>,
    /// How many words of the command start the program: more than one where another program starts it, as in
    /// `["nice", "codex", "exec"]`. What follows them are the arguments of every run.
    #[serde(default = "one")]
    pub words: usize,
    /// The arguments that come last, after a session to go on with.
    #[serde(default)]
    pub last: Vec<String>,
    /// What installs it, for people.
    #[serde(default)]
    pub install: Option<String>,
    /// How it gets its prompt.
    pub prompt: PromptBy,
    /// What it prints.
    pub output: OutputFormat,
    /// The documents of a project that it does not read by itself as it is run here; whoever runs it
    /// passes their text on as instructions.
    #[serde(default)]
    pub documents: Vec<String>,
    /// Arguments for what not every run wants.
    #[serde(default)]
    pub options: Options,
    /// How it is asked for an answer only.
    #[serde(default)]
    pub answer: AnswerRule,
    /// How hard its model thinks.
    #[serde(default)]
    pub effort: EffortRule,
    /// What it may do.
    #[serde(default)]
    pub modes: Modes,
    /// Which variables it gets.
    #[serde(default)]
    pub variables: VariableRules,
    /// What of a project it obeys whatever it is told.
    #[serde(default)]
    pub project: ProjectRule,
    /// How it is spoken with while it works.
    #[serde(default)]
    pub steer: SteerRule,
    /// How it is asked to end.
    #[serde(default)]
    pub ending: EndingRule,
    /// Which versions are known.
    #[serde(default)]
    pub versions: Versions,
    /// How it is pointed at another server than its vendor's.
    #[serde(default)]
    pub endpoint: EndpointRule,
    /// How it is made to show that it is a child of ours wherever it asks.
    #[serde(default)]
    pub token: TokenRule,
    /// Where it keeps its sessions and its login.
    #[serde(default)]
    pub home: HomeRule,
    /// What shows that its user is signed in.
    #[serde(default)]
    pub sign_in: SignInRule,
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
    /// The lines of `codex exec --json`.
    CodexJson,
    /// The lines of `gemini --output-format stream-json`.
    GeminiStreamJson,
}

impl OutputFormat {
    /// A parser for one run.
    pub fn parser(self) -> Box<dyn Parser> {
        match self {
            Self::ClaudeStreamJson => Box::new(ClaudeParser::new()),
            Self::CodexJson => Box::new(CodexParser::new()),
            Self::GeminiStreamJson => Box::new(GeminiParser::new()),
        }
    }
}

impl Definition {
    /// The shipped definition of a kind: `claude`, `codex`, `gemini`.
    pub fn shipped(kind: &str) -> Option<Self> {
        SHIPPED.iter().find(|definition| definition.kind == kind).cloned()
    }

    /// The kinds that are shipped.
    pub fn shipped_kinds() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|definition| definition.kind.as_str())
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

    /// The words that start the program.
    pub fn starter(&self) -> &[String] {
        self.command.get(..self.words).unwrap_or(&self.command)
    }

    /// Has the program started by other words: another path, or a wrapper and its arguments.
    pub fn start_by(&mut self, words: impl IntoIterator<Item = String>) {
        let before = self.starter().len();
        let arguments = self.command.split_off(before);
        self.command = words.into_iter().collect();
        self.words = self.command.len();
        self.command.extend(arguments);
    }

    /// Whether the command itself keeps to a mode, by rules or a sandbox of its own. One that does not is
    /// run in a sandbox of ours in that mode. There is nothing to keep to where everything is allowed.
    pub fn enforces(&self, mode: Mode) -> bool {
        mode == Mode::Full || self.modes.of(mode).enforced
    }
}

const fn one() -> usize {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_definitions_are_readable() {
        assert_eq!(Definition::shipped_kinds().collect::<Vec<_>>(), ["claude", "codex", "gemini"]);
        for text in [include_str!("claude.toml"), include_str!("codex.toml"), include_str!("gemini.toml")] {
            let definition = Definition::parse(text).unwrap();
            assert_eq!(Definition::shipped(&definition.kind), Some(definition));
        }
        assert_eq!(Definition::shipped("nobody"), None);
    }

    #[test]
    fn what_is_wrong_with_a_definition_is_named() {
        let least = "kind = 'x'\ncommand = ['x']\nprompt = 'stdin'\noutput = 'codex-json'\n";
        assert!(Definition::parse(least).is_ok());
        for (text, said) in [
            ("kind = 'x'", "command"),
            ("kind = 'x'\ncommand = []\nprompt = 'stdin'\noutput = 'codex-json'\n", "names no program"),
            (&format!("{least}modell = 'x'"), "modell"),
            (&format!("{least}[modes.read-write]\narguments = []"), "read-write"),
            (&least.replace("codex-json", "morse"), "morse"),
            (&format!("{least}[versions]\ntested = '1.0'"), "1.0"),
        ] {
            let error = Definition::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn another_program_may_start_it() {
        let mut definition = Definition::shipped("codex").unwrap();
        let arguments = definition.command[1..].to_vec();
        assert_eq!(definition.starter(), ["codex"]);
        for words in [&["firejail", "--quiet", "codex"][..], &["/opt/codex"]] {
            definition.start_by(words.iter().map(|&word| word.to_owned()));
            assert_eq!(
                (definition.starter(), definition.program()),
                (&definition.command[..words.len()], words[0])
            );
            assert_eq!(definition.starter(), words);
            assert_eq!(definition.command[words.len()..], arguments);
        }
    }

    #[test]
    fn a_mode_nobody_described_is_not_kept_to() {
        let least = "kind = 'x'\ncommand = ['x']\nprompt = 'stdin'\noutput = 'codex-json'\n";
        let definition = Definition::parse(least).unwrap();
        assert!(!definition.enforces(Mode::ReadOnly) && !definition.enforces(Mode::WorkspaceWrite));
        assert!(definition.enforces(Mode::Full));
        for kind in Definition::shipped_kinds() {
            assert!(Definition::shipped(kind).unwrap().enforces(Mode::ReadOnly), "{kind}");
        }
    }
}
