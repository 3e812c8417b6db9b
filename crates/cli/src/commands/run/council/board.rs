//! How a run stands: a table while it lasts, or a line for each thing that changes.

use std::sync::{Mutex, PoisonError};

use junto::council::contest::{Candidate, Record, State};

use crate::output::Output;
use crate::output::paint::{Painted, Style};

/// Shows how a run stands, and remembers it.
pub(super) struct Board {
    output: Output,
    last: Mutex<Option<Record>>,
}

impl Board {
    pub(super) fn new(output: Output) -> Self {
        Self { output, last: Mutex::default() }
    }

    /// How it stands.
    pub(super) fn record(&self) -> Option<Record> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shows what has changed.
    pub(super) fn show(&self, now: &Record) {
        let before = self.last.lock().unwrap_or_else(PoisonError::into_inner).replace(now.clone());
        for line in changes(before.as_ref(), now) {
            self.output.note(&line);
        }
        if self.output.err().live && now.candidates.iter().any(|candidate| candidate.state != State::Done) {
            self.output.under_way(&self.table(now));
        }
    }

    /// The candidates that are under way, a line for each.
    fn table(&self, record: &Record) -> Vec<Painted> {
        let under_way = record.candidates.iter().filter(|candidate| candidate.state != State::Done);
        under_way
            .map(|candidate| {
                let line = Painted::new(self.output.err().paint);
                line.fitted(Style::DIM, &row(candidate), Output::width().saturating_sub(1))
            })
            .collect()
    }
}

fn row(candidate: &Candidate) -> String {
    format!("{:>3}. {:<24} {}", candidate.number, candidate.who(), candidate.words())
}

/// What is new: what the base came to, and candidates that are done.
fn changes(before: Option<&Record>, now: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    if before.is_none() {
        let oracle = now.oracle.as_ref().map_or_else(
            || "nothing judges it".to_owned(),
            |oracle| format!("judged by `{}`", oracle.words()),
        );
        let candidates = match now.candidates.len() {
            1 => "1 candidate".to_owned(),
            several => format!("{several} candidates"),
        };
        lines.push(format!("run {} · {candidates} · {oracle}", now.run));
    }
    if let Some(verdict) = now.base_verdict.as_ref()
        && before.is_none_or(|before| before.base_verdict.is_none())
    {
        lines.push(format!("base {}", verdict.words()));
    }
    let was_done = |number| {
        before
            .and_then(|before| before.candidate(number))
            .is_some_and(|candidate| candidate.state == State::Done)
    };
    let done = now.candidates.iter().filter(|candidate| candidate.state == State::Done);
    lines.extend(done.filter(|candidate| !was_done(candidate.number)).map(row));
    lines
}
