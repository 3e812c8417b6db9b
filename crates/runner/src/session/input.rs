//! One input: its process, from the start to the judgement.

use junto_core::{
    AgentError, AgentErrorKind, Body, CallEnd, CallPurpose, EndReason, EventError, JournalError, Outcome,
    ResumeHandle,
};
use junto_llm::{Cost, Error, Usd};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::{HANDLE_VERSION, Session};
use crate::run::{Ending, Run, Stall, Start, Step, no_result};
use crate::scribe::Scribe;
use crate::share::Share;
use crate::{CliEvent, ModelUse, Report, Verdict};

/// Why a process is no longer waited for.
enum Stop {
    /// It has nothing more to say.
    Drained,
    /// It took too long.
    Stalled(Stall),
    /// It was interrupted, and its grace is over.
    Overdue,
    /// The session is to end.
    Closed,
    /// The session is to end at once.
    Killed,
}

/// What is known of an input's run.
#[derive(Default)]
struct Progress {
    report: Option<Report>,
    excuse: Option<String>,
    cost: Option<Cost>,
    tokens: u64,
    interrupted: bool,
}

impl Session {
    /// Runs one process, pays for it, and says how it ended.
    pub(super) async fn process(&mut self, prompt: String) -> Result<Outcome, JournalError> {
        let failed = |error: &Error| Outcome {
            reason: EndReason::Failed { error: EventError::from(error) },
            text: String::new(),
        };
        let share = match Share::of(&*self.budget, &self.definition, self.depth) {
            Ok(share) => share,
            Err(error) => match error.exhausted() {
                Some(exhausted) => {
                    let limit = exhausted.to_string();
                    self.log.emit(Body::TurnLimit { limit, reached: self.totals.turns }).await?;
                    return Ok(Outcome { reason: EndReason::Limit, text: String::new() });
                }
                None => return Ok(failed(&error)),
            },
        };
        let started = Run::start(Start {
            definition: &self.definition,
            host: &self.host,
            invocation: self.invocation(self.turns_left(), self.host.most(&self.definition, share.most)),
            prompt,
            cwd: self.cwd.clone(),
            patience: self.host.patience,
        });
        let run = match started.await {
            Ok(run) => run,
            Err(error) => return Ok(failed(&error)),
        };
        let (stop, progress, ending) = self.follow(run).await?;
        let cost = match progress.report {
            Some(_) => progress.cost.unwrap_or(Cost::Reported(Usd::ZERO)),
            // A process that ended without a word about its cost had one all the same.
            None => Cost::Unknown,
        };
        self.totals.spend(cost);
        share.settle(cost, progress.tokens);
        self.judge(stop, progress, ending.as_ref()).await
    }

    /// Follows a process to its end. There is no ending of one that was killed.
    async fn follow(&mut self, mut run: Run) -> Result<(Stop, Progress, Option<Ending>), JournalError> {
        let log = self.log.clone();
        let mut scribe = Scribe::new(&log);
        let mut progress = Progress::default();
        let mut overdue: Option<Instant> = None;
        let stop = loop {
            tokio::select! {
                biased;
                () = self.kill.cancelled() => break Stop::Killed,
                // One that was interrupted ends by itself, and tells then what it used.
                () = self.close.cancelled(), if !progress.interrupted => break Stop::Closed,
                told = self.commands.recv() => match told {
                    None => break Stop::Killed,
                    Some(told) => if self.meanwhile(told) && overdue.is_none() {
                        progress.interrupted = true;
                        overdue = Some(Instant::now() + self.host.patience.grace);
                        run.interrupt();
                    }
                },
                () = sleep_until(overdue.unwrap_or_else(Instant::now)), if overdue.is_some() => break Stop::Overdue,
                step = run.next() => match step {
                    Step::Event(event) => self.take(event, &mut scribe, &mut progress).await?,
                    Step::Stalled(stall) => break Stop::Stalled(stall),
                    Step::Drained => break Stop::Drained,
                },
            }
        };
        let rest = run.rest();
        let closed = async {
            match stop {
                Stop::Drained => run.end().await,
                _ => run.close().await,
            }
        };
        let ending = tokio::select! {
            biased;
            // The run is dropped then, which kills it.
            () = self.kill.cancelled() => None,
            ending = closed => Some(ending),
        };
        for event in rest {
            self.take(event, &mut scribe, &mut progress).await?;
        }
        scribe.end_tools().await?;
        Ok((stop, progress, ending))
    }

    /// Takes what a process said.
    async fn take(
        &mut self,
        event: CliEvent,
        scribe: &mut Scribe<'_>,
        progress: &mut Progress,
    ) -> Result<(), JournalError> {
        match event {
            CliEvent::Session { id, .. } => {
                if self.resumable.as_ref() != Some(&id) {
                    let data = json!({"session": id});
                    let kind = self.definition.kind.clone();
                    let handle = ResumeHandle { kind, v: HANDLE_VERSION, data };
                    scribe.emit(Body::Handle { handle }).await?;
                    self.resumable = Some(id);
                }
            }
            CliEvent::Turn => self.totals.turns = self.totals.turns.saturating_add(1),
            CliEvent::Excuse(words) => progress.excuse = Some(words),
            CliEvent::Report(report) => {
                for ModelUse { model, usage, cost } in report.used.since(None, true).unwrap_or_default() {
                    self.totals.usage += &usage;
                    progress.tokens = progress.tokens.saturating_add(usage.total);
                    progress.cost = Some(progress.cost.map_or(cost, |sum| sum + cost));
                    let provider = self.definition.kind.clone();
                    let call = Body::Call {
                        provider,
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
                progress.report = Some(match progress.report.take() {
                    Some(before) => before.then(*report),
                    None => *report,
                });
            }
            event => scribe.write(event).await?,
        }
        Ok(())
    }

    /// What became of an input.
    async fn judge(
        &self,
        stop: Stop,
        progress: Progress,
        ending: Option<&Ending>,
    ) -> Result<Outcome, JournalError> {
        let Progress { report, excuse, interrupted, .. } = progress;
        let text = report.as_ref().map(|report| report.text.clone()).unwrap_or_default();
        let failed = |error: EventError| EndReason::Failed { error };
        let reason = match (stop, report.map(|report| report.verdict)) {
            (Stop::Killed | Stop::Closed | Stop::Overdue, _)
            | (Stop::Drained, Some(Verdict::Interrupted)) => EndReason::Interrupted,
            (Stop::Stalled(stall), _) => failed(EventError::from(&stall.error(&self.definition.kind))),
            // It may have been done before it heard of the interrupt.
            (Stop::Drained, Some(Verdict::Done)) => {
                if let Some(ending) = ending.filter(|ending| !ending.success()) {
                    let message = format!("{} answered, but ended with {ending}", self.definition.kind);
                    self.log.emit(Body::Warning { code: "exit_status".to_owned(), message }).await?;
                }
                EndReason::Done
            }
            (Stop::Drained, _) if interrupted => EndReason::Interrupted,
            (Stop::Drained, Some(Verdict::Limit(limit))) => {
                self.log.emit(Body::TurnLimit { limit, reached: self.totals.turns }).await?;
                EndReason::Limit
            }
            (Stop::Drained, Some(Verdict::Failed(error))) => failed(EventError::from(&error)),
            (Stop::Drained, None) => {
                let message = match ending {
                    Some(ending) => no_result(&self.definition.kind, ending, excuse.as_deref()),
                    None => format!("{} was killed", self.definition.kind),
                };
                failed(EventError::from(&AgentError::new(AgentErrorKind::Process, message)))
            }
        };
        Ok(Outcome { reason, text })
    }
}
