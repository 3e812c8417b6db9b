//! Commands that run on: reading them, writing to them, ending them.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::{Background, ErrorKind, GRACE, JobId, Jobs};
use junto_llm::{ToolCall, ToolSpec};
use serde_json::Value;

use super::heard::{End, Heard, Patience, Since, listen, outcome};
use crate::toolbox::INTERRUPTED;

/// How long a job may take to read what is written to it.
const READING: Duration = Duration::from_secs(10);

/// What to do to a job, and how long to listen then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) job: Which,
    pub(crate) what: What,
    pub(crate) since: Since,
    pub(crate) wait: Duration,
}

/// Which job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Number(JobId),
    /// The one whose process has this id.
    Process(u32),
}

/// What to do to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Nothing but listen.
    Listen,
    /// Write to it.
    Write(String),
    /// Interrupt it, as Ctrl-C does.
    Interrupt,
    /// End it.
    End,
}

/// What a call asks for.
pub(crate) type Ask = fn(&Value) -> Result<Turn, String>;

/// What the model is told: that it went well, or not.
pub(crate) type Tell = fn(&Value, &Heard) -> Result<String, String>;

/// Talks with a command that runs on.
pub(super) struct Job {
    pub(super) spec: ToolSpec,
    pub(super) ask: Ask,
    pub(super) tell: Tell,
}

fn find(jobs: &Jobs, which: Which) -> Result<(JobId, Arc<Background>), ToolError> {
    let all = jobs.list();
    let known = |(id, job): &(JobId, Arc<Background>)| match which {
        Which::Number(number) => *id == number,
        Which::Process(pid) => job.id() == pid,
    };
    if let Some(found) = all.iter().find(|job| known(job)) {
        return Ok(found.clone());
    }
    let mut message = match which {
        Which::Number(number) => format!("there is no command with the number {number}; there are:"),
        Which::Process(pid) => {
            format!("there is no command in the background with the pid {pid}; there are:")
        }
    };
    for (id, job) in &all {
        let _ = match which {
            Which::Number(_) => write!(message, " {id}"),
            Which::Process(_) => write!(message, " {}", job.id()),
        };
    }
    Err(ToolError(if all.is_empty() { message + " none" } else { message }))
}

impl Job {
    async fn talk(&self, call: &ToolCall, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let Turn { job, what, since, wait } = (self.ask)(&call.arguments).map_err(ToolError)?;
        let (id, job) = find(&cx.jobs, job)?;
        match what {
            What::Listen => {}
            What::Write(text) => write(&job, text).await?,
            What::Interrupt => job.interrupt().await?,
            What::End => {
                if let Some(Err(error)) = cx.jobs.end(id, GRACE).await {
                    return Err(error.into());
                }
            }
        }
        let heard = listen(cx, (id, &job), since, Patience::For(wait)).await;
        if heard.end == End::Cancelled {
            return Err(ToolError(INTERRUPTED.to_owned()));
        }
        if since == Since::Told && !heard.state.is_running() {
            // All is told, and its room is for another.
            cx.jobs.end(id, Duration::ZERO).await;
        }
        Ok(outcome(cx, (self.tell)(&call.arguments, &heard)).await)
    }
}

async fn write(job: &Background, text: String) -> Result<(), ToolError> {
    match tokio::time::timeout(READING, job.write(text)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if error.kind() == ErrorKind::Unsupported => Err(ToolError(
            "nothing can be written to this command: it was started without a terminal".to_owned(),
        )),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(ToolError(format!("it did not read all of it within {} s", READING.as_secs()))),
    }
}

impl Tool for Job {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            // What a shell reads it does: it is judged like a command.
            let Turn { what, .. } = (self.ask)(&call.arguments).map_err(ToolError)?;
            let cwd = cx.env.facts().cwd.clone();
            Ok(match what {
                What::Write(line) => vec![Action::Shell { line, cwd }],
                What::Listen | What::Interrupt | What::End => Vec::new(),
            })
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            let done = self.talk(permit.call(), cx).await;
            done.unwrap_or_else(|error| ToolOutcome::error(error.to_string()))
        })
    }
}

/// Says which commands run in the background.
pub(super) struct JobList {
    pub(super) spec: ToolSpec,
    pub(super) tell: fn(&[(JobId, Arc<Background>)]) -> String,
}

impl Tool for JobList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(
        &'a self,
        _call: &'a ToolCall,
        _cx: &'a ToolCx,
    ) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn run<'a>(&'a self, _permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move { ToolOutcome::ok((self.tell)(&cx.jobs.list())) })
    }
}
