//! `send_input`: a message for an agent that was started.

use std::sync::Arc;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome, When};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::arguments;
use crate::family::{Child, Family, Taken, refusal};

/// Tells a child something: while it works that changes what it does, and else it is its next task.
pub(crate) struct SendInput {
    spec: ToolSpec,
    family: Arc<Family>,
}

#[derive(Deserialize)]
struct Arguments {
    agent_id: String,
    message: String,
    #[serde(default)]
    interrupt: bool,
}

impl SendInput {
    pub(crate) fn new(family: Arc<Family>) -> Self {
        let spec = ToolSpec::foreign(
            "send_input",
            "Send a message to an agent that you started. While it works it reads the message after its \
             current step: correct it, or tell it what you have found out. When it is done, the message is \
             its next task, and it remembers the tasks before. You get a note of how it was taken, and no \
             answer; `wait` gives that.",
            json!({
                "type": "object",
                "properties": {
                    "agent_id": {"type": "string", "description": "The agent, as spawn_agent named it"},
                    "message": {"type": "string", "description": "What to tell it"},
                    "interrupt": {"type": "boolean", "description": "Whether it shall break off its current step to read this; false by default"}
                },
                "required": ["agent_id", "message"]
            }),
        );
        Self { spec, family }
    }

    fn asked(&self, call: &ToolCall) -> Result<(Arc<Child>, String, When), ToolError> {
        let Arguments { agent_id, message, interrupt } = arguments(call)?;
        if message.trim().is_empty() {
            return Err(ToolError("the message is empty".to_owned()));
        }
        let child = self.family.find(&agent_id).map_err(|error| refusal(&error))?;
        Ok((child, message, if interrupt { When::Now } else { When::Round }))
    }

    async fn send(&self, call: &ToolCall) -> Result<String, ToolError> {
        let (child, message, when) = self.asked(call)?;
        let taken = child.tell(&message, when).await.map_err(|error| refusal(&error))?;
        let name = child.name();
        Ok(match taken {
            Taken::Steered => format!("{name}: running; it reads the message after its current step"),
            Taken::Queued => {
                format!("{name}: running; it cannot be told while it works, and takes the message up next")
            }
            Taken::Started => format!("{name}: running; it works on the message now"),
        })
    }
}

impl Tool for SendInput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Judged like the start of the agent: what it is told now it could have been told then.
    fn actions<'a>(&'a self, call: &'a ToolCall, _cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            let (child, ..) = self.asked(call)?;
            Ok(vec![Action::Spawn { spec: child.spec().clone() }])
        })
    }

    fn run<'a>(&'a self, permit: Permit, _cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move { self.send(permit.call()).await.into() })
    }
}
