//! `shell`: a command line.

use std::time::Duration;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::{CommandSpec, ExecResult, HeadTail, Output, OutputStream, exec};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::arguments;
use super::utf8::Utf8;

/// How many bytes are kept of the beginning, and as many of the end, of what a command says.
const KEPT: usize = 8 * 1024 * 1024;

/// How long commands may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// If the model does not say.
    pub default: Duration,
    /// At most, whatever the model says.
    pub max: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { default: Duration::from_secs(10), max: Duration::from_mins(10) }
    }
}

/// Runs a command line in the environment's shell. What it says is shown as it comes; when its time is
/// up, or it is cancelled, everything it started ends with it.
pub struct Shell {
    spec: ToolSpec,
    timeouts: Timeouts,
}

#[derive(Deserialize)]
struct Arguments {
    command: String,
    timeout_ms: Option<u64>,
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
        let timeout = format!("How long it may take, in milliseconds; {default} by default, {max} at most");
        let spec = ToolSpec::foreign(
            "shell",
            "Run a command in the shell. Gives its output, standard error included, and its exit code.",
            json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "The command line"},
                    "timeout_ms": {"type": "integer", "minimum": 1, "description": timeout},
                    "description": {"type": "string", "description": "What it is for, in a few words"}
                },
                "required": ["command"]
            }),
        );
        Self { spec, timeouts }
    }

    async fn execute(&self, call: &ToolCall, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let Arguments { command, timeout_ms } = arguments(call)?;
        let limit = timeout_ms.map_or(self.timeouts.default, Duration::from_millis).min(self.timeouts.max);
        let mut said = Said::new(cx);
        let result = {
            let mut hear = |piece: &Output| said.hear(piece);
            exec(&*cx.env, CommandSpec::shell(command), limit, &cx.cancel, &mut hear).await?
        };
        let failed = result.cancelled || result.timed_out || !result.exit.success();
        let output = said.finish(&self.epilogue(&result, limit));
        Ok(if failed { ToolOutcome::error(output) } else { ToolOutcome::ok(output) })
    }

    /// How it ended, in words.
    fn epilogue(&self, result: &ExecResult, limit: Duration) -> String {
        if result.cancelled {
            return "[interrupted; the output up to then is above]".to_owned();
        }
        if result.timed_out {
            let (limit, max) = (limit.as_millis(), self.timeouts.max.as_millis());
            return format!(
                "[stopped: it was not done within {limit} ms; the output up to then is above. Set timeout_ms \
                 higher (at most {max}) if it needs longer.]"
            );
        }
        let end = match (result.exit.code, result.exit.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "ended".to_owned(),
        };
        // Whole seconds only, and only when it took some: the same command shall say the same again.
        match result.duration.as_secs() {
            0 => format!("[{end}]"),
            seconds => format!("[{end} after {seconds} s]"),
        }
    }
}

/// What a command says, shown and kept. Both streams go into one text, in the order they came.
struct Said<'a> {
    cx: &'a ToolCx,
    stdout: Utf8,
    stderr: Utf8,
    kept: HeadTail,
    ends_line: bool,
}

impl<'a> Said<'a> {
    fn new(cx: &'a ToolCx) -> Self {
        let kept = HeadTail::new(KEPT, KEPT);
        Self { cx, stdout: Utf8::default(), stderr: Utf8::default(), kept, ends_line: true }
    }

    fn hear(&mut self, piece: &Output) {
        let decoder = match piece.stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        let text = decoder.push(&piece.bytes);
        self.show(&text);
    }

    fn show(&mut self, text: &str) {
        if !text.is_empty() {
            self.cx.caller.show(text);
            self.kept.push(text.as_bytes());
            self.ends_line = text.ends_with('\n');
        }
    }

    /// The whole, with an epilogue on a line of its own.
    fn finish(mut self, epilogue: &str) -> String {
        let rest = self.stdout.finish() + &self.stderr.finish();
        self.show(&rest);
        if !self.ends_line {
            self.show("\n");
        }
        self.show(epilogue);
        self.kept.text(|omitted| format!("\n[{omitted} bytes left out]\n"))
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
