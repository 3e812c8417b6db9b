//! One run in the background, from its place in the line to its end.

use std::sync::Arc;

use junto_core::{
    Abilities, AgentError, Approve, Body, EndReason, EventError, EventLog, Input, JournalError, Mode,
    Outcome, Parent, Steer,
};
use junto_env::RealPath;
use junto_llm::{Budget, CallId, Cost, Error, Usage, Usd};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio_util::sync::CancellationToken;

use super::Errand;
use crate::failure::{Class, advised, invalid};
use crate::last_message::LastMessage;
use crate::run::{Ending, Run, Start, Step, directory};
use crate::scribe::Scribe;
use crate::session::{booked, last_turn, priced};
use crate::share::Share;
use crate::{CliEvent, Definition, Detail, Host, Invocation, Purpose, Report, Verdict};

/// It is told once what to do, and then aborted at most.
const ABILITIES: Abilities = Abilities {
    steer: Steer::No,
    approve: Approve::Preset,
    resume: false,
    interrupt: false,
    follow_up: false,
    compact: false,
};

/// What is to be done, and everything that is needed for it.
pub(super) struct Work {
    definition: Definition,
    host: Host,
    mode: Mode,
    model: Option<String>,
    cwd: Option<RealPath>,
    prompt: String,
    depth: u8,
    budget: Arc<dyn Budget>,
    log: EventLog,
    /// Ends it, with grace.
    stop: CancellationToken,
    /// Ends it at once.
    kill: CancellationToken,
    /// Where the command writes its final text, if it does not print it.
    answer: Option<LastMessage>,
}

/// What became of the process.
#[derive(Default)]
struct Ran {
    text: String,
    /// What it said of itself, if it tells more than its text.
    report: Option<Report>,
    /// Its own session, as far as it tells.
    session: Option<String>,
    model: Option<String>,
    ending: Option<Ending>,
    /// Why it was ended, if it did not end by itself.
    cut: Option<Cut>,
}

/// What a run used and cost, as far as that is known.
struct Bill {
    usage: Usage,
    is_whole: bool,
    cost: Cost,
    context: Option<u64>,
}

impl Bill {
    /// Of what never ran: it has used nothing, and that is known.
    fn nothing() -> Self {
        Self { usage: Usage::default(), is_whole: true, cost: Cost::Reported(Usd::ZERO), context: None }
    }
}

enum Cut {
    Aborted,
    Failed(Error),
}

impl Work {
    /// Writes down what is to be done.
    pub(super) async fn new(
        errand: Errand,
        parent: Parent,
        log: EventLog,
        stop: CancellationToken,
        kill: CancellationToken,
    ) -> Result<Self, AgentError> {
        let Errand { definition, host, mode, model, workdir, prompt } = errand;
        let cwd = directory(&host, workdir.as_deref()).await.map_err(|e| invalid(&e))?;
        let answer = answer_file(&definition).map_err(|e| invalid(&e))?;
        let (depth, budget) = (parent.depth, parent.budget);
        let work =
            Self { definition, host, mode, model, cwd, prompt, depth, budget, log, stop, kill, answer };
        work.definition.command_line(&work.invocation(None)).map_err(|e| invalid(&e))?;
        let workdir = work.cwd.as_ref().unwrap_or(&work.host.env.facts().cwd).to_string();
        let start = Body::SessionStart {
            kind: work.definition.kind.clone(),
            model: work.model.clone(),
            workdir: Some(workdir),
            abilities: ABILITIES,
            setup: None,
        };
        work.log.emit(start).await?;
        work.log.begin_turn();
        work.log.commit(Body::UserInput { input: Input::text(&work.prompt), pictures: None }).await?;
        Ok(work)
    }

    /// Waits for its turn, does it, and writes its end.
    pub(super) async fn go(self, turn: oneshot::Receiver<OwnedSemaphorePermit>) -> Outcome {
        self.recorded(turn).await.unwrap_or_else(|error| broken(&error))
    }

    async fn recorded(&self, turn: oneshot::Receiver<OwnedSemaphorePermit>) -> Result<Outcome, JournalError> {
        let seat = tokio::select! {
            biased;
            () = self.kill.cancelled() => None,
            () = self.stop.cancelled() => None,
            seat = turn => seat.ok(),
        };
        let (outcome, bill) = match &seat {
            Some(_) => self.run().await?,
            None => (interrupted(String::new()), Bill::nothing()),
        };
        let (reason, text) = (outcome.reason.clone(), outcome.text.clone().into());
        self.log.commit(Body::InputEnd { reason: reason.clone(), text }).await?;
        self.log.commit(Body::SessionEnd { reason, usage: bill.usage, cost: bill.cost }).await?;
        Ok(outcome)
    }

