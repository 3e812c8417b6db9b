//! What a model is told of its children.

use junto_core::{AgentError, ToolError, ToolOutput};
use serde_json::{Value, json};

use super::child::Report;
use crate::truncate::{Keep, OutputLimit, truncate};

/// What a session is told that wants a child and may have none.
pub(crate) const TOO_DEEP: &str =
    "you were started by another agent, and agents may not be nested any deeper: do this work yourself";

/// What a child is told before it reads a message that came too late for the work it was about.
pub(super) const TOO_LATE: &str = "You were sent a message when you had just finished:";

/// How many characters of several answers together are given to the model.
const ANSWERS: usize = 19_000;

/// Why something was refused, and what to do instead.
pub(crate) fn refusal(error: &AgentError) -> ToolError {
    ToolError(match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    })
}

/// How children stand, each with its answer.
pub(crate) fn reports(reports: &[Report]) -> String {
    let share = share(reports);
    let told: Vec<String> = reports.iter().map(|report| report.told(share)).collect();
    told.join("\n\n")
}

/// The same as data.
pub(crate) fn report_data(reports: &[Report]) -> Value {
    let share = share(reports);
    reports.iter().map(|report| report.data(share)).collect()
}

/// Where several answers are too long together, each has an equal share, so that none is lost between the
/// others.
fn share(reports: &[Report]) -> Option<usize> {
    let all: usize = reports.iter().map(|report| report.text.len()).sum();
    match reports {
        [_, _, ..] if all > ANSWERS => Some(ANSWERS / reports.len()),
        _ => None,
    }
}

impl Report {
    fn told(&self, share: Option<usize>) -> String {
        let Self { name, status, turns_used, .. } = self;
        let success = self.success();
        let why = self.why().map(|why| format!("; it {why}")).unwrap_or_default();
        let head = format!("{name}: {status} (success: {success}, turns used: {turns_used}){why}");
        let text = self.within(share);
        if text.is_empty() { head } else { format!("{head}\n{text}") }
    }

    fn data(&self, share: Option<usize>) -> Value {
        let (status, text) = (self.status.to_string(), self.within(share));
        json!({"agent_id": self.name, "status": status, "answer": text, "why": self.why()})
    }

    /// Its answer, or its share of it.
    fn within(&self, share: Option<usize>) -> String {
        match share {
            Some(chars) if self.text.len() > chars => {
                let limit = OutputLimit { chars, keep: Keep::HeadTail, lines: None };
                let cut = truncate(&ToolOutput::Text(self.text.clone()), limit);
                format!("{cut}\n[to read the whole answer, wait for {} alone]", self.name)
            }
            _ => self.text.clone(),
        }
    }
}
