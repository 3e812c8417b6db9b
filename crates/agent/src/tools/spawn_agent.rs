//! `spawn_agent`: a task for an agent of its own.

use std::path::PathBuf;
use std::sync::Arc;

use junto_core::{
    Action, AgentSpec, EndReason, Fut, Limits, Permit, Tool, ToolCx, ToolError, ToolOutcome, Workdir,
};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::{arguments, resolve};
use crate::family::{Family, Finished};

/// Starts an agent of any kind, gives it a task and returns what it says in the end. It ends with the
/// call.
pub(crate) struct SpawnAgent {
    spec: ToolSpec,
    family: Arc<Family>,
    /// The kind that is started if the model names none.
    kind: String,
}

#[derive(Deserialize)]
struct Arguments {
    task: String,
    kind: Option<String>,
    model: Option<String>,
    working_dir: Option<String>,
    #[serde(default)]
    max_turns: u32,
}

impl SpawnAgent {
    pub(crate) fn new(family: Arc<Family>, kind: String) -> Self {
        let spec = ToolSpec::foreign(
            "spawn_agent",
            "Give a task to another agent, which works on it with a conversation of its own, and get its \
             answer. Several can work side by side.",
            json!({
                "type": "object",
                "properties": {
                    "task": {"type": "string", "description": "The task, with everything the agent must know"},
                    "kind": {"type": "string", "description": "The kind of agent; your own by default"},
                    "model": {"type": "string", "description": "The model; your own by default"},
                    "working_dir": {"type": "string", "description": "The directory it works in; your own by default"},
                    "max_turns": {"type": "integer", "minimum": 0, "maximum": u32::MAX, "description": "How many model calls it may make; 0, the default, is no limit"}
                },
                "required": ["task"]
            }),
        );
        Self { spec, family, kind }
    }

    /// What the call asks for: the agent, and its task.
    async fn asked(&self, call: &ToolCall, cx: &ToolCx) -> Result<(AgentSpec, String), ToolError> {
        let Arguments { task, kind, model, working_dir, max_turns } = arguments(call)?;
        let workdir = match working_dir {
            Some(path) => Workdir::Path(PathBuf::from(resolve(&*cx.env, &path).await?.as_path())),
            None => Workdir::Shared,
        };
        let spec = AgentSpec {
            kind: kind.unwrap_or_else(|| self.kind.clone()),
            model,
            workdir,
            limits: Limits { max_turns, ..Limits::default() },
            ..AgentSpec::default()
        };
        Ok((spec, task))
    }

    async fn delegate(&self, call: &ToolCall, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let (spec, task) = self.asked(call, cx).await?;
        let finished = self.family.delegate(spec, &task, &cx.cancel).await;
        let Finished { reason, text } = finished.map_err(|error| ToolError(error.to_string()))?;
        let above = if text.is_empty() { String::new() } else { format!("{text}\n\n") };
        Ok(match reason {
            EndReason::Done | EndReason::AwaitingInput => ToolOutcome::ok(text),
            EndReason::Limit => {
                ToolOutcome::error(format!("{above}[the agent reached its limit before it was done]"))
            }
            EndReason::Interrupted => ToolOutcome::error(format!("{above}[the agent was interrupted]")),
            EndReason::Rejected => {
                ToolOutcome::error(format!("{above}[something the agent wanted was refused]"))
            }
            EndReason::Failed { error } => {
                ToolOutcome::error(format!("{above}[the agent failed: {}]", error.message))
            }
        })
    }
}

impl Tool for SpawnAgent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let (spec, _) = self.asked(call, cx).await?;
            Ok(vec![Action::Spawn { spec }])
        })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            let outcome = self.delegate(permit.call(), cx).await;
            outcome.unwrap_or_else(|error| ToolOutcome::error(error.to_string()))
        })
    }
}