    async fn run(&self) -> Result<(Outcome, Bill), JournalError> {
        let call = CallId::fresh();
        let share = match Share::of(&*self.budget, &self.definition, self.depth) {
            Ok(share) => share,
            Err(error) => return self.not_run(&call, Cut::Failed(error)).await,
        };
        let started = Run::start(Start {
            definition: &self.definition,
            host: &self.host,
            invocation: self.invocation(self.host.most(&self.definition, share.most)),
            call: &call,
            prompt: &self.prompt,
            dialogue: None,
            cwd: self.cwd.clone(),
            patience: self.host.patience,
        });
        // It may have to be asked first for its version, which takes as long as it likes.
        let run = tokio::select! {
            biased;
            () = self.kill.cancelled() => return self.not_run(&call, Cut::Aborted).await,
            () = self.stop.cancelled() => return self.not_run(&call, Cut::Aborted).await,
            run = started => run,
        };
        let run = match run {
            Ok(run) => run,
            Err(error) => return self.not_run(&call, Cut::Failed(error)).await,
        };
        let ran = self.follow(run, &call).await?;
        let bill = self.book(&call, &ran).await?;
        share.settle(bill.cost, bill.usage.total);
        Ok((self.end(&call, ran, &bill).await?, bill))
    }

    /// The end of one that never began.
    async fn not_run(&self, call: &CallId, cut: Cut) -> Result<(Outcome, Bill), JournalError> {
        let ran = Ran { cut: Some(cut), ..Ran::default() };
        let bill = Bill::nothing();
        Ok((self.end(call, ran, &bill).await?, bill))
    }

    /// Books what a run used, as it says itself or wrote down. Who prints an answer and nothing else does not.
    async fn book(&self, call: &CallId, ran: &Ran) -> Result<Bill, JournalError> {
        let turn = match &ran.session {
            Some(session) => last_turn(&self.definition, &self.host, session).await,
            None => None,
        };
        let told = ran.report.as_ref().and_then(|report| report.used.since(None, true));
        let used = told.or_else(|| turn.as_ref()?.used(None, true));
        let context = turn.as_ref().and_then(|turn| turn.context);
        // What it counts and writes down leaves out the call that was under way, if one was.
        let is_whole = used.is_some() && !ran.was_cut_off();
        let known =
            turn.and_then(|turn| turn.model).or_else(|| ran.model.clone()).or_else(|| self.model.clone());
        let (mut sum, mut spent) = (Usage::default(), None);
        for used in used.unwrap_or_default() {
            let used = priced(used, known.as_deref(), &self.host.catalog);
            sum += &used.usage;
            spent = Some(spent.map_or(used.cost, |spent: Cost| spent + used.cost));
            self.log.emit_for(call, booked(&self.definition.kind, used)).await?;
        }
        let cost = if is_whole { spent.unwrap_or(Cost::Reported(Usd::ZERO)) } else { Cost::Unknown };
        Ok(Bill { usage: sum, is_whole, cost, context })
    }

    /// Waits for the end of the process, or for its last word.
    async fn follow(&self, mut run: Run, call: &CallId) -> Result<Ran, JournalError> {
        let mut scribe = Scribe::new(&self.log, call.clone());
        let mut ran = Ran::default();
        ran.cut = loop {
            let step = tokio::select! {
                biased;
                () = self.kill.cancelled() => break Some(Cut::Aborted),
                () = self.stop.cancelled() => break Some(Cut::Aborted),
                step = run.next() => step,
            };
            match step {
                // It may go on for ever after it has failed.
                Step::Event(CliEvent::Report(report)) => {
                    let cut = match &report.verdict {
                        Verdict::Failed(error) => Some(Cut::Failed(error.clone())),
                        _ => None,
                    };
                    let is_over = report.last && matches!(report.verdict, Verdict::Done);
                    ran.report = Some(*report);
                    if cut.is_some() || is_over {
                        break cut;
                    }
                }
                Step::Event(event) => ran.take(event, &mut scribe).await?,
                Step::Stalled(stall) => break Some(Cut::Failed(stall.error(&self.definition.kind))),
                Step::Drained | Step::Closed => break None,
            }
        };
        if ran.cut.is_some() {
            self.kill.run_until_cancelled(run.ask_to_end()).await;
        }
        for event in run.rest() {
            ran.take(event, &mut scribe).await?;
        }
        // One that has answered has its grace to write it down and to end, and no more.
        let ended = async { if ran.cut.is_some() { run.close().await } else { run.end().await } };
        ran.ending = self.kill.run_until_cancelled(ended).await;
        if let Some(text) = self.answer.as_ref().and_then(LastMessage::read) {
            ran.text = text;
        }
        Ok(ran)
    }

