//! What is known of a run while it goes on.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use junto_core::{Body, JournalError};
use junto_llm::{Cost, Usage, Usd};

use super::{Session, Thread};
use crate::scribe::Scribe;
use crate::{CliEvent, Report, Verdict};

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
    /// A digest of the instructions that its session has once and for all.
    pub(super) told: Option<String>,
    /// Whether what is kept of its session has changed.
    pub(super) changed: bool,
    /// The last text that it wrote to its end.
    said: String,
    /// Digests of all of them.
    texts: HashSet<u64>,
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

    /// Of a run that did not begin.
    pub(super) fn of_nothing() -> Self {
        Self { books: Books::Whole, ..Self::default() }
    }

    /// The answer, or what came nearest to one.
    pub(super) fn text(&self) -> &str {
        match &self.report {
            Some(report) if !report.text.is_empty() => &report.text,
            _ => &self.said,
        }
    }

    /// Takes a text that it wrote to its end.
    fn say(&mut self, text: &str) {
        text.clone_into(&mut self.said);
        self.texts.insert(digest(text));
    }

    /// Whether an answer was said before it was reported. A report may have any of the texts, or all of a message whose
    /// last part was said by itself.
    fn has_said(&self, answer: &str) -> bool {
        let (answer, said) = (answer.trim(), self.said.trim());
        answer.is_empty()
            || self.texts.contains(&digest(answer))
            || !said.is_empty() && answer.ends_with(said)
    }

    /// Whether it has said its last word.
    pub(super) fn is_over(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.last)
    }

    /// Whether it was ended in the middle of a turn, by whomever.
    pub(super) fn was_cut_off(&self) -> bool {
        !matches!(&self.report, Some(Report { verdict, .. }) if !matches!(verdict, Verdict::Interrupted))
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

/// Tells texts apart, whatever is around them.
fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.trim().hash(&mut hasher);
    hasher.finish()
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
                // Some answers are in the result only: those of a command's own commands, and one whose line was lost.
                if matches!(report.verdict, Verdict::Done) && !progress.has_said(&report.text) {
                    progress.say(&report.text);
                    scribe.write(CliEvent::TextStart).await?;
                    scribe.write(CliEvent::TextDelta(report.text.clone())).await?;
                    scribe.write(CliEvent::TextEnd(report.text.clone())).await?;
                }
                self.account(&report.used, scribe, progress).await?;
                progress.at_rest = true;
                progress.report = Some(match progress.report.take() {
                    Some(before) => before.then(*report),
                    None => *report,
                });
            }
            CliEvent::TextEnd(text) => {
                progress.say(&text);
                scribe.write(CliEvent::TextEnd(text)).await?;
            }
            event => scribe.write(event).await?,
        }
        Ok(())
    }
}
