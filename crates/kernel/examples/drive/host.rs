//! The tools of an MCP server, called the way a session calls them: through the gate.

use std::sync::Arc;

use junto_core::{
    EventLog, Fut, Gate, Listed, Open, Tool, ToolCall, ToolCx, ToolHost, ToolOutcome, ToolSource, ToolSpec,
    Via,
};
use junto_env::ExecutionEnvironment;
use junto_mcp::config::ServerConfig;
use junto_mcp::{Hub, Places};
use tokio_util::sync::CancellationToken;

use crate::Outcome;

/// The server, and who judges its calls.
pub(crate) struct Served {
    hub: Hub,
    source: Arc<dyn ToolSource>,
    env: Arc<dyn ExecutionEnvironment>,
    gate: Gate,
}

impl Served {
    /// Starts the server and waits for it.
    pub(crate) async fn new(command: &[String], env: Arc<dyn ExecutionEnvironment>) -> Outcome<Arc<Self>> {
        let (program, args) = command.split_first().ok_or("there is no server")?;
        let server = ServerConfig::program("peer", program.as_str(), args.iter().map(String::as_str));
        let hub = Hub::new(vec![server], Places::open(Arc::clone(&env)));
        let source = hub.tools_for_session();
        hub.ready().await;
        source.version();
        let gate = Gate::new(Arc::new(Open), EventLog::in_memory(Arc::new(jiff::Timestamp::now)));
        Ok(Arc::new(Self { hub, source, env, gate }))
    }

    /// Ends the server.
    pub(crate) async fn close(&self) {
        self.hub.close().await;
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let offer = self.source.offer();
        offer.declared.into_iter().chain(offer.behind).collect()
    }

    async fn judged(&self, call: ToolCall, via: Via) -> Result<ToolOutcome, String> {
        let tool = self.tools().into_iter().find(|tool| tool.spec().name == call.name);
        let tool = tool.ok_or_else(|| format!("there is no {}", call.name))?;
        let cx = ToolCx::alone(Arc::clone(&self.env));
        let actions = tool.actions(&call, &cx).await.map_err(|error| error.to_string())?;
        let passed = self.gate.pass(call, actions, via, &CancellationToken::new()).await;
        Ok(tool.run(passed.map_err(|rejected| rejected.message())?, &cx).await)
    }
}

impl ToolHost for Served {
    fn specs(&self) -> Vec<ToolSpec> {
        self.tools().iter().map(|tool| tool.spec().clone()).collect()
    }

    fn catalog(&self) -> Vec<Listed> {
        let listed = |tool: &Arc<dyn Tool>| Listed { spec: tool.spec().clone(), listing: tool.listing() };
        self.tools().iter().map(listed).collect()
    }

    fn call(&self, call: ToolCall, via: Via) -> Fut<'_, ToolOutcome> {
        Box::pin(async move { self.judged(call, via).await.unwrap_or_else(ToolOutcome::error) })
    }
}
