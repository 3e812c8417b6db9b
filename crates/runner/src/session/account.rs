//! What a run used: booked, and told.
//!
//! Some commands say what a turn used; that is booked when they say it. Others count over their whole session, or
//! say nothing when a turn fails: what such a run used is worked out when it is over, from the session's total
//! before it and from what the command wrote down itself.

use junto_core::{Body, CallEnd, CallPurpose, JournalError};
use junto_llm::Cost;
use junto_llm::catalog::Catalog;

use super::Session;
use super::progress::{Books, Progress};
use crate::scribe::Scribe;
use crate::{Definition, Host, ModelUse, OutputFormat, RecordedTurn, Used, probe};

impl Session {
    /// Books what a report says the turn used. What it says of the whole session, or does not say, is left to the
    /// end.
    pub(super) async fn account(
        &mut self,
        used: &Used,
        scribe: &Scribe<'_>,
        progress: &mut Progress,
    ) -> Result<(), JournalError> {
        match used {
            Used::Turn(used) => self.book(Some(used.clone()), scribe, progress).await,
            Used::Part(used) => {
                self.book(Some(used.clone()), scribe, progress).await?;
                progress.books = Books::Incomplete;
                Ok(())
            }
            Used::SessionTotal { .. } | Used::Untold => Ok(()),
        }
    }

    /// Books what a run used that is over, as far as that was left to do.
    pub(super) async fn close_accounts(
        &mut self,
        before: Option<&RecordedTurn>,
        scribe: &Scribe<'_>,
        progress: &mut Progress,
    ) -> Result<(), JournalError> {
        let turn = self.last_turn().await.and_then(|turn| turn.after(before));
        if let Some(turn) = &turn {
            progress.context = turn.context.or(progress.context);
            self.thread.context = progress.context.or(self.thread.context);
            progress.model = turn.model.clone().or_else(|| progress.model.take());
        }
        let (before, fresh) = (self.thread.totals.as_ref(), progress.resumed.is_none());
        let (used, total) = match (progress.report.as_ref().map(|report| &report.used), &turn) {
            (Some(Used::Turn(_) | Used::Part(_)), _) | (None, None) => return Ok(()),
            (Some(used @ Used::SessionTotal { usage, .. }), _) => {
                (used.since(before, fresh), Some(usage.clone()))
            }
            // A turn that failed, or was cut off, has used something all the same.
            (_, Some(turn)) => (turn.used(before, fresh), turn.total.clone()),
            (Some(Used::Untold), None) => (None, None),
        };
        if let Some(total) = total {
            progress.changed |= self.thread.totals.replace(total.clone()) != Some(total);
        }
        self.book(used, scribe, progress).await?;
        // What it counts and writes down leaves out the call that was under way, if one was.
        if progress.was_cut_off() {
            progress.books = Books::Incomplete;
        }
        Ok(())
    }

    /// The last turn that the command wrote down, if it does such a thing.
    pub(super) async fn last_turn(&self) -> Option<RecordedTurn> {
        last_turn(&self.definition, &self.host, self.thread.id.as_deref()?).await
    }

    /// Books what was used; `None` if that cannot be known.
    async fn book(
        &mut self,
        used: Option<Vec<ModelUse>>,
        scribe: &Scribe<'_>,
        progress: &mut Progress,
    ) -> Result<(), JournalError> {
        progress.books = match (progress.books, &used) {
            (Books::Incomplete, _) | (_, None) => Books::Incomplete,
            _ => Books::Whole,
        };
        for used in used.unwrap_or_default() {
            let used = priced(used, progress.model.as_deref(), &self.host.catalog);
            self.totals.usage += &used.usage;
            progress.usage += &used.usage;
            progress.cost = Some(progress.cost.map_or(used.cost, |sum| sum + used.cost));
            let call = booked(&self.definition.kind, used);
            scribe.emit(call).await?;
        }
        Ok(())
    }
}

/// The last turn that a command wrote down of a session, if it does such a thing.
pub(crate) async fn last_turn(definition: &Definition, host: &Host, session: &str) -> Option<RecordedTurn> {
    let home = probe::home(definition, host)?;
    let (env, home) = (&*host.env, home.to_str()?);
    match definition.output {
        OutputFormat::ClaudeStreamJson => None,
        OutputFormat::CodexJson => RecordedTurn::of_codex(env, home, session).await,
        OutputFormat::GeminiStreamJson => RecordedTurn::of_gemini(env, home, session).await,
    }
}

/// The same with the model's name, where the command does not tell it, and what the catalog says that it costs, where that
/// is not told.
pub(crate) fn priced(mut used: ModelUse, known: Option<&str>, catalog: &Catalog) -> ModelUse {
    if used.model.is_empty() {
        known.unwrap_or_default().clone_into(&mut used.model);
    }
    if used.cost == Cost::Unknown {
        let price = catalog.get(&used.model).and_then(|info| info.price);
        used.cost = price.map_or(Cost::Unknown, |price| price.cost(&used.usage));
    }
    used
}

/// The event by which it is booked.
pub(crate) fn booked(provider: &str, ModelUse { model, usage, cost }: ModelUse) -> Body {
    Body::Call {
        provider: provider.to_owned(),
        model,
        response_id: None,
        usage,
        cost,
        answer: None,
        purpose: CallPurpose::Input,
        end: CallEnd::Whole,
        prefix: None,
    }
}
