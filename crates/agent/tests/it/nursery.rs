//! Makes children like their parent, and the plays of such families.

use std::sync::{Arc, Mutex};

use junto_agent::{Session, SessionConfig};
use junto_core::{Agent, AgentError, AgentKind, AgentSpec, Fut, Parent, Spawner};
use junto_twin::{Step, When};
use serde_json::{Value, json};

/// Makes children like their parent.
#[derive(Default)]
pub(crate) struct Nursery(Mutex<Option<SessionConfig>>);

impl Spawner for Nursery {
    fn spawn(&self, spec: AgentSpec, parent: Parent) -> Fut<'_, Result<Arc<dyn Agent>, AgentError>> {
        let config = self.0.lock().unwrap().as_ref().unwrap().child(&spec, &parent);
        Box::pin(async move { Ok(Arc::new(Session::start(config).await?) as Arc<dyn Agent>) })
    }

    fn kinds(&self) -> Vec<AgentKind> {
        vec![AgentKind { name: "native".into(), description: "is like you".into() }]
    }
}

pub(crate) fn with_children(config: SessionConfig) -> SessionConfig {
    let nursery = Arc::new(Nursery::default());
    let config = SessionConfig { spawner: Some(Arc::clone(&nursery) as _), ..config };
    *nursery.0.lock().unwrap() = Some(config.clone());
    config
}

/// A step of the one who was told this, in this round.
pub(crate) fn told(what: &str, round: u32, step: Step) -> Step {
    step.when(When { contains: Some(what.into()), round: Some(round), ..When::default() })
}

/// What the parent does when it is told to delegate: calls, one after another, and then it says what the
/// last of them gave.
pub(crate) fn delegates(calls: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let mut steps: Vec<Step> = calls.into_iter().collect();
    steps.push(Step::text("{{last_result}}"));
    (0..).zip(steps).map(|(round, step)| told("Delegate", round, step)).collect()
}

/// Starts a child on a task.
pub(crate) fn spawn(task: &str) -> Step {
    Step::call("spawn_agent", json!({"task": task}))
}

pub(crate) fn wait(arguments: Value) -> Step {
    Step::call("wait", arguments)
}

/// Runs a command.
pub(crate) fn shell(command: &str) -> Step {
    Step::call("shell", json!({"command": command, "timeout_ms": 600_000}))
}

/// Makes a pipe that a command can wait at.
pub(crate) fn pipe(path: &std::path::Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
}
