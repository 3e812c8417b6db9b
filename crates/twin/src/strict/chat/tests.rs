//! What the Chat Completions twin refuses, as a table.

use junto_llm::{ToolChoice, Wire};
use serde_json::{Value, json};

use crate::strict::Checker;
use crate::strict::testing::*;

const WIRE: Wire = Wire::Chat;
const MODEL: &str = "some-model";

fn base() -> Value {
    json!({
        "model": MODEL,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": shape()}}]
    })
}

fn table(cases: Vec<Case>) {
    run(WIRE, MODEL, &base(), cases);
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
}

fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "ok"})
}

fn after(messages: Vec<Value>) -> Value {
    let mut all = vec![json!({"role": "user", "content": "hi"})];
    all.extend(messages);
    json!({"messages": all})
}

#[test]
fn parameters() {
    let new = |changes: Value| patch(&json!({"model": "gpt-5.2"}), &changes);
    table(vec![
        ("a good request", json!({}), 200, "", ""),
        ("unknown", json!({"foo": 1}), 400, "unknown_parameter", "Unknown parameter: 'foo'."),
        ("shared by compatible servers", json!({"top_k": 5, "chat_template_kwargs": {}}), 200, "", ""),
        ("no model", json!({"model": null}), 400, "missing_required_parameter", "'model'"),
        (
            "no such model",
            json!({"model": "no-such-model"}),
            404,
            "model_not_found",
            "`no-such-model` does not exist",
        ),
        (
            "two limits",
            json!({"max_tokens": 5, "max_completion_tokens": 5}),
            400,
            "invalid_parameter_combination",
            "at the same time",
        ),
        ("zero limit", json!({"max_tokens": 0}), 400, "integer_below_min_value", "max_tokens"),
        (
            "old limit on new models",
            new(json!({"max_tokens": 5})),
            400,
            "unsupported_parameter",
            "Use 'max_completion_tokens' instead",
        ),
        ("new limit on new models", new(json!({"max_completion_tokens": 5})), 200, "", ""),
        (
            "temperature on new models",
            new(json!({"temperature": 0.5})),
            400,
            "unsupported_value",
            "Only the default (1)",
        ),
        ("hot", json!({"temperature": 2.5}), 400, "decimal_above_max_value", "temperature"),
        ("several answers", json!({"n": 2}), 400, "integer_above_max_value", "'n'"),
        ("one answer", json!({"n": 1}), 200, "", ""),
        (
            "options without stream",
            json!({"stream_options": {"include_usage": true}}),
            400,
            "null",
            "only allowed when 'stream' is enabled",
        ),
        ("options", json!({"stream": true, "stream_options": {"include_usage": true}}), 200, "", ""),
        ("odd effort", json!({"reasoning_effort": "huge"}), 400, "invalid_value", "'huge'"),
        ("stream as text", json!({"stream": "yes"}), 400, "invalid_type", "a boolean"),
        (
            "too long",
            json!({"model": "tiny", "messages": [{"role": "user", "content": long(1500)}]}),
            400,
            "context_length_exceeded",
            "maximum context length is 1000 tokens",
        ),
    ]);
}

#[test]
fn tools_and_formats() {
    let function = |function: Value| json!({"tools": [{"type": "function", "function": function}]});
    let format = |format: Value| json!({"response_format": format});
    let schema = |schema: Value| format(json!({"type": "json_schema", "json_schema": schema}));
    table(vec![
        ("bad name", function(json!({"name": "a.b"})), 400, "invalid_value", "tools[0].function.name"),
        ("long name", function(json!({"name": "a".repeat(65)})), 400, "string_above_max_length", "name"),
        ("no parameters", function(json!({"name": "f"})), 200, "", ""),
        (
            "no object",
            function(json!({"name": "f", "parameters": {"type": "array"}})),
            400,
            "invalid_function_parameters",
            "type: \"object\"",
        ),
        (
            "strict and open",
            function(json!({"name": "f", "parameters": shape(), "strict": true})),
            400,
            "invalid_function_parameters",
            "additionalProperties",
        ),
        (
            "flat",
            json!({"tools": [{"type": "function", "name": "f"}]}),
            400,
            "missing_required_parameter",
            "tools[0].function",
        ),
        ("odd type", json!({"tools": [{"type": "web_search"}]}), 400, "invalid_value", "'web_search'"),
        ("empty", json!({"tools": []}), 400, "empty_array", "tools"),
        ("choice", json!({"tool_choice": {"type": "function", "function": {"name": "f"}}}), 200, "", ""),
        (
            "unknown choice",
            json!({"tool_choice": {"type": "function", "function": {"name": "g"}}}),
            400,
            "null",
            "Tool choice 'g' not found",
        ),
        (
            "choice of nothing",
            json!({"tools": null, "tool_choice": "auto"}),
            400,
            "null",
            "only allowed when 'tools' are specified",
        ),
        ("odd choice", json!({"tool_choice": "any"}), 400, "invalid_value", "'any'"),
        ("format", schema(json!({"name": "o", "schema": shape()})), 200, "", ""),
        (
            "unnamed",
            schema(json!({"schema": shape()})),
            400,
            "missing_required_parameter",
            "json_schema.name",
        ),
        (
            "flat format",
            format(json!({"type": "json_schema", "schema": shape()})),
            400,
            "unknown_parameter",
            "response_format.schema",
        ),
        (
            "strict and open format",
            schema(json!({"name": "o", "schema": shape(), "strict": true})),
            400,
            "invalid_json_schema",
            "response_format 'o'",
        ),
        ("odd format", format(json!({"type": "xml"})), 400, "invalid_value", "'xml'"),
    ]);
}

