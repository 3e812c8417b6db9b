//! Messages in their order: who speaks, which calls are answered, what was thought.

use std::collections::BTreeSet;

use junto_llm::Wire;
use serde_json::Value;

use super::super::{Cx, Verdict, json};
use super::blocks::{self, Place};
use super::{bad, known, thinks};

/// Neighbouring messages of one role, which the API reads as one. Messages of role `system` stand
/// between the turns and do not break them.
struct Turn<'a> {
    role: &'a str,
    /// The index of its last message.
    last: usize,
    /// Its blocks with the way to each; a plain string is a block of `None`.
    blocks: Vec<(String, Option<&'a Value>)>,
}

/// Refuses bad messages.
pub(super) fn check(body: &Value, cx: &mut Cx<'_>) -> Verdict {
    let messages = match body.get("messages") {
        None => return Err(bad("messages: Field required")),
        Some(Value::Array(messages)) if messages.is_empty() => {
            return Err(bad("messages: at least one message is required"));
        }
        Some(Value::Array(messages)) => messages,
        Some(_) => return Err(bad("messages: Input should be a valid list")),
    };
    let last_spoken = messages.iter().rposition(|m| json::text(m, "role") != Some("system"));
    for (i, message) in messages.iter().enumerate() {
        let is_prefill = Some(i) == last_spoken && json::text(message, "role") == Some("assistant");
        one(i, message, is_prefill)?;
    }
    let turns = turns(messages);
    match turns.first() {
        Some(turn) if turn.role == "user" => {}
        _ => return Err(bad("messages: first message must use the \"user\" role")),
    }
    calls(&turns)?;
    for (at, block) in turns.iter().flat_map(|turn| &turn.blocks) {
        if let Some(block) = block {
            thought(at, block, cx)?;
        }
    }
    if let Some(message) = last_spoken.and_then(|i| messages.get(i)) {
        prefill(message)?;
    }
    if thinks(body) { loop_keeps_thinking(messages, cx) } else { Ok(()) }
}

fn one(i: usize, message: &Value, is_prefill: bool) -> Verdict {
    let at = format!("messages.{i}");
    if !message.is_object() {
        return Err(bad(format!("{at}: Input should be an object")));
    }
    let (place, fields): (_, &[&str]) = match json::text(message, "role") {
        Some("user") => (Place::User, &["role", "content"]),
        Some("assistant") => (Place::Assistant, &["role", "content"]),
        Some("system") => (Place::System, &["role", "content", "clear_at", "output_config"]),
        None => return Err(bad(format!("{at}.role: Field required"))),
        Some(role) => {
            return Err(bad(format!(
                "messages: Unexpected role \"{role}\". Allowed roles are \"user\", \"assistant\" and \"system\""
            )));
        }
    };
    known(&at, message, fields)?;
    let empty = match message.get("content") {
        None if place == Place::System => true,
        None => return Err(bad(format!("{at}.content: Field required"))),
        Some(Value::String(text)) => {
            if !text.is_empty() {
                blocks::filled(text, "messages", place)?;
            }
            text.is_empty()
        }
        Some(Value::Array(list)) => {
            for (j, block) in list.iter().enumerate() {
                blocks::check(&format!("{at}.content.{j}"), block, place)?;
            }
            list.is_empty()
        }
        Some(_) => return Err(bad(format!("{at}.content: Input should be a valid list"))),
    };
    let configures = json::field(message, "output_config")
        .and_then(Value::as_object)
        .is_some_and(|config| !config.is_empty());
    if !empty || is_prefill || (place == Place::System && configures) {
        return Ok(());
    }
    Err(bad(format!(
        "{at}: all messages must have non-empty content except for the optional final assistant message"
    )))
}

fn turns(messages: &[Value]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (i, message) in messages.iter().enumerate() {
        let role = json::text(message, "role").unwrap_or_default();
        if role == "system" {
            continue;
        }
        let blocks: Vec<_> = match message.get("content") {
            Some(Value::Array(list)) => list
                .iter()
                .enumerate()
                .map(|(j, block)| (format!("messages.{i}.content.{j}"), Some(block)))
                .collect(),
            _ => vec![(format!("messages.{i}.content"), None)],
        };
        match turns.last_mut() {
            Some(turn) if turn.role == role => {
                turn.last = i;
                turn.blocks.extend(blocks);
            }
            _ => turns.push(Turn { role, last: i, blocks }),
        }
    }
    turns
}

