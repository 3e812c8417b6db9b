//! `shell_output`, `shell_input` and `shell_kill`: commands in the background.

use std::sync::Arc;
use std::time::Duration;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::{Background, GRACE, JobId, Jobs, Snapshot, State};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use super::shell::{exit, took};
use super::typed::typed;
use crate::toolbox::INTERRUPTED;

/// How long can be waited for a job.
const LONGEST_WAIT: u64 = 600_000;
/// How long a job may take to read what is written to it.
const READING: Duration = Duration::from_secs(10);

/// Gives what a job has said since it was last asked.
pub struct ShellOutput(ToolSpec);

/// Writes to a job.
pub struct ShellInput(ToolSpec);

/// Ends a job.
pub struct ShellKill(ToolSpec);

#[derive(Deserialize)]
struct OutputArguments {
    job: JobId,
    #[serde(default)]
    wait_ms: u64,
    #[serde(default)]
    until: Until,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    #[default]
    Output,
    End,
}

#[derive(Deserialize)]
struct InputArguments {
    job: JobId,
    #[serde(default)]
    text: String,
    #[serde(default)]
    close: bool,
    #[serde(default)]
    wait_ms: u64,
}

#[derive(Deserialize)]
struct KillArguments {
    job: JobId,
}

fn job_schema() -> Value {
    json!({"type": "integer", "minimum": 1, "description": "The job's number, as shell gave it"})
}

fn wait_schema(what: &str) -> Value {
    let description = format!("How long to wait for {what}, in milliseconds; 0 by default");
    json!({"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT, "description": description})
}

impl Default for ShellOutput {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "shell_output",
            "Read what a command in the background has said since you last asked, and whether it still runs.",
            json!({
                "type": "object",
                "properties": {
                    "job": job_schema(),
                    "wait_ms": wait_schema("it"),
                    "until": {"type": "string", "enum": ["output", "end"], "description": "What to wait for: that it says something (the default), or that it ends"}
                },
                "required": ["job"]
            }),
        ))
    }
}

impl Default for ShellInput {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "shell_input",
            "Write to a command in the background, or end its input. A line ends with \\n; on a terminal \
             \\u0003 is Ctrl-C. Gives what it says then.",
            json!({
                "type": "object",
                "properties": {
                    "job": job_schema(),
                    "text": {"type": "string", "description": "What to write, exactly"},
                    "close": {"type": "boolean", "description": "Whether its input ends after that; false by default"},
                    "wait_ms": wait_schema("an answer")
                },
                "required": ["job"]
            }),
        ))
    }
}

impl Default for ShellKill {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "shell_kill",
            "End a command in the background, and everything it started. Gives what it said last.",
            json!({"type": "object", "properties": {"job": job_schema()}, "required": ["job"]}),
        ))
    }
}

fn find(jobs: &Jobs, id: JobId) -> Result<Arc<Background>, ToolError> {
    jobs.get(id).ok_or_else(|| {
        let known: Vec<String> = jobs.list().iter().map(|(id, _)| id.to_string()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        ToolError(format!("there is no job {id}; there are: {known}"))
    })
}

async fn wait(job: &Background, wait_ms: u64, until: Until) {
    let limit = Duration::from_millis(wait_ms.min(LONGEST_WAIT));
    match until {
        _ if limit.is_zero() => {}
        Until::Output => drop(job.wait_for_output(job.told(), limit).await),
        Until::End => drop(job.wait_for_end(job.told(), limit).await),
    }
}

/// What is new of a job, and how it stands.
fn tell(id: JobId, news: Snapshot) -> String {
    let Snapshot { mut text, dropped, state, duration, .. } = news;
    if dropped > 0 {
        text.insert_str(0, &format!("[{dropped} bytes before this are no longer kept]\n"));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let state = match state {
        State::Running => "runs".to_owned(),
        State::Ended(how) => exit(how) + &took(duration),
        State::Failed(error) => format!("was lost: {error}"),
    };
    format!("{text}[job {id}: {state}]")
}

async fn output(call: &ToolCall, cx: &ToolCx) -> Result<String, ToolError> {
    let OutputArguments { job: id, wait_ms, until } = arguments(call)?;
    let job = find(&cx.jobs, id)?;
    wait(&job, wait_ms, until).await;
    Ok(tell(id, job.news()))
}

async fn input(call: &ToolCall, cx: &ToolCx) -> Result<String, ToolError> {
    let InputArguments { job: id, text, close, wait_ms } = arguments(call)?;
    let job = find(&cx.jobs, id)?;
    if !text.is_empty() {
        let written = tokio::time::timeout(READING, job.write(text)).await;
        let deaf = |_| ToolError(format!("job {id} did not read all of it within {} s", READING.as_secs()));
        written.map_err(deaf)??;
    }
    if close {
        job.close_stdin().await?;
    }
    wait(&job, wait_ms, Until::Output).await;
    Ok(tell(id, job.news()))
}

async fn kill(call: &ToolCall, cx: &ToolCx) -> Result<String, ToolError> {
    let KillArguments { job: id } = arguments(call)?;
    let job = find(&cx.jobs, id)?;
    if let Some(ended) = cx.jobs.end(id, GRACE).await {
        ended?;
    }
    Ok(tell(id, job.news()))
}

/// Runs a call until it is done or cancelled.
async fn until_cancelled(cx: &ToolCx, work: impl Future<Output = Result<String, ToolError>>) -> ToolOutcome {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => ToolOutcome::error(INTERRUPTED),
        done = work => done.into(),
    }
}

impl Tool for ShellOutput {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, _cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        // It only tells what a command said that was allowed to run.
        Box::pin(async move { arguments::<OutputArguments>(call).map(|_| Vec::new()) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move { until_cancelled(cx, output(permit.call(), cx)).await })
    }
}

impl Tool for ShellInput {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let InputArguments { job, text, .. } = arguments(call)?;
            Ok(if text.is_empty() { Vec::new() } else { typed(cx, &call.name, Some(job), text) })
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move { until_cancelled(cx, input(permit.call(), cx)).await })
    }
}

impl Tool for ShellKill {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, _cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move { arguments::<KillArguments>(call).map(|_| Vec::new()) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        // Not cut short by a cancel: what is being ended shall be ended.
        Box::pin(async move { kill(permit.call(), cx).await.into() })
    }
}
