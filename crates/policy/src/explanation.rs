//! Why a verdict is what it is.

use std::fmt;

use junto_core::{Leash, Verdict};

use crate::Mode;
use crate::rule::{Answer, PolicyRule};

/// A verdict, and the steps that led to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The verdict on all actions together.
    pub verdict: Verdict,
    /// Whether there is a sandbox that it may be in.
    pub has_sandbox: bool,
    /// One for each thing that was judged. The strictest of them is the verdict.
    pub steps: Vec<Step>,
}

impl Explanation {
    /// What was decided, in a word.
    pub fn answer(&self) -> Answer {
        match self.verdict {
            Verdict::Allow(_) => Answer::Allow,
            Verdict::Ask { .. } => Answer::Ask,
            Verdict::Deny { .. } => Answer::Deny,
        }
    }
}

/// One thing that was judged: a simple command of a line, a file, a host, a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is: `run rm -rf z`, `write /etc/passwd`.
    pub what: String,
    /// What was decided of it.
    pub answer: Answer,
    /// Who decided.
    pub by: By,
    /// Why, in words.
    pub why: String,
}

/// Who decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A rule.
    Rule(PolicyRule),
    /// What the mode says of such things.
    Mode(Mode),
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "rule {rule} ({})", rule.source()),
            Self::Mode(mode) => write!(f, "mode {mode}"),
        }
    }
}

impl fmt::Display for Explanation {
    /// The verdict, and then the steps, one on a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leash = match self.verdict {
            Verdict::Allow(Leash::Kept) if self.has_sandbox => ", inside the sandbox",
            Verdict::Allow(Leash::Loose) if self.has_sandbox => ", without the sandbox",
            _ => "",
        };
        writeln!(f, "{}{leash}", self.answer())?;
        for step in &self.steps {
            writeln!(f, "  {:<5} {}", step.answer, step.what)?;
            writeln!(f, "        {}: {}", step.by, step.why)?;
        }
        if let Verdict::Ask { proposed, .. } = &self.verdict {
            for rule in proposed {
                writeln!(f, "  rule  {}", rule.0)?;
            }
        }
        Ok(())
    }
}
