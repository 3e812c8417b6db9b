//! Tools and the choice among them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::schema::{self, Strictness};
use super::super::{Verdict, json};
use super::{bad, known};

const FIELDS: &[&str] = &[
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "description",
    "eager_input_streaming",
    "input_examples",
    "input_schema",
    "name",
    "strict",
    "type",
];

/// How the types of the provider's own tools begin; a date follows.
const HOSTED: &[&str] = &[
    "advisor_",
    "bash_",
    "browser_toolset_",
    "code_execution_",
    "computer_",
    "mcp_toolset",
    "memory_",
    "text_editor_",
    "tool_search_tool_",
    "web_fetch_",
    "web_search_",
];

/// The provider's own tools that the client runs; the others run at the provider.
const RUN_BY_CLIENT: &[&str] = &["bash_", "computer_2", "memory_", "text_editor_"];

/// Whether the client is to run this tool.
pub(super) fn is_run_by_client(tool: &Value) -> bool {
    match json::text(tool, "type") {
        None | Some("custom") => true,
        Some(kind) => RUN_BY_CLIENT.iter().any(|start| kind.starts_with(start)),
    }
}

/// Refuses bad tools and a choice that cannot be met.
pub(super) fn check(body: &Value) -> Verdict {
    let tools = match json::field(body, "tools") {
        None => &[],
        Some(Value::Array(tools)) => tools.as_slice(),
        Some(_) => return Err(bad("tools: Input should be a valid list")),
    };
    let mut names = BTreeSet::new();
    for (i, tool) in tools.iter().enumerate() {
        match json::text(tool, "type") {
            None | Some("custom") => custom(&format!("tools.{i}.custom"), tool)?,
            Some(kind) if HOSTED.iter().any(|start| kind.starts_with(start)) => {}
            Some(kind) => {
                return Err(bad(format!(
                    "tools.{i}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
                )));
            }
        }
        if let Some(name) = json::text(tool, "name")
            && !names.insert(name)
        {
            return Err(bad("tools: Tool names must be unique."));
        }
    }
    choice(body, &names)
}

fn custom(at: &str, tool: &Value) -> Verdict {
    if !tool.is_object() {
        return Err(bad(format!("{at}: Input should be an object")));
    }
    known(at, tool, FIELDS)?;
    match tool.get("name") {
        None => return Err(bad(format!("{at}.name: Field required"))),
        Some(name) if !name.as_str().is_some_and(|name| json::is_name(name, 128, "_-")) => {
            return Err(bad(format!("{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")));
        }
        Some(_) => {}
    }
    if tool.get("description").is_some_and(|d| !d.is_string()) {
        return Err(bad(format!("{at}.description: Input should be a valid string")));
    }
    let Some(shape) = tool.get("input_schema") else {
        return Err(bad(format!("{at}.input_schema: Field required")));
    };
    if !shape.is_object() {
        return Err(bad(format!("{at}.input_schema: Input should be an object")));
    }
    match json::text(shape, "type") {
        Some("object") => {}
        None => return Err(bad(format!("{at}.input_schema.type: Field required"))),
        Some(_) => return Err(bad(format!("{at}.input_schema.type: Input should be 'object'"))),
    }
    if ["oneOf", "allOf", "anyOf"].iter().any(|keyword| shape.get(keyword).is_some()) {
        return Err(bad(format!(
            "{at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        )));
    }
    if !schema::is_schema(shape) {
        return Err(bad(format!(
            "{at}.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"
        )));
    }
    if json::is_true(tool, "strict")
        && let Some((_, fault)) = schema::strict_fault(shape, Strictness::Closed)
    {
        return Err(bad(format!("{at}: {fault}")));
    }
    Ok(())
}

fn choice(body: &Value, names: &BTreeSet<&str>) -> Verdict {
    let Some(choice) = json::field(body, "tool_choice") else { return Ok(()) };
    let fields: &[&str] = match json::text(choice, "type") {
        Some("auto" | "any") => &["type", "disable_parallel_tool_use"],
        Some("tool") => &["type", "name", "disable_parallel_tool_use"],
        Some("none") => &["type"],
        other => {
            return Err(bad(format!(
                "tool_choice: Input tag '{}' found using 'type' does not match any of the expected tags: \
                 'auto', 'any', 'tool', 'none'",
                other.unwrap_or_default()
            )));
        }
    };
    known("tool_choice", choice, fields)?;
    if json::list(body, "tools").is_empty() {
        return Err(bad("tool_choice may only be specified while providing tools"));
    }
    if json::text(choice, "type") == Some("tool") {
        match json::text(choice, "name") {
            None => return Err(bad("tool_choice.tool.name: Field required")),
            Some(name) if !names.contains(name) => {
                return Err(bad(format!("Tool '{name}' not found in provided tools")));
            }
            Some(_) => {}
        }
    }
    Ok(())
}
