//! Other agents, as the vendors' agents start and tell of them.

use junto_core::ToolOutcome;
use serde_json::{Map, Value, json};

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
    use super::super::adapter::Ask;
    use super::super::arguments::{list, number};
    use super::{Came, Map, Ours, ToolOutcome, Value, flag, id, json, required, text};

    pub(in super::super) fn spawn(args: &Value) -> Result<Ours, String> {
        let (kind, model) = (text(args, "agent_type"), text(args, "model"));
        Ok(super::spawn(required(args, "message")?, kind, model, false))
    }

    pub(in super::super) fn spawned(came: Came<'_>) -> ToolOutcome {
        came.said(|said, is_error| {
            if is_error {
                said.to_owned()
            } else {
                json!({"agent_id": id(said), "nickname": null}).to_string()
            }
        })
    }

    pub(in super::super) const SEND: Ask = Ask::Renamed(
        "send_input",
        &[("target", "agent_id"), ("message", "message"), ("interrupt", "interrupt")],
    );

    pub(in super::super) fn sent(came: Came<'_>) -> ToolOutcome {
        came.said(
            |said, is_error| {
                if is_error { said.to_owned() } else { json!({ "submission_id": id(said) }).to_string() }
            },
        )
    }

    pub(in super::super) fn wait(args: &Value) -> Result<Ours, String> {
        let limit = number(args, "timeout_ms").unwrap_or(30_000).clamp(10_000, 3_600_000);
        let ids = args.get("targets").ok_or("`targets` is missing (it is a list)")?;
        Ok(Ours::new("wait", json!({"agent_ids": ids, "timeout_ms": limit, "until": "first"})))
    }

    pub(in super::super) fn waited(came: Came<'_>) -> ToolOutcome {
        match came.outcome.data.as_deref() {
            Some(data) if !came.outcome.is_error => ToolOutcome::ok(statuses(data).to_string()),
            _ => ToolOutcome { data: None, ..came.outcome },
        }
    }

    /// How each agent stands, from what `wait` gives as data.
    fn statuses(data: &Value) -> Value {
        let of = |agent: &Value| Some((text(agent, "agent_id")?.to_owned(), status(agent)));
        let all: Map<String, Value> = list(data, "agents").iter().filter_map(of).collect();
        json!({"status": all, "timed_out": flag(data, "timed_out")})
    }

    fn status(agent: &Value) -> Value {
        let answer = text(agent, "answer").unwrap_or_default();
        match text(agent, "status") {
            Some("completed") => json!({ "completed": answer }),
            Some("failed") if answer.is_empty() => {
                json!({"errored": format!("it {}", text(agent, "why").unwrap_or("failed"))})
            }
            Some("failed") => json!({ "errored": answer }),
            Some("closed") => json!("shutdown"),
            _ => json!("running"),
        }
    }

    pub(in super::super) const CLOSE: Ask = Ask::Renamed("close_agent", &[("target", "agent_id")]);

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
            let check = |agent: Value, expected: Value| assert_eq!(status(&agent), expected, "{agent}");
            // An answer can look like a report.
            let answer = "Both work.\nagent-2: running";
            check(json!({"status": "completed", "answer": answer}), json!({ "completed": answer }));
            check(json!({"status": "running", "answer": ""}), json!("running"));
            check(json!({"status": "closed", "answer": "One."}), json!("shutdown"));
            check(json!({"status": "failed", "answer": "Half"}), json!({"errored": "Half"}));
            let why = json!({"status": "failed", "answer": "", "why": "was interrupted"});
            check(why, json!({"errored": "it was interrupted"}));
        }
    }
}

pub(super) mod claude {
    use super::super::adapter::Ask;
    use super::{Came, Ours, ToolOutcome, Value, flag, id, required, text};

    pub(in super::super) fn spawn(args: &Value) -> Result<Ours, String> {
        let wait = !flag(args, "run_in_background");
        Ok(super::spawn(required(args, "prompt")?, text(args, "subagent_type"), None, wait))
    }

    pub(in super::super) fn spawned(came: Came<'_>) -> ToolOutcome {
        let started = flag(came.args, "run_in_background");
        came.said(|said, is_error| {
            if started && !is_error {
                format!("The agent works in the background.\nagentId: {}", id(said))
            } else {
                said.to_owned()
            }
        })
    }

    pub(in super::super) const SEND: Ask =
        Ask::Renamed("send_input", &[("to", "agent_id"), ("message", "message")]);

    pub(in super::super) fn sent(came: Came<'_>) -> ToolOutcome {
        came.outcome
    }
}

pub(super) mod gemini {
    use super::{Came, Ours, ToolOutcome, Value, required, text};

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
