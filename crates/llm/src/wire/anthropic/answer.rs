//! A whole answer, written for a client; and what the stream shares with it.

use serde_json::{Map, Value, json};

use super::blocks;
use super::response::STOP_REASONS;
use crate::{Content, Finish, FinishReason, Part, Response, Usage, Wire};

/// Writes a whole answer.
pub(super) fn encode(response: &Response) -> Value {
    let content: Vec<Value> = response.message.content.iter().filter_map(block).collect();
    json!({
        "id": response.id,
        "type": "message",
        "role": "assistant",
        "model": response.model,
        "content": content,
        "stop_reason": stop_reason(&response.finish_reason),
        "stop_sequence": null,
        "usage": usage(&response.usage),
    })
}

/// The block for a part of an answer; none for what a model cannot say on this wire. A part that
/// came off this wire keeps what only its raw item says.
pub(super) fn block(part: &Part) -> Option<Value> {
    let origin = part.origin().filter(|origin| origin.wire == Wire::Anthropic);
    let raw = origin.and_then(|origin| part.raw_for(origin));
    Some(match (part.content(), raw) {
        (Content::Text(_) | Content::Thinking(_) | Content::RedactedThinking(_), Some(raw)) => raw.clone(),
        (Content::Text(text), None) => blocks::text(text),
        (Content::Thinking(t), None) => {
            json!({"type": "thinking", "thinking": t.text, "signature": t.signature.as_deref().unwrap_or_default()})
        }
        (Content::RedactedThinking(data), None) => json!({"type": "redacted_thinking", "data": data}),
        (Content::ToolCall(call), raw) => {
            let mut block = raw.and_then(Value::as_object).cloned().unwrap_or_default();
            let own = [
                ("type", Value::from("tool_use")),
                ("id", Value::from(call.id.as_str())),
                ("name", Value::from(call.name.as_str())),
                ("input", blocks::call_input(call)),
            ];
            block.extend(own.map(|(name, value)| (name.to_owned(), value)));
            Value::Object(block)
        }
        (Content::Other(item), raw) if origin.is_some() => raw.unwrap_or(item).clone(),
        _ => return None,
    })
}

/// The wire's word for why the model stopped: the provider's own, where it is a word of this wire
/// and means the same.
pub(super) fn stop_reason(reason: &FinishReason) -> &'static str {
    let raw = reason.raw.as_deref();
    let own = STOP_REASONS.iter().find(|(name, unified)| Some(*name) == raw && *unified == reason.unified);
    match (own, reason.unified) {
        (Some((name, _)), _) => name,
        (None, Finish::Length) => "max_tokens",
        (None, Finish::ToolCalls) => "tool_use",
        (None, Finish::ContentFilter) => "refusal",
        (None, Finish::Stop | Finish::Error | Finish::Other) => "end_turn",
    }
}

/// Usage as this wire reports it: fresh, written and read input apart.
pub(super) fn usage(usage: &Usage) -> Value {
    let cached = usage.cache_read.unwrap_or(0).saturating_add(usage.cache_write.unwrap_or(0));
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("input_tokens", Value::from(usage.input.saturating_sub(cached)));
    if let Some(written) = usage.cache_write {
        put("cache_creation_input_tokens", Value::from(written));
    }
    if let Some(read) = usage.cache_read {
        put("cache_read_input_tokens", Value::from(read));
    }
    put("output_tokens", Value::from(usage.output));
    if let Some(thinking) = usage.reasoning {
        put("output_tokens_details", json!({"thinking_tokens": thinking}));
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Origin, Role, Thinking, ToolCall};
    use std::sync::Arc;

    #[test]
    fn an_answer_as_clients_expect_it() {
        let mut response = Response::empty("p", "m");
        response.id = "msg_1".into();
        response.message = Message::new(
            Role::Assistant,
            vec![
                Part::new(Content::Thinking(Thinking { text: "hm".into(), signature: None })),
                Part::new(Content::RedactedThinking("xx".into())),
                Part::text("hi"),
                Part::new(Content::ToolCall(ToolCall::function("c1", "f", "{\"a\":1}"))),
                Part::new(Content::ToolCall(ToolCall::custom("c2", "g", "*** text"))),
                Part::new(Content::ToolCall(ToolCall::function("c3", "f", "oops"))),
                Part::new(Content::Other(json!({"type": "of another wire"}))),
            ],
        );
        response.finish_reason = FinishReason::with_raw(Finish::ToolCalls, "completed");
        response.usage =
            Usage { cache_read: Some(60), cache_write: Some(10), reasoning: Some(3), ..Usage::new(100, 20) };
        assert_eq!(
            encode(&response),
            json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": ""},
                    {"type": "redacted_thinking", "data": "xx"},
                    {"type": "text", "text": "hi"},
                    {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
                    {"type": "tool_use", "id": "c2", "name": "g", "input": {"input": "*** text"}},
                    {"type": "tool_use", "id": "c3", "name": "f", "input": {"_raw": "oops"}},
                ],
                "stop_reason": "tool_use", "stop_sequence": null,
                "usage": {
                    "input_tokens": 30, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 60,
                    "output_tokens": 20, "output_tokens_details": {"thinking_tokens": 3},
                },
            })
        );
    }

    #[test]
    fn raw_items_of_this_wire_are_kept_and_of_others_not() {
        let raw = json!({"type": "text", "text": "a", "citations": [1]});
        let part = |wire| {
            let origin = Arc::new(Origin { wire, provider: "p".into(), model: "m".into() });
            Part::received(Content::Text("a".into()), origin, Some(raw.clone()))
        };
        assert_eq!(block(&part(Wire::Anthropic)), Some(raw.clone()));
        assert_eq!(block(&part(Wire::Gemini)), Some(json!({"type": "text", "text": "a"})));
    }

    #[test]
    fn stop_reasons_are_words_of_this_wire() {
        let check = |unified, raw: Option<&str>, expected| {
            let reason = FinishReason { unified, raw: raw.map(str::to_owned) };
            assert_eq!(stop_reason(&reason), expected);
        };
        check(Finish::Stop, None, "end_turn");
        check(Finish::Stop, Some("stop_sequence"), "stop_sequence");
        check(Finish::Stop, Some("STOP"), "end_turn");
        check(Finish::Stop, Some("tool_use"), "end_turn");
        check(Finish::Length, Some("model_context_window_exceeded"), "model_context_window_exceeded");
        check(Finish::Length, Some("length"), "max_tokens");
        check(Finish::Other, Some("pause_turn"), "pause_turn");
        check(Finish::ContentFilter, None, "refusal");
    }
}
