//! What the client reads.

use super::*;
use crate::{ErrorKind, Finish, FinishReason, RawBody, Thinking, ToolCallKind, Usage};

fn answer(message: Value, finish: Value) -> Value {
    json!({"id": "r1", "object": "chat.completion", "created": 1, "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}})
}

fn contents(response: &Response) -> Vec<Content> {
    response.message.content.iter().map(|part| part.content().clone()).collect()
}

fn thinking(text: &str) -> Content {
    Content::Thinking(Thinking { text: text.into(), signature: None })
}

#[test]
fn a_whole_answer() {
    let raw = answer(
        json!({"role": "assistant", "content": "hello", "reasoning_content": "hm", "refusal": null}),
        json!("stop"),
    );
    let response = decoded(&raw).unwrap();
    let origin = Arc::new(origin());
    let part = |content| Part::received(content, Arc::clone(&origin), None);
    assert_eq!(
        response,
        Response {
            id: "r1".into(),
            model: "m-1".into(),
            provider: "local".into(),
            message: Message::new(
                Role::Assistant,
                vec![part(thinking("hm")), part(Content::Text("hello".into()))]
            ),
            finish_reason: FinishReason::with_raw(Finish::Stop, "stop"),
            usage: Usage { raw: Some(raw["usage"].clone()), ..Usage::new(3, 2) },
            warnings: Vec::new(),
            rate_limit: None,
            raw: Some(RawBody::from(&raw)),
        }
    );
}

#[test]
fn the_dialects_of_a_message() {
    let check = |message: Value, expected: &[Content]| {
        assert_eq!(
            contents(&decoded(&answer(message.clone(), json!("stop"))).unwrap()),
            expected,
            "{message}"
        );
    };
    let text = |t: &str| Content::Text(t.into());
    check(json!({"content": ""}), &[]);
    check(json!({"content": null}), &[]);
    check(json!({"reasoning": "r", "content": "a"}), &[thinking("r"), text("a")]);
    check(json!({"reasoning": "r", "reasoning_content": "r", "content": "a"}), &[thinking("r"), text("a")]);
    check(json!({"reasoning": {"not": "text"}, "content": "a"}), &[text("a")]);
    check(
        json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "odd"}, 7]}),
        &[text("ab")],
    );
    check(
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}, {"type": "text", "text": "a"}]}),
        &[thinking("t"), text("a")],
    );
}

#[test]
fn why_it_stopped() {
    let check = |message: Value, finish: Value, expected: Finish| {
        let response = decoded(&answer(message, finish.clone())).unwrap();
        assert_eq!(response.finish_reason.unified, expected, "{finish}");
        assert_eq!(response.finish_reason.raw.as_deref(), finish.as_str());
    };
    let said = json!({"content": "x"});
    let called = json!({"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]});
    for (raw, expected) in [
        ("stop", Finish::Stop),
        ("length", Finish::Length),
        ("content_filter", Finish::ContentFilter),
        ("tool_calls", Finish::ToolCalls),
        ("error", Finish::Error),
        ("mystery", Finish::Other),
    ] {
        check(said.clone(), json!(raw), expected);
    }
    check(said, Value::Null, Finish::Other);
    check(called.clone(), json!("stop"), Finish::ToolCalls);
    check(called.clone(), Value::Null, Finish::ToolCalls);
    check(called, json!("length"), Finish::Length);
    check(json!({"content": null, "refusal": "no"}), json!("stop"), Finish::ContentFilter);
}

#[test]
fn a_refusal_is_text() {
    let response = decoded(&answer(json!({"content": null, "refusal": "no"}), json!("stop"))).unwrap();
    assert_eq!(response.text(), "no");
}

#[test]
fn calls_of_all_kinds() {
    let message = json!({"content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}},
        {"type": "function", "function": {"name": "g", "arguments": {"b": 2}}},
        {"id": "c1", "type": "function", "function": {"name": "h", "arguments": "{bad"}},
        {"id": "c4", "type": "custom", "custom": {"name": "p", "input": "text"}},
    ]});
    let response = decoded(&answer(message.clone(), json!("tool_calls"))).unwrap();
    let calls: Vec<&ToolCall> = response.tool_calls().collect();
    assert_eq!(*calls[0], ToolCall::function("c1", "f", "{\"a\":1}"));
    assert_eq!(calls[1].arguments, json!({"b": 2}));
    assert_eq!((calls[2].arguments.clone(), calls[2].raw_arguments.as_str()), (Value::Null, "{bad"));
    assert_eq!(*calls[3], ToolCall::custom("c4", "p", "text"));
    let ids: std::collections::BTreeSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), 4, "ids that are missing or repeated are made anew: {ids:?}");
    assert_eq!(response.message, decoded(&answer(message, json!("tool_calls"))).unwrap().message);
}

