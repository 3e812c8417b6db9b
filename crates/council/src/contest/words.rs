//! A run in words.

use std::fmt::Write as _;

use super::{Candidate, Ended, Mark, Proof, Record, Role, State, Verdict};

/// How many changed files are named of a candidate.
const NAMED: usize = 8;

impl Record {
    /// What came of the run, for people and models: every candidate in a line, the winner's files, and how it
    /// is applied.
    pub fn words(&self) -> String {
        let mut text = format!("run {}: {}\n", self.run, self.reason);
        if let Some(error) = &self.error {
            let _ = writeln!(text, "it did not come to its end: {error}");
        }
        if let Some(disturbed) = &self.disturbed {
            let _ = writeln!(
                text,
                "your repository changed meanwhile ({disturbed}): if that was not you, a member left its checkout"
            );
        }
        if let (Some(oracle), Some(verdict)) = (&self.oracle, &self.base_verdict) {
            let _ = writeln!(text, "checked with `{}`; the base {}", oracle.words(), verdict.proof.words());
            if verdict.proof == Proof::Passed {
                text.push_str("the base passes already, so passing does not show that the task is done\n");
            }
        }
        for candidate in &self.candidates {
            let crown = if Some(candidate.number) == self.winner { " ← winner" } else { "" };
            let _ = writeln!(text, "{}. {}: {}{crown}", candidate.number, candidate.who(), candidate.words());
        }
        if let Some(diff) = self.winning().and_then(|winner| winner.diff.as_ref()) {
            for file in diff.changed.iter().take(NAMED) {
                let _ = writeln!(text, "   {} {}", file.how, file.path);
            }
            if diff.files > NAMED as u64 {
                let _ = writeln!(text, "   and {} more", diff.files - NAMED as u64);
            }
        }
        match self.winner {
            Some(_) => {
                let _ = writeln!(text, "to put it on a branch: junto apply {}", self.run);
            }
            None if self.candidates.iter().any(Candidate::is_applicable) => {
                let _ =
                    writeln!(text, "to put one on a branch all the same: junto apply {} NUMBER", self.run);
            }
            None => {}
        }
        text
    }
}

impl Candidate {
    /// Whether there is something that can be applied.
    pub fn is_applicable(&self) -> bool {
        let changed = self.diff.as_ref().is_some_and(|diff| !diff.is_empty());
        changed && !self.marks.iter().any(Mark::forbids)
    }

    /// Who made it.
    pub fn who(&self) -> String {
        match self.role {
            Role::Answer => self.member.clone(),
            Role::Synthesis => format!("{} (synthesis)", self.member),
        }
    }

    /// How it stands.
    pub fn words(&self) -> String {
        let mut parts = Vec::new();
        match self.state {
            State::Waiting => parts.push("waits".to_owned()),
            State::Working => parts.push("works".to_owned()),
            State::Proving => parts.push("is checked".to_owned()),
            State::Done => parts.extend(self.verdict.as_ref().map(Verdict::words)),
        }
        match &self.ended {
            Some(Ended::Failed { message }) => parts.push(format!("failed: {message}")),
            Some(Ended::TimedOut) => parts.push("took too long".to_owned()),
            Some(Ended::Limit) => parts.push("stopped at a limit".to_owned()),
            Some(Ended::Interrupted) => parts.push("was interrupted".to_owned()),
            Some(Ended::Answered) | None => {}
        }
        match &self.diff {
            Some(diff) if diff.is_empty() => parts.push("changed nothing".to_owned()),
            Some(diff) => {
                let files =
                    if diff.files == 1 { "1 file".to_owned() } else { format!("{} files", diff.files) };
                parts.push(format!("{files}, +{} −{}", diff.added, diff.removed));
            }
            None => {}
        }
        parts.extend(self.marks.iter().map(Mark::words));
        if let Some(left) = &self.left {
            parts.push(format!("its worktree is still there: {}", left.display()));
        }
        parts.join(" · ")
    }
}

impl Mark {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Tests { path } => format!("changes tests ({path})"),
            Self::Oracle { path } => format!("changes what it is checked by ({path})"),
            Self::Nested { path } => {
                format!("changes the repository {path} within this one, which a diff cannot hold")
            }
            Self::Unread {} => "has files that could not be read".to_owned(),
        }
    }
}

impl Verdict {
    /// In words.
    pub fn words(&self) -> String {
        match &self.proof {
            Proof::Passed => "passes".to_owned(),
            proof => format!("{} ({})", proof.words(), self.step),
        }
    }
}

impl Proof {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Passed => "passes".to_owned(),
            Self::Failed { exit } => format!("fails: {exit}"),
            Self::TimedOut => "takes too long".to_owned(),
            Self::NotRun { why } => format!("was not checked: {why}"),
        }
    }
}
