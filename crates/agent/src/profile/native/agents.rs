//! Other agents, as the vendors' agents start and tell of them.

use junto_core::ToolOutcome;
use serde_json::{Value, json};

use super::adapter::{Came, Ours};
use super::arguments::{flag, required, text};

/// The kinds of agents that vendors have built in: for us they are the session's own kind.
const BUILT_IN: &[&str] = &[
    "general-purpose",
    "Explore",
    "Plan",
    "default",
    "worker",
    "explorer",
    "generalist",
    "codebase_investigator",
];

/// The arguments of `spawn_agent`.
fn spawn(task: &str, kind: Option<&str>, model: Option<&str>, wait: bool) -> Ours {
    let mut arguments = json!({ "task": task, "wait": wait });
    if let Some(kind) = kind.filter(|kind| !BUILT_IN.contains(kind)) {
        arguments["kind"] = kind.into();
    }
    if let Some(model) = model {
        arguments["model"] = model.into();
    }
    Ours::new("spawn_agent", arguments)
}

/// The id in `ID: how it stands`.
fn id(said: &str) -> &str {
    said.split_once(": ").map_or(said, |(id, _)| id)
}

pub(super) mod codex {
    use super::super::arguments::{list, number, renamed};
    use super::*;

    pub(in super::super) fn spawn(args: &Value) -> Result<Ours, String> {
        let (kind, model) = (text(args, "agent_type"), text(args, "model"));
        Ok(super::spawn(required(args, "message")?, kind, model, false))
    }

    pub(in super::super) fn spawned(came: Came<'_>) -> ToolOutcome {
        came.said(|said, is_error| match is_error {
            true => said.to_owned(),
            false => json!({"agent_id": id(said), "nickname": null}).to_string(),
        })
    }

    pub(in super::super) fn send(args: &Value) -> Result<Ours, String> {
        let names = [("target", "agent_id"), ("message", "message"), ("interrupt", "interrupt")];
        Ok(Ours::new("send_input", renamed(args, &names)))
    }

    pub(in super::super) fn sent(came: Came<'_>) -> ToolOutcome {
        came.said(|said, is_error| match is_error {
            true => said.to_owned(),
            false => json!({ "submission_id": id(said) }).to_string(),
        })
    }

    pub(in super::super) fn wait(args: &Value) -> Result<Ours, String> {
        let limit = number(args, "timeout_ms").unwrap_or(30_000).clamp(10_000, 3_600_000);
        let mut arguments = renamed(args, &[("targets", "agent_ids")]);
        arguments["timeout_ms"] = limit.into();
        arguments["until"] = "first".into();
        Ok(Ours::new("wait", arguments))
    }

    pub(in super::super) fn waited(came: Came<'_>) -> ToolOutcome {
        let ids: Vec<&str> = list(came.args, "targets").iter().filter_map(Value::as_str).collect();
        let status = |said: &str| {
            let timed_out = said.ends_with("[the time to wait is up]");
            let said = said.trim_end_matches("[the time to wait is up]");
            json!({"status": statuses(said, &ids), "timed_out": timed_out}).to_string()
        };
        came.said(|said, is_error| if is_error { said.to_owned() } else { status(said) })
    }

    /// How each agent stands, from reports that begin with the agent's id.
    fn statuses(said: &str, ids: &[&str]) -> Value {
        let mut statuses = serde_json::Map::new();
        let mut current: Option<(&str, &str, Vec<&str>)> = None;
        let mut close = |report: Option<(&str, &str, Vec<&str>)>| {
            if let Some((id, head, lines)) = report {
                statuses.insert(id.to_owned(), status(head, lines.join("\n").trim_end()));
            }
        };
        for line in said.lines() {
            let head = line.split_once(": ").filter(|(id, _)| ids.contains(id));
            match (head, &mut current) {
                (Some((id, head)), _) => close(current.replace((id, head, Vec::new()))),
                (None, Some((.., lines))) => lines.push(line),
                (None, None) => {}
            }
        }
        close(current);
        Value::Object(statuses)
    }

    fn status(head: &str, answer: &str) -> Value {
        match head.split([' ', ';']).next().unwrap_or_default() {
            "completed" => json!({ "completed": answer }),
            "failed" => json!({ "errored": if answer.is_empty() { head } else { answer } }),
            "closed" => json!("shutdown"),
            _ => json!("running"),
        }
    }

    pub(in super::super) fn close(args: &Value) -> Result<Ours, String> {
        Ok(Ours::new("close_agent", renamed(args, &[("target", "agent_id")])))
    }

    pub(in super::super) fn closed(came: Came<'_>) -> ToolOutcome {
        came.said(|said, is_error| {
            let before = said.split_once("(it was ").and_then(|(_, rest)| rest.split([';', ')']).next());
            match before {
                Some(before) if !is_error => json!({ "previous_status": before }).to_string(),
                _ => said.to_owned(),
            }
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn reports_become_statuses() {
            let said = "a: completed (success: true, turns used: 2)\none\n\nb: no id\n\nb: running (success: \
                        false, turns used: 1)\n\nc: failed (success: false, turns used: 1); it broke\n\n";
            let expected = json!({
                "a": {"completed": "one\n\nb: no id"},
                "b": "running",
                "c": {"errored": "failed (success: false, turns used: 1); it broke"}
            });
            // An answer can look like a report; the last one that names an agent counts.
            let found = statuses(said, &["a", "b", "c"]);
            assert_eq!((&found["b"], &found["c"]), (&expected["b"], &expected["c"]));
            assert_eq!(found["a"]["completed"], "one");
        }
    }
}

pub(super) mod claude {
    use super::super::arguments::renamed;
    use super::*;

    pub(in super::super) fn spawn(args: &Value) -> Result<Ours, String> {
        let wait = !flag(args, "run_in_background");
        Ok(super::spawn(required(args, "prompt")?, text(args, "subagent_type"), None, wait))
    }

    pub(in super::super) fn spawned(came: Came<'_>) -> ToolOutcome {
        let started = flag(came.args, "run_in_background");
        came.said(|said, is_error| match started && !is_error {
            true => format!("The agent works in the background.\nagentId: {}", id(said)),
            false => said.to_owned(),
        })
    }

    pub(in super::super) fn send(args: &Value) -> Result<Ours, String> {
        Ok(Ours::new("send_input", renamed(args, &[("to", "agent_id"), ("message", "message")])))
    }

    pub(in super::super) fn sent(came: Came<'_>) -> ToolOutcome {
        came.outcome
    }
}

pub(super) mod gemini {
    use super::*;

    pub(in super::super) fn invoke(args: &Value) -> Result<Ours, String> {
        Ok(super::spawn(required(args, "prompt")?, text(args, "agent_name"), None, true))
    }

    pub(in super::super) fn invoked(came: Came<'_>) -> ToolOutcome {
        let name = text(came.args, "agent_name").unwrap_or_default().to_owned();
        came.said(|said, is_error| {
            let reason = if is_error { "ERROR" } else { "GOAL" };
            format!("Subagent '{name}' finished.\nTermination Reason: {reason}\nResult:\n{said}")
        })
    }
}
