//! What a host is told of the tools.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// What the server says of itself.
pub(super) const INSTRUCTIONS: &str = "Coding agents that work by themselves. `start` gives one a task and returns the \
    id of its run at once, or with `wait` its result; `status` tells what it is doing, `steer` tells it more while it \
    works or gives it the next task, `result` waits until it is done, `stop` ends it, \
    `apply` puts what a council of agents made on a branch. What an agent may do is set by \
    the configuration of this machine; where a person would be asked, the answer is no.";

/// The tools, for these kinds of agents.
pub(super) fn tools(kinds: &[(String, String)]) -> Vec<Tool> {
    let who: Vec<String> = kinds.iter().map(|(name, about)| format!("{name}: {about}")).collect();
    let run = json!({"type": "string", "description": "The id that start gave"});
    let start = json!({
        "task": {"type": "string", "description": "What to do, whole: the agent knows nothing of your conversation"},
        "agent": {"type": "string", "description": format!("Who does it. {}", who.join("; "))},
        "model": {"type": "string", "description": "The model, as PROVIDER/MODEL, an alias, or a council; else as configured"},
        "directory": {"type": "string", "description": "Where it works; else where this server was started"},
        "wait": {"type": "boolean", "description": "Whether to wait for the result; cancelling then stops the agent"}
    });
    vec![
        tool("start", "Give an agent a task", &start, &["task"], Kind::Acts),
        tool(
            "steer",
            "Tell an agent more while it works, or give it the next task when it is done",
            &json!({"run": run, "text": {"type": "string"}}),
            &["run", "text"],
            Kind::Acts,
        ),
        tool("status", "What an agent is doing, or all of them", &json!({"run": run}), &[], Kind::Looks),
        tool(
            "result",
            "Wait until an agent is done, and get its answer",
            &json!({"run": run}),
            &["run"],
            Kind::Looks,
        ),
        tool(
            "apply",
            "Put what a council of agents proposes on a branch of the repository",
            &json!({
                "council_run": {"type": "string", "description": "The id that the council's answer names; else the latest"},
                "candidate": {"type": "integer", "minimum": 0, "description": "Another one than the winner"},
                "directory": {"type": "string", "description": "The repository; else where this server was started"}
            }),
            &[],
            Kind::Acts,
        ),
        tool("stop", "End an agent", &json!({"run": run}), &["run"], Kind::Acts),
    ]
}

/// Whether a tool changes something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Acts,
    Looks,
}

fn tool(
    name: &'static str,
    description: &'static str,
    properties: &Value,
    required: &[&str],
    kind: Kind,
) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties.clone());
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    let hints = ToolAnnotations::new().read_only(kind == Kind::Looks);
    Tool::new(name, description, schema).with_annotations(hints)
}
