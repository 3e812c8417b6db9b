//! The parts of a definition.

use std::collections::BTreeMap;
use std::path::PathBuf;

use junto_core::Mode;
use serde::Deserialize;

use super::Version;

/// Arguments for what not every run wants. `{}` stands for the value, `{toml}` for the value as a TOML
/// string. What has no arguments cannot be asked of the command, and asking for it is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// For the events of [`Definition::output`](crate::Definition::output).
    pub events: Vec<String>,
    /// For the final text only, in place of events.
    pub text: Vec<String>,
    /// For an answer in pieces as it is written.
    pub deltas: Vec<String>,
    /// For a model.
    pub model: Vec<String>,
    /// For how hard the model thinks.
    pub effort: Vec<String>,
    /// For instructions beside the command's own. Absent: they stand at the head of the first prompt.
    pub instructions: Vec<String>,
    /// Whether a session keeps to the [instructions](Self::instructions) that it began with, whatever later runs are
    /// given: others then stand at the head of a prompt.
    pub instructions_at_start: bool,
    /// For instructions in a file, `{}` being its path: for those that are too long for an argument.
    pub instructions_file: Vec<String>,
    /// For a directory to work in beside the working directory; given once for each.
    pub directory: Vec<String>,
    /// For a limit of model calls.
    pub max_turns: Vec<String>,
    /// For a limit of money, in dollars. Absent: the command cannot be held to one, and is not run under a
    /// budget of money.
    pub max_usd: Vec<String>,
    /// For a file, `{}` being its path, into which the final text is written.
    pub last_message: Vec<String>,
    /// For going on with a session. Stands after all other options.
    pub resume: Vec<String>,
    /// For going on with a session under instructions that may not be those it began with.
    pub resume_instructed: Vec<String>,
    /// The first version that takes them; absent: all do. Those before it need no such arguments.
    pub resume_instructed_since: Option<Version>,
}

/// How a command is asked for an answer, with nothing done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerRule {
    /// Arguments, in the place of those of a mode.
    pub arguments: Vec<String>,
    /// What it is told beside all other instructions.
    pub instructions: Option<String>,
}

/// How hard the model thinks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EffortRule {
    /// Where nobody says how hard; absent: as the command likes.
    pub usual: Option<String>,
    /// The levels it takes, from low to high; empty: any.
    pub levels: Vec<String>,
    /// Why other levels are refused, for people.
    pub why: Option<String>,
}

/// What an agent may do, as the arguments of each mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Modes {
    /// Look.
    pub read_only: ModeRule,
    /// Change what is in the working directory.
    pub workspace_write: ModeRule,
    /// Anything.
    pub full: ModeRule,
}

impl Modes {
    /// The rule of a mode.
    pub fn of(&self, mode: Mode) -> &ModeRule {
        match mode {
            Mode::ReadOnly => &self.read_only,
            Mode::WorkspaceWrite => &self.workspace_write,
            Mode::Full => &self.full,
        }
    }
}

/// What a mode is for a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModeRule {
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Whether the command keeps to the mode by itself.
    pub enforced: bool,
    /// What it comes to, for people.
    pub says: String,
    /// Variables that it needs if it is run by root.
    pub as_root: BTreeMap<String, String>,
}

/// Which variables a command gets beside those that every program may need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VariableRules {
    /// Names that are passed on from the host: the sign-in, homes, proxies.
    pub allow: Vec<String>,
    /// Names of keys, which are passed on only where that is asked for.
    pub keys: Vec<String>,
    /// Variables with a value of their own.
    pub set: BTreeMap<String, String>,
    /// Variables that are empty rather than absent, so that no file of a project can set them.
    pub blank: Vec<String>,
}

/// How a command is spoken with while it works. Only where the host wants that: a command is simplest to follow
/// if it has heard everything before it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SteerRule {
    /// The protocol; absent: it cannot be.
    pub protocol: Option<SteerProtocol>,
    /// Arguments with which it speaks it.
    pub arguments: Vec<String>,
}

/// A protocol in which a command is spoken with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteerProtocol {
    /// The lines of `claude --input-format stream-json`.
    ClaudeStreamJson,
}

/// How a command is asked to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EndingRule {
    /// The signal it gets first.
    pub signal: EndSignal,
}

/// A signal that asks a process to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndSignal {
    /// SIGINT.
    Int,
    /// SIGTERM.
    #[default]
    Term,
}

/// How a command is pointed at a server. `{url}` is its address, `{toml_url}` the same as a TOML string.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EndpointRule {
    /// Arguments.
    pub arguments: Vec<String>,
    /// Variables.
    pub variables: BTreeMap<String, String>,
    /// The variable that holds the key for the server.
    pub key: Option<String>,
}

impl EndpointRule {
    /// Whether nothing is known of how to do it.
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty() && self.variables.is_empty()
    }
}

/// How a command is made to show a token with each request. `{}` is the token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenRule {
    /// Variables.
    pub variables: BTreeMap<String, String>,
    /// Arguments that are understood only beside those of an endpoint.
    pub endpoint_arguments: Vec<String>,
}

/// Where a command keeps its sessions and its login.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HomeRule {
    /// The variable that names the folder; absent: the command has none, and no home of its own.
    pub variable: Option<String>,
    /// The folder where the variable is not set, below the user's home.
    pub usual: PathBuf,
    /// Files in an isolated home, made where they are not there.
    pub files: BTreeMap<PathBuf, String>,
}

/// What of a project a command obeys whatever it is told, so that it is not run where that is there: whoever wrote
/// the project would decide what runs here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectRule {
    /// Files in the working directory or above it, up to the user's home.
    pub obeyed: Vec<PathBuf>,
    /// Files that it obeys beside these in the user's own home.
    pub obeyed_with_own_home: Vec<PathBuf>,
}

/// What shows that a user is signed in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SignInRule {
    /// Variables that are a sign-in by themselves.
    pub variables: Vec<String>,
    /// Files below the command's home that hold one.
    pub files: Vec<PathBuf>,
    /// Whether it may be in the keychain of the system, into which nobody looks.
    pub keychain: bool,
    /// How a user signs in, for people.
    pub how: String,
}
