//! Everything that is known of a run.

use std::path::PathBuf;

use junto_llm::{Cost, Usage};
use serde::{Deserialize, Serialize};

use super::Oracle;

/// Names a run; a later run's name is greater.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A run: what was asked, who worked on it, what came of it. Kept as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this form.
    pub v: u32,
    /// Its name.
    pub run: RunId,
    /// How far it is.
    pub phase: Phase,
    /// What was asked.
    pub task: String,
    /// The top of the user's repository.
    pub repository: PathBuf,
    /// The folder below it in which the members worked; empty for the top.
    pub folder: PathBuf,
    /// What all began with.
    pub base: Base,
    /// Who judged; absent if nobody did.
    pub oracle: Option<Oracle>,
    /// What the oracle says of the base.
    pub base_verdict: Option<Verdict>,
    /// The candidates by their numbers, from 1; a synthesis comes last.
    pub candidates: Vec<Candidate>,
    /// The number of the one that won.
    pub winner: Option<u32>,
    /// Why it won, or why nobody did.
    pub reason: String,
    /// What became other in the user's repository while the members worked: by the user, or by a member that left
    /// its checkout. Absent if nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<String>,
    /// What kept the run from its end.
    pub error: Option<String>,
}

impl Record {
    /// The version of this form.
    pub const VERSION: u32 = 1;

    /// The candidate of this number.
    pub fn candidate(&self, number: u32) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.number == number)
    }

    /// The one that won.
    pub fn winning(&self) -> Option<&Candidate> {
        self.winner.and_then(|number| self.candidate(number))
    }

    /// Candidates that changed something, and neither won nor pass: shown, and never applied by themselves.
    pub fn near_misses(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| {
            Some(candidate.number) != self.winner
                && candidate.diff.as_ref().is_some_and(|diff| !diff.is_empty())
                && !candidate.passes()
        })
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The oracle looks at the base.
    Base,
    /// The members work.
    Working,
    /// A synthesis is under way.
    Synthesis,
    /// It is over.
    Done,
    /// It did not come to its end.
    Failed,
}

/// What all candidates of a run began with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The commit. If the user's changes were included, one that only the run has.
    pub commit: String,
    /// Its files.
    pub tree: String,
    /// The user's branch; absent if there was none.
    pub branch: Option<String>,
    /// Whether it includes changes that the user had not committed.
    pub with_changes: bool,
}

/// What one member made of the task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// From 1.
    pub number: u32,
    /// Who made it.
    pub member: String,
    /// Whether it is an answer to the task, or made of such.
    pub role: Role,
    /// How far it is.
    pub state: State,
    /// How the member's work ended; absent as long as it works.
    pub ended: Option<Ended>,
    /// The last thing the member said.
    pub said: String,
    /// What it changed; absent if that is not known (yet).
    pub diff: Option<Diff>,
    /// What is to be looked at before it is used.
    pub marks: Vec<Mark>,
    /// What the oracle says; absent if it was not asked.
    pub verdict: Option<Verdict>,
    /// Tokens.
    pub usage: Usage,
    /// Money.
    pub cost: Option<Cost>,
    /// How long the member worked.
    pub seconds: f64,
    /// The worktree, if it is still there because not all of it is in the diff.
    pub left: Option<PathBuf>,
}

impl Candidate {
    /// Whether the oracle passes, and there is something that it passes with.
    pub fn passes(&self) -> bool {
        let changed = self.diff.as_ref().is_some_and(|diff| !diff.is_empty());
        let proved = self.verdict.as_ref().is_some_and(|verdict| verdict.proof == Proof::Passed);
        changed && proved && !self.marks.iter().any(Mark::forbids)
    }

    /// Whether it changed what judges it.
    pub fn is_marked(&self) -> bool {
        !self.marks.is_empty()
    }
}

/// What a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A member's answer to the task.
    Answer,
    /// Made from the answers that pass.
    Synthesis,
}

/// How far a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its turn has not come.
    Waiting,
    /// The member works.
    Working,
    /// The oracle looks at it.
    Proving,
    /// Nothing more will be known of it.
    Done,
}

/// How a member's work ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum Ended {
    /// It said that it is done.
    Answered,
    /// It reached a limit of its own.
    Limit,
    /// It took longer than it may.
    TimedOut,
    /// Somebody stopped it.
    Interrupted,
    /// It failed.
    Failed {
        /// How.
        message: String,
    },
}

/// What a candidate changed, against the base commit. The bytes are a file of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// All files as they are with it: a tree of git's.
    pub tree: String,
    /// How large the diff is, in bytes.
    pub bytes: u64,
    /// Changed lines; each 64 bytes of a binary file count as one, and so does each file.
    pub size: u64,
    /// Lines that came.
    pub added: u64,
    /// Lines that went.
    pub removed: u64,
    /// How many files it changes.
    pub files: u64,
    /// The first of them.
    pub changed: Vec<Changed>,
}

impl Diff {
    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.files == 0
    }
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// Its name, with marks of doubt in the place of what is no text.
    pub path: String,
    /// What became of it, as git says it: A, M, D, R, T.
    pub how: char,
    /// Lines that came; absent for binary files.
    pub added: Option<u64>,
    /// Lines that went; absent for binary files.
    pub removed: Option<u64>,
}

/// Why a candidate is to be looked at before it is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mark", rename_all = "snake_case")]
pub enum Mark {
    /// It changes or removes tests that were there.
    Tests {
        /// One of them.
        path: String,
    },
    /// It changes what the oracle is run by.
    Oracle {
        /// One of the files.
        path: String,
    },
    /// It changed files in a repository within the repository, which a diff cannot hold. It cannot be applied.
    Nested {
        /// Where.
        path: String,
    },
    /// Some files could not be read, so that the diff may lack them. It cannot be applied.
    Unread {},
}

impl Mark {
    /// Whether the diff is not all that the candidate is.
    pub fn forbids(&self) -> bool {
        matches!(self, Self::Nested { .. } | Self::Unread {})
    }
}

/// What an oracle says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// In a word.
    pub proof: Proof,
    /// The step that decided.
    pub step: String,
    /// How long all steps took.
    pub seconds: f64,
    /// The end of what that step said.
    pub tail: String,
}

/// What an oracle says, in a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "proof", rename_all = "snake_case")]
pub enum Proof {
    /// Every step ended well.
    Passed,
    /// A step failed.
    Failed {
        /// How it ended.
        exit: String,
    },
    /// A step took longer than it may.
    TimedOut,
    /// It could not be asked.
    NotRun {
        /// Why.
        why: String,
    },
}
