//! `junto agent background`: tasks that nobody follows, each for an agent of its own.

use std::num::NonZeroUsize;

use junto::core::{EndReason, Outcome};
use junto::named::EndedBy;
use junto::runner::background::{Background, Job};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::contest::Wanted;
use super::drive::{End, refused};
use super::ending::ending;
use super::prepare::{Job as Prepared, prepare};
use super::{From, Save, Wish, announce};
use crate::args::{AgentKind, BackgroundArgs, WorkArgs};
use crate::commands::ask::with_piped;
use crate::config::{Config, ProviderSettings};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;

/// Lets agents work, some at once and the others after them, and tells their final texts in the order of the tasks.
///
/// # Errors
/// If nothing can be begun, or a task came to no answer.
pub(crate) async fn background(
    args: BackgroundArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    let BackgroundArgs { tasks, agent, at_once, work } = args;
    check_fit(&work)?;
    let tasks = tasks_of(tasks).await?;
    let runners = Config::load(environment, &[])?.runner_names();
    let kind =
        AgentKind::named(&agent, &runners).filter(|kind| *kind != AgentKind::Native).ok_or_else(|| {
            let message = format!("\"{agent}\" is no command-line agent");
            Failure::usage(message, format!("there are {}", runners.join(", ")))
        })?;
    let as_json = work.json;
    let from = From::Nothing { kind, save: Save::Configured };
    let wish = Wish { task: None, from, args: work, council: Wanted::default(), purse: None };
    let prepared = prepare(&wish, environment, output).await?;
    announce(&prepared, output);
    let (time, providers, kept) = (prepared.time, prepared.providers.clone(), prepared.kept);
    let cancel = CancellationToken::new();
    let jobs = submitted(&prepared, &tasks, at_once, &cancel).await?;
    let report = Report { tasks: &tasks, as_json, kept, providers: &providers, output };
    let told = report.all(&jobs);
    tokio::pin!(told);
    let too_long = async {
        match time {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let stopped = tokio::select! {
        biased;
        result = &mut told => return result,
        () = interrupts.next() => Failure::interrupted(),
        () = too_long => Failure::new(
            Exit::Limit,
            "stopped at a limit: it took too long",
            "raise --timeout, or give fewer tasks",
        ),
    };
    cancel.cancel();
    // Each has a moment to end, and what it said until then is told.
    let _ = told.await;
    Err(stopped)
}

/// Refuses flags that would do nothing, or not what they say.
fn check_fit(args: &WorkArgs) -> Result<(), Failure> {
    let unfit = [
        ("--max-usd", args.max_usd.is_some(), "`max_usd` of the agent in the configuration limits each run"),
        ("--max-tokens", args.max_tokens.is_some(), "leave it out: these agents cannot be held to it"),
        ("--max-turns", args.max_turns.is_some(), "leave it out: these agents are not followed"),
        ("--input json", args.input == crate::args::InputForm::Json, "give the tasks as arguments"),
    ];
    match unfit.into_iter().find(|(_, given, _)| *given) {
        Some((flag, _, hint)) => {
            Err(Failure::usage(format!("{flag} does nothing for runs in the background"), hint))
        }
        None => Ok(()),
    }
}

/// What is to be done: the arguments, else what is piped in.
async fn tasks_of(given: Vec<String>) -> Result<Vec<String>, Failure> {
    let tasks = if given.is_empty() { vec![with_piped(None).await?] } else { given };
    if tasks.iter().any(|task| task.trim().is_empty()) {
        let hint = "give one, as in `junto agent background \"Review src/\"`, or pipe it in";
        return Err(Failure::usage("there is no task", hint));
    }
    Ok(tasks)
}

/// Puts all tasks into a line.
async fn submitted(
    prepared: &Prepared,
    tasks: &[String],
    at_once: NonZeroUsize,
    cancel: &CancellationToken,
) -> Result<Vec<Job>, Failure> {
    let waiting = NonZeroUsize::new(tasks.len()).unwrap_or(NonZeroUsize::MIN);
    let line = Background::new(at_once, waiting);
    let mut jobs = Vec::new();
    for task in tasks {
        let (spec, cancel) = (prepared.spec.clone(), cancel.child_token());
        let job = prepared.workshop.background(&line, spec, task, cancel).await;
        jobs.push(job.map_err(|error| refused(&error))?);
    }
    Ok(jobs)
}

/// Tells what came of tasks.
struct Report<'a> {
    tasks: &'a [String],
    as_json: bool,
    kept: bool,
    providers: &'a [ProviderSettings],
    output: &'a Output,
}

impl Report<'_> {
    /// What came of all of them, each as soon as those before it are told.
    async fn all(&self, jobs: &[Job]) -> Result<Exit, Failure> {
        let mut failures = Vec::new();
        for (number, (job, task)) in (1..).zip(jobs.iter().zip(self.tasks)) {
            let outcome = job.outcome().await;
            failures.extend(self.one(number, task, job, outcome)?);
        }
        match failures.len() {
            0 => Ok(Exit::Done),
            1 if jobs.len() == 1 => Err(failures.remove(0)),
            failed => {
                let message = format!("{failed} of {} tasks came to no answer", jobs.len());
                let exit = failures.remove(0).exit;
                Err(Failure::new(exit, message, "`junto sessions` lists them, `junto export` tells the rest"))
            }
        }
    }

    /// What came of one; what is wrong with it, if something is.
    fn one(
        &self,
        number: usize,
        task: &str,
        job: &Job,
        outcome: Outcome,
    ) -> Result<Option<Failure>, Failure> {
        let Outcome { reason, text } = outcome;
        let session = self.kept.then(|| job.log().session());
        let state = match &reason {
            EndReason::Done | EndReason::AwaitingInput => "success",
            EndReason::Interrupted => "cancelled",
            EndReason::Limit | EndReason::Rejected | EndReason::Failed { .. } => "failed",
        };
        let end = End { reason, limit: None, short: None, by: EndedBy::Itself };
        let failure = ending(&end, self.providers).err();
        let error = failure.as_ref().map(|failure| failure.errors.join("; "));
        if self.as_json {
            let told = json!({
                "task": number, "state": state, "session": session, "text": text, "error": error,
            });
            self.output.exact(&format!("{told}\n"))?;
            return Ok(failure);
        }
        let several = self.tasks.len() > 1;
        if several {
            let first = task.lines().next().unwrap_or_default();
            self.output.note(&format!("{number}: {first}"));
        }
        if !text.is_empty() {
            self.output.data(&format!("{}\n", text.trim_end_matches('\n')))?;
        }
        if let Some(error) = error.filter(|_| several) {
            self.output.warning(&format!("{number}: {error}"));
        }
        Ok(failure)
    }
}
