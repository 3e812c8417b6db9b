//! One run: a contender, a task, once; as it is kept and counted.

use serde::{Deserialize, Serialize};

use junto_llm::Cost;

use crate::{Decision, Deliberation, Outcome};

/// What became of a contender's work on a task, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The version of this form.
    pub v: u32,
    /// The task's name.
    pub task: String,
    /// What the task was, as a digest: a run of a task that was changed since does not count.
    pub task_digest: String,
    /// The contender's name.
    pub contender: String,
    /// What the contender was, in words that name all that matters.
    pub contender_is: String,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// What the oracle says.
    pub verdict: Verdict,
    /// Why the contender did not end by itself, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The end of what the oracle said, where it did not pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub oracle_said: String,
    /// What the work cost.
    pub cost: Cost,
    /// How many tokens it took.
    pub tokens: Tokens,
    /// How long the contender worked, in milliseconds.
    pub millis: u64,
    /// What councils in it decided, and how.
    #[serde(default, skip_serializing_if = "Deliberations::is_empty")]
    pub deliberations: Deliberations,
}

impl Run {
    /// The version of this form.
    pub const VERSION: u32 = 1;
}

/// What the oracle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The task is done.
    Passed,
    /// It is not.
    Failed,
}

/// Tokens of all model calls together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Read, cached or not.
    pub input: u64,
    /// Written.
    pub output: u64,
}

/// How often councils decided in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Deliberations {
    /// Turns for which several were asked.
    pub fanned_out: u64,
    /// Of these: they agreed, and nobody was asked to judge or to write.
    pub agreed: u64,
    /// Of these: one of several answers was selected.
    pub selected: u64,
    /// Of these: an answer was written from several.
    pub synthesized: u64,
    /// Turns that one member answered alone: nobody else was asked, or nobody else was left.
    pub alone: u64,
}

impl Deliberations {
    /// What one call of a council counts as.
    pub fn of(call: &Deliberation) -> Self {
        let fanned_out = u64::from(matches!(call.fan_out, Decision::FanOut(_)));
        let counted = Self { fanned_out, ..Self::default() };
        match call.outcome {
            Outcome::Agreed => Self { agreed: 1, ..counted },
            Outcome::Selected | Outcome::Ranked => Self { selected: 1, ..counted },
            Outcome::Fused | Outcome::Advised => Self { synthesized: 1, ..counted },
            Outcome::Only => Self { alone: 1, ..counted },
            Outcome::Failed | Outcome::Cancelled => counted,
        }
    }

    /// Whether no council decided anything.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl std::ops::AddAssign for Deliberations {
    fn add_assign(&mut self, other: Self) {
        self.fanned_out += other.fanned_out;
        self.agreed += other.agreed;
        self.selected += other.selected;
        self.synthesized += other.synthesized;
        self.alone += other.alone;
    }
}
