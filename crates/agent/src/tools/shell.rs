//! `shell`: a command line.

use std::time::Duration;

use junto_core::{Action, Fut, Permit, Spool, Tool, ToolCx, ToolError, ToolOutcome, ToolOutput};
use junto_env::{CommandSpec, Ended, Exit, Listener, Output, OutputStream, Stdin, TerminalSize, exec_into};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::arguments;
use super::typed::quiet;
use super::utf8::Utf8;

/// How long commands may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// If the model does not say.
    pub default: Duration,
    /// At most, whoever says so.
    pub max: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { default: Duration::from_secs(10), max: Duration::from_mins(10) }
    }
}

impl Timeouts {
    /// What holds if the model does not say: what the host set, else what the profile of the model
    /// has, else 10 s.
    pub fn of(host: Option<Duration>, profile: Option<Duration>) -> Self {
        let Self { default, max } = Self::default();
        Self { default: host.or(profile).unwrap_or(default).min(max), max }
    }

    /// How long a call may take that asks for this.
    fn limit(&self, asked_ms: Option<u64>) -> Duration {
        asked_ms.map_or(self.default, Duration::from_millis).min(self.max)
    }
}

/// Runs a command line in the environment's shell. What it says is shown as it comes; when its time is
/// up, or it is cancelled, everything it started ends with it. One in the background runs on, and ends
/// with the session; see [`super::ShellOutput`].
pub struct Shell {
    spec: ToolSpec,
    timeouts: Timeouts,
}

#[derive(Deserialize)]
struct Arguments {
    command: String,
    timeout_ms: Option<u64>,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    tty: bool,
}

impl Default for Shell {
    fn default() -> Self {
        Self::new(Timeouts::default())
    }
}

impl Shell {
    /// The tool, with these timeouts.
    pub fn new(timeouts: Timeouts) -> Self {
        let (default, max) = (timeouts.default.as_millis(), timeouts.max.as_millis());
        let timeout = format!(
            "How long it may take, in milliseconds; {default} by default, {max} at most. A command in the \
             background has no limit"
        );
        let spec = ToolSpec::foreign(
            "shell",
            "Run a command in the shell. Gives its output, standard error included, its exit code and how \
             long it took. With `background` it gives the number of a job at once, for servers and other \
             commands that take long: read what it says with shell_output, write to it with shell_input, \
             end it with shell_kill.",
            json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "The command line"},
                    "timeout_ms": {"type": "integer", "minimum": 1, "description": timeout},
                    "description": {"type": "string", "description": "What it is for, in a few words"},
                    "background": {"type": "boolean", "description": "Whether to go on without waiting for its end; false by default"},
                    "tty": {"type": "boolean", "description": "Whether it needs a terminal; false by default"}
                },
                "required": ["command"]
            }),
        );
        Self { spec, timeouts }
    }

    async fn execute(&self, call: &ToolCall, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let Arguments { command, timeout_ms, background, tty } = arguments(call)?;
        let spec = quiet(CommandSpec::shell(command));
        let spec = CommandSpec { terminal: tty.then(TerminalSize::default), ..spec };
        if background {
            let (id, job) = cx.jobs.start(&*cx.env, CommandSpec { stdin: Stdin::Open, ..spec }).await?;
            return Ok(ToolOutcome::ok(format!("[job {id} runs in the background as process {}]", job.id())));
        }
        let limit = self.timeouts.limit(timeout_ms);
        let mut heard = Heard::new(cx);
        let ended = exec_into(&*cx.env, spec, limit, &cx.cancel, &mut heard).await?;
        let failed = ended.cancelled || ended.timed_out || !ended.exit.success();
        let output = heard.finish(&epilogue(&ended, limit)).await;
        Ok(if failed { ToolOutcome::error(output) } else { ToolOutcome::ok(output) })
    }
}

/// How a command ended, in words.
fn epilogue(ended: &Ended, limit: Duration) -> String {
    if ended.cancelled {
        return "[interrupted; the output up to then is above]".to_owned();
    }
    if ended.timed_out {
        return format!(
            "[ERROR: Command timed out after {}ms. Partial output is shown above.\nYou can retry with a longer \
             timeout by setting the timeout_ms parameter.]",
            limit.as_millis()
        );
    }
    format!("[{}{}]", exit(ended.exit), took(ended.duration))
}

/// What a command said, of an output that tells in its last line that it ended well.
pub(crate) fn said(output: &str) -> &str {
    let output = output.trim_end();
    let (before, last) = output.rsplit_once('\n').unwrap_or(("", output));
    let is_footer = last.starts_with("[exit code 0") && last.ends_with(']');
    if is_footer { before } else { output }
}

/// How a process ended, in words.
pub(super) fn exit(exit: Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// How long it took: whole seconds only, and only if it took some, since the same command shall say the
/// same again.
pub(super) fn took(duration: Duration) -> String {
    match duration.as_secs() {
        0 => String::new(),
        seconds => format!(" after {seconds} s"),
    }
}

/// What a command says, shown and kept. Both streams go into one text, in the order they came.
struct Heard<'a> {
    cx: &'a ToolCx,
    stdout: Utf8,
    stderr: Utf8,
    spool: Spool,
    ends_line: bool,
}

impl<'a> Heard<'a> {
    fn new(cx: &'a ToolCx) -> Self {
        let spool = cx.caller.spool();
        Self { cx, stdout: Utf8::default(), stderr: Utf8::default(), spool, ends_line: true }
    }

    /// Shows and keeps a text. It is kept even if the wait for the disk is dropped.
    async fn say(&mut self, text: &str) {
        if !text.is_empty() {
            self.cx.caller.show(text);
            self.ends_line = text.ends_with('\n');
            self.spool.push(text).await;
        }
    }

    /// The whole, with an epilogue on a line of its own.
    async fn finish(mut self, epilogue: &str) -> ToolOutput {
        let rest = self.stdout.finish() + &self.stderr.finish();
        self.say(&rest).await;
        if !self.ends_line {
            self.say("\n").await;
        }
        self.say(epilogue).await;
        self.spool.finish().await
    }
}

impl Listener for Heard<'_> {
    fn hear<'a>(&'a mut self, piece: &'a Output) -> Fut<'a, ()> {
        let decoder = match piece.stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        let text = decoder.push(&piece.bytes);
        Box::pin(async move { self.say(&text).await })
    }
}

impl Tool for Shell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let Arguments { command, .. } = arguments(call)?;
            Ok(vec![Action::Shell { line: command, cwd: cx.env.facts().cwd.clone() }])
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            let outcome = self.execute(permit.call(), cx).await;
            outcome.unwrap_or_else(|error| ToolOutcome::error(error.to_string()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_timeouts_the_nearest_holds() {
        let check = |call: Option<u64>, host: Option<u64>, profile: Option<u64>, expected: u64| {
            let timeouts = Timeouts::of(host.map(Duration::from_secs), profile.map(Duration::from_secs));
            let limit = timeouts.limit(call.map(|seconds| seconds.saturating_mul(1000)));
            assert_eq!(limit, Duration::from_secs(expected), "{call:?} {host:?} {profile:?}");
        };
        check(None, None, None, 10);
        check(None, None, Some(120), 120);
        check(None, Some(30), Some(120), 30);
        check(Some(5), Some(30), Some(120), 5);
        check(Some(6000), Some(30), None, 600);
        check(None, Some(6000), None, 600);
        check(None, None, Some(6000), 600);
        check(Some(u64::MAX), None, None, 600);
    }
}
