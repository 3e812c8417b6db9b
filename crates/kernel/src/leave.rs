//! Leave for shell lines that code runs by itself.

use junto_core::{Action, Fut, Permit, Tool, ToolCall, ToolCx, ToolError, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

/// What [`ShellLeave`] is called.
pub const SHELL_LEAVE: &str = "cell_shell";

/// `cell_shell`: asks whether a line may run, and does nothing else. Code in a kernel runs its shell lines itself
/// (`!ls`, `subprocess.run`), and calls this before, with the very line that will run. No model is told of it.
///
/// It is not what keeps code from anything: code can start a program in ways that nobody sees. The sandbox keeps it.
#[derive(Debug)]
pub struct ShellLeave {
    spec: ToolSpec,
}

impl Default for ShellLeave {
    fn default() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"line": {"type": "string"}, "cwd": {"type": "string"}},
            "required": ["line", "cwd"]
        });
        let told = "Ask for leave to run a shell line in the kernel.";
        Self { spec: ToolSpec::foreign(SHELL_LEAVE, told, parameters) }
    }
}

impl Tool for ShellLeave {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).unwrap_or_default();
            let cwd = cx.env.resolve(text("cwd")).await?;
            Ok(vec![Action::Shell { line: text("line").to_owned(), cwd }])
        })
    }

    fn run<'a>(&'a self, _permit: Permit, _cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async { ToolOutcome::ok("yes") })
    }
}
