//! `wait`: the results of agents that were started.

use std::sync::Arc;
use std::time::Duration;

use junto_core::{Action, Fut, Permit, Tool, ToolCx, ToolError, ToolOutcome};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::arguments;
use crate::family::{Child, Family, Report, Until, Waited, refusal, report_data, reports};

/// How long can be waited at once, where a limit is given.
const LONGEST: u64 = 24 * 60 * 60 * 1000;

/// Waits for children, and says what came of them.
pub(crate) struct Wait {
    spec: ToolSpec,
    family: Arc<Family>,
}

#[derive(Deserialize)]
struct Arguments {
    agent_id: Option<String>,
    #[serde(default)]
    agent_ids: Vec<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    until: Until,
}

impl Wait {
    pub(crate) fn new(family: Arc<Family>) -> Self {
        let spec = ToolSpec::foreign(
            "wait",
            "Wait for agents that you started, and get for each its status (running, completed, failed or \
             closed), whether it succeeded, how many turns it used, and its answer. Start all agents that \
             can work at the same time before you wait for the first. A wait that ends early stops no \
             agent: wait again, or do something else meanwhile.",
            json!({
                "type": "object",
                "properties": {
                    "agent_id": {"type": "string", "description": "The agent to wait for, as spawn_agent named it"},
                    "agent_ids": {"type": "array", "items": {"type": "string"}, "description": "The agents to wait for, if they are several; without this and agent_id: all there are"},
                    "timeout_ms": {"type": "integer", "minimum": 0, "maximum": LONGEST, "description": "How long to wait at most, in milliseconds; 0 tells at once how they stand; no limit by default"},
                    "until": {"type": "string", "enum": ["all", "first"], "description": "Whether to wait until all of them are done (the default), or only the first"}
                }
            }),
        );
        Self { spec, family }
    }

    /// Whom to wait for, each once, in the order in which they were named.
    fn asked(&self, arguments: &Arguments) -> Result<Vec<Arc<Child>>, ToolError> {
        let Arguments { agent_id, agent_ids, .. } = arguments;
        let mut children: Vec<Arc<Child>> = Vec::new();
        for name in agent_id.iter().chain(agent_ids) {
            let child = self.family.find(name).map_err(|error| refusal(&error))?;
            if !children.iter().any(|other| Arc::ptr_eq(other, &child)) {
                children.push(child);
            }
        }
        if children.is_empty() {
            children = self.family.all();
        }
        if children.is_empty() {
            return Err(ToolError(
                "there are no agents to wait for: none was started, or all are closed".into(),
            ));
        }
        Ok(children)
    }

    async fn wait(&self, call: &ToolCall, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let arguments: Arguments = arguments(call)?;
        let children = self.asked(&arguments)?;
        let limit = arguments.timeout_ms.map(|millis| Duration::from_millis(millis.min(LONGEST)));
        let waited = self.family.wait(&children, arguments.until, limit, &cx.cancel).await;
        let all: Vec<Report> = children.iter().map(|child| child.report()).collect();
        let told = reports(&all);
        let outcome = match waited {
            Waited::Done => ToolOutcome::ok(told),
            Waited::TimedOut => ToolOutcome::ok(format!("{told}\n\n[the time to wait is up]")),
            Waited::Interrupted => ToolOutcome::error(format!("{told}\n\n[the wait was interrupted]")),
        };
        // For dialects that tell it otherwise: an answer can look like a report, so the text is not to be read back.
        let data = json!({"agents": report_data(&all), "timed_out": waited == Waited::TimedOut});
        Ok(ToolOutcome { data: Some(Arc::new(data)), ..outcome })
    }
}

impl Tool for Wait {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// It does nothing to the world. Whom it names is looked up when it runs: in the same round somebody
    /// may be started.
    fn actions<'a>(
        &'a self,
        _call: &'a ToolCall,
        _cx: &'a ToolCx,
    ) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            let outcome = self.wait(permit.call(), cx).await;
            outcome.unwrap_or_else(|error| ToolOutcome::error(error.to_string()))
        })
    }
}
