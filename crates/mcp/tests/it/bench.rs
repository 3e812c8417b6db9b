//! A hub with servers, and tools called the way a session calls them: through the gate.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use junto_core::{
    Caller, EventLog, Fut, Gate, Leash, Offer, Open, Plan, Policy, Question, Rejected, Spool, Tool, ToolCall,
    ToolCx, ToolError, ToolOutcome, ToolSource, Verdict, Via,
};
use junto_env::{ExecutionEnvironment, LocalEnvironment, survivors};
use junto_mcp::config::{Reach, ServerConfig};
use junto_mcp::{Hub, Places};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Nothing here takes this long; what does hangs.
pub(crate) const HANG: Duration = Duration::from_mins(1);

/// A hub, the tools that a session has of it, and where it works.
pub(crate) struct Bench {
    pub(crate) hub: Hub,
    pub(crate) source: Arc<dyn ToolSource>,
    pub(crate) env: Arc<LocalEnvironment>,
    pub(crate) shown: Arc<Mutex<String>>,
    policy: Arc<dyn Policy>,
    /// Where the servers run.
    _folder: tempfile::TempDir,
}

/// A server of ours that does what its arguments say.
pub(crate) fn faulty(modes: &[&str]) -> ServerConfig {
    named("faulty", modes)
}

pub(crate) fn named(name: &str, modes: &[&str]) -> ServerConfig {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/faulty.py");
    ServerConfig::program(name, "python3", [script].iter().chain(modes).copied())
}

/// The program of a server.
pub(crate) fn launch(server: &mut ServerConfig) -> &mut junto_mcp::config::Launch {
    match &mut server.reach {
        Reach::Program(launch) => launch,
        Reach::Http(_) => panic!("it is no program"),
    }
}

/// Denies tools of this name.
pub(crate) struct Denies(pub(crate) &'static str);

impl Policy for Denies {
    fn decide(&self, actions: &[junto_core::Action]) -> Verdict {
        let denied = actions
            .iter()
            .any(|action| matches!(action, junto_core::Action::Tool { name, .. } if name == self.0));
        if denied { Verdict::Deny { reason: "not this one".to_owned() } } else { Verdict::Allow(Leash::Kept) }
    }
}

/// Keeps what is shown.
struct Watcher(Arc<Mutex<String>>);

impl Caller for Watcher {
    fn show(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }

    fn spool(&self) -> Spool {
        junto_core::Alone.spool()
    }

    fn plan(&self, _plan: Plan) -> Fut<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }

    fn ask(&self, _question: Question) -> Fut<'_, Result<String, ToolError>> {
        Box::pin(async { Err(ToolError("nobody".to_owned())) })
    }
}

impl Bench {
    pub(crate) fn new(servers: Vec<ServerConfig>) -> Self {
        Self::judged(servers, Arc::new(Open))
    }

    pub(crate) fn judged(servers: Vec<ServerConfig>, policy: Arc<dyn Policy>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let env = environment(folder.path());
        let hub = Hub::new(servers, Places::open(Arc::clone(&env) as Arc<dyn ExecutionEnvironment>));
        let source = hub.tools_for_session();
        Self { source, hub, env, shown: Arc::default(), policy, _folder: folder }
    }

    /// With all servers up or failed.
    pub(crate) async fn ready(servers: Vec<ServerConfig>) -> Self {
        let bench = Self::new(servers);
        tokio::time::timeout(HANG, bench.hub.ready()).await.unwrap();
        bench
    }

    pub(crate) fn offer(&self) -> Offer {
        self.source.version();
        self.source.offer()
    }

    pub(crate) fn declared(&self) -> Vec<String> {
        self.offer().declared.iter().map(|tool| tool.spec().name.clone()).collect()
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let Offer { declared, behind } = self.offer();
        let known: Vec<_> = declared.into_iter().chain(behind).collect();
        let found = known.iter().find(|tool| tool.spec().name == name).cloned();
        found.unwrap_or_else(|| {
            let names: Vec<_> = known.iter().map(|tool| &tool.spec().name).collect();
            panic!("no {name} among {names:?}")
        })
    }

    pub(crate) fn cx(&self) -> ToolCx {
        let caller = Arc::new(Watcher(Arc::clone(&self.shown)));
        ToolCx { caller, ..ToolCx::alone(Arc::clone(&self.env) as Arc<dyn ExecutionEnvironment>) }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutcome {
        self.call_in(name, arguments, &self.cx()).await
    }

    /// Calls a tool as a session does: what it would do is judged first.
    pub(crate) async fn call_in(&self, name: &str, arguments: Value, cx: &ToolCx) -> ToolOutcome {
        let tool = self.tool(name);
        let call = ToolCall::function("c", name, arguments.to_string());
        let actions = tool.actions(&call, cx).await.unwrap();
        let log = EventLog::in_memory(Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
        let gate = Gate::new(Arc::clone(&self.policy), log);
        let permit = match gate.pass(call, actions, Via::Loop, &CancellationToken::new()).await {
            Ok(permit) => permit,
            Err(Rejected::Failed(error)) => panic!("{error}"),
            Err(rejected) => return ToolOutcome::error(rejected.message()),
        };
        tokio::time::timeout(HANG, tool.run(permit, cx)).await.expect("it hangs")
    }

    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        assert!(!outcome.is_error, "{}", outcome.output.preview());
        outcome.output.preview().into_owned()
    }

    /// Ends the servers, and checks that nothing is left of them.
    pub(crate) async fn close(self) {
        tokio::time::timeout(HANG, self.hub.close()).await.expect("it hangs");
        assert_eq!(survivors::after(&self.env, HANG), []);
    }

    pub(crate) async fn fails(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        assert!(outcome.is_error, "{}", outcome.output.preview());
        outcome.output.preview().into_owned()
    }
}

/// An environment in a folder, with the search path of the tests, a key that nobody may get, and nothing else.
pub(crate) fn environment(folder: &Path) -> Arc<LocalEnvironment> {
    let path = format!("/usr/bin:/bin:{}", std::env::var("PATH").unwrap());
    let variables = [("PATH", path.as_str()), ("OPENAI_API_KEY", "sesame")];
    Arc::new(LocalEnvironment::builder(folder).variables(variables).build().unwrap())
}
