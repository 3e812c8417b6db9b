//! How a council works, and within which limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use junto_llm::{Allowance, Error};
use serde::{Deserialize, Serialize};

use crate::Deliberation;
use crate::council::MOST_MEMBERS;

/// A directive for members that shall look closely; one for [`Options::directive`].
pub const THOROUGHNESS: &str = include_str!("thoroughness.md");

/// How a council works, and within which limits. The default is `auto`, `first-turn` and `select`
/// with two members.
#[derive(Clone, Debug)]
pub struct Options {
    /// The council's name: the model that answers, as callers see it.
    pub name: String,
    /// What is made of several answers that differ.
    pub mode: Mode,
    /// When several members are asked at all.
    pub fan_out: FanOut,
    /// Which turns of a conversation may fan out.
    pub scope: Scope,
    /// How many members a turn that fans out asks: the first so many. The others stand by, and each
    /// takes the place of one that fails.
    pub ask: usize,
    /// With how many sound answers nobody else is waited for. Absent: with as many as were asked.
    pub quorum: Option<usize>,
    /// How long the others may take once one sound answer is there.
    pub straggler: Duration,
    /// How long a call may take in all, members, judge and synthesizer together. When it has passed, the
    /// best answer that is there is taken; without one the call fails.
    pub within: Option<Duration>,
    /// What a call may cost in all, within the caller's own budget.
    pub budget: Option<Allowance>,
    /// What every member is told beside its framing, but for background traffic: how thorough to be.
    pub directive: Option<String>,
    /// How long the judge may take, and whoever decides whether to fan out.
    pub judge_within: Duration,
    /// The most bytes of one member's answer.
    pub max_answer: usize,
    /// How deep calls may be nested before a council refuses: one that contains itself must end.
    pub max_depth: u8,
    /// Who is told of each call when it has ended.
    pub report: Option<Report>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "council".to_owned(),
            mode: Mode::default(),
            fan_out: FanOut::default(),
            scope: Scope::default(),
            ask: 2,
            quorum: None,
            straggler: Duration::from_mins(1),
            within: None,
            budget: None,
            directive: None,
            judge_within: Duration::from_mins(1),
            max_answer: 16 * 1024 * 1024,
            max_depth: 4,
            report: None,
        }
    }
}

impl Options {
    /// Whether these numbers make sense.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.ask == 0 || self.ask > MOST_MEMBERS {
            let message = format!("a council asks 1 to {MOST_MEMBERS} of its members, not {}", self.ask);
            return Err(Error::configuration(message));
        }
        if self.quorum == Some(0) {
            return Err(Error::configuration("a council needs a quorum of 1 at least"));
        }
        Ok(())
    }
}

/// What is made of several answers that differ.
///
/// Where a member wants to call tools, or the answer must fit a schema, it is always `Select`: what
/// would be executed or parsed is never rewritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A judge names one of them, and that one is the answer as it stands.
    #[default]
    Select,
    /// A synthesizer writes the answer from those that are sound, and is heard while it writes.
    Fuse,
    /// The first member acts, and sees the notes of the others, who only advise.
    Advise,
}

/// When several members are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FanOut {
    /// Never: the first member answers.
    Never,
    /// In every turn within the scope.
    Always,
    /// Where the question is long, or asks for reasons, comparison or design.
    Necessary,
    /// Where the question is not plainly simple, and whoever triages agrees; see
    /// [`Council::triage`](crate::Council::triage).
    #[default]
    Auto,
}

/// Which turns may fan out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// A person's question. The rounds of the tool loop that follows are the first member's.
    #[default]
    FirstTurn,
    /// Every turn.
    PerTurn,
}

/// Told of each call of a council when it has ended: once, whether it answered, failed or was
/// dropped. It must return at once and must not panic.
#[derive(Clone)]
pub struct Report(Arc<dyn Fn(&Deliberation) + Send + Sync>);

impl Report {
    /// Tells this function.
    pub fn new(told: impl Fn(&Deliberation) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }

    pub(crate) fn tell(&self, deliberation: &Deliberation) {
        (self.0)(deliberation);
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Report")
    }
}