#[test]
fn the_single_call_of_old() {
    let message = json!({"content": null, "function_call": {"name": "f", "arguments": "{}"}});
    let response = decoded(&answer(message, json!("function_call"))).unwrap();
    let call = response.tool_calls().next().unwrap();
    assert_eq!((call.name.as_str(), call.id.is_empty()), ("f", false));
    assert_eq!(response.finish_reason.unified, Finish::ToolCalls);
}

#[test]
fn names_come_back_as_they_were_declared_and_custom_tools_as_custom() {
    let request = Request::prompt("x").tools([function("srv/tool"), custom("patch")]);
    let raw = answer(
        json!({"tool_calls": [
            {"id": "c1", "function": {"name": "srv_tool", "arguments": "{}"}},
            {"id": "c2", "function": {"name": "patch", "arguments": "{\"input\":\"*** x\"}"}},
            {"id": "c3", "function": {"name": "patch", "arguments": "*** y"}},
        ]}),
        json!("tool_calls"),
    );
    let response = Chat.decode_response(raw.to_string().as_bytes(), &decode_cx(&request)).unwrap();
    let calls: Vec<ToolCall> = response.tool_calls().cloned().collect();
    assert_eq!(
        calls,
        [
            ToolCall::function("c1", "srv/tool", "{}"),
            ToolCall::custom("c2", "patch", "*** x"),
            ToolCall::custom("c3", "patch", "*** y"),
        ]
    );
    assert_eq!(calls[1].kind, ToolCallKind::Custom);
}

#[test]
fn what_a_server_hangs_on_a_call_goes_back_with_it() {
    let item = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "s"}}});
    let response = decoded(&answer(json!({"tool_calls": [item]}), json!("tool_calls"))).unwrap();
    let sent = body(&Request::of([response.message]));
    assert_eq!(sent["messages"][0]["tool_calls"], json!([item]));
}

#[test]
fn answers_that_make_no_sense_are_errors() {
    let check = |body: &[u8], kind: ErrorKind, what: &str| {
        let error = Chat.decode_response(body, &decode_cx(&Request::default())).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(what) && error.body().is_some(), "{error}");
    };
    check(b"<html>", ErrorKind::Server, "not JSON");
    check(b"{}", ErrorKind::Server, "no choices");
    check(b"{\"choices\":[]}", ErrorKind::Server, "no choices");
    check(b"{\"choices\":[{}]}", ErrorKind::Server, "no message");
    check(b"{\"error\":{\"message\":\"slow down\",\"code\":429}}", ErrorKind::RateLimit, "slow down");
    check(b"{\"choices\":[{\"error\":{\"message\":\"broke\",\"code\":502}}]}", ErrorKind::Server, "broke");
}

#[test]
fn a_model_without_a_name_is_the_one_that_was_asked() {
    let response = decoded(&json!({"choices": [{"message": {"content": "x"}}]})).unwrap();
    assert_eq!((response.model.as_str(), response.id.as_str()), ("m", ""));
    assert_eq!(response.usage, Usage::default());
}
