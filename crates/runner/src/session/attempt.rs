//! One process, from the start to the judgement.

use std::collections::VecDeque;

use junto_core::{
    Ack, AgentError, AgentErrorKind, Body, EndReason, EventError, Input, JournalError, Outcome,
};
use junto_llm::{CallId, Error, Usd};
use tokio::time::{Instant, sleep_until};

use super::progress::Progress;
use super::{Meant, Reply, Session};
use crate::control::Dialogue;
use crate::failure::{Class, advised, is_missing_session};
use crate::run::{Ending, Run, Stall, Start, Step};
use crate::scribe::Scribe;
use crate::{CliEvent, RecordedTurn, Verdict};

/// What became of a process.
#[derive(Default)]
pub(super) struct Attempt {
    pub(super) stop: Stop,
    pub(super) progress: Progress,
    /// Absent if it was killed, or is not waited for.
    pub(super) ending: Option<Ending>,
}

/// Why a process is no longer waited for.
#[derive(Clone, Default)]
pub(super) enum Stop {
    /// It has nothing more to say.
    #[default]
    Drained,
    /// It has said its last word, and is still there.
    Reported,
    /// It took too long.
    Stalled(Stall),
    /// It was interrupted, and its grace is over.
    Overdue,
    /// The session is to end.
    Closed,
    /// The session is to end at once.
    Killed,
}

impl Attempt {
    /// Of a process that was never there: it has used nothing, and that is known.
    pub(super) fn not_started() -> Self {
        Self { progress: Progress::of_nothing(), ..Self::default() }
    }

    /// The session that was to go on and is not there; `None` if that is not what was wrong. Nothing was done
    /// then, so that the same can be tried without it.
    pub(super) fn found_no_session(&self) -> Option<&str> {
        let progress = &self.progress;
        let resumed = progress.resumed.as_deref()?;
        if progress.began {
            return None;
        }
        let missing = match progress.report.as_ref().map(|report| &report.verdict) {
            Some(Verdict::Failed(error)) => is_missing_session(error.message()),
            Some(_) => false,
            None => self.ending.as_ref().is_some_and(|ending| is_missing_session(ending.stderr())),
        };
        missing.then_some(resumed)
    }
}

impl Session {
    pub(super) async fn start(&self, prompt: &str, call: &CallId, most: Option<Usd>) -> Result<Run, Error> {
        let dialogue = if self.is_steerable() { Dialogue::with(&self.definition) } else { None };
        Run::start(Start {
            definition: &self.definition,
            host: &self.host,
            invocation: self.invocation(self.turns_left(), most),
            call,
            prompt,
            dialogue,
            cwd: self.cwd.clone(),
            patience: self.host.patience,
        })
        .await
    }

    /// Follows a process to its end, or to its last word. `before` is the turn that its command had written down
    /// when it started.
    pub(super) async fn follow(
        &mut self,
        mut run: Run,
        call: &CallId,
        before: Option<RecordedTurn>,
    ) -> Result<Attempt, JournalError> {
        let log = self.log.clone();
        let mut scribe = Scribe::new(&log, call.clone());
        let mut progress = Progress::new(self.thread.id.clone(), self.model.clone());
        progress.told.clone_from(&run.told);
        let mut overdue: Option<Instant> = None;
        let stop = loop {
            tokio::select! {
                biased;
                () = self.kill.cancelled() => break Stop::Killed,
                // One that was interrupted ends by itself, and tells then what it used.
                () = self.close.cancelled(), if !progress.interrupted => break Stop::Closed,
                told = self.commands.recv() => match told.map(|told| self.meanwhile(told)) {
                    None => break Stop::Killed,
                    Some(Meant::Interrupt) if overdue.is_none() => {
                        progress.interrupted = true;
                        overdue = Some(Instant::now() + self.host.patience.grace);
                        run.interrupt();
                    }
                    Some(Meant::Steer(input, reply)) => steer(&mut run, &scribe, input, reply).await?,
                    Some(Meant::Interrupt | Meant::Nothing) => {}
                },
                () = sleep_until(overdue.unwrap_or_else(Instant::now)), if overdue.is_some() => break Stop::Overdue,
                step = run.next() => match step {
                    Step::Event(event) => {
                        let reported = matches!(event, CliEvent::Report(_));
                        self.take(event, &mut scribe, &mut progress).await?;
                        if reported {
                            run.reported();
                        }
                        if progress.is_over() {
                            break Stop::Reported;
                        }
                    }
                    Step::Stalled(stall) => break Stop::Stalled(stall),
                    Step::Drained => break Stop::Drained,
                    Step::Closed => break Stop::Reported,
                },
            }
        };
        let (rest, ending) = self.leave(run, &stop).await;
        for event in rest {
            self.take(event, &mut scribe, &mut progress).await?;
        }
        scribe.end_tools().await?;
        self.close_accounts(before.as_ref(), &scribe, &mut progress).await?;
        Ok(Attempt { stop, progress, ending })
    }

