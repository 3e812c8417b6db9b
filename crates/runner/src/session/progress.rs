//! What is known of a run while it goes on.

use junto_core::{Body, CallEnd, CallPurpose, JournalError};
use junto_llm::{Catalog, Cost, Usage, Usd};

use super::{Session, Thread};
use crate::scribe::Scribe;
use crate::{CliEvent, ModelUse, Report, Used};

/// What is known of a run.
#[derive(Default)]
pub(super) struct Progress {
    /// The session it was to go on with.
    pub(super) resumed: Option<String>,
    /// Whether its model was asked, or anything done.
    pub(super) began: bool,
    /// All its reports as one.
    pub(super) report: Option<Report>,
    pub(super) excuse: Option<String>,
    pub(super) interrupted: bool,
    /// How many tokens its last model call had.
    pub(super) context: Option<u64>,
    /// What it used altogether.
    pub(super) tokens: u64,
    /// Whether what all runs of its session used together has changed.
    pub(super) changed_totals: bool,
    /// The model, as far as it is known.
    model: Option<String>,
    /// The last text that it wrote to its end.
    said: String,
    usage: Usage,
    cost: Option<Cost>,
    /// Whether some of what it used cannot be known.
    untold: bool,
    /// Whether its session began with it.
    fresh: bool,
}

impl Progress {
    pub(super) fn new(resumed: Option<String>, model: Option<String>) -> Self {
        Self { fresh: resumed.is_none(), resumed, model, ..Self::default() }
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
        (self.report.is_some() && !self.untold).then(|| self.usage.clone())
    }

    /// What it cost. A process that ended without a word about its cost had one all the same.
    pub(super) fn cost(&self) -> Cost {
        match (&self.report, self.untold) {
            (Some(_), false) => self.cost.unwrap_or(Cost::Reported(Usd::ZERO)),
            _ => Cost::Unknown,
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
        progress.began |= is_work(&event);
        match event {
            CliEvent::Session { id, model } => {
                progress.model = model.or_else(|| progress.model.take());
                if self.thread.id.as_ref() != Some(&id) {
                    if let Some(before) = &progress.resumed {
                        let message = format!("it was to go on with session {before}, and began {id}");
                        scribe.warn("session_changed", message).await?;
                        progress.fresh = true;
                    }
                    self.thread = Thread { id: Some(id), ..Thread::default() };
                    if let Some(handle) = self.thread.handle(&self.definition) {
                        scribe.emit(Body::Handle { handle }).await?;
                    }
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

    /// Books what a report says was used.
    async fn account(
        &mut self,
        used: &Used,
        scribe: &Scribe<'_>,
        progress: &mut Progress,
    ) -> Result<(), JournalError> {
        let since = used.since(self.thread.totals.as_ref(), progress.fresh);
        if let Used::SessionTotal { usage, .. } = used {
            self.thread.totals = Some(usage.clone());
            progress.changed_totals = true;
            // Another report of this run adds to this one.
            progress.fresh = false;
        }
        progress.untold |= since.is_none();
        for ModelUse { model, usage, cost } in since.unwrap_or_default() {
            let model = if model.is_empty() { progress.model.clone().unwrap_or_default() } else { model };
            let cost = match cost {
                Cost::Unknown => estimate(&model, &usage),
                known => known,
            };
            self.totals.usage += &usage;
            progress.usage += &usage;
            progress.tokens = progress.tokens.saturating_add(usage.total);
            progress.cost = Some(progress.cost.map_or(cost, |sum| sum + cost));
            let call = Body::Call {
                provider: self.definition.kind.clone(),
                model,
                response_id: None,
                usage,
                cost,
                answer: None,
                purpose: CallPurpose::Input,
                end: CallEnd::Whole,
                prefix: None,
            };
            scribe.emit(call).await?;
        }
        Ok(())
    }
}

/// What a model's vendor takes for it, where a command does not tell.
pub(crate) fn estimate(model: &str, usage: &Usage) -> Cost {
    let price = Catalog::builtin().get(model).and_then(|info| info.price);
    price.map_or(Cost::Unknown, |price| price.cost(usage))
}

/// Whether something was done that must not be done twice.
fn is_work(event: &CliEvent) -> bool {
    matches!(event, CliEvent::Turn | CliEvent::TextStart | CliEvent::ReasoningStart | CliEvent::ToolStart(_))
}
