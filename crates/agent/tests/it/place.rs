//! A directory in which single tools are called, without a session.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use junto_core::{
    Action, EventLog, Gate, MemoryJournal, Open, Seq, Tool, ToolCx, ToolError, ToolOutcome, Via,
};
use junto_env::{ExecutionEnvironment, LocalEnvironment};
use junto_llm::{SessionId, ToolCall};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Place {
    dir: TempDir,
    pub(crate) cx: ToolCx,
    gate: Gate,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::around(|local| Arc::new(local))
    }

    /// A place whose tools see it through something.
    pub(crate) fn around(wrap: impl FnOnce(LocalEnvironment) -> Arc<dyn ExecutionEnvironment>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let env = wrap(LocalEnvironment::new(dir.path()).unwrap());
        let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
        let log = EventLog::new(SessionId::fresh(), Arc::new(MemoryJournal::default()), Seq(0), clock);
        Self { dir, cx: ToolCx::alone(env), gate: Gate::new(Arc::new(Open), log) }
    }

    /// A place with these files.
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        let place = Self::new();
        for (name, content) in files {
            place.write(name, content);
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Every file below the place, by path, with its content.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        let mut pending = vec![self.path("")];
        while let Some(dir) = pending.pop() {
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path);
                } else {
                    let name = path.strip_prefix(self.path("")).unwrap().to_string_lossy().into_owned();
                    files.push((name, std::fs::read(&path).unwrap()));
                }
            }
        }
        files.sort();
        files
    }

    pub(crate) async fn actions(&self, tool: &dyn Tool, args: &Value) -> Result<Vec<Action>, ToolError> {
        tool.actions(&self.call_of(tool, args), &self.cx).await
    }

    fn call_of(&self, tool: &dyn Tool, args: &Value) -> ToolCall {
        // Tests name files in the place by `PLACE`.
        let args = args.to_string().replace("PLACE", self.path("").to_str().unwrap().trim_end_matches('/'));
        ToolCall::function("call", &tool.spec().name, args)
    }

    /// Calls a tool as the loop does.
    pub(crate) async fn outcome(&self, tool: &dyn Tool, args: Value) -> ToolOutcome {
        let call = self.call_of(tool, &args);
        let actions = match tool.actions(&call, &self.cx).await {
            Ok(actions) => actions,
            Err(error) => return ToolOutcome::error(error.to_string()),
        };
        let permit = self.gate.pass(call, actions, Via::Loop, &self.cx.cancel).await.unwrap();
        tool.run(permit, &self.cx).await
    }

    /// What a tool says, and whether it worked. The place's own path is `PLACE`.
    pub(crate) async fn call(&self, tool: &dyn Tool, args: Value) -> Result<String, String> {
        let outcome = self.outcome(tool, args).await;
        let said = outcome.output.preview();
        let said = said.replace(self.path("").to_str().unwrap().trim_end_matches('/'), "PLACE");
        if outcome.is_error { Err(said) } else { Ok(said) }
    }

    /// Calls a tool that must work, and say this among other things.
    pub(crate) async fn works(&self, tool: &dyn Tool, args: Value, part: &str) {
        let said = self.call(tool, args.clone()).await.unwrap_or_else(|error| panic!("{args}: {error}"));
        assert!(said.contains(part), "{args}: {said}");
    }

    /// Calls a tool that must fail, and say this among other things.
    pub(crate) async fn fails(&self, tool: &dyn Tool, args: Value, part: &str) {
        let said = self.call(tool, args.clone()).await.expect_err(part);
        assert!(said.contains(part), "{args}: {said}");
    }
}
