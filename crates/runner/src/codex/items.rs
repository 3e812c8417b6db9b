//! Items: what codex does, as calls of tools.

use junto_llm::ToolCall;
use serde_json::{Map, Value, json};

use crate::fields::{blocks, list, text};

/// What an agent message says: its text, or the texts it is made of.
pub(super) fn message(item: &Value) -> String {
    if let Some(text) = item["text"].as_str() {
        return text.to_owned();
    }
    let parts = list(item, "content").iter().filter(|part| text(part, "type") == "output_text");
    parts.map(|part| text(part, "text")).collect()
}

/// The call that an item is; `None` for an item of another kind.
pub(super) fn call(item: &Value) -> Option<ToolCall> {
    let kind = text(item, "type");
    let (name, arguments) = match kind {
        "command_execution" => (kind.to_owned(), some(item, &["command"])),
        "file_change" => (kind.to_owned(), some(item, &["changes"])),
        "web_search" => (kind.to_owned(), some(item, &["query", "action"])),
        "mcp_tool_call" => (mcp_name(item), item["arguments"].clone()),
        "collab_tool_call" => (text(item, "tool").to_owned(), some(item, &["prompt", "receiver_thread_ids"])),
        _ => return None,
    };
    Some(tool_call(text(item, "id"), name, &arguments))
}

/// The name under which the model knows a tool of a server.
pub(super) fn mcp_name(of: &Value) -> String {
    format!("mcp__{}__{}", text(of, "server"), text(of, "tool"))
}

pub(super) fn tool_call(id: &str, name: String, arguments: &Value) -> ToolCall {
    let arguments = if arguments.is_null() { String::new() } else { arguments.to_string() };
    ToolCall::function(id, name, arguments)
}

/// The fields of a value that say something.
fn some(value: &Value, fields: &[&str]) -> Value {
    let fields = fields.iter().filter_map(|field| {
        let said = match &value[*field] {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        };
        said.then(|| ((*field).to_owned(), value[*field].clone()))
    });
    Value::Object(fields.collect::<Map<_, _>>())
}

/// What came of a call that has ended, and whether it failed.
pub(super) fn outcome(item: &Value) -> (String, bool) {
    let status = text(item, "status");
    let failed = matches!(status, "failed" | "declined");
    let output = match text(item, "type") {
        "command_execution" => return command(text(item, "aggregated_output"), &item["exit_code"], failed),
        "file_change" => {
            let changes = list(item, "changes").iter();
            joined(changes.map(|change| format!("{} {}", text(change, "kind"), text(change, "path"))))
        }
        "mcp_tool_call" => return mcp(&item["result"], &item["error"], failed),
        "collab_tool_call" => {
            let states = item["agents_states"].as_object().into_iter().flatten();
            joined(states.map(|(agent, state)| match text(state, "message") {
                "" => format!("{agent} {}", text(state, "status")),
                message => format!("{agent} {}: {message}", text(state, "status")),
            }))
        }
        _ => String::new(),
    };
    (if output.is_empty() && failed { status.to_owned() } else { output }, failed)
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

/// What a command printed; how it ended is added if that was not well.
pub(super) fn command(printed: &str, exit: &Value, failed: bool) -> (String, bool) {
    match exit.as_i64() {
        None | Some(0) => (printed.to_owned(), failed),
        Some(code) => {
            let line = if printed.is_empty() || printed.ends_with('\n') { "" } else { "\n" };
            (format!("{printed}{line}[exit code {code}]"), true)
        }
    }
}

/// What a server's tool answered.
pub(super) fn mcp(result: &Value, error: &Value, failed: bool) -> (String, bool) {
    if let Some(message) = error["message"].as_str().or(error.as_str()) {
        return (message.to_owned(), true);
    }
    let failed = failed || result["isError"] == true || result["is_error"] == true;
    let output = match &result["content"] {
        content @ (Value::String(_) | Value::Array(_)) => blocks(content),
        _ if result.is_null() || *result == json!({}) => String::new(),
        _ => result.to_string(),
    };
    (output, failed)
}
