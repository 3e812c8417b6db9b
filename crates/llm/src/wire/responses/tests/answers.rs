//! Whole answers.

use super::*;
use crate::{
    Content, ErrorKind, Finish, FinishReason, Media, Message, Part, Role, Thinking, ToolCall, Usage,
};

fn answer(output: Value) -> Value {
    completed(output)["response"].clone()
}

#[test]
fn an_answer_is_read_with_its_items() {
    let output = json!([
        {"id": "rs_1", "type": "reasoning", "encrypted_content": "enc",
            "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]},
        {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}]},
        {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": "{\"at\":1}"},
        {"id": "ctc_1", "type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** Begin"},
        {"id": "ws_1", "type": "web_search_call", "status": "completed"},
    ]);
    let response = decode(&answer(output.clone())).unwrap();
    let contents: Vec<&Content> = response.message.content.iter().map(Part::content).collect();
    let expected = [
        Content::Thinking(Thinking { text: "a\n\nb".into(), signature: Some("enc".into()) }),
        Content::Text("Let me look.".into()),
        Content::ToolCall(ToolCall::function("c1", "get.weather", "{\"at\":1}")),
        Content::ToolCall(ToolCall::custom("c2", "patch", "*** Begin")),
        Content::Other(output[4].clone()),
    ];
    assert_eq!(contents, expected.iter().collect::<Vec<_>>());
    for (part, item) in response.message.content.iter().zip(output.as_array().unwrap()) {
        assert_eq!(part.raw_for(&origin()), Some(item));
    }
    assert_eq!((response.id.as_str(), response.model.as_str()), ("resp_1", "gpt-5.5-2026-04-01"));
    assert_eq!(response.provider, "openai");
    assert_eq!(response.finish_reason, FinishReason::with_raw(Finish::ToolCalls, "completed"));
    let usage = Usage {
        reasoning: Some(12),
        cache_read: Some(64),
        cache_write: Some(8),
        raw: response.usage.raw.clone(),
        ..Usage::new(100, 20)
    };
    assert!(usage.raw.is_some());
    assert_eq!(response.usage, usage);
    assert!(response.raw.is_some());
}

#[test]
fn ends_have_their_reasons() {
    let check = |changes: Value, expected: Finish| {
        let text = json!([{"type": "message", "content": [{"type": "output_text", "text": "x"}]}]);
        let mut body = answer(text);
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        assert_eq!(decode(&body).unwrap().finish_reason.unified, expected, "{changes}");
    };
    let incomplete = |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
    check(json!({}), Finish::Stop);
    check(json!({"status": null}), Finish::Stop);
    check(json!({"output": [{"type": "function_call"}]}), Finish::ToolCalls);
    check(incomplete("max_output_tokens"), Finish::Length);
    check(incomplete("content_filter"), Finish::ContentFilter);
    check(incomplete("new_reason"), Finish::Other);
    check(json!({"status": "queued"}), Finish::Other);
    let refusal = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]);
    check(json!({"output": refusal}), Finish::ContentFilter);
}

#[test]
fn failures_in_a_success_are_errors() {
    let check = |body: Value, expected: ErrorKind| {
        let error = decode(&body).unwrap_err();
        assert_eq!(error.kind(), expected, "{body}");
        assert_eq!(error.provider(), Some("openai"));
    };
    let failed =
        |code: &str| json!({"status": "failed", "output": [], "error": {"code": code, "message": "m"}});
    check(failed("rate_limit_exceeded"), ErrorKind::RateLimit);
    check(failed("server_error"), ErrorKind::Server);
    check(json!({"status": "failed", "output": [], "error": null}), ErrorKind::Server);
    check(json!({"error": {"message": "no key", "code": "invalid_api_key"}}), ErrorKind::Authentication);
    check(json!({"id": "resp_1"}), ErrorKind::Server);
    check(json!([]), ErrorKind::Server);
    let error = Responses.decode_response(b"<html>", &decode_cx()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server);
}

#[test]
fn an_answer_is_written_with_all_fields_a_client_needs() {
    let mut response = Response::empty("anthropic", "claude");
    response.id = "msg_01".into();
    response.message = Message::new(
        Role::Assistant,
        vec![
            Part::new(Content::Thinking(Thinking { text: "hm".into(), signature: Some("sig".into()) })),
            Part::new(Content::RedactedThinking("opaque".into())),
            Part::text("hi"),
            Part::new(Content::Audio(Media::url("https://x/y"))),
            Part::new(Content::ToolCall(ToolCall::function("c1", "f", "{}"))),
            Part::new(Content::ToolCall(ToolCall::custom("c2", "p", "x"))),
            Part::image(Media::bytes(vec![1, 2, 3])),
        ],
    );
    response.finish_reason = FinishReason::new(Finish::ToolCalls);
    response.usage = Usage { cache_read: Some(3), ..Usage::new(10, 5) };
    assert_eq!(
        Responses.encode_response(&response),
        json!({
            "id": "msg_01", "object": "response", "created_at": 0, "status": "completed", "error": null,
            "incomplete_details": null, "instructions": null, "max_output_tokens": null, "model": "claude",
            "output": [
                {"id": "rs_msg_01_0", "type": "reasoning", "encrypted_content": "sig",
                    "summary": [{"type": "summary_text", "text": "hm"}]},
                {"id": "rs_msg_01_1", "type": "reasoning", "encrypted_content": "opaque", "summary": []},
                {"id": "msg_msg_01_2", "type": "message", "status": "completed", "role": "assistant",
                    "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": "hi"}]},
                {"id": "fc_msg_01_3", "type": "function_call", "status": "completed", "call_id": "c1",
                    "name": "f", "arguments": "{}"},
                {"id": "ctc_msg_01_4", "type": "custom_tool_call", "status": "completed", "call_id": "c2",
                    "name": "p", "input": "x"},
                {"id": "ig_msg_01_5", "type": "image_generation_call", "status": "completed", "result": "AQID"},
            ],
            "parallel_tool_calls": true, "previous_response_id": null,
            "reasoning": {"effort": null, "summary": null}, "store": false, "temperature": null,
            "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": null,
            "truncation": "disabled",
            "usage": {
                "input_tokens": 10, "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
                "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
            },
            "metadata": {},
        })
    );
}

#[test]
fn an_upstream_answer_is_handed_on_with_its_own_items() {
    let output = json!([
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "enc"},
        {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "refusal", "refusal": "no"}]},
        {"id": "ws_1", "type": "web_search_call", "status": "completed"},
        {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": "{}"},
    ]);
    let written = Responses.encode_response(&decode(&answer(output.clone())).unwrap());
    let mut expected = output;
    // Under the name the client declared.
    expected[3]["name"] = "get.weather".into();
    assert_eq!(written["output"], expected);
    assert_eq!(written["status"], "completed");
}
