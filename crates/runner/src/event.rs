//! What a command said, in words that are the same for all commands.

use junto_llm::{Cost, Error, ToolCall, Usage};

/// Reads what a command prints, one line after the other.
///
/// Contract: never panics, whatever the bytes; holds a bounded amount of text; ignores what it does
/// not know; pairs every start of a text or reasoning with one end, the deltas between them joining
/// to it.
pub trait Parser: Send {
    /// Takes one line, without its end, and adds what it says to `events`.
    fn line(&mut self, line: &[u8], events: &mut Vec<CliEvent>);

    /// Takes the end of the output: ends what is open.
    fn finish(&mut self, events: &mut Vec<CliEvent>);
}

/// One thing that a command said.
#[derive(Clone, Debug)]
pub enum CliEvent {
    /// Its session began, or goes on.
    Session {
        /// The id with which it can be resumed.
        id: String,
        /// The model.
        model: Option<String>,
    },
    /// It calls the model once more.
    Turn,
    /// A text begins. At most one text or reasoning is open at a time.
    TextStart,
    /// More of it.
    TextDelta(String),
    /// The text ends; this is the whole of it.
    TextEnd(String),
    /// Reasoning begins.
    ReasoningStart,
    /// More of it.
    ReasoningDelta(String),
    /// The reasoning ends; this is the whole of it.
    ReasoningEnd(String),
    /// What just ended broke off: it does not count, and comes again.
    Abandoned,
    /// It runs one of its tools.
    ToolStart(ToolCall),
    /// One of its tools answered.
    ToolEnd {
        /// The call.
        call_id: String,
        /// The answer.
        output: String,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// A line of narration.
    Progress(String),
    /// It waits, and then calls the model again.
    Retry {
        /// Which retry, from 1.
        attempt: u32,
        /// How long it waits.
        delay_ms: u64,
        /// What failed.
        error: Error,
    },
    /// Something that the host may want to know.
    Warning {
        /// A stable name for the kind of thing.
        code: &'static str,
        /// What happened.
        message: String,
    },
    /// Words of the command's own in the place of an answer: why there is none.
    Excuse(String),
    /// A turn ended. There can be several; the last one counts.
    Report(Box<Report>),
}

/// How a turn ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// Whether it is an answer.
    pub verdict: Verdict,
    /// The answer, or the last text before it went wrong; may be empty.
    pub text: String,
    /// Why the model stopped, in its vendor's words.
    pub stop_reason: Option<String>,
    /// What was used since the report before.
    pub used: Vec<ModelUse>,
}

/// Whether a turn ended in an answer.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It did.
    Done,
    /// A limit was reached.
    Limit(String),
    /// Somebody interrupted it.
    Interrupted,
    /// It failed.
    Failed(Error),
}

/// What one model was used for.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelUse {
    /// The model.
    pub model: String,
    /// Tokens; the input with everything cached.
    pub usage: Usage,
    /// Money, as the command counts it.
    pub cost: Cost,
}
