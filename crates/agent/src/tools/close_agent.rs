//! `close_agent`: the end of an agent that was started.

use std::sync::Arc;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::arguments;
use crate::family::{Family, refusal};

/// Ends a child, with everything it started.
pub(crate) struct CloseAgent {
    spec: ToolSpec,
    family: Arc<Family>,
}

#[derive(Deserialize)]
struct Arguments {
    agent_id: String,
}

impl CloseAgent {
    pub(crate) fn new(family: Arc<Family>) -> Self {
        let spec = ToolSpec::foreign(
            "close_agent",
            "End an agent that you started, with everything it runs, and get its final status. Close agents \
             that you need no more, and those that went astray; get their answers with `wait` before, for \
             they are gone then.",
            json!({
                "type": "object",
                "properties": {
                    "agent_id": {"type": "string", "description": "The agent, as spawn_agent named it"}
                },
                "required": ["agent_id"]
            }),
        );
        Self { spec, family }
    }

    async fn close(&self, call: &ToolCall) -> Result<String, ToolError> {
        let Arguments { agent_id } = arguments(call)?;
        let child = self.family.find(&agent_id).map_err(|error| refusal(&error))?;
        let before = child.report().status;
        self.family.end(&child).await;
        let turns = child.report().turns_used;
        Ok(format!("{}: closed (it was {before}; turns used: {turns})", child.name()))
    }
}

impl Tool for CloseAgent {
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

    fn run<'a>(&'a self, permit: Permit, _cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move { self.close(permit.call()).await.into() })
    }
}
