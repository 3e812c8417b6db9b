//! A call of one of our tools, as a hook that was written for Claude Code expects to see it.

use junto_core::{Action, ToolOutcome};
use junto_llm::ToolCall;
use serde_json::{Map, Value, json};

use crate::alias;
use crate::tools::said_by_command;

/// Claude Code's names for our tools. The first is the one that hooks are told.
const NAMES: &[(&str, &[&str])] = &[
    ("ask_user", &["AskUserQuestion"]),
    ("edit_file", &["Edit", "MultiEdit"]),
    ("glob", &["Glob"]),
    ("grep", &["Grep"]),
    ("list_dir", &["LS"]),
    ("read_file", &["Read"]),
    ("shell", &["Bash"]),
    ("shell_kill", &["TaskStop", "KillShell"]),
    ("shell_output", &["TaskOutput", "BashOutput"]),
    ("skill", &["Skill"]),
    ("spawn_agent", &["Agent", "Task"]),
    ("update_plan", &["TodoWrite"]),
    ("web_fetch", &["WebFetch"]),
    ("web_search", &["WebSearch"]),
    ("write_file", &["Write"]),
];

/// A call as hooks see it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    /// All the names that a matcher may mean it by.
    pub(super) names: Vec<String>,
    /// What `tool_name` says.
    pub(super) name: String,
    /// What `tool_input` says.
    pub(super) input: Value,
}

/// What hooks see of a call that would do this. A call that changes several files is seen once for each, as an edit
/// of it: a hook that watches over files sees all of them, whatever tool the model has for that.
pub(super) fn views(call: &ToolCall, actions: &[Action]) -> Vec<View> {
    let ours = alias::ours(&call.name).unwrap_or(&call.name);
    let arguments = call.arguments.as_object().cloned().unwrap_or_default();
    let written: Vec<String> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Write { path } => Some(path.to_string()),
            _ => None,
        })
        .collect();
    if ours == "apply_patch" && !written.is_empty() {
        let names = ["Edit", "MultiEdit", "Write", ours, &call.name].map(str::to_owned);
        let view = |path: &String| {
            let mut input = arguments.clone();
            input.insert("file_path".to_owned(), json!(path));
            View { names: names.to_vec(), name: "Edit".to_owned(), input: Value::Object(input) }
        };
        return written.iter().map(view).collect();
    }
    if let Some(name) = foreign(ours, actions) {
        let names = vec![name.clone(), ours.to_owned()];
        return vec![View { names, name, input: Value::Object(arguments) }];
    }
    let known = NAMES.iter().find(|(name, _)| *name == ours).map_or(&[][..], |(_, names)| *names);
    let name = known.first().copied().unwrap_or(ours).to_owned();
    let own = [ours, call.name.as_str()];
    let names = known.iter().copied().chain(own).map(str::to_owned).collect();
    vec![View { names, name, input: Value::Object(completed(ours, arguments, actions)) }]
}

/// The name of a tool of an MCP server.
fn foreign(ours: &str, actions: &[Action]) -> Option<String> {
    let is_one = matches!(actions, [Action::Tool { name, .. }] if name == ours) && ours.contains("__");
    is_one.then(|| format!("mcp__{ours}"))
}

/// The arguments, with what the call would really do under the names that Claude Code has for it.
fn completed(ours: &str, mut input: Map<String, Value>, actions: &[Action]) -> Map<String, Value> {
    let fact = actions.iter().find_map(|action| match (ours, action) {
        ("shell", Action::Shell { line, .. }) => Some(("command", json!(line))),
        ("read_file", Action::Read { path }) | ("write_file" | "edit_file", Action::Write { path }) => {
            Some(("file_path", json!(path.to_string())))
        }
        _ => None,
    });
    if let Some((key, value)) = fact {
        input.insert(key.to_owned(), value);
    }
    input
}

/// What `tool_response` says of an outcome, and how it is read by those that look into it.
pub(super) fn response(view: &View, outcome: &ToolOutcome) -> Value {
    let text = outcome.output.preview();
    if view.names.iter().any(|name| name == "Bash") {
        let said = said_by_command(&text);
        return json!({"stdout": said, "stderr": "", "interrupted": false, "isImage": false});
    }
    match view.input.get("file_path") {
        Some(path) => json!({"filePath": path, "success": !outcome.is_error, "output": text}),
        None => json!({"success": !outcome.is_error, "output": text}),
    }
}

#[cfg(test)]
mod tests {
    use junto_env::RealPath;

    use super::*;

    fn path(text: &str) -> RealPath {
        serde_json::from_value(json!(text)).unwrap()
    }

    #[test]
    fn every_dialect_looks_like_claude_code() {
        let check = |tool: &str, arguments: Value, action: Option<Action>, expected: &[(&str, Value)]| {
            let call = ToolCall::function("c", tool, arguments.to_string());
            let actions: Vec<Action> = action.into_iter().collect();
            let views = views(&call, &actions);
            let told: Vec<_> = views.iter().map(|view| (view.name.as_str(), view.input.clone())).collect();
            assert_eq!(told, expected, "{tool}");
        };
        let shell = || Some(Action::Shell { line: "ls -l".into(), cwd: path("/w") });
        let bash = |input: Value| [("Bash", input)];
        check("shell", json!({"command": "ls -l"}), shell(), &bash(json!({"command": "ls -l"})));
        check("Bash", json!({"command": "ls -l"}), shell(), &bash(json!({"command": "ls -l"})));
        check(
            "exec_command",
            json!({"cmd": "ls -l"}),
            shell(),
            &bash(json!({"cmd": "ls -l", "command": "ls -l"})),
        );
        let read = Some(Action::Read { path: path("/w/a.rs") });
        check("read_file", json!({"file_path": "a.rs"}), read, &[("Read", json!({"file_path": "/w/a.rs"}))]);
        let write = || Some(Action::Write { path: path("/w/a.rs") });
        let patch = json!({"patch": "…", "file_path": "/w/a.rs"});
        check("apply_patch", json!({"patch": "…"}), write(), &[("Edit", patch)]);
        let args = json!({"q": 1});
        let tool = Some(Action::Tool { name: "memory__find".into(), args: args.clone() });
        check("memory__find", args.clone(), tool, &[("mcp__memory__find", args.clone())]);
        check("mine", args.clone(), None, &[("mine", args)]);
    }

    #[test]
    fn the_names_are_sorted_and_those_of_tools() {
        assert!(NAMES.is_sorted_by(|(a, _), (b, _)| a < b));
        let own = ["skill", "spawn_agent", "web_search"];
        for (name, _) in NAMES {
            assert!(crate::tools::named(name).is_some() || own.contains(name), "{name}");
        }
    }
}
