//! Content blocks: their tags, their fields, and what must be in them.

use serde_json::Value;

use super::super::{Verdict, json};
use super::{bad, known};

/// Where a block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    User,
    Assistant,
    System,
    ToolResult,
}

/// The tags whose fields are checked, and the fields.
const CHECKED: &[(&str, &[&str])] = &[
    ("text", &["type", "text", "cache_control", "citations"]),
    ("image", &["type", "source", "cache_control", "transformations"]),
    ("document", &["type", "source", "cache_control", "citations", "context", "title"]),
    ("tool_use", &["type", "id", "name", "input", "cache_control", "caller", "toolset_name"]),
    ("tool_result", &["type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"]),
    ("thinking", &["type", "thinking", "signature"]),
    ("redacted_thinking", &["type", "data"]),
];

/// The tags that are known by name only: they belong to the provider's own tools and betas.
const NAMED: &[&str] = &[
    "advisor_tool_result",
    "bash_code_execution_tool_result",
    "browser_state",
    "code_execution_tool_result",
    "compaction",
    "container_upload",
    "fallback",
    "mcp_tool_listing",
    "mcp_tool_result",
    "mcp_tool_use",
    "search_result",
    "server_tool_use",
    "text_editor_code_execution_tool_result",
    "tool_addition",
    "tool_reference",
    "tool_removal",
    "tool_search_tool_result",
    "web_fetch_tool_result",
    "web_search_tool_result",
];

/// The tags that may stand in a tool's result.
const IN_RESULTS: &[&str] =
    &["text", "image", "document", "search_result", "tool_reference", "browser_state"];
/// The tags that may stand in a message of role `system`.
const IN_SYSTEM: &[&str] = &["text", "tool_addition", "tool_removal"];

const IMAGES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

/// The first bytes of the image formats.
const MAGIC: &[(&[u8], &str)] =
    &[(b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"GIF8", "image/gif")];

/// Refuses a bad `system` field.
pub(super) fn system(body: &Value) -> Verdict {
    match json::field(body, "system") {
        None | Some(Value::String(_)) => Ok(()),
        Some(Value::Array(blocks)) => {
            for (i, block) in blocks.iter().enumerate() {
                if json::text(block, "type") != Some("text") {
                    return Err(bad(format!("system.{i}.type: Input should be 'text'")));
                }
                check(&format!("system.{i}"), block, Place::System)?;
            }
            Ok(())
        }
        Some(_) => Err(bad("system: Input should be a valid list")),
    }
}

/// Refuses a bad block; `at` is the way to it.
pub(super) fn check(at: &str, block: &Value, place: Place) -> Verdict {
    if !block.is_object() {
        return Err(bad(format!("{at}: Input should be an object")));
    }
    let Some(tag) = json::text(block, "type") else {
        return Err(bad(format!("{at}.type: Field required")));
    };
    let fields = CHECKED.iter().find(|(name, _)| *name == tag).map(|(_, fields)| *fields);
    let allowed = match place {
        Place::User | Place::Assistant => fields.is_some() || NAMED.contains(&tag),
        Place::System => IN_SYSTEM.contains(&tag),
        Place::ToolResult => IN_RESULTS.contains(&tag),
    };
    if !allowed {
        return Err(bad(format!(
            "{at}: Input tag '{tag}' found using 'type' does not match any of the expected tags"
        )));
    }
    if let Some(fields) = fields {
        known(&format!("{at}.{tag}"), block, fields)?;
    }
    match (tag, place) {
        ("tool_use" | "thinking" | "redacted_thinking", place) if place != Place::Assistant => {
            Err(bad(format!("{at}: `{tag}` blocks can only be in `assistant` messages")))
        }
        ("tool_result", place) if place != Place::User => {
            Err(bad(format!("{at}: `tool_result` blocks can only be in `user` messages")))
        }
        ("text", _) => text(at, block, place),
        ("image", _) => image(&format!("{at}.image.source"), block),
        ("document", _) => document(&format!("{at}.document.source"), block),
        ("tool_use", _) => tool_use(&format!("{at}.tool_use"), block),
        ("tool_result", _) => tool_result(&format!("{at}.tool_result"), block),
        ("thinking", _) => strings(&format!("{at}.thinking"), block, &["thinking", "signature"]),
        ("redacted_thinking", _) => strings(&format!("{at}.redacted_thinking"), block, &["data"]),
        _ => Ok(()),
    }
}

/// Refuses a block where one of these fields is no string.
fn strings(at: &str, block: &Value, names: &[&str]) -> Verdict {
    for name in names {
        match block.get(name) {
            None => return Err(bad(format!("{at}.{name}: Field required"))),
            Some(Value::String(_)) => {}
            Some(_) => return Err(bad(format!("{at}.{name}: Input should be a valid string"))),
        }
    }
    Ok(())
}