    /// Parts from a process, and gives what it still said.
    async fn leave(&mut self, mut run: Run, stop: &Stop) -> (VecDeque<CliEvent>, Option<Ending>) {
        // Whatever is waited for here, the session can be killed meanwhile; a run that is dropped is killed.
        let kill = self.kill.clone();
        let gone = match stop {
            Stop::Killed | Stop::Drained => true,
            Stop::Reported => kill.run_until_cancelled(run.courtesy()).await.unwrap_or_default(),
            Stop::Stalled(_) | Stop::Overdue | Stop::Closed => {
                kill.run_until_cancelled(run.ask_to_end()).await;
                true
            }
        };
        let rest = run.rest();
        let ending = match stop {
            Stop::Killed => None,
            Stop::Reported if !gone => {
                self.lingering = Some(tokio::spawn(async move {
                    kill.run_until_cancelled(run.see_off()).await;
                }));
                None
            }
            Stop::Drained | Stop::Reported => kill.run_until_cancelled(run.end()).await,
            Stop::Stalled(_) | Stop::Overdue | Stop::Closed => kill.run_until_cancelled(run.close()).await,
        };
        (rest, ending)
    }

    /// What became of an input, and what kept it from an answer.
    pub(super) async fn judge(&self, attempt: &Attempt) -> Result<(Outcome, Option<Class>), JournalError> {
        let Attempt { stop, progress, ending } = attempt;
        let kind = &self.definition.kind;
        let how = &self.definition.sign_in.how;
        let ended = |error: &Error| {
            let class = Class::of(error);
            (EndReason::Failed { error: EventError::from(&advised(error.clone(), how)) }, class)
        };
        let interrupted = (EndReason::Interrupted, Some(Class::Cancelled));
        let (reason, class) = match (stop, progress.report.as_ref().map(|report| &report.verdict)) {
            (Stop::Killed | Stop::Closed | Stop::Overdue, _)
            | (Stop::Drained | Stop::Reported, Some(Verdict::Interrupted)) => interrupted,
            // It has answered, and did not end.
            (Stop::Stalled(stall), Some(Verdict::Done)) if progress.at_rest => {
                let message = format!("{kind} answered, and was ended: {}", stall.error(kind).message());
                self.log.emit(Body::Warning { code: "lingered".to_owned(), message }).await?;
                (EndReason::Done, None)
            }
            (Stop::Stalled(stall), _) => ended(&stall.error(kind)),
            // It may have been done before it heard of the interrupt.
            (_, Some(Verdict::Done)) => {
                if let Some(ending) = ending.as_ref().filter(|ending| !ending.success()) {
                    let message = format!("{kind} answered, but ended with {ending}");
                    self.log.emit(Body::Warning { code: "exit_status".to_owned(), message }).await?;
                }
                (EndReason::Done, None)
            }
            _ if progress.interrupted => interrupted,
            (_, Some(Verdict::Limit(limit))) => {
                let limit = limit.clone();
                self.log.emit(Body::TurnLimit { limit, reached: self.totals.turns }).await?;
                (EndReason::Limit, None)
            }
            (_, Some(Verdict::Failed(error))) => ended(error),
            (_, None) => match ending {
                Some(ending) => match ending.without_result(kind, progress.excuse.as_deref()) {
                    error if Class::of(&error) == Some(Class::Crashed) => crashed(&error),
                    error => ended(&error),
                },
                None => crashed(&Class::Crashed.error(format!("{kind} was killed"))),
            },
        };
        Ok((Outcome { reason, text: progress.text().to_owned() }, class))
    }
}

/// Tells a process something while it works, and whoever said it whether that came in time.
async fn steer(run: &mut Run, scribe: &Scribe<'_>, input: Input, reply: Reply) -> Result<(), JournalError> {
    let answer = if run.steer(&input.text) {
        scribe.emit(Body::SteeringInjected { input, pictures: None }).await?;
        Ok(Ack::Queued)
    } else {
        let message = "its turn is over, or was interrupted";
        Err(AgentError::new(AgentErrorKind::WrongState, message).with_hint("send it as a follow-up"))
    };
    // Whoever does not wait for the answer does not need it.
    let _ = reply.send(answer);
    Ok(())
}

/// The end of a process that told no result, and not why.
fn crashed(error: &Error) -> (EndReason, Option<Class>) {
    let told = AgentError::new(AgentErrorKind::Process, error.message());
    (EndReason::Failed { error: EventError::from(&told) }, Class::of(error))
}
