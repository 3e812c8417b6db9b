//! What the model is told about code.

use junto_core::{ToolKind, ToolSpec};
use serde_json::Value;

/// The section of the system prompt on when code beats single calls.
const TEXT: &str = include_str!("prompt.md");
/// Where the example stands in it.
const EXAMPLE: &str = "{{example}}";

/// Tools that make good examples, and what each is called with: which of them a session has depends on its profile.
const GOOD: &[(&str, &str)] = &[
    ("read_file", "README.md"),
    ("Read", "README.md"),
    ("shell", "ls"),
    ("exec_command", "ls"),
    ("shell_command", "ls"),
    ("Bash", "ls"),
    ("run_shell_command", "ls"),
];

/// That section, for a session with these tools.
pub(super) fn of(tools: &[ToolSpec]) -> String {
    let of_servers = "    from mcptools.<server> import <tool>    # of an MCP server";
    let example = match GOOD.iter().find_map(|(name, value)| call(tools, name, value)) {
        Some((name, call)) => {
            format!("    from mcptools.junto import {name}    # built in\n{of_servers}\n    text = {call}")
        }
        None => of_servers.to_owned(),
    };
    TEXT.trim_end().replace(EXAMPLE, &example)
}

/// The name of a tool, if it is there, and a call of it.
fn call(tools: &[ToolSpec], name: &str, value: &str) -> Option<(String, String)> {
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let ToolKind::Function { parameters, .. } = &tool.kind else { return None };
    let required = parameters.get("required").and_then(Value::as_array)?;
    match required.as_slice() {
        [Value::String(parameter)] => Some((name.to_owned(), format!("{name}({parameter}={value:?})"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_example_is_a_tool_that_is_there() {
        let tool = |name: &str, required: &[&str]| {
            ToolSpec::foreign(name, "", json!({"type": "object", "required": required}))
        };
        let check = |tools: &[ToolSpec], has: &[&str], lacks: &[&str]| {
            let text = of(tools);
            assert!(has.iter().all(|part| text.contains(part)), "{has:?} in {text}");
            assert!(lacks.iter().all(|part| !text.contains(part)), "{lacks:?} in {text}");
            assert!(text.contains("mcptools.<server>") && !text.contains("{{"), "{text}");
        };
        let read = ["    from mcptools.junto import Read ", "\n    text = Read(file_path=\"README.md\")\n"];
        check(&[tool("Bash", &["command"]), tool("Read", &["file_path"])], &read, &["read_file"]);
        check(&[tool("exec_command", &["cmd"])], &["text = exec_command(cmd=\"ls\")"], &[]);
        check(&[tool("read_file", &["a", "b"]), tool("other", &[])], &[], &["mcptools.junto"]);
        check(&[], &[], &["mcptools.junto", "text ="]);
    }
}
