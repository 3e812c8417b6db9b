//! A hand that holds one tool at a time, without a session around it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use junto_core::{EventLog, Gate, Open, Tool, ToolCx, ToolOutcome, Via};
use junto_env::{LocalEnvironment, survivors};
use junto_llm::ToolCall;
use serde_json::Value;
use tempfile::TempDir;

/// A directory, and what a tool needs to work in it.
pub(crate) struct Hand {
    pub(crate) cx: ToolCx,
    env: Arc<LocalEnvironment>,
    gate: Gate,
    dir: TempDir,
}

impl Hand {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
        let env = Arc::new(LocalEnvironment::builder(dir.path()).variables(path).build().unwrap());
        let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
        let cx = ToolCx::alone(Arc::clone(&env) as _);
        Self { cx, env, gate: Gate::new(Arc::new(Open), log), dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// What comes of a call.
    pub(crate) async fn outcome(&self, tool: &dyn Tool, args: Value) -> ToolOutcome {
        let call = ToolCall::function("c", tool.spec().name.clone(), args.to_string());
        let actions = match tool.actions(&call, &self.cx).await {
            Ok(actions) => actions,
            Err(error) => return ToolOutcome::error(error.to_string()),
        };
        let permit = self.gate.pass(call, actions, Via::Loop, &self.cx.cancel).await.unwrap();
        tool.run(permit, &self.cx).await
    }

    /// What comes of a call, as text, and whether it failed.
    pub(crate) async fn call(&self, tool: &dyn Tool, args: Value) -> (String, bool) {
        let outcome = self.outcome(tool, args).await;
        (outcome.output.preview().into_owned(), outcome.is_error)
    }

    /// Ends what runs in the background, and checks that nothing is left.
    pub(crate) async fn end(self) {
        self.cx.jobs.end_all(Duration::ZERO).await;
        let env = Arc::clone(&self.env);
        let left = tokio::task::spawn_blocking(move || survivors::after(&env, Duration::from_secs(20)));
        assert_eq!(left.await.unwrap(), []);
    }
}