fn tagged<'a>(block: Option<&'a Value>, tag: &str, id: &str) -> Option<&'a str> {
    let block = block?;
    if json::text(block, "type") == Some(tag) { json::text(block, id) } else { None }
}

/// Every call is answered once, in the next message, before anything else that is said there; and
/// nothing is answered that was not asked.
fn calls(turns: &[Turn<'_>]) -> Verdict {
    let mut ever: BTreeSet<&str> = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (i, turn) in turns.iter().enumerate() {
        if turn.role == "user" {
            let mut answered = BTreeSet::new();
            for (at, block) in &turn.blocks {
                let Some(id) = tagged(*block, "tool_result", "tool_use_id") else { continue };
                if !open.contains(id) {
                    return Err(bad(format!(
                        "{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                         `tool_result` block must have a corresponding `tool_use` block in the previous message."
                    )));
                }
                if !answered.insert(id) {
                    return Err(bad(format!(
                        "{at}: each tool_use must have a single result. Found multiple `tool_result` blocks \
                         with id: {id}"
                    )));
                }
            }
            open.clear();
            continue;
        }
        for (at, block) in &turn.blocks {
            let Some(id) = tagged(*block, "tool_use", "id") else { continue };
            if !ever.insert(id) {
                return Err(bad(format!("{at}: `tool_use` ids must be unique")));
            }
            open.insert(id);
        }
        let leading: BTreeSet<&str> = turns
            .get(i + 1)
            .into_iter()
            .flat_map(|next| &next.blocks)
            .map_while(|(_, block)| tagged(*block, "tool_result", "tool_use_id"))
            .collect();
        let missing: Vec<&str> = open.iter().filter(|id| !leading.contains(*id)).copied().collect();
        if !missing.is_empty() {
            return Err(bad(format!(
                "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. \
                 Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
                turn.last,
                missing.join(", ")
            )));
        }
    }
    Ok(())
}

/// Thinking must come back as it was issued, to the model that thought it.
fn thought(at: &str, block: &Value, cx: &mut Cx<'_>) -> Verdict {
    match json::text(block, "type") {
        Some("thinking") => {
            let text = json::text(block, "thinking").unwrap_or_default();
            let signature = json::text(block, "signature").unwrap_or_default();
            if cx.signer.verify(Wire::Anthropic, cx.model, text, signature) {
                Ok(())
            } else {
                Err(bad(format!("{at}: Invalid `signature` in `thinking` block")))
            }
        }
        Some("redacted_thinking") => {
            let data = json::text(block, "data").unwrap_or_default();
            if cx.ledger.was_redacted(cx.model, data) {
                Ok(())
            } else {
                Err(bad(format!("{at}: Invalid `data` in `redacted_thinking` block")))
            }
        }
        _ => Ok(()),
    }
}

/// What the assistant shall go on with must not end in white space.
fn prefill(message: &Value) -> Verdict {
    if json::text(message, "role") != Some("assistant") {
        return Ok(());
    }
    let text = match message.get("content") {
        Some(Value::String(text)) => Some(text.as_str()),
        Some(Value::Array(blocks)) => blocks
            .last()
            .filter(|b| json::text(b, "type") == Some("text"))
            .and_then(|b| json::text(b, "text")),
        _ => None,
    };
    if text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
        return Err(bad("messages: final assistant content cannot end with trailing whitespace"));
    }
    Ok(())
}

/// In a tool loop the last answer must still begin with the thinking that led to its calls, if it
/// did so when the twin gave it. (A call that another model made has none to show.)
fn loop_keeps_thinking(messages: &[Value], cx: &mut Cx<'_>) -> Verdict {
    let Some(i) = messages.iter().rposition(|m| json::text(m, "role") == Some("assistant")) else {
        return Ok(());
    };
    let Some(message) = messages.get(i) else { return Ok(()) };
    let content = json::list(message, "content");
    let lost = content
        .iter()
        .filter_map(|block| tagged(Some(block), "tool_use", "id"))
        .any(|id| cx.ledger.was_thought(id, cx.model));
    match content.first().and_then(|block| json::text(block, "type")) {
        Some("thinking" | "redacted_thinking") => Ok(()),
        Some(found) if lost => Err(bad(format!(
            "messages.{i}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When \
             `thinking` is enabled, a final `assistant` message must start with a thinking block."
        ))),
        _ => Ok(()),
    }
}
