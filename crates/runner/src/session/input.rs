//! One input: its run, and a second one if the first found no session to go on with.

use junto_core::{Body, EndReason, EventError, JournalError, Outcome};
use junto_llm::{CallId, Cost, Error, Usd};

use super::attempt::Attempt;
use super::{Session, Thread};
use crate::failure::Class;
use crate::share::Share;

/// What is told of a run beside its outcome.
struct Told {
    outcome: Outcome,
    class: Option<Class>,
    /// Absent if there was none to tell of.
    attempt: Option<Attempt>,
}

impl Session {
    /// Runs a process, pays for it, and says how it ended.
    pub(super) async fn process(&mut self, prompt: &str) -> Result<Outcome, JournalError> {
        let mut call = CallId::fresh();
        let mut told = self.run_once(prompt, &call).await?;
        if let Some(id) = told.attempt.as_ref().and_then(|attempt| attempt.found_no_session()) {
            let message = format!(
                "{} cannot go on with session {id}; the input goes to a new one, which knows nothing of the past",
                self.definition.kind
            );
            let code = "resume_failed".to_owned();
            self.log.emit_for(&call, Body::Warning { code, message }).await?;
            self.thread = Thread::default();
            call = CallId::fresh();
            told = self.run_once(prompt, &call).await?;
        }
        let Told { outcome, class, attempt } = told;
        if let Some(attempt) = attempt {
            if attempt.progress.changed
                && let Some(handle) = self.thread.handle(&self.definition)
            {
                self.log.emit_for(&call, Body::Handle { handle }).await?;
            }
            let run_end = Body::RunEnd {
                context: attempt.progress.context,
                billing: attempt.progress.billing(),
                exit: attempt.ending.and_then(|ending| ending.status()),
                class: class.map(|class| class.as_str().to_owned()),
                session: self.thread.id.clone(),
            };
            self.log.emit_for(&call, run_end).await?;
        }
        Ok(outcome)
    }

    /// Runs one process, within what it may spend.
    async fn run_once(&mut self, prompt: &str, call: &CallId) -> Result<Told, JournalError> {
        // Two processes of one session would write the same files.
        self.see_off().await;
        let share = match Share::of(&*self.budget, &self.definition, self.depth) {
            Ok(share) => share,
            Err(error) => match error.exhausted() {
                Some(exhausted) => {
                    let limit = exhausted.to_string();
                    self.log.emit(Body::TurnLimit { limit, reached: self.totals.turns }).await?;
                    let outcome = Outcome { reason: EndReason::Limit, text: String::new() };
                    return Ok(Told { outcome, class: None, attempt: None });
                }
                None => return Ok(failed(&error, None)),
            },
        };
        let before = self.last_turn().await;
        let most = self.host.most(&self.definition, share.most);
        // It may have to be asked first for its version, which takes as long as it likes.
        let run = tokio::select! {
            biased;
            () = self.kill.cancelled() => return Ok(never_started()),
            () = self.close.cancelled() => return Ok(never_started()),
            run = self.start(prompt, call, most) => run,
        };
        let run = match run {
            Ok(run) => run,
            Err(error) => return Ok(failed(&error, Some(Attempt::not_started()))),
        };
        let attempt = self.follow(run, call, before).await?;
        let cost = if attempt.found_no_session().is_some() {
            Cost::Reported(Usd::ZERO)
        } else {
            attempt.progress.cost()
        };
        self.totals.spend(cost);
        share.settle(cost, attempt.progress.usage.total);
        let (outcome, class) = self.judge(&attempt).await?;
        Ok(Told { outcome, class, attempt: Some(attempt) })
    }
}

fn never_started() -> Told {
    let outcome = Outcome { reason: EndReason::Interrupted, text: String::new() };
    Told { outcome, class: Some(Class::Cancelled), attempt: Some(Attempt::not_started()) }
}

fn failed(error: &Error, attempt: Option<Attempt>) -> Told {
    let reason = EndReason::Failed { error: EventError::from(error) };
    Told { outcome: Outcome { reason, text: String::new() }, class: Class::of(error), attempt }
}
