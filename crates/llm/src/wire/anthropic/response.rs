//! A whole answer, read; and what the stream shares with it: blocks, usage, stop reasons.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ANSWER_TOOL, error};
use crate::wire::{DecodeCx, json};
use crate::{
    Content, Error, ErrorKind, Finish, FinishReason, Message, Part, RawBody, Response, Role, Thinking,
    ToolCall, Usage,
};

/// The fields of an answer that say something.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    r#type: Value,
    id: Value,
    model: Value,
    /// Absent and `null` are not the same here.
    #[serde(deserialize_with = "json::present")]
    content: Option<Value>,
    stop_reason: Value,
    usage: Value,
}

/// Reads a whole answer.
pub(super) fn decode(body: &[u8], cx: &DecodeCx) -> Result<Response, Error> {
    let answer: Answer = json::fields(body).map_err(|e| {
        Error::new(ErrorKind::Server, "the answer is not JSON")
            .with_provider(&cx.origin.provider)
            .with_body(body)
            .with_source(e)
    })?;
    if answer.r#type == "error" {
        let raw = serde_json::from_slice(body).unwrap_or_default();
        return Err(error::from_envelope(None, &raw).with_provider(&cx.origin.provider).with_body(body));
    }
    let blocks = match answer.content {
        Some(Value::Array(blocks)) => blocks,
        Some(Value::Null) => Vec::new(),
        _ => {
            return Err(Error::new(ErrorKind::Server, "the answer has no content")
                .with_provider(&cx.origin.provider)
                .with_body(body));
        }
    };
    let parts: Vec<Part> = blocks.iter().map(|block| part(block, cx)).collect();
    let answered = blocks.iter().any(is_answer);
    let called = parts.iter().any(|part| matches!(part.content(), Content::ToolCall(_)));
    Ok(Response {
        id: text(&answer.id),
        model: answer.model.as_str().unwrap_or(&cx.origin.model).to_owned(),
        provider: cx.origin.provider.clone(),
        message: Message::new(Role::Assistant, parts),
        finish_reason: finish(answer.stop_reason.as_str(), answered && !called),
        usage: answer.usage.as_object().map(usage).unwrap_or_default(),
        warnings: cx.warnings.clone(),
        rate_limit: cx.rate_limit.clone(),
        raw: Some(RawBody::new(body.to_vec())),
    })
}

/// Whether a block is the call of the reserved tool, which is the answer itself.
pub(super) fn is_answer(block: &Value) -> bool {
    block["type"] == "tool_use" && block["name"] == ANSWER_TOOL
}

/// A block of an answer as a part. The block is kept where the part does not say all of it.
fn part(block: &Value, cx: &DecodeCx) -> Part {
    let received = |content, raw| Part::received(content, Arc::clone(&cx.origin), raw);
    match block["type"].as_str() {
        Some("text") => received(Content::Text(text(&block["text"])), surplus(block, &TEXT)),
        Some("thinking") => {
            let thinking =
                Thinking { text: text(&block["thinking"]), signature: signature(&block["signature"]) };
            received(Content::Thinking(thinking), surplus(block, &THINKING))
        }
        Some("redacted_thinking") => redacted(block, &cx.origin),
        Some("tool_use") if is_answer(block) => received(Content::Text(block["input"].to_string()), None),
        Some("tool_use") => {
            let name = block["name"].as_str().unwrap_or_default();
            let call =
                ToolCall::function(text(&block["id"]), cx.names.from_wire(name), input(&block["input"]));
            let raw = surplus(block, &CALL).filter(|_| call.is_well_formed());
            let call = if cx.names.is_custom(&call.name) { call.into_custom() } else { call };
            received(Content::ToolCall(call), raw)
        }
        _ => received(Content::Other(block.clone()), None),
    }
}

/// The fields a part of each kind says by itself.
pub(super) const TEXT: [&str; 2] = ["type", "text"];
pub(super) const THINKING: [&str; 3] = ["type", "thinking", "signature"];
pub(super) const CALL: [&str; 4] = ["type", "id", "name", "input"];

/// The block, if it says more than these fields. Null and empty lists say nothing.
pub(super) fn surplus(block: &Value, said: &[&str]) -> Option<Value> {
    let says_more = |(name, value): (&String, &Value)| {
        !said.contains(&name.as_str())
            && !value.is_null()
            && !value.as_array().is_some_and(std::vec::Vec::is_empty)
    };
    block.as_object()?.iter().any(says_more).then(|| block.clone())
}

pub(super) fn redacted(block: &Value, origin: &Arc<crate::Origin>) -> Part {
    let content = Content::RedactedThinking(text(&block["data"]));
    Part::received(content, Arc::clone(origin), surplus(block, &["type", "data"]))
}

/// A signature; the empty one, which servers without signatures send, is none.
pub(super) fn signature(value: &Value) -> Option<String> {
    value.as_str().filter(|s| !s.is_empty()).map(str::to_owned)
}

