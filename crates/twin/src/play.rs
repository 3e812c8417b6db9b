//! Plays: what the model does, as data.
//!
//! A play is a list of steps. For each request the first step that fits and is not used up is
//! played; see [`Step`] for what a step can say and [`When`] for how one is chosen. The same play
//! works on every wire.

mod read;

use serde::Deserialize;
use serde_json::Value;

use junto_llm::Wire;

use crate::fault::Fault;

pub use read::PlayError;

/// What the model does, step by step.
///
/// ```
/// let play = junto_twin::Play::from_toml(r#"
///     [[steps]]
///     when = { round = 0, contains = "weather" }
///     calls = [{ tool = "get_weather", args = { city = "Ghent" } }]
///
///     [[steps]]
///     text = "It says: {{last_result}}"
/// "#)?;
/// assert_eq!(play.steps.len(), 2);
/// # Ok::<(), junto_twin::PlayError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// The steps, in order; at least one.
    #[serde(alias = "step")]
    pub steps: Vec<Step>,
}

impl Play {
    /// A play of these steps.
    pub fn of(steps: impl Into<Vec<Step>>) -> Self {
        Self { steps: steps.into() }
    }

    /// A play that answers every request with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of([Step::text(text)])
    }
}

/// The play without a file: echoes the last user text, or fits the schema or the tool that the
/// request insists on.
impl Default for Play {
    fn default() -> Self {
        Self::of([Step::default()])
    }
}

/// One step: what the model answers to one request.
///
/// A step that says neither `text` nor `object` nor `calls` echoes the last user text; if the
/// request asks for a JSON schema it answers with a small value that fits.
///
/// Texts (also those inside `args` and `object`) may hold `{{last_user}}`, `{{last_result}}`,
/// `{{model}}` and `{{round}}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// When the step is played; absent: in its turn.
    pub when: Option<When>,
    /// How often it is played. By default a step with `when` or `loop` has no limit; one without
    /// is played once, but for the last, which repeats.
    pub times: Option<u32>,
    /// The step is played in the first N rounds of every turn (from `when.round`, if given); then
    /// the play goes on. Without `calls` it calls two of the declared tools side by side.
    #[serde(rename = "loop")]
    pub loop_rounds: Option<u32>,
    /// The answer's text. Empty: no text at all.
    pub text: Option<String>,
    /// How often the text is repeated, for long answers.
    pub repeat: Option<u32>,
    /// Reasoning before the answer; on unless told otherwise.
    pub think: Think,
    /// Tool calls, side by side.
    pub calls: Vec<Call>,
    /// A structured answer: printed as JSON, or the arguments of a tool the request insists on.
    pub object: Option<Value>,
    /// Why the model stops, if not as the answer suggests.
    pub finish: Option<Stop>,
    /// Numbers to report instead of the counted ones.
    pub usage: UsageOverride,
    /// Characters per delta of a stream; 16 by default.
    pub chunk: Option<usize>,
    /// Milliseconds between the headers and the first byte of the body.
    pub delay_ms: u64,
    /// Milliseconds between two events of a stream.
    pub chunk_delay_ms: u64,
    /// What goes wrong.
    pub fault: Option<Fault>,
}

impl Step {
    /// A step that answers with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// A step that calls one tool.
    pub fn call(tool: impl Into<String>, args: Value) -> Self {
        Self::calls([Call::new(tool, args)])
    }

    /// A step that calls several tools side by side.
    pub fn calls(calls: impl Into<Vec<Call>>) -> Self {
        Self { calls: calls.into(), ..Self::default() }
    }

    /// A step that answers with this value as JSON.
    pub fn object(value: Value) -> Self {
        Self { object: Some(value), ..Self::default() }
    }

    /// A step that fails.
    pub fn fault(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// This step without reasoning.
    pub fn without_thinking(mut self) -> Self {
        self.think = Think::Off;
        self
    }

    /// This step on a condition.
    pub fn when(mut self, when: When) -> Self {
        self.when = Some(when);
        self
    }

    /// Whether the step says nothing of its own, so that it only carries a fault or a pace.
    pub(crate) fn is_silent(&self) -> bool {
        self.text.is_none() && self.object.is_none() && self.calls.is_empty() && self.loop_rounds.is_none()
    }
}

/// A condition; everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// The round: how many answers the model has given since the last user message. 0 is the
    /// answer to that message, 1 the answer to the first tool results.
    pub round: Option<u32>,
    /// The turn: how many user messages there have been, this one included. The first is 1.
    pub turn: Option<u32>,
    /// The model's id, where `*` stands for anything.
    pub model: Option<String>,
    /// A text that the last user message contains.
    pub contains: Option<String>,
    /// The wire: `anthropic`, `openai`, `gemini` or `chat`.
    pub wire: Option<Wire>,
    /// A text that one of the latest tool results contains.
    pub after: Option<String>,
}

/// Whether and what the model thinks before it answers. What the client sees of it depends on the
/// wire, the model and the request, as with the real provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Think {
    /// Something neutral.
    #[default]
    On,
    /// Nothing.
    Off,
    /// This.
    Text(String),
}

/// One tool call.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool.
    pub tool: ToolRef,
    /// The arguments. Without `args`, `raw_args` and `input` the arguments are the smallest that
    /// fit the tool's schema.
    #[serde(default)]
    pub args: Option<Value>,
    /// The arguments exactly as the model writes them; need not be JSON.
    #[serde(default)]
    pub raw_args: Option<String>,
    /// The free text for a custom tool; on wires without custom tools the argument `input`.
    #[serde(default)]
    pub input: Option<String>,
    /// Whether it is called although the request does not declare it, as by a model that makes a tool up
    /// or remembers one that was taken away.
    #[serde(default)]
    pub undeclared: bool,
}

impl Call {
    /// A call of this tool with these arguments.
    pub fn new(tool: impl Into<String>, args: Value) -> Self {
        Self { args: Some(args), ..Self::bare(tool) }
    }

    /// A call of this tool with the smallest arguments that fit its schema.
    pub fn bare(tool: impl Into<String>) -> Self {
        Self { tool: ToolRef::named(tool.into()), args: None, raw_args: None, input: None, undeclared: false }
    }

    /// This call, whether or not the request declares the tool.
    pub fn undeclared(mut self) -> Self {
        self.undeclared = true;
        self
    }

    /// A call of this tool with the arguments as written.
    pub fn raw(tool: impl Into<String>, raw_args: impl Into<String>) -> Self {
        Self { raw_args: Some(raw_args.into()), ..Self::bare(tool) }
    }
}

/// Which of the tools that the request declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolRef {
    /// The one with this name.
    Name(String),
    /// The one at this place, from 0.
    Index(usize),
    /// Any (`*`): the first call takes the first tool, the second the second, and so on around.
    Any,
}

impl ToolRef {
    fn named(name: String) -> Self {
        if name == "*" { Self::Any } else { Self::Name(name) }
    }
}

/// Why the model stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It is done.
    Stop,
    /// It reached the limit of tokens.
    Length,
    /// A filter refused.
    ContentFilter,
}

/// Numbers to report instead of the counted ones; the total follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsageOverride {
    /// Everything the model read, cached or not.
    pub input: Option<u64>,
    /// Everything the model wrote, reasoning included.
    pub output: Option<u64>,
    /// The part of the output that was reasoning.
    pub reasoning: Option<u64>,
    /// The part of the input that was read from a cache.
    pub cache_read: Option<u64>,
    /// The part of the input that was written to a cache.
    pub cache_write: Option<u64>,
}
