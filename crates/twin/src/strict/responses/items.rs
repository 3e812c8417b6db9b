//! Input items, one by one: their types, their fields, their ids.

use serde_json::Value;

use super::super::openai::{self, known, missing, not_among, string, wrong_type};
use super::super::{Refusal, Verdict, json};

/// The items whose fields are checked: the fields, and how an id of theirs begins.
const CHECKED: &[(&str, &[&str], &str)] = &[
    ("message", &["type", "role", "content", "id", "status", "phase"], "msg"),
    ("function_call", &["type", "call_id", "name", "arguments", "id", "status", "namespace", "caller"], "fc"),
    (
        "function_call_output",
        &["type", "call_id", "output", "id", "status", "name", "namespace", "caller"],
        "fc",
    ),
    ("custom_tool_call", &["type", "call_id", "name", "input", "id", "status", "namespace", "caller"], "ctc"),
    ("custom_tool_call_output", &["type", "call_id", "output", "id", "status", "caller"], "ctc"),
    ("reasoning", &["type", "id", "summary", "content", "encrypted_content", "status"], "rs"),
    ("item_reference", &["type", "id"], ""),
];

/// The items known by name only: they belong to the provider's own tools.
const NAMED: &[&str] = &[
    "additional_tools",
    "apply_patch_call",
    "apply_patch_call_output",
    "code_interpreter_call",
    "compaction",
    "compaction_trigger",
    "computer_call",
    "computer_call_output",
    "file_search_call",
    "image_generation_call",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "program",
    "program_output",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
];

const ROLES: &[&str] = &["user", "assistant", "system", "developer"];
const ASKED: &[(&str, &[&str])] = &[
    ("input_text", &["type", "text", "prompt_cache_breakpoint"]),
    ("input_image", &["type", "image_url", "file_id", "detail", "prompt_cache_breakpoint"]),
    (
        "input_file",
        &["type", "file_id", "file_data", "file_url", "filename", "detail", "prompt_cache_breakpoint"],
    ),
];
const ANSWERED: &[(&str, &[&str])] =
    &[("output_text", &["type", "text", "annotations", "logprobs"]), ("refusal", &["type", "refusal"])];
const DETAILS: &[&str] = &["auto", "low", "high", "original"];
const MAX_CALL_ID: usize = 64;

/// The type of an item; a message may leave it out.
pub(super) fn kind(item: &Value) -> &str {
    match json::text(item, "type") {
        Some(kind) => kind,
        None if item.get("role").is_some() => "message",
        None => "",
    }
}

/// Whether the model made an item.
pub(super) fn is_by_model(item: &Value) -> bool {
    match kind(item) {
        "message" => json::text(item, "role") == Some("assistant"),
        "" | "additional_tools" | "compaction_trigger" | "mcp_approval_response" => false,
        kind => !kind.ends_with("_output"),
    }
}

/// Refuses bad items, and hands the items on. A plain string is no item.
pub(super) fn check(body: &Value) -> Result<&[Value], Refusal> {
    let items = match json::field(body, "input") {
        None if json::field(body, "prompt").is_some() => return Ok(&[]),
        None => return Err(missing("input")),
        Some(Value::String(_)) => return Ok(&[]),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(wrong_type("input", "a string or an array of items", other)),
    };
    if items.is_empty() {
        let message = "Invalid 'input': empty array. Expected an array with minimum length 1.";
        return Err(Refusal::openai(message, "input", "empty_array"));
    }
    for (i, item) in items.iter().enumerate() {
        one(&format!("input[{i}]"), item)?;
    }
    Ok(items)
}

fn one(at: &str, item: &Value) -> Verdict {
    if !item.is_object() {
        return Err(wrong_type(at, "an object", item));
    }
    let kind = kind(item);
    if NAMED.contains(&kind) {
        return Ok(());
    }
    let Some((_, fields, prefix)) = CHECKED.iter().find(|(name, ..)| *name == kind) else {
        if kind.is_empty() {
            return Err(missing(&format!("{at}.type")));
        }
        let allowed: Vec<&str> =
            CHECKED.iter().map(|(name, ..)| *name).chain(NAMED.iter().copied()).collect();
        return Err(not_among(at, kind, &allowed));
    };
    known(at, item, fields)?;
    match json::field(item, "id") {
        Some(Value::String(id)) if !id.starts_with(prefix) => {
            let message = format!("Invalid '{at}.id': '{id}'. Expected an ID that begins with '{prefix}'.");
            return Err(Refusal::openai(message, &format!("{at}.id"), "invalid_value"));
        }
        Some(Value::String(_)) | None => {}
        Some(other) => return Err(wrong_type(&format!("{at}.id"), "a string", other)),
    }
    match kind {
        "message" => message(at, item),
        "function_call" => {
            call(at, item)?;
            string(at, item, "arguments").map(drop)
        }
        "custom_tool_call" => {
            call(at, item)?;
            string(at, item, "input").map(drop)
        }
        "function_call_output" | "custom_tool_call_output" => {
            call_id(at, item)?;
            output(at, item)
        }
        "reasoning" => reasoning(at, item),
        _ => string(at, item, "id").map(drop),
    }
}

