//! Messages: who speaks, what they say, and whether every call is answered.

use serde_json::Value;

use super::super::openai::{self, known, missing, not_among, string, wrong_type};
use super::super::{Refusal, Verdict, json};

/// The roles and their fields. Reasoning in an assistant's message is what compatible servers send
/// and take back.
const ROLES: &[(&str, &[&str])] = &[
    ("system", &["role", "content", "name"]),
    ("developer", &["role", "content", "name"]),
    ("user", &["role", "content", "name"]),
    (
        "assistant",
        &[
            "role",
            "content",
            "name",
            "refusal",
            "audio",
            "annotations",
            "function_call",
            "tool_calls",
            "reasoning",
            "reasoning_content",
            "reasoning_details",
        ],
    ),
    ("tool", &["role", "content", "tool_call_id", "name"]),
    ("function", &["role", "content", "name"]),
];

/// The parts that each role may use.
const ASKED: &[&str] = &["text", "image_url", "input_audio", "file"];
const ANSWERED: &[&str] = &["text", "refusal"];
const PLAIN: &[&str] = &["text"];

const DETAILS: &[&str] = &["auto", "low", "high"];

/// Refuses bad messages.
pub(super) fn check(body: &Value) -> Verdict {
    let messages = match json::field(body, "messages") {
        None => return Err(missing("messages")),
        Some(Value::Array(messages)) => messages,
        Some(other) => return Err(wrong_type("messages", "an array of objects", other)),
    };
    if messages.is_empty() {
        let message = "Invalid 'messages': empty array. Expected an array with minimum length 1.";
        return Err(Refusal::openai(message, "messages", "empty_array"));
    }
    for (i, message) in messages.iter().enumerate() {
        one(&format!("messages[{i}]"), message)?;
    }
    answers(messages)
}

fn one(at: &str, message: &Value) -> Verdict {
    if !message.is_object() {
        return Err(wrong_type(at, "an object", message));
    }
    let role = string(at, message, "role")?;
    let Some((_, fields)) = ROLES.iter().find(|(name, _)| *name == role) else {
        let names: Vec<&str> = ROLES.iter().map(|(name, _)| *name).collect();
        return Err(not_among(&format!("{at}.role"), role, &names));
    };
    known(at, message, fields)?;
    let parts = match role {
        "user" => ASKED,
        "assistant" => ANSWERED,
        _ => PLAIN,
    };
    if role == "assistant" {
        tool_calls(at, message)?;
    }
    if role == "tool" {
        string(at, message, "tool_call_id")?;
    }
    let may_be_silent = role == "assistant"
        && ["tool_calls", "function_call", "refusal", "audio", "reasoning_content", "reasoning"]
            .iter()
            .any(|name| json::field(message, name).is_some());
    let param = format!("{at}.content");
    match json::field(message, "content") {
        None if may_be_silent || role == "function" => Ok(()),
        None if message.get("content").is_none() => Err(missing(&param)),
        None => Err(Refusal::openai(
            "Invalid value for 'content': expected a string, got null.",
            &param,
            "invalid_type",
        )),
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(content)) => {
            for (i, part) in content.iter().enumerate() {
                content_part(&format!("{param}[{i}]"), part, parts)?;
            }
            Ok(())
        }
        Some(other) => Err(wrong_type(&param, "a string or an array of content parts", other)),
    }
}

fn tool_calls(at: &str, message: &Value) -> Verdict {
    let at = format!("{at}.tool_calls");
    let calls = match json::field(message, "tool_calls") {
        None => return Ok(()),
        Some(Value::Array(calls)) => calls,
        Some(other) => return Err(wrong_type(&at, "an array of objects", other)),
    };
    if calls.is_empty() {
        let message = format!("Invalid '{at}': empty array. Expected an array with minimum length 1.");
        return Err(Refusal::openai(message, &at, "empty_array"));
    }
    for (i, call) in calls.iter().enumerate() {
        let at = format!("{at}[{i}]");
        if !call.is_object() {
            return Err(wrong_type(&at, "an object", call));
        }
        string(&at, call, "id")?;
        let kind = string(&at, call, "type")?;
        let input = match kind {
            "function" => "arguments",
            "custom" => "input",
            other => return Err(not_among(&format!("{at}.type"), other, &["function", "custom"])),
        };
        let inner = format!("{at}.{kind}");
        let Some(made) = json::field(call, kind) else { return Err(missing(&inner)) };
        openai::name(&format!("{inner}.name"), string(&inner, made, "name")?)?;
        string(&inner, made, input)?;
    }
    Ok(())
}

