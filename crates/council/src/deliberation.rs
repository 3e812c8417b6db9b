//! What a council did for one call, for whoever keeps books.

use junto_llm::{CallId, Cost, ErrorKind, SessionId};
use serde::{Deserialize, Serialize};

use crate::Mode;

/// One call of a council, when it has ended: who was asked and why, what each of them said, used and
/// cost, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deliberation {
    /// The council's name.
    pub council: String,
    /// The call. The calls of its members have it as their parent.
    pub call: CallId,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The council's mode.
    pub mode: Mode,
    /// Whether several were asked, and why or why not.
    pub fan_out: Decision,
    /// Everybody who was asked, in the order of the council; then whoever decided over them.
    pub asked: Vec<Asked>,
    /// What came of it.
    pub outcome: Outcome,
    /// Why, in one sentence: the judge's own, or ours.
    pub reason: String,
    /// Tokens read by all of them.
    pub input: u64,
    /// Tokens written by all of them.
    pub output: u64,
    /// What all of it cost.
    pub cost: Cost,
    /// How long it took.
    pub millis: u64,
}

/// Whether several members are asked, and why or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "decision", content = "why")]
pub enum Decision {
    /// Several are.
    FanOut(Why),
    /// One is.
    Single(Why),
}

/// Why several members are asked, or one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The call had ended before that was decided.
    Undecided,
    /// There is one member to ask.
    OneMember,
    /// It is a chore of the client's.
    Background,
    /// It is a round of a tool loop, and those are out of scope.
    Continuation,
    /// The policy says so of every turn.
    Policy,
    /// The question is short and plain.
    Plain,
    /// The question is long.
    Long,
    /// The question has several lines.
    Lines,
    /// The question has a word in it that asks for thought.
    Signal,
    /// Whoever triages said so.
    Triage,
    /// Whoever triages failed, or said neither.
    TriageFailed,
}

/// Somebody who was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// The model that was asked for, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What for.
    pub duty: Duty,
    /// How it ended.
    pub ended: Ended,
    /// What stands for its proposal: equal for proposals that agree, on every machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// How many members proposed the same, itself included. Nothing for one who proposed nothing.
    pub votes: usize,
    /// Whether the answer is its own.
    pub chosen: bool,
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// What it cost.
    pub cost: Cost,
    /// How long it took.
    pub millis: u64,
}

/// What somebody was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duty {
    /// To answer.
    Member,
    /// To write notes for whoever answers.
    Advisor,
    /// To say whether several shall be asked.
    Triage,
    /// To choose.
    Judge,
    /// To write one answer out of several.
    Synthesizer,
}

/// How it ended for one who was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Ended {
    /// It answered.
    Answered,
    /// It proposed calls of these tools.
    Called {
        /// Their names, in order.
        tools: Vec<String>,
    },
    /// It is left out.
    LeftOut {
        /// The kind of failure; [`ErrorKind::as_str`].
        kind: String,
        /// What happened.
        message: String,
    },
    /// Nobody waited for it any more.
    Dropped,
}

impl Ended {
    /// An end by this failure.
    pub(crate) fn left_out(kind: ErrorKind, message: String) -> Self {
        Self::LeftOut { kind: kind.as_str().to_owned(), message }
    }
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// One was asked, and answered; or of several one was left.
    Only,
    /// All who answered said the same. Nobody was asked to judge.
    Agreed,
    /// The judge chose.
    Selected,
    /// They differed, and there was no verdict: the one with the most votes, then the first, was taken.
    Ranked,
    /// A synthesizer wrote it.
    Fused,
    /// One wrote it with the notes of others.
    Advised,
    /// Nobody answered.
    Failed,
    /// The caller ended it.
    Cancelled,
}
