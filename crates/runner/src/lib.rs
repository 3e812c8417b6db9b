//! Command-line agents as child processes.
//!
//! A [`Definition`] says as data how a command is run and read: its arguments, what its modes mean,
//! which variables it may have, and the format of its output. `claude`, `codex` and `gemini` are shipped, and a
//! [`Probe`] tells whether one is installed, which version, and who is signed in. With a definition
//! and a [`Host`] (where processes run, and with what) a command is
//! - a [`CliAgent`]: an [`Agent`](junto_core::Agent) that works with its own tools, one process for
//!   each input, and goes on where it was by resuming its session;
//! - a [`CliProvider`]: a [`Provider`](junto_llm::Provider) that is asked for an answer only;
//! - a [job in the background](background): asked once for its final text, in a line of others.
//!
//! What a command prints is read by a [`Parser`], a pure function from lines to [`CliEvent`]s that
//! ignores what it does not know and never takes it for an answer.
//!
//! The prompt goes to standard input and never among the arguments. Whatever a command does (crash,
//! stall, flood, leave processes behind), an input ends once and nothing survives it. Why there is no answer says
//! a [class](failure); what a host that was killed left running is [ended by the next](sweep).
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod agent;
pub mod background;
mod claude;
mod codex;
mod control;
mod definition;
mod endpoint;
mod environment;
mod event;
pub mod failure;
mod fields;
mod gemini;
mod host;
mod last_message;
mod lines;
mod partial;
mod probe;
mod project;
mod prompt;
mod provider;
mod rollout;
mod run;
mod running;
mod scribe;
mod session;
mod share;
pub mod sweep;
mod told;

pub use agent::CliAgent;
pub use claude::ClaudeParser;
pub use codex::CodexParser;
pub use definition::{
    AnswerRule, CommandLine, Definition, Detail, EffortRule, EndSignal, EndingRule, EndpointRule, HomeRule,
    Invocation, ModeRule, Modes, Options, OutputFormat, PrivateFile, ProjectRule, PromptBy, Purpose,
    SignInRule, Standing, SteerProtocol, SteerRule, TokenRule, VariableRules, Version, VersionRange,
    Versions,
};
pub use endpoint::Endpoint;
pub use event::{CliEvent, ModelUse, Parser, Report, Used, Verdict};
pub use gemini::GeminiParser;
pub use host::{Home, Host, Patience};
pub use lines::{LINE_LIMIT, Line, Lines};
pub use probe::{Probe, SignIn};
pub use provider::CliProvider;
pub use rollout::RecordedTurn;