fn content_part(at: &str, part: &Value, allowed: &[&str]) -> Verdict {
    if !part.is_object() {
        return Err(wrong_type(at, "an object", part));
    }
    let kind = string(at, part, "type")?;
    if !allowed.contains(&kind) {
        return Err(not_among(at, kind, allowed));
    }
    match kind {
        "image_url" => {
            let at = format!("{at}.image_url");
            let Some(image) = json::field(part, "image_url") else { return Err(missing(&at)) };
            if !image.is_object() {
                return Err(wrong_type(&at, "an object", image));
            }
            known(&at, image, &["url", "detail"])?;
            openai::one_of(image, "detail", &format!("{at}.detail"), DETAILS)?;
            if json::is_media_url(string(&at, image, "url")?) {
                return Ok(());
            }
            let message =
                "Invalid image URL: expected a base64-encoded data URL or a URL that can be fetched.";
            Err(Refusal::openai(message, &format!("{at}.url"), "invalid_image_url"))
        }
        "input_audio" => {
            let at = format!("{at}.input_audio");
            let Some(audio) = json::field(part, "input_audio") else { return Err(missing(&at)) };
            openai::one_of(audio, "format", &format!("{at}.format"), &["wav", "mp3"])?;
            if json::base64(string(&at, audio, "data")?).is_some() {
                return Ok(());
            }
            let message = format!("Invalid '{at}.data': not valid base64.");
            Err(Refusal::openai(message, &format!("{at}.data"), "invalid_value"))
        }
        "file" => match json::field(part, "file") {
            Some(_) => Ok(()),
            None => Err(missing(&format!("{at}.file"))),
        },
        "refusal" => string(at, part, "refusal").map(drop),
        _ => string(at, part, "text").map(drop),
    }
}

/// Every call is answered once, at once, and nothing else is.
fn answers(messages: &[Value]) -> Verdict {
    // The calls that are open, and the message that made them.
    let mut open: Vec<&str> = Vec::new();
    let mut asked = false;
    for (i, message) in messages.iter().enumerate() {
        if json::text(message, "role") == Some("tool") {
            let id = json::text(message, "tool_call_id").unwrap_or_default();
            if !asked {
                return Err(Refusal::openai(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message \
                     with 'tool_calls'.",
                    &format!("messages.[{i}].role"),
                    "",
                ));
            }
            let Some(at) = open.iter().position(|call| *call == id) else {
                return Err(Refusal::openai(
                    format!(
                        "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
                    ),
                    &format!("messages.[{i}].tool_call_id"),
                    "",
                ));
            };
            open.remove(at);
            continue;
        }
        unanswered(&open, i)?;
        open = json::list(message, "tool_calls").iter().filter_map(|call| json::text(call, "id")).collect();
        asked = !open.is_empty();
        let mut ids = open.clone();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() < open.len() {
            return Err(Refusal::openai(
                format!("Invalid 'messages[{i}].tool_calls': the ids of tool calls must be unique."),
                &format!("messages[{i}].tool_calls"),
                "invalid_value",
            ));
        }
    }
    unanswered(&open, messages.len())
}

fn unanswered(open: &[&str], next: usize) -> Verdict {
    if open.is_empty() {
        return Ok(());
    }
    Err(Refusal::openai(
        format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        ),
        &format!("messages.[{next}].role"),
        "",
    ))
}
