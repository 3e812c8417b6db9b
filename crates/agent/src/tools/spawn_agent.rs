//! `spawn_agent`: a task for an agent of its own.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use junto_core::{
    Action, AgentKind, AgentSpec, Fut, Limits, Permit, Spawner, Tool, ToolCx, ToolError, ToolOutcome, Workdir,
};
use junto_env::wrappers::Scoped;
use junto_env::{ErrorKind, ExecutionEnvironment, RealPath};
use junto_llm::{CallId, ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{arguments, resolve};
use crate::family::{Child, Errand, Family, Until, refusal};

/// Starts an agent of any kind on a task. It goes on after the call, unless the call waits for it.
pub(crate) struct SpawnAgent {
    spec: ToolSpec,
    family: Arc<Family>,
    /// The kind that is started if the model names none.
    kind: String,
}

#[derive(Deserialize)]
struct Arguments {
    task: String,
    kind: Option<String>,
    model: Option<String>,
    working_dir: Option<String>,
    #[serde(default)]
    max_turns: u32,
    #[serde(default)]
    wait: bool,
}

fn description(most: usize) -> String {
    format!(
        "Start an agent that works on a task beside you: in the same files, but with a conversation of its \
         own. You get its id at once and can go on; `wait` gives you its answer, `send_input` tells it more, \
         `close_agent` ends it. Start several when parts of the work do not depend on each other.\n\
         It is worth it to look into several places of a large code base at once; to have one module \
         changed without the details in your conversation (give it that `working_dir`); to have tests run \
         and mended while you do something else; to try different solutions and keep the best. It is not \
         worth it for what a few calls of your own would do.\n\
         The agent knows nothing of what was said here: put everything it needs into the task, and say what \
         it shall report. Do not let two agents change the same files. At most {most} can exist at a time. \
         All end with your session, so wait for those whose work you need before you give your answer."
    )
}

/// What the model is told of the kinds there are.
fn kind_schema(kinds: &[AgentKind], own: &str) -> Value {
    let mut schema = json!({"type": "string"});
    let mut description = format!("The kind of agent; `{own}`, your own, by default.");
    for AgentKind { name, description: about } in kinds {
        let _ = write!(description, " `{name}`: {about}.");
    }
    schema["description"] = description.into();
    if !kinds.is_empty() {
        schema["enum"] = kinds.iter().map(|kind| kind.name.as_str()).collect();
    }
    schema
}

impl SpawnAgent {
    pub(crate) fn new(family: Arc<Family>, kind: String) -> Self {
        let kinds = family.spawner().map(Spawner::kinds).unwrap_or_default();
        let spec = ToolSpec::foreign(
            "spawn_agent",
            description(family.max_children()),
            json!({
                "type": "object",
                "properties": {
                    "task": {"type": "string", "description": "The task, with everything the agent must know"},
                    "kind": kind_schema(&kinds, &kind),
                    "model": {"type": "string", "description": "The model; that of its kind by default"},
                    "working_dir": {"type": "string", "description": "The directory it works in, within yours, and whose files alone it reads and edits; yours by default"},
                    "max_turns": {"type": "integer", "minimum": 0, "maximum": u32::MAX, "description": "How many turns it may take: its task is one, and so is each of its answers and the results of each round of its tools; 0, the default, is no limit"},
                    "wait": {"type": "boolean", "description": "Whether to wait for its answer, which this call then gives, and to end the agent with the call; false by default"}
                },
                "required": ["task"]
            }),
        );
        Self { spec, family, kind }
    }

    /// The agent that the call asks for.
    async fn asked(&self, call: &ToolCall, cx: &ToolCx) -> Result<AgentSpec, ToolError> {
        let Arguments { task, kind, model, working_dir, max_turns, .. } = arguments(call)?;
        if task.trim().is_empty() {
            return Err(ToolError("the task is empty".to_owned()));
        }
        // Before anything is waited for: the calls of a round come here in their order.
        let id = CallId(call.id.clone());
        self.family.set_name_aside(&id);
        let workdir = match working_dir {
            Some(path) => {
                let real = directory(&*cx.env, &path).await;
                let real = real.inspect_err(|_| self.family.release_name(&id))?;
                Workdir::Path(PathBuf::from(real.as_path()))
            }
            None => Workdir::Shared,
        };
        Ok(AgentSpec {
            kind: kind.unwrap_or_else(|| self.kind.clone()),
            model,
            workdir,
            limits: Limits { max_turns, ..Limits::default() },
            ..AgentSpec::default()
        })
    }

    async fn spawn(&self, permit: &Permit, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let call = permit.call();
        let Arguments { task, wait, .. } = arguments(call)?;
        // As it was judged: what a name leads to may have changed since.
        let spec = permit.actions().iter().find_map(|action| match action {
            Action::Spawn { spec } => Some(spec.clone()),
            _ => None,
        });
        let spec = spec.ok_or_else(|| ToolError("no agent was named".to_owned()))?;
        let env = environment(&cx.env, &spec.workdir).await?;
        let errand = Errand { spec, task, env, call: CallId(call.id.clone()) };
        let child = self.family.spawn(errand).await.map_err(|error| refusal(&error))?;
        if wait {
            return Ok(self.answer(&child, cx).await);
        }
        Ok(ToolOutcome::ok(format!("{}: running", child.name())))
    }

    /// Waits for a child's answer, and ends it.
    async fn answer(&self, child: &Arc<Child>, cx: &ToolCx) -> ToolOutcome {
        self.family.wait(std::slice::from_ref(child), Until::All, None, &cx.cancel).await;
        self.family.end(child).await;
        let report = child.report();
        match report.why() {
            None => ToolOutcome::ok(report.text),
            Some(why) if report.text.is_empty() => ToolOutcome::error(format!("[the agent {why}]")),
            Some(why) => ToolOutcome::error(format!("{}\n\n[the agent {why}]", report.text)),
        }
    }
}

/// A directory within the working directory.
async fn directory(env: &dyn ExecutionEnvironment, path: &str) -> Result<RealPath, ToolError> {
    let real = resolve(env, path).await?;
    let cwd = &env.facts().cwd;
    if !real.is_within(cwd) {
        return Err(ToolError(format!("{real} is not within your working directory, {cwd}")));
    }
    match env.list(&real, 1).await {
        // There may be more in it than can be listed at once.
        Err(error) if error.kind() != ErrorKind::TooLarge => Err(error.into()),
        _ => Ok(real),
    }
}

/// Where a child works: where its parent does, or in a part of that.
async fn environment(
    own: &Arc<dyn ExecutionEnvironment>,
    workdir: &Workdir,
) -> Result<Arc<dyn ExecutionEnvironment>, ToolError> {
    let Workdir::Path(path) = workdir else { return Ok(Arc::clone(own)) };
    let path = path.to_str().ok_or_else(|| ToolError("the directory's name is no UTF-8".to_owned()))?;
    Ok(Arc::new(Scoped::new(Arc::clone(own), path).await?))
}

impl Tool for SpawnAgent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move { Ok(vec![Action::Spawn { spec: self.asked(call, cx).await? }]) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            let outcome = self.spawn(&permit, cx).await;
            outcome.unwrap_or_else(|error| ToolOutcome::error(error.to_string()))
        })
    }
}
