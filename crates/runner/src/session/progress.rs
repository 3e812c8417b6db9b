//! What is known of a run while it goes on.

use junto_core::{Body, JournalError};
use junto_llm::{Cost, Usage, Usd};

use super::{Session, Thread};
use crate::scribe::Scribe;
use crate::{CliEvent, Report};

/// What is known of a run.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Progress {
    /// The session it goes on with; absent: one that begins with it.
    pub(super) resumed: Option<String>,
    /// Whether its model has said or done anything.
    pub(super) began: bool,
    /// All its reports as one.
    pub(super) report: Option<Report>,
    /// Whether nothing was said or done since the last of them.
    pub(super) at_rest: bool,
    pub(super) excuse: Option<String>,
    pub(super) interrupted: bool,
    /// How many tokens its last model call had.
    pub(super) context: Option<u64>,
    /// The model, as far as it is known.
    pub(super) model: Option<String>,
    /// What it used, as far as it is known.
    pub(super) usage: Usage,
    pub(super) cost: Option<Cost>,
    pub(super) books: Books,
    /// A digest of what its session has at the head of a prompt.
    pub(super) told: Option<String>,
    /// Whether what is kept of its session has changed.
    pub(super) changed: bool,
    /// The last text that it wrote to its end.
    said: String,
}

/// How much is known of what a run used.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Books {
    /// It has not said anything of that.
    #[default]
    Empty,
    /// All of it.
    Whole,
    /// Some of it cannot be known.
    Incomplete,
}

impl Progress {
    pub(super) fn new(resumed: Option<String>, model: Option<String>) -> Self {
        Self { resumed, model, ..Self::default() }
    }

    /// The answer, or what came nearest to one.
    pub(super) fn text(&self) -> &str {
        match &self.report {
            Some(report) if !report.text.is_empty() => &report.text,
            _ => &self.said,
        }
    }

    /// Whether it has said its last word.
    pub(super) fn is_over(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.last)
    }

    /// What it used; `None` where that cannot be known.
    pub(super) fn billing(&self) -> Option<Usage> {
        (self.books == Books::Whole).then(|| self.usage.clone())
    }

    /// What it cost. A process that ended without a word about its cost had one all the same.
    pub(super) fn cost(&self) -> Cost {
        match self.billing() {
            Some(_) => self.cost.unwrap_or(Cost::Reported(Usd::ZERO)),
            None => Cost::Unknown,
        }
    }
}

impl Session {
    /// Takes what a process said.
    pub(super) async fn take(
        &mut self,
        event: CliEvent,
        scribe: &mut Scribe<'_>,
        progress: &mut Progress,
    ) -> Result<(), JournalError> {
        progress.began |= event.is_work();
        progress.at_rest &= !event.is_work();
        match event {
            CliEvent::Session { id, model } => {
                progress.model = model.or_else(|| progress.model.take());
                if self.thread.id.as_ref() != Some(&id) {
                    if let Some(before) = progress.resumed.take() {
                        let message = format!("it was to go on with session {before}, and began {id}");
                        scribe.warn("session_changed", message).await?;
                    }
                    self.thread = Thread { id: Some(id), told: progress.told.clone(), ..Thread::default() };
                    self.handled = false;
                } else if progress.told.is_some() && self.thread.told != progress.told {
                    self.thread.told.clone_from(&progress.told);
                    progress.changed = true;
                }
                // Also of a session that goes on: whoever keeps it sees that it was used.
                if !self.handled
                    && let Some(handle) = self.thread.handle(&self.definition)
                {
                    scribe.emit(Body::Handle { handle }).await?;
                    self.handled = true;
                }
            }
            CliEvent::Turn => self.totals.turns = self.totals.turns.saturating_add(1),
            CliEvent::Excuse(words) => progress.excuse = Some(words),
            CliEvent::Context(tokens) => {
                progress.context = Some(tokens);
                self.thread.context = Some(tokens);
            }
            CliEvent::Report(report) => {
                self.account(&report.used, scribe, progress).await?;
                progress.at_rest = true;
                progress.report = Some(match progress.report.take() {
                    Some(before) => before.then(*report),
                    None => *report,
                });
            }
            CliEvent::TextEnd(text) => {
                progress.said.clone_from(&text);
                scribe.write(CliEvent::TextEnd(text)).await?;
            }
            event => scribe.write(event).await?,
        }
        Ok(())
    }
}
