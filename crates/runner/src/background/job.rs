//! One run in the background, from its place in the line to its end.

use std::path::PathBuf;
use std::sync::Arc;

use junto_core::{
    Abilities, AgentError, AgentErrorKind, Approve, Body, EndReason, EventError, EventLog, Input,
    JournalError, Mode, Outcome, Parent, Steer,
};
use junto_env::RealPath;
use junto_llm::{Budget, CallId, Cost, Error, Usage, Usd};
use tempfile::TempDir;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio_util::sync::CancellationToken;

use super::Errand;
use crate::failure::Class;
use crate::run::{Ending, Run, Start, Step, directory};
use crate::scribe::Scribe;
use crate::share::Share;
use crate::{CliEvent, Definition, Detail, Host, Invocation, Purpose, Verdict};

/// It is told once what to do, and then aborted at most.
const ABILITIES: Abilities = Abilities {
    steer: Steer::No,
    approve: Approve::Preset,
    resume: false,
    interrupt: false,
    follow_up: false,
    compact: false,
};

/// The most that is read of a file with a final text.
const LONGEST_ANSWER: u64 = 16 << 20;

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
    answer: Option<Answer>,
}

/// A file for the final text, in a folder of its own.
struct Answer {
    _folder: TempDir,
    path: PathBuf,
}

/// What became of the process.
#[derive(Default)]
struct Ran {
    text: String,
    ending: Option<Ending>,
    /// Why it was ended, if it did not end by itself.
    cut: Option<Cut>,
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
        let invalid = |e: Error| AgentError::new(AgentErrorKind::Invalid, e.to_string());
        let cwd = directory(&host, workdir.as_deref()).await.map_err(invalid)?;
        let answer = answer_file(&definition).map_err(invalid)?;
        let (depth, budget) = (parent.depth, parent.budget);
        let work =
            Self { definition, host, mode, model, cwd, prompt, depth, budget, log, stop, kill, answer };
        work.definition.command_line(&work.invocation(None)).map_err(invalid)?;
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
        let (outcome, cost) = match &seat {
            Some(_) => self.run().await?,
            None => (interrupted(String::new()), Cost::Reported(Usd::ZERO)),
        };
        let (reason, text) = (outcome.reason.clone(), outcome.text.clone().into());
        self.log.commit(Body::InputEnd { reason: reason.clone(), text }).await?;
        self.log.commit(Body::SessionEnd { reason, usage: Usage::default(), cost }).await?;
        Ok(outcome)
    }

    async fn run(&self) -> Result<(Outcome, Cost), JournalError> {
        let call = CallId::fresh();
        let nothing = Cost::Reported(Usd::ZERO);
        let share = match Share::of(&*self.budget, &self.definition, self.depth) {
            Ok(share) => share,
            Err(error) => return Ok((self.end(&call, Ran::cut_off(error)).await?, nothing)),
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
        let run = match started.await {
            Ok(run) => run,
            Err(error) => return Ok((self.end(&call, Ran::cut_off(error)).await?, nothing)),
        };
        let ran = self.follow(run, &call).await?;
        // Who prints an answer and nothing else does not say what it took.
        share.settle(Cost::Unknown, 0);
        Ok((self.end(&call, ran).await?, Cost::Unknown))
    }

    /// Waits for the end of the process.
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
                    if let Verdict::Failed(error) = report.verdict {
                        break Some(Cut::Failed(error));
                    }
                }
                Step::Event(event) => ran.take(event, &mut scribe).await?,
                Step::Stalled(stall) => break Some(Cut::Failed(stall.error(&self.definition.kind))),
                Step::Drained => break None,
            }
        };
        if ran.cut.is_some() {
            self.kill.run_until_cancelled(run.ask_to_end()).await;
        }
        for event in run.rest() {
            ran.take(event, &mut scribe).await?;
        }
        let ended = async { if ran.cut.is_some() { run.close().await } else { run.end().await } };
        ran.ending = self.kill.run_until_cancelled(ended).await;
        if let Some(text) = self.answer.as_ref().and_then(Answer::read) {
            ran.text = text;
        }
        Ok(ran)
    }

    /// Tells what became of it.
    async fn end(&self, call: &CallId, ran: Ran) -> Result<Outcome, JournalError> {
        let Ran { text, ending, cut } = ran;
        let kind = &self.definition.kind;
        let failed = |error: &Error, text: String| {
            (Outcome { reason: EndReason::Failed { error: EventError::from(error) }, text }, Class::of(error))
        };
        let (outcome, class) = match (cut, &ending) {
            (Some(Cut::Failed(error)), _) => failed(&error, text),
            (Some(Cut::Aborted), _) | (None, None) => (interrupted(text), Some(Class::Cancelled)),
            (None, Some(ending)) if ending.success() => (Outcome { reason: EndReason::Done, text }, None),
            // What it prints in the place of an answer says why there is none.
            (None, Some(ending)) => {
                let excuse = (!text.is_empty()).then_some(text.as_str());
                failed(&ending.without_result(kind, excuse), String::new())
            }
        };
        let end = Body::RunEnd {
            context: None,
            billing: None,
            exit: ending.and_then(|ending| ending.status()),
            class: class.map(|class| class.as_str().to_owned()),
            session: None,
        };
        self.log.emit_for(call, end).await?;
        Ok(outcome)
    }

    fn invocation(&self, max_usd: Option<Usd>) -> Invocation<'_> {
        Invocation {
            // One that writes its text into a file tells the rest as it always does.
            text_only: self.answer.is_none(),
            model: self.model.as_deref(),
            last_message: self.answer.as_ref().map(|answer| answer.path.as_path()),
            max_usd,
            ..self.host.invocation(Purpose::Work(self.mode), Detail::Whole)
        }
    }
}

impl Ran {
    /// One that never began.
    fn cut_off(error: Error) -> Self {
        Self { cut: Some(Cut::Failed(error)), ..Self::default() }
    }

    async fn take(&mut self, event: CliEvent, scribe: &mut Scribe<'_>) -> Result<(), JournalError> {
        match event {
            CliEvent::TextEnd(text) => self.text = text,
            CliEvent::Warning { .. } => scribe.write(event).await?,
            _ => {}
        }
        Ok(())
    }
}

impl Answer {
    /// What was written; `None` if nothing was.
    fn read(&self) -> Option<String> {
        use std::io::Read as _;
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&self.path).ok()?;
        file.take(LONGEST_ANSWER).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()).filter(|text| !text.is_empty())
    }
}

/// A file for the final text of a command that writes one. One that neither does nor prints it cannot be run so.
fn answer_file(definition: &Definition) -> Result<Option<Answer>, Error> {
    let options = &definition.options;
    if options.last_message.is_empty() {
        if options.text.is_empty() {
            let message = format!("{} has no way to give its final text and nothing else", definition.kind);
            return Err(Error::configuration(message)
                .with_hint("name its arguments as `text` or `last_message` in its definition"));
        }
        return Ok(None);
    }
    let folder = tempfile::Builder::new().prefix("junto-text-").tempdir();
    let folder =
        folder.map_err(|e| Error::configuration(format!("cannot make a folder for its answer: {e}")))?;
    let path = folder.path().join("answer.md");
    Ok(Some(Answer { _folder: folder, path }))
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
