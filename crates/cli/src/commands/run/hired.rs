//! An agent that somebody else drives, and the servers that it has for itself.

use std::sync::Arc;

use junto::core::{Abilities, Ack, Agent, AgentError, AgentId, Command, EventLog, Fut, Outcome};
use junto::mcp::Hub;

/// An agent whose servers end with it.
pub(super) struct Hired {
    pub(super) agent: Arc<dyn Agent>,
    pub(super) servers: Hub,
}

impl Agent for Hired {
    fn abilities(&self) -> Abilities {
        self.agent.abilities()
    }

    fn log(&self) -> &EventLog {
        self.agent.log()
    }

    fn send(&self, command: Command) -> Fut<'_, Result<Ack, AgentError>> {
        self.agent.send(command)
    }

    fn close(&self) -> Fut<'_, Outcome> {
        Box::pin(async {
            let outcome = self.agent.close().await;
            self.servers.close().await;
            outcome
        })
    }

    fn kill(&self) -> bool {
        self.agent.kill()
    }

    fn ended(&self) -> Fut<'_, Outcome> {
        self.agent.ended()
    }

    fn child(&self, id: &AgentId) -> Option<Arc<dyn Agent>> {
        self.agent.child(id)
    }
}
