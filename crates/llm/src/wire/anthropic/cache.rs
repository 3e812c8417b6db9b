//! Cache breakpoints.
//!
//! This wire caches a prefix only up to a block that says so, and takes four such marks. They go
//! on the last tool, the last block of the system prompt, and the rolling end of the conversation:
//! where it ends now, so that the next request can read it, and where it ended before the last
//! answer, so that this one reads what the previous wrote.

use serde_json::{Map, Value, json};

const MARK: &str = "cache_control";

/// Blocks that take a mark. Thinking does not.
const MARKABLE: [&str; 7] =
    ["text", "image", "document", "tool_use", "tool_result", "search_result", "container_upload"];

/// Whether the caller has placed marks of its own.
pub(super) fn is_marked(tools: &[Value], system: &[Value], messages: &[Value]) -> bool {
    let blocks = messages.iter().flat_map(|m| m["content"].as_array().into_iter().flatten());
    tools.iter().chain(system).chain(blocks).any(|item| {
        has_mark(item)
            || item.get("content").and_then(Value::as_array).is_some_and(|inner| inner.iter().any(has_mark))
    })
}

/// Places the marks.
pub(super) fn mark(tools: &mut [Value], system: &mut [Value], messages: &mut [Value]) {
    if let Some(tool) = tools.iter_mut().rev().find(|tool| tool["defer_loading"] != true) {
        set(tool);
    }
    mark_last_block(system);
    let is_answer = |m: &Value| m["role"] == "assistant";
    let end = messages.iter().rposition(|m| !is_answer(m));
    let answer = end.and_then(|end| messages.iter().take(end).rposition(is_answer));
    let before = answer.and_then(|at| messages.iter().take(at).rposition(|m| !is_answer(m)));
    for at in [before, end].into_iter().flatten() {
        if let Some(blocks) = messages.get_mut(at).and_then(|m| m["content"].as_array_mut()) {
            mark_last_block(blocks);
        }
    }
}

fn mark_last_block(blocks: &mut [Value]) {
    if let Some(block) = blocks.iter_mut().rev().find(|block| takes_mark(block)) {
        set(block);
    }
}

fn takes_mark(block: &Value) -> bool {
    let kind = block["type"].as_str().unwrap_or_default();
    MARKABLE.contains(&kind) && block["text"] != ""
}

fn has_mark(item: &Value) -> bool {
    item.get(MARK).is_some_and(|mark| !mark.is_null())
}

fn set(item: &mut Value) {
    if let Value::Object(fields) = item {
        let fields: &mut Map<String, Value> = fields;
        fields.insert(MARK.to_owned(), json!({"type": "ephemeral"}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of the marks in a body made of one-letter messages: `u` user text, `a` assistant
    /// text, `s` system text, `r` a tool result.
    fn places(conversation: &str) -> Vec<usize> {
        let mut messages: Vec<Value> = conversation
            .chars()
            .map(|c| match c {
                'u' => json!({"role": "user", "content": [{"type": "text", "text": "x"}]}),
                'a' => json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]}),
                's' => json!({"role": "system", "content": [{"type": "text", "text": "x"}]}),
                _ => json!({"role": "user", "content": [{"type": "tool_result"}, {"type": "thinking"}]}),
            })
            .collect();
        mark(&mut [], &mut [], &mut messages);
        (0..messages.len()).filter(|&at| has_mark(&messages[at]["content"][0])).collect()
    }

    #[test]
    fn the_rolling_end_and_the_end_before() {
        assert_eq!(places("u"), [0]);
        assert_eq!(places("ua"), [0]);
        assert_eq!(places("uau"), [0, 2]);
        assert_eq!(places("uauar"), [2, 4]);
        assert_eq!(places("usars"), [1, 4]);
        assert_eq!(places("a"), [] as [usize; 0]);
        assert_eq!(places(""), [] as [usize; 0]);
    }

    #[test]
    fn tools_and_system_get_one_each() {
        let mut tools =
            [json!({"name": "a"}), json!({"name": "b"}), json!({"name": "c", "defer_loading": true})];
        let mut system = [json!({"type": "text", "text": "x"}), json!({"type": "text", "text": "y"})];
        mark(&mut tools, &mut system, &mut []);
        assert_eq!(tools.iter().map(has_mark).collect::<Vec<_>>(), [false, true, false]);
        assert_eq!(system.iter().map(has_mark).collect::<Vec<_>>(), [false, true]);
        assert!(is_marked(&tools, &[], &[]) && is_marked(&[], &system, &[]));
        assert!(!is_marked(&[], &[], &[json!({"role": "user", "content": [{"type": "text", "text": "x"}]})]));
        let nested = json!({"role": "user", "content": [
            {"type": "tool_result", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}
        ]});
        assert!(is_marked(&[], &[], &[nested]));
    }
}
