//! Tools and the choice among them.

use serde_json::Value;

use super::super::openai::{self, known, not_among, wrong_type};
use super::super::{Refusal, Verdict, json};

const FUNCTION: &[&str] = &[
    "allowed_callers",
    "defer_loading",
    "description",
    "name",
    "output_schema",
    "parameters",
    "strict",
    "type",
];
const CUSTOM: &[&str] = &["allowed_callers", "defer_loading", "description", "format", "name", "type"];

/// The provider's own tools, known by name only.
const HOSTED: &[&str] = &[
    "apply_patch",
    "code_interpreter",
    "computer",
    "computer_use_preview",
    "file_search",
    "image_generation",
    "local_shell",
    "mcp",
    "namespace",
    "programmatic_tool_calling",
    "shell",
    "tool_search",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
];

/// Refuses bad tools and a choice that cannot be met.
pub(super) fn check(body: &Value) -> Verdict {
    match json::field(body, "tools") {
        None => {}
        Some(Value::Array(tools)) => {
            for (i, tool) in tools.iter().enumerate() {
                one(&format!("tools[{i}]"), tool)?;
            }
        }
        Some(other) => return Err(wrong_type("tools", "an array of objects", other)),
    }
    choice(body)
}

fn one(at: &str, tool: &Value) -> Verdict {
    if !tool.is_object() {
        return Err(wrong_type(at, "an object", tool));
    }
    match openai::string(at, tool, "type")? {
        "function" => openai::function(at, tool, FUNCTION),
        "custom" => {
            known(at, tool, CUSTOM)?;
            openai::name(&format!("{at}.name"), openai::string(at, tool, "name")?)
        }
        kind if HOSTED.contains(&kind) => Ok(()),
        kind => {
            let mut allowed = vec!["function", "custom"];
            allowed.extend(HOSTED);
            Err(not_among(&format!("{at}.type"), kind, &allowed))
        }
    }
}

/// The tools of a request: its own, and those that came with its items.
pub(super) fn declared(body: &Value) -> impl Iterator<Item = &Value> {
    let added = json::list(body, "input")
        .iter()
        .filter(|item| json::text(item, "type") == Some("additional_tools"))
        .flat_map(|item| json::list(item, "tools"));
    json::list(body, "tools").iter().chain(added)
}

fn choice(body: &Value) -> Verdict {
    let Some(choice) = json::field(body, "tool_choice") else { return Ok(()) };
    if let Some(word) = choice.as_str() {
        return match word {
            "auto" | "none" => Ok(()),
            "required" if declared(body).next().is_some() => Ok(()),
            "required" => Err(Refusal::openai(
                "Tool choice 'required' must be specified with 'tools' parameter.",
                "tool_choice",
                "",
            )),
            other => Err(not_among("tool_choice", other, &["none", "auto", "required"])),
        };
    }
    if !choice.is_object() {
        return Err(wrong_type("tool_choice", "a string or an object", choice));
    }
    match openai::string("tool_choice", choice, "type")? {
        kind @ ("function" | "custom") => {
            known("tool_choice", choice, &["type", "name"])?;
            let name = openai::string("tool_choice", choice, "name")?;
            if is_declared(body, kind, name) { Ok(()) } else { Err(not_found(name)) }
        }
        "allowed_tools" => {
            known("tool_choice", choice, &["type", "mode", "tools"])?;
            openai::one_of(choice, "mode", "tool_choice.mode", &["auto", "required"])?;
            let lost = json::list(choice, "tools").iter().find_map(|tool| {
                let (kind, name) = (json::text(tool, "type")?, json::text(tool, "name")?);
                (!is_declared(body, kind, name)).then_some(name)
            });
            lost.map_or(Ok(()), |name| Err(not_found(name)))
        }
        kind if HOSTED.contains(&kind) => {
            if declared(body).any(|tool| json::text(tool, "type") == Some(kind)) {
                Ok(())
            } else {
                Err(not_found(kind))
            }
        }
        other => Err(not_among("tool_choice.type", other, &["function", "custom", "allowed_tools"])),
    }
}

fn is_declared(body: &Value, kind: &str, name: &str) -> bool {
    declared(body)
        .any(|tool| json::text(tool, "type") == Some(kind) && json::text(tool, "name") == Some(name))
}

fn not_found(name: &str) -> Refusal {
    Refusal::openai(format!("Tool choice '{name}' not found in 'tools' parameter."), "tool_choice", "")
}
