//! One of our tools under a vendor's name.

use std::sync::Arc;
use std::time::Duration;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome, ToolOutput};
use junto_env::RealPath;
use junto_llm::{ToolCall, ToolSpec};
use serde_json::Value;
use tokio::time::Instant;

use super::arguments::renamed;

/// A call of one of our tools.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ours {
    /// Which.
    pub(crate) tool: &'static str,
    /// Its arguments.
    pub(crate) arguments: Value,
    /// What must hold of the files that it writes.
    pub(crate) only: Only,
}

/// What must hold of the files that a call writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Only {
    /// Nothing.
    Any,
    /// They are not there yet.
    NewFiles,
}

impl Ours {
    pub(crate) fn new(tool: &'static str, arguments: Value) -> Self {
        Self { tool, arguments, only: Only::Any }
    }
}

/// What came of a call of one of our tools.
pub(crate) struct Came<'a> {
    /// The arguments as the model gave them.
    pub(crate) args: &'a Value,
    pub(crate) cwd: &'a RealPath,
    /// How long it took.
    pub(crate) elapsed: Duration,
    pub(crate) outcome: ToolOutcome,
}

impl Came<'_> {
    /// The outcome with another text, which is made from the one it has and whether that is an error.
    /// What is too large to be held stays as it is.
    pub(crate) fn said(self, change: impl FnOnce(&str, bool) -> String) -> ToolOutcome {
        let is_error = self.outcome.is_error;
        let output = match self.outcome.output {
            ToolOutput::Text(text) => change(&text, is_error).into(),
            spooled @ ToolOutput::Spooled(_) => spooled,
        };
        ToolOutcome { output, ..self.outcome }
    }
}

/// The call of ours that a vendor's call is.
#[derive(Clone, Copy)]
pub(crate) enum Ask {
    /// Of this tool, with those arguments that are listed, under other names: `(theirs, ours)`.
    Renamed(&'static str, &'static [(&'static str, &'static str)]),
    /// What this says. The arguments of a freeform tool are a string.
    By(fn(&Value) -> Result<Ours, String>),
}

impl Ask {
    pub(crate) fn ours(self, args: &Value) -> Result<Ours, String> {
        match self {
            Self::Renamed(tool, names) => Ok(Ours::new(tool, renamed(args, names))),
            Self::By(ask) => ask(args),
        }
    }
}

/// What the model is told of what came of it.
pub(crate) type Answer = fn(Came<'_>) -> ToolOutcome;

/// One of our tools under a vendor's name: it takes the vendor's arguments, does what ours does, and
/// answers as the vendor's does.
pub(super) struct Adapter {
    pub(super) spec: ToolSpec,
    /// Those that `ask` may name.
    pub(super) ours: Vec<Arc<dyn Tool>>,
    pub(super) ask: Ask,
    pub(super) answer: Answer,
}

impl Adapter {
    fn translated(&self, call: &ToolCall) -> Result<(&dyn Tool, ToolCall, Only), ToolError> {
        let Ours { tool: name, arguments, only } = self.ask.ours(&call.arguments).map_err(ToolError)?;
        let tool = self.ours.iter().find(|tool| tool.spec().name == name);
        let tool = tool.ok_or_else(|| ToolError(format!("`{name}` is not available here")))?;
        Ok((&**tool, ToolCall::function(&call.id, name, arguments.to_string()), only))
    }

    async fn pass_on(&self, permit: &Permit, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let (tool, call, _) = self.translated(permit.call())?;
        let started = Instant::now();
        let outcome = tool.run(permit.restated(call), cx).await;
        let (args, cwd) = (&permit.call().arguments, &cx.env.facts().cwd);
        Ok((self.answer)(Came { args, cwd, elapsed: started.elapsed(), outcome }))
    }
}

impl Tool for Adapter {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let (tool, call, only) = self.translated(call)?;
            let actions = tool.actions(&call, cx).await?;
            if only == Only::NewFiles {
                for action in &actions {
                    if let Action::Write { path } = action
                        && cx.env.stamp(path).await?.is_some()
                    {
                        return Err(ToolError(format!("{path} is there already, so it cannot be created")));
                    }
                }
            }
            Ok(actions)
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            let outcome = self.pass_on(&permit, cx).await;
            outcome.unwrap_or_else(|error| ToolOutcome::error(error.to_string()))
        })
    }
}