    /// Tells what became of it.
    async fn end(&self, call: &CallId, ran: Ran, bill: &Bill) -> Result<Outcome, JournalError> {
        let answered = ran.answered();
        let Ran { text, session, ending, cut, .. } = ran;
        let kind = &self.definition.kind;
        let failed = |error: &Error, text: String| {
            let class = Class::of(error);
            let error = EventError::from(&advised(error.clone(), &self.definition.sign_in.how));
            (Outcome { reason: EndReason::Failed { error }, text }, class)
        };
        let (outcome, class) = match (cut, &ending) {
            (Some(Cut::Failed(error)), _) => failed(&error, text),
            (None, _) if answered => {
                if let Some(ending) = ending.as_ref().filter(|ending| !ending.success()) {
                    let message = format!("{kind} answered, but ended with {ending}");
                    self.log.emit(Body::Warning { code: "exit_status".to_owned(), message }).await?;
                }
                (Outcome { reason: EndReason::Done, text }, None)
            }
            (Some(Cut::Aborted), _) | (None, None) => (interrupted(text), Some(Class::Cancelled)),
            (None, Some(ending)) if ending.success() => (Outcome { reason: EndReason::Done, text }, None),
            // What it prints in the place of an answer says why there is none.
            (None, Some(ending)) => {
                let excuse = (!text.is_empty()).then_some(text.as_str());
                failed(&ending.without_result(kind, excuse), String::new())
            }
        };
        let end = Body::RunEnd {
            context: bill.context,
            billing: bill.is_whole.then(|| bill.usage.clone()),
            exit: ending.and_then(|ending| ending.status()),
            class: class.map(|class| class.as_str().to_owned()),
            session,
        };
        self.log.emit_for(call, end).await?;
        Ok(outcome)
    }

    fn invocation(&self, max_usd: Option<Usd>) -> Invocation<'_> {
        Invocation {
            // One that writes its text into a file tells the rest as it always does.
            text_only: self.answer.is_none(),
            model: self.model.as_deref(),
            last_message: self.answer.as_ref().map(LastMessage::path),
            max_usd,
            ..self.host.invocation(Purpose::Work(self.mode), Detail::Whole)
        }
    }
}

impl Ran {
    /// Whether it says that it has answered, and has nothing to add.
    fn answered(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.last && matches!(report.verdict, Verdict::Done))
    }

    /// Whether it was ended in the middle of its turn, by whomever.
    fn was_cut_off(&self) -> bool {
        !matches!(&self.report, Some(Report { verdict, .. }) if !matches!(verdict, Verdict::Interrupted))
    }

    async fn take(&mut self, event: CliEvent, scribe: &mut Scribe<'_>) -> Result<(), JournalError> {
        match event {
            CliEvent::TextEnd(text) => self.text = text,
            CliEvent::Session { id, model } => {
                self.session = Some(id);
                self.model = model.or_else(|| self.model.take());
            }
            CliEvent::Report(report) => self.report = Some(*report),
            CliEvent::Warning { .. } => scribe.write(event).await?,
            _ => {}
        }
        Ok(())
    }
}

/// A file for the final text of a command that writes one. One that neither does nor prints it cannot be run so.
fn answer_file(definition: &Definition) -> Result<Option<LastMessage>, Error> {
    let file = LastMessage::of(definition)?;
    if file.is_none() && definition.options.text.is_empty() {
        let message = format!("{} has no way to give its final text and nothing else", definition.kind);
        return Err(Error::configuration(message)
            .with_hint("name its arguments as `text` or `last_message` in its definition"));
    }
    Ok(file)
}

fn interrupted(text: String) -> Outcome {
    Outcome { reason: EndReason::Interrupted, text }
}

/// The end of a run whose journal failed: nothing can be written any more.
fn broken(error: &JournalError) -> Outcome {
    let error = EventError::from(&AgentError::from(error.clone()));
    Outcome { reason: EndReason::Failed { error }, text: String::new() }
}

/// The end of a run of which nobody tells any more.
pub(super) fn lost() -> Outcome {
    let error = EventError::from(&AgentError::closed());
    Outcome { reason: EndReason::Failed { error }, text: String::new() }
}
