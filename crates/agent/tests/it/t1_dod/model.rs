//! A session with a profile, over a twin of the profile's provider; and what its model calls.

use std::sync::{Arc, Mutex};

use junto_agent::profile::{Family, Profile};
use junto_agent::{Session, SessionConfig, ToolRegistry};
use junto_core::{Agent, AgentError, AgentSpec, Fut, Parent, Spawner};
use junto_twin::{Call, Options, Step};
use serde_json::json;

use super::body::{Said, said};
use crate::stand::Stand;

/// The families whose vendors have agents of their own.
pub(crate) const FAMILIES: [Family; 3] = [Family::OpenAi, Family::Anthropic, Family::Gemini];

/// Runs a test with each profile.
pub(crate) async fn on_each_profile(test: impl AsyncFn(Family)) {
    for family in FAMILIES {
        test(family).await;
    }
}

/// A session with a family's profile.
pub(crate) async fn stand(family: Family, steps: impl Into<Vec<Step>>) -> Stand {
    stand_with(family, steps, |config| config).await
}

/// A session with a family's profile, and something else besides.
pub(crate) async fn stand_with(
    family: Family,
    steps: impl Into<Vec<Step>>,
    change: impl FnOnce(SessionConfig) -> SessionConfig,
) -> Stand {
    let profiled = |config| {
        change(SessionConfig {
            profile: Some(Profile::of(family)),
            system: String::new(),
            tools: ToolRegistry::default(),
            ..config
        })
    };
    Stand::with(family.wire().unwrap(), steps, Options::default(), profiled).await
}

/// What the requests said, in order.
pub(crate) fn requests(stand: &Stand) -> Vec<Said> {
    stand.twin.requests().iter().map(said).collect()
}

/// What the last request said.
pub(crate) fn last(stand: &Stand) -> Said {
    requests(stand).pop().expect("a request")
}

/// Makes children like their parent.
#[derive(Default)]
struct Nursery(Mutex<Option<SessionConfig>>);

impl Spawner for Nursery {
    fn spawn(&self, spec: AgentSpec, parent: Parent) -> Fut<'_, Result<Arc<dyn Agent>, AgentError>> {
        let config = self.0.lock().unwrap().as_ref().unwrap().child(&spec, &parent);
        Box::pin(async move { Ok(Arc::new(Session::start(config).await?) as Arc<dyn Agent>) })
    }
}

/// A session that may have children like itself.
pub(crate) fn with_children(config: SessionConfig) -> SessionConfig {
    let nursery = Arc::new(Nursery::default());
    let config = SessionConfig { spawner: Some(Arc::clone(&nursery) as _), ..config };
    *nursery.0.lock().unwrap() = Some(config.clone());
    config
}

fn lines(sign: char, text: &str) -> String {
    text.lines().map(|line| format!("{sign}{line}\n")).collect::<Vec<_>>().concat()
}

fn patch(operations: String) -> Call {
    Call::new("apply_patch", json!({"patch": format!("*** Begin Patch\n{operations}*** End Patch\n")}))
}

/// A new file, as a model of this family makes one.
pub(crate) fn create(family: Family, path: &str, content: &str) -> Call {
    match family {
        Family::OpenAi => patch(format!("*** Add File: {path}\n{}", lines('+', content))),
        _ => Call::new("write_file", json!({"file_path": path, "content": content})),
    }
}

/// A change of some lines, as a model of this family makes one.
pub(crate) fn edit(family: Family, path: &str, old: &str, new: &str) -> Call {
    match family {
        Family::OpenAi => {
            patch(format!("*** Update File: {path}\n@@\n{}{}", lines('-', old), lines('+', new)))
        }
        _ => Call::new("edit_file", json!({"file_path": path, "old_string": old, "new_string": new})),
    }
}

pub(crate) fn read(path: &str) -> Call {
    Call::new("read_file", json!({"file_path": path}))
}

/// A command that may take a minute.
pub(crate) fn shell(command: &str) -> Call {
    Call::new("shell", json!({"command": command, "timeout_ms": 60_000}))
}

/// A command that says `up` and waits for a line from the pipe `go`.
pub(crate) fn waits() -> Step {
    Step::calls([shell("mkfifo go; echo up; read line < go; echo $line")])
}