#[test]
fn messages() {
    let one = |message: Value| json!({"messages": [message]});
    let user = |part: Value| one(json!({"role": "user", "content": [part]}));
    table(vec![
        ("none", json!({"messages": null}), 400, "missing_required_parameter", "'messages'"),
        ("empty", json!({"messages": []}), 400, "empty_array", "messages"),
        ("odd role", one(json!({"role": "model", "content": "x"})), 400, "invalid_value", "'model'"),
        (
            "no content",
            one(json!({"role": "user"})),
            400,
            "missing_required_parameter",
            "messages[0].content",
        ),
        ("null content", one(json!({"role": "user", "content": null})), 400, "invalid_type", "got null"),
        (
            "content as a number",
            one(json!({"role": "user", "content": 1})),
            400,
            "invalid_type",
            "messages[0].content",
        ),
        (
            "unknown field",
            one(json!({"role": "user", "content": "x", "y": 1})),
            400,
            "unknown_parameter",
            "messages[0].y",
        ),
        ("odd part", user(json!({"type": "video"})), 400, "invalid_value", "'video'"),
        (
            "image",
            user(json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}})),
            200,
            "",
            "",
        ),
        (
            "bad image",
            user(json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}})),
            400,
            "invalid_image_url",
            "Invalid image URL",
        ),
        (
            "image as text",
            user(json!({"type": "image_url", "image_url": "https://x"})),
            400,
            "invalid_type",
            "image_url",
        ),
        (
            "reasoning comes back",
            after(vec![json!({"role": "assistant", "content": "x", "reasoning_content": "y"})]),
            200,
            "",
            "",
        ),
    ]);
}

#[test]
fn calls_and_results() {
    let two = calls(&[call("a"), call("b")]);
    let with = |change: Value| calls(&[patch(&call("a"), &change)]);
    table(vec![
        ("answered", after(vec![two.clone(), result("b"), result("a")]), 200, "", ""),
        (
            "one missing",
            after(vec![two.clone(), result("a")]),
            400,
            "null",
            "did not have response messages: b",
        ),
        (
            "interrupted",
            after(vec![two.clone(), result("a"), json!({"role": "user", "content": "x"}), result("b")]),
            400,
            "null",
            "must be followed by tool messages",
        ),
        ("a call at the end", after(vec![two.clone()]), 400, "null", "did not have response messages: a, b"),
        (
            "out of the blue",
            after(vec![result("a")]),
            400,
            "null",
            "must be a response to a preceeding message",
        ),
        (
            "unknown id",
            after(vec![two.clone(), result("a"), result("z")]),
            400,
            "null",
            "'tool_call_id' of 'z' not found",
        ),
        (
            "answered twice",
            after(vec![two, result("a"), result("a")]),
            400,
            "null",
            "not found in 'tool_calls'",
        ),
        ("same id", after(vec![calls(&[call("a"), call("a")]), result("a")]), 400, "invalid_value", "unique"),
        ("no calls", after(vec![calls(&[])]), 400, "empty_array", "tool_calls"),
        (
            "arguments as an object",
            after(vec![with(json!({"function": {"arguments=": {}}})), result("a")]),
            400,
            "invalid_type",
            "arguments",
        ),
        (
            "bad name",
            after(vec![with(json!({"function": {"name": "a b"}})), result("a")]),
            400,
            "invalid_value",
            "function.name",
        ),
        (
            "no id",
            after(vec![calls(&[json!({"type": "function", "function": {"name": "f", "arguments": ""}})])]),
            400,
            "missing_required_parameter",
            "tool_calls[0].id",
        ),
        (
            "no result id",
            after(vec![calls(&[call("a")]), json!({"role": "tool", "content": "x"})]),
            400,
            "missing_required_parameter",
            "tool_call_id",
        ),
    ]);
}

#[test]
fn what_is_seen_and_issued() {
    let checker = Checker::new(KEY.to_owned());
    let body = patch(
        &base(),
        &json!({
            "tool_choice": "required", "max_completion_tokens": 7, "response_format": {"type": "json_object"}
        }),
    );
    let seen = send(&checker, WIRE, MODEL, &body).unwrap();
    assert_eq!((seen.last_user.as_str(), seen.round, seen.turn, seen.max_tokens), ("hi", 0, 1, Some(7)));
    assert_eq!((seen.tool_choice.as_ref(), seen.thinking), (Some(&ToolChoice::Required), true));
    assert_eq!((seen.tools.len(), seen.schema.as_ref()), (1, Some(&json!({"type": "object"}))));
    let mut response = thoughtful(MODEL);
    checker.issue(&seen, &mut response);
    let ids = call_ids(&response);
    assert!(ids.iter().all(|id| id.starts_with("call_")) && ids[0] != ids[1], "{ids:?}");
}

#[test]
fn repeated_prefixes_are_cached() {
    let checker = Checker::new(KEY.to_owned());
    let body = patch(&base(), &json!({"messages": [{"role": "user", "content": long(2000)}]}));
    let first = send(&checker, WIRE, MODEL, &body).unwrap();
    let second = send(&checker, WIRE, MODEL, &body).unwrap();
    assert_eq!((first.cache_read, second.cache_read), (0, first.input_tokens / 128 * 128));
    let other = send(&checker, WIRE, "other", &patch(&body, &json!({"model": "other"}))).unwrap();
    assert_eq!(other.cache_read, 0, "another model has its own cache");
}