fn text(at: &str, block: &Value, place: Place) -> Verdict {
    strings(&format!("{at}.text"), block, &["text"])?;
    let text = json::text(block, "text").unwrap_or_default();
    if text.is_empty() && json::field(block, "cache_control").is_some() {
        return Err(bad(format!("{at}.text: cache_control cannot be set for empty text blocks")));
    }
    filled(text, if at.starts_with("system.") { "system" } else { "messages" }, place)
}

/// Refuses empty and blank text. A tool may well have answered with white space.
pub(super) fn filled(text: &str, whole: &str, place: Place) -> Verdict {
    if text.is_empty() {
        Err(bad(format!("{whole}: text content blocks must be non-empty")))
    } else if place != Place::ToolResult && text.trim().is_empty() {
        Err(bad(format!("{whole}: text content blocks must contain non-whitespace text")))
    } else {
        Ok(())
    }
}

fn image(at: &str, block: &Value) -> Verdict {
    let Some(source) = json::field(block, "source") else {
        return Err(bad(format!("{at}: Field required")));
    };
    if json::text(source, "type") != Some("base64") {
        return reference(at, source);
    }
    strings(&format!("{at}.base64"), source, &["data", "media_type"])?;
    let media_type = json::text(source, "media_type").unwrap_or_default();
    if !IMAGES.contains(&media_type) {
        return Err(bad(format!("{at}.base64.media_type: Input should be one of {}", json::choices(IMAGES))));
    }
    let Some(data) = json::text(source, "data").and_then(json::base64).filter(|data| !data.is_empty()) else {
        return Err(bad(format!("{at}.base64.data: invalid base64 data")));
    };
    match MAGIC.iter().find(|(magic, _)| data.starts_with(magic)) {
        Some((_, actual)) if *actual != media_type => Err(bad(format!(
            "{at}.base64.data: The image was specified using the {media_type} media type, but the image \
             appears to be a {actual} image"
        ))),
        _ => Ok(()),
    }
}

fn document(at: &str, block: &Value) -> Verdict {
    let Some(source) = json::field(block, "source") else {
        return Err(bad(format!("{at}: Field required")));
    };
    match json::text(source, "type") {
        Some("base64") => {
            if json::text(source, "media_type") != Some("application/pdf") {
                return Err(bad(format!("{at}.base64.media_type: Input should be 'application/pdf'")));
            }
            match json::text(source, "data").and_then(json::base64) {
                Some(data) if !data.is_empty() => Ok(()),
                _ => Err(bad(format!("{at}.base64.data: invalid base64 data"))),
            }
        }
        Some("text") => {
            if json::text(source, "media_type") != Some("text/plain") {
                return Err(bad(format!("{at}.text.media_type: Input should be 'text/plain'")));
            }
            strings(&format!("{at}.text"), source, &["data"])
        }
        Some("content") => Ok(()),
        _ => reference(at, source),
    }
}

/// A source that points somewhere.
fn reference(at: &str, source: &Value) -> Verdict {
    match json::text(source, "type") {
        Some("url") => match json::text(source, "url") {
            Some(url) if url.starts_with("https://") || url.starts_with("http://") => Ok(()),
            _ => Err(bad(format!("{at}.url.url: Only HTTP and HTTPS URLs are supported"))),
        },
        Some("file") => strings(&format!("{at}.file"), source, &["file_id"]),
        other => Err(bad(format!(
            "{at}: Input tag '{}' found using 'type' does not match any of the expected tags",
            other.unwrap_or_default()
        ))),
    }
}

fn tool_use(at: &str, block: &Value) -> Verdict {
    strings(at, block, &["id", "name"])?;
    if !json::text(block, "id").is_some_and(|id| json::is_name(id, usize::MAX, "_-")) {
        return Err(bad(format!("{at}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")));
    }
    if !json::text(block, "name").is_some_and(|name| json::is_name(name, 200, "_-")) {
        return Err(bad(format!("{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'")));
    }
    match block.get("input") {
        Some(Value::Object(_)) => Ok(()),
        None => Err(bad(format!("{at}.input: Field required"))),
        Some(_) => Err(bad(format!("{at}.input: Input should be an object"))),
    }
}

fn tool_result(at: &str, block: &Value) -> Verdict {
    strings(at, block, &["tool_use_id"])?;
    let failed = json::is_true(block, "is_error");
    let empty = match json::field(block, "content") {
        None => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(blocks)) => {
            for (i, inner) in blocks.iter().enumerate() {
                check(&format!("{at}.content.{i}"), inner, Place::ToolResult)?;
                if failed && json::text(inner, "type") != Some("text") {
                    return Err(bad(format!("{at}: all content must be type `text` if `is_error` is true")));
                }
            }
            blocks.is_empty()
        }
        Some(_) => return Err(bad(format!("{at}.content: Input should be a valid list"))),
    };
    if failed && empty {
        return Err(bad(format!("{at}: content cannot be empty if `is_error` is true")));
    }
    Ok(())
}