fn call_id(at: &str, item: &Value) -> Verdict {
    let id = string(at, item, "call_id")?;
    let param = format!("{at}.call_id");
    if id.is_empty() {
        let message = format!("Invalid '{param}': empty string. Expected a string with minimum length 1.");
        return Err(Refusal::openai(message, &param, "empty_string"));
    }
    if id.len() > MAX_CALL_ID {
        return Err(openai::too_long(&param, MAX_CALL_ID, id.len()));
    }
    Ok(())
}

fn call(at: &str, item: &Value) -> Verdict {
    call_id(at, item)?;
    openai::name(&format!("{at}.name"), string(at, item, "name")?)
}

fn message(at: &str, item: &Value) -> Verdict {
    let role = string(at, item, "role")?;
    if !ROLES.contains(&role) {
        return Err(not_among(&format!("{at}.role"), role, ROLES));
    }
    let parts = if role == "assistant" { ANSWERED } else { ASKED };
    match item.get("content") {
        None => Err(missing(&format!("{at}.content"))),
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(content)) => content_parts(&format!("{at}.content"), content, parts),
        Some(other) => {
            Err(wrong_type(&format!("{at}.content"), "a string or an array of content parts", other))
        }
    }
}

fn output(at: &str, item: &Value) -> Verdict {
    match item.get("output") {
        None => Err(missing(&format!("{at}.output"))),
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(content)) => content_parts(&format!("{at}.output"), content, ASKED),
        Some(other) => {
            Err(wrong_type(&format!("{at}.output"), "a string or an array of content parts", other))
        }
    }
}

fn content_parts(at: &str, content: &[Value], allowed: &[(&str, &[&str])]) -> Verdict {
    for (i, part) in content.iter().enumerate() {
        let at = format!("{at}[{i}]");
        if !part.is_object() {
            return Err(wrong_type(&at, "an object", part));
        }
        let kind = string(&at, part, "type")?;
        let Some((_, fields)) = allowed.iter().find(|(name, _)| *name == kind) else {
            let names: Vec<&str> = allowed.iter().map(|(name, _)| *name).collect();
            return Err(not_among(&at, kind, &names));
        };
        known(&at, part, fields)?;
        match kind {
            "input_image" => image(&at, part)?,
            "input_file" => file(&at, part)?,
            "refusal" => string(&at, part, "refusal").map(drop)?,
            _ => string(&at, part, "text").map(drop)?,
        }
    }
    Ok(())
}

fn image(at: &str, part: &Value) -> Verdict {
    openai::one_of(part, "detail", &format!("{at}.detail"), DETAILS)?;
    let param = format!("{at}.image_url");
    match (json::field(part, "image_url"), json::field(part, "file_id")) {
        (None, None) => Err(missing(&param)),
        (Some(Value::String(url)), _) if !json::is_media_url(url) => Err(Refusal::openai(
            format!(
                "Invalid '{param}'. Expected a base64-encoded data URL with an image MIME type, or a URL that \
                 can be fetched."
            ),
            &param,
            "invalid_value",
        )),
        (Some(Value::String(_)) | None, _) => Ok(()),
        (Some(other), _) => Err(wrong_type(&param, "an image URL", other)),
    }
}

fn file(at: &str, part: &Value) -> Verdict {
    let sources = ["file_id", "file_data", "file_url"];
    if sources.iter().all(|name| json::field(part, name).is_none()) {
        return Err(missing(&format!("{at}.file_id")));
    }
    if let Some(data) = json::text(part, "file_data")
        && !json::is_media_url(data)
    {
        let param = format!("{at}.file_data");
        let message = format!("Invalid '{param}'. Expected a base64-encoded data URL with a MIME type.");
        return Err(Refusal::openai(message, &param, "invalid_value"));
    }
    Ok(())
}

fn reasoning(at: &str, item: &Value) -> Verdict {
    string(at, item, "id")?;
    openai::optional_string(at, item, "encrypted_content")?;
    let param = format!("{at}.summary");
    match item.get("summary") {
        None => Err(missing(&param)),
        Some(Value::Array(parts)) => {
            for (i, part) in parts.iter().enumerate() {
                let at = format!("{param}[{i}]");
                openai::one_of(part, "type", &format!("{at}.type"), &["summary_text"])?;
                string(&at, part, "text")?;
            }
            Ok(())
        }
        Some(other) => Err(wrong_type(&param, "an array of objects", other)),
    }
}
