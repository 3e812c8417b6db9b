//! Commands as the vendors' agents run them: each is a job from the start, so that one that takes long
//! goes on in the background instead of being killed.

use std::time::Duration;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_env::{CommandSpec, GRACE, Stdin, TerminalSize};
use junto_llm::{ToolCall, ToolSpec};
use serde_json::Value;

use super::heard::{End, Heard, Patience, Since, listen, spooled, unheard};
use crate::tools::typed::quiet;
use crate::tools::{Timeouts, place};

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) line: String,
    /// Where it runs; absent: the working directory.
    pub(crate) cwd: Option<String>,
    pub(crate) means: Means,
    pub(crate) patience: Patience,
}

/// What a command reads from and writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// Nothing can be written to it.
    Pipes,
    /// A terminal, which can be written to.
    Terminal,
}

/// The command that a call asks for. The timeouts are the profile's.
pub(crate) type Ask = fn(&Value, Timeouts) -> Result<Launch, String>;

/// What the model is told of it.
pub(crate) type Tell = fn(&Value, &Heard) -> ToolOutcome;

/// Runs a command, and waits for it as long as the vendor's agent would.
pub(super) struct Command {
    pub(super) spec: ToolSpec,
    pub(super) timeouts: Timeouts,
    pub(super) ask: Ask,
    pub(super) tell: Tell,
}

impl Command {
    fn launch(&self, call: &ToolCall) -> Result<Launch, ToolError> {
        (self.ask)(&call.arguments, self.timeouts).map_err(ToolError)
    }

    async fn execute(&self, permit: &Permit, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let Launch { line, means, patience, .. } = self.launch(permit.call())?;
        // Where it was judged to run.
        let cwd = permit.actions().iter().find_map(|action| match action {
            Action::Shell { cwd, .. } => Some(cwd.clone()),
            _ => None,
        });
        let (stdin, terminal) = match means {
            Means::Pipes => (Stdin::Empty, None),
            Means::Terminal => (Stdin::Open, Some(TerminalSize::default())),
        };
        let spec = CommandSpec { cwd, stdin, terminal, ..quiet(CommandSpec::shell(line)) };
        let (id, job) = cx.jobs.start(&*cx.env, spec).await?;
        let mut heard = match patience {
            Patience::For(Duration::ZERO) => unheard(id, &job),
            patience => listen(cx, (id, &job), Since::Told, patience).await,
        };
        if heard.end != End::Wait || !heard.state.is_running() {
            // It is over, or shall be: its number is not needed any more.
            if let Some(Err(error)) = cx.jobs.end(id, GRACE).await {
                return Err(error.into());
            }
            heard.state = job.poll(u64::MAX).state;
        }
        Ok(spooled(cx, (self.tell)(&permit.call().arguments, &heard)).await)
    }
}

impl Tool for Command {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let Launch { line, cwd, .. } = self.launch(call)?;
            let cwd = place(&*cx.env, cwd.as_deref()).await?;
            Ok(vec![Action::Shell { line, cwd }])
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            let done = self.execute(&permit, cx).await;
            done.unwrap_or_else(|error| ToolOutcome::error(error.to_string()))
        })
    }
}
