//! Commands that run on: reading them, writing to them, ending them.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::{Background, ErrorKind, GRACE, JobId, Jobs};
use junto_llm::{ToolCall, ToolSpec};
use serde_json::Value;

use super::heard::{End, Heard, Patience, Since, listen, spooled};
use crate::toolbox::INTERRUPTED;
use crate::tools::typed::typed;

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

/// What the model is told of it.
pub(crate) type Tell = fn(&Value, &Heard) -> ToolOutcome;

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
        Ok(spooled(cx, (self.tell)(&call.arguments, &heard)).await)
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
            let Turn { job, what, .. } = (self.ask)(&call.arguments).map_err(ToolError)?;
            Ok(match what {
                What::Write(text) => {
                    let job = find(&cx.jobs, job).ok().map(|(id, _)| id);
                    typed(cx, &call.name, job, text)
                }
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

/// What the model is told of the commands in the background.
pub(crate) type List = fn(&[(JobId, Arc<Background>)]) -> String;

/// Says which commands run in the background.
pub(super) struct JobList {
    pub(super) spec: ToolSpec,
    pub(super) tell: List,
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