/// A call's arguments as text; none at all are an empty object.
pub(super) fn input(value: &Value) -> String {
    if value.is_null() { "{}".to_owned() } else { value.to_string() }
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The stop reasons of this wire in our words.
pub(super) const STOP_REASONS: [(&str, Finish); 7] = [
    ("end_turn", Finish::Stop),
    ("stop_sequence", Finish::Stop),
    ("max_tokens", Finish::Length),
    ("model_context_window_exceeded", Finish::Length),
    ("tool_use", Finish::ToolCalls),
    ("refusal", Finish::ContentFilter),
    ("pause_turn", Finish::Other),
];

/// Why the model stopped. `answered_only`: the only calls were of the reserved tool, so nothing
/// is left to be run.
pub(super) fn finish(reason: Option<&str>, answered_only: bool) -> FinishReason {
    let Some(reason) = reason else { return FinishReason::new(Finish::Other) };
    let unified = STOP_REASONS.iter().find(|(name, _)| *name == reason).map_or(Finish::Other, |(_, f)| *f);
    let unified = if answered_only && unified == Finish::ToolCalls { Finish::Stop } else { unified };
    FinishReason::with_raw(unified, reason)
}

/// Usage in our terms: the wire reports fresh, written and read input apart.
pub(super) fn usage(raw: &Map<String, Value>) -> Usage {
    let count = |name: &str| raw.get(name).and_then(Value::as_u64);
    let cache_read = count("cache_read_input_tokens");
    let cache_write = count("cache_creation_input_tokens");
    let input = [count("input_tokens"), cache_read, cache_write]
        .into_iter()
        .flatten()
        .fold(0u64, u64::saturating_add);
    let output = count("output_tokens").unwrap_or(0);
    let details = raw.get("output_tokens_details");
    Usage {
        reasoning: details.and_then(|d| d["thinking_tokens"].as_u64()),
        cache_read,
        cache_write,
        raw: Some(Value::Object(raw.clone())),
        ..Usage::new(input, output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NameMap;
    use crate::{Origin, Warning, Wire};
    use serde_json::json;

    fn cx() -> DecodeCx {
        DecodeCx {
            origin: Arc::new(Origin { wire: Wire::Anthropic, provider: "p".into(), model: "m".into() }),
            names: Arc::new(NameMap::new(["a.b"], Wire::Anthropic)),
            warnings: vec![Warning::new("w", "x")],
            rate_limit: None,
        }
    }

    fn decoded(body: Value) -> Response {
        decode(body.to_string().as_bytes(), &cx()).unwrap()
    }

    fn answer(content: Value, stop_reason: &str) -> Value {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m-2026", "content": content,
            "stop_reason": stop_reason, "stop_sequence": null,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 5,
                      "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 3}},
        })
    }

    #[test]
    fn every_block_becomes_a_part() {
        let cited = json!({"type": "text", "text": "b", "citations": [{"type": "page_location"}]});
        let search = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}});
        let response = decoded(answer(
            json!([
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "redacted_thinking", "data": "xx"},
                {"type": "text", "text": "a", "citations": null},
                cited, search,
                {"type": "tool_use", "id": "toolu_1", "name": "a_b", "input": {"x": [1, 2.5]}, "caller": {"type": "direct"}},
            ]),
            "tool_use",
        ));
        let contents: Vec<Content> = response.message.content.iter().map(|p| p.content().clone()).collect();
        assert_eq!(
            contents,
            [
                Content::Thinking(Thinking { text: "hm".into(), signature: Some("sig".into()) }),
                Content::RedactedThinking("xx".into()),
                Content::Text("a".into()),
                Content::Text("b".into()),
                Content::Other(search),
                Content::ToolCall(ToolCall::function("toolu_1", "a.b", "{\"x\":[1,2.5]}")),
            ]
        );
        let origin = &cx().origin;
        let raw: Vec<bool> = response.message.content.iter().map(|p| p.raw_for(origin).is_some()).collect();
        assert_eq!(raw, [false, false, false, true, false, true]);
        assert_eq!(response.message.content[3].raw_for(origin), Some(&cited));

        assert_eq!((response.id.as_str(), response.model.as_str()), ("msg_1", "m-2026"));
        assert_eq!(response.warnings.len(), 1);
        let usage = response.usage;
        assert_eq!((usage.input, usage.output, usage.total), (115, 7, 122));
        assert_eq!((usage.cache_read, usage.cache_write, usage.reasoning), (Some(100), Some(5), Some(3)));
    }

    #[test]
    fn stop_reasons() {
        for (reason, unified) in STOP_REASONS.into_iter().chain([("something_new", Finish::Other)]) {
            let response = decoded(answer(json!([]), reason));
            assert_eq!(response.finish_reason, FinishReason::with_raw(unified, reason));
        }
        assert_eq!(decoded(json!({"content": null})).finish_reason, FinishReason::new(Finish::Other));
    }

    #[test]
    fn a_call_of_the_reserved_tool_is_the_answer() {
        let call = json!({"type": "tool_use", "id": "t", "name": ANSWER_TOOL, "input": {"n": 1}});
        let other = json!({"type": "tool_use", "id": "u", "name": "f", "input": {}});
        let response = decoded(answer(json!([call]), "tool_use"));
        assert_eq!(response.text(), "{\"n\":1}");
        assert_eq!(response.finish_reason.unified, Finish::Stop);
        let response = decoded(answer(json!([call, other]), "tool_use"));
        assert_eq!(response.finish_reason.unified, Finish::ToolCalls);
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        let check = |body: &str, kind: ErrorKind| {
            let error = decode(body.as_bytes(), &cx()).unwrap_err();
            assert_eq!(error.kind(), kind, "{body}");
            assert_eq!(error.provider(), Some("p"));
        };
        check("", ErrorKind::Server);
        check("<html>", ErrorKind::Server);
        check("[1]", ErrorKind::Server);
        check("{\"type\":\"message\"}", ErrorKind::Server);
        check(
            "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}",
            ErrorKind::Server,
        );
        check(
            "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\"}}",
            ErrorKind::RateLimit,
        );
    }
}
