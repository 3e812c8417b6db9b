//! What the Messages twin refuses, as a table.

use junto_llm::Wire;
use serde_json::{Value, json};

use crate::strict::Checker;
use crate::strict::testing::*;

pub(super) const WIRE: Wire = Wire::Anthropic;
pub(super) const MODEL: &str = "claude-sonnet-4-5";
pub(super) const BAD: &str = "invalid_request_error";

pub(super) fn base() -> Value {
    json!({
        "model": MODEL,
        "max_tokens": 4096,
        "system": "Be brief.",
        "tools": [{"name": "f", "description": "d", "input_schema": shape()}],
        "messages": [{"role": "user", "content": "hi"}]
    })
}

fn table(cases: Vec<Case>) {
    run(WIRE, MODEL, &base(), cases);
}

fn user(content: Value) -> Value {
    json!({"messages": [{"role": "user", "content": content}]})
}

fn tool(tool: Value) -> Value {
    json!({"tools": [tool]})
}

/// A conversation with one round of calls of `f`.
pub(super) fn round(calls: &[&str], results: Value) -> Value {
    let calls: Vec<Value> =
        calls.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "f", "input": {}})).collect();
    json!({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results}
    ]})
}

pub(super) fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "ok"})
}

#[test]
fn fields_and_settings() {
    table(vec![
        ("a good request", json!({}), 200, "", ""),
        ("unknown field", json!({"foo": 1}), 400, BAD, "foo: Extra inputs are not permitted"),
        ("no model", json!({"model": null}), 400, BAD, "model: Field required"),
        ("no such model", json!({"model": "no-such-model"}), 404, "not_found_error", "no-such-model"),
        ("another unknown model", json!({"model": "whatever"}), 200, "", ""),
        ("no max_tokens", json!({"max_tokens": null}), 400, BAD, "max_tokens: Field required"),
        ("zero max_tokens", json!({"max_tokens": 0}), 400, BAD, "greater than or equal to 1"),
        ("max_tokens as text", json!({"max_tokens": "9"}), 400, BAD, "valid integer"),
        ("much max_tokens", json!({"max_tokens": 10_000_000}), 200, "", ""),
        ("hot", json!({"temperature": 1.5}), 400, BAD, "temperature: range: 0..1"),
        ("blank stop", json!({"stop_sequences": [" "]}), 400, BAD, "stop_sequences"),
        ("extra metadata", json!({"metadata": {"team": "x"}}), 400, BAD, "metadata.team: Extra inputs"),
        ("user id", json!({"metadata": {"user_id": "x"}}), 200, "", ""),
        ("odd effort", json!({"output_config": {"effort": "huge"}}), 400, BAD, "output_config.effort"),
        ("effort", json!({"output_config": {"effort": "xhigh"}}), 200, "", ""),
        (
            "today's coding agent",
            json!({
                "thinking": {"type": "adaptive", "display": "updates"},
                "output_config": {"effort": "medium"},
                "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
                "safeguards": [{"type": "dangerous_tool_use"}],
                "stream": true,
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                    {"role": "system", "content": "The date."},
                    {"role": "system", "content": [], "output_config": {"effort": "high"}}
                ]
            }),
            200,
            "",
            "",
        ),
    ]);
}

#[test]
fn thinking_settings() {
    let on = |rest: Value| patch(&json!({"thinking": {"type": "enabled", "budget_tokens": 2000}}), &rest);
    table(vec![
        ("on", on(json!({})), 200, "", ""),
        ("odd type", json!({"thinking": {"type": "on"}}), 400, BAD, "Input tag 'on'"),
        ("no budget", json!({"thinking": {"type": "enabled"}}), 400, BAD, "budget_tokens: Field required"),
        (
            "small",
            on(json!({"thinking": {"budget_tokens": 1023}})),
            400,
            BAD,
            "greater than or equal to 1024",
        ),
        ("big", on(json!({"max_tokens": 2000})), 400, BAD, "`max_tokens` must be greater than"),
        ("cold", on(json!({"temperature": 0.5})), 400, BAD, "`temperature` may only be set to 1"),
        ("at one", on(json!({"temperature": 1})), 200, "", ""),
        ("top_k", on(json!({"top_k": 5})), 400, BAD, "`top_k`"),
        ("forced", on(json!({"tool_choice": {"type": "any"}})), 400, BAD, "forces tool use"),
        (
            "forced one",
            on(json!({"tool_choice": {"type": "tool", "name": "f"}})),
            400,
            BAD,
            "forces tool use",
        ),
        ("not forced", on(json!({"tool_choice": {"type": "auto"}})), 200, "", ""),
        ("off", json!({"thinking": {"type": "disabled"}, "temperature": 0.2}), 200, "", ""),
    ]);
}

#[test]
fn interleaved_thinking_may_exceed_max_tokens() {
    let body = patch(&base(), &json!({"thinking": {"type": "enabled", "budget_tokens": 9000}}));
    let mut headers = good_headers(WIRE);
    let checker = Checker::new(KEY.to_owned());
    let check = |headers: &_| checker.check(WIRE, "/v1/messages", headers, body.to_string().as_bytes());
    assert!(check(&headers).is_err());
    headers.insert("anthropic-beta", "a,interleaved-thinking-2025-05-14".parse().unwrap());
    assert!(check(&headers).is_ok());
}

#[test]
fn tools_and_choice() {
    let with = |schema: Value| tool(json!({"name": "f", "input_schema": schema}));
    let open =
        json!({"type": "object", "properties": {"a": {"type": "object"}}, "additionalProperties": false});
    table(vec![
        ("bad name", tool(json!({"name": "a.b", "input_schema": shape()})), 400, BAD, "tools.0.custom.name"),
        ("long name", tool(json!({"name": "a".repeat(129), "input_schema": shape()})), 400, BAD, "pattern"),
        ("a dash", tool(json!({"name": "a-b", "input_schema": shape()})), 200, "", ""),
        ("no schema", tool(json!({"name": "f"})), 400, BAD, "input_schema: Field required"),
        ("no type", with(json!({})), 400, BAD, "input_schema.type: Field required"),
        ("no object", with(json!({"type": "array"})), 400, BAD, "Input should be 'object'"),
        ("bad schema", with(json!({"type": "object", "properties": 3})), 400, BAD, "JSON schema is invalid"),
        ("anyOf at the top", with(json!({"type": "object", "anyOf": [{}]})), 400, BAD, "at the top level"),
        (
            "extra field",
            tool(json!({"name": "f", "input_schema": shape(), "x": 1})),
            400,
            BAD,
            "custom.x: Extra",
        ),
        (
            "twice",
            json!({"tools": [{"name": "f", "input_schema": shape()}, {"name": "f", "input_schema": shape()}]}),
            400,
            BAD,
            "Tool names must be unique",
        ),
        ("hosted", tool(json!({"type": "web_search_20250305", "name": "web_search"})), 200, "", ""),
        ("odd type", tool(json!({"type": "magic_1", "name": "m"})), 400, BAD, "Input tag 'magic_1'"),
        (
            "strict and open",
            tool(json!({"name": "f", "strict": true, "input_schema": open})),
            400,
            BAD,
            "additionalProperties",
        ),
        (
            "unknown choice",
            json!({"tool_choice": {"type": "tool", "name": "g"}}),
            400,
            BAD,
            "Tool 'g' not found",
        ),
        ("odd choice", json!({"tool_choice": {"type": "some"}}), 400, BAD, "tool_choice"),
        ("choice", json!({"tool_choice": {"type": "tool", "name": "f"}}), 200, "", ""),
        ("none", json!({"tool_choice": {"type": "none"}}), 200, "", ""),
        (
            "choice of nothing",
            json!({"tools": null, "tool_choice": {"type": "any"}}),
            400,
            BAD,
            "while providing tools",
        ),
        (
            "answer schema",
            json!({"output_config": {"format": {"type": "json_schema", "schema": shape()}}}),
            400,
            BAD,
            "'additionalProperties' must be explicitly set to false",
        ),
        (
            "no answer schema",
            json!({"output_config": {"format": {"type": "json_schema"}}}),
            400,
            BAD,
            "schema: Field required",
        ),
    ]);
}

#[test]
fn messages_and_blocks() {
    let image = |media: &str, data: &str| {
        user(json!([{"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}]))
    };
    let two = |role: &str, content: Value| json!({"messages": [{"role": "user", "content": "hi"}, {"role": role, "content": content}]});
    table(vec![
        ("none", json!({"messages": null}), 400, BAD, "messages: Field required"),
        ("empty", json!({"messages": []}), 400, BAD, "at least one message"),
        ("odd role", two("tool", json!("x")), 400, BAD, "Unexpected role \"tool\""),
        (
            "assistant first",
            json!({"messages": [{"role": "assistant", "content": "x"}]}),
            400,
            BAD,
            "\"user\" role",
        ),
        ("same roles merge", two("user", json!("again")), 200, "", ""),
        ("empty content", user(json!([])), 400, BAD, "must have non-empty content"),
        ("empty prefill", two("assistant", json!([])), 200, "", ""),
        ("empty system message", two("system", json!([])), 400, BAD, "must have non-empty content"),
        (
            "empty text",
            user(json!([{"type": "text", "text": ""}])),
            400,
            BAD,
            "text content blocks must be non-empty",
        ),
        ("blank text", user(json!([{"type": "text", "text": " \n"}])), 400, BAD, "non-whitespace"),
        ("prefill", two("assistant", json!("So")), 200, "", ""),
        ("trailing space", two("assistant", json!("So ")), 400, BAD, "trailing whitespace"),
        ("unknown block", user(json!([{"type": "video"}])), 400, BAD, "Input tag 'video'"),
        (
            "extra in block",
            user(json!([{"type": "text", "text": "x", "y": 1}])),
            400,
            BAD,
            "text.y: Extra inputs",
        ),
        (
            "extra in message",
            json!({"messages": [{"role": "user", "content": "x", "name": "n"}]}),
            400,
            BAD,
            "messages.0.name",
        ),
        ("image", image("image/png", "AQID"), 200, "", ""),
        ("image type", image("image/bmp", "AQID"), 400, BAD, "media_type"),
        ("image data", image("image/png", "not base64!"), 400, BAD, "invalid base64"),
        ("image of another kind", image("image/png", "/9j/4AAQ"), 400, BAD, "appears to be a image/jpeg"),
        (
            "image url",
            user(json!([{"type": "image", "source": {"type": "url", "url": "https://x/y"}}])),
            200,
            "",
            "",
        ),
        (
            "thinking of the user",
            user(json!([{"type": "thinking", "thinking": "x", "signature": "y"}])),
            400,
            BAD,
            "only be in `assistant`",
        ),
        (
            "system block",
            json!({"system": [{"type": "text", "text": ""}]}),
            400,
            BAD,
            "system: text content blocks",
        ),
    ]);
}

#[test]
fn calls_and_results() {
    let text = json!({"type": "text", "text": "and"});
    let failed = |content: Value| json!([{"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": content}]);
    table(vec![
        ("answered", round(&["a", "b"], json!([result("a"), result("b")])), 200, "", ""),
        ("in another order", round(&["a", "b"], json!([result("b"), result("a"), text])), 200, "", ""),
        (
            "one missing",
            round(&["a", "b"], json!([result("a")])),
            400,
            BAD,
            "without `tool_result` blocks immediately after: b",
        ),
        ("text first", round(&["a"], json!([text, result("a")])), 400, BAD, "immediately after: a"),
        ("no answer at all", round(&["a"], json!("next")), 400, BAD, "messages.1: `tool_use` ids"),
        ("unknown", round(&["a"], json!([result("a"), result("z")])), 400, BAD, "unexpected `tool_use_id`"),
        ("twice", round(&["a"], json!([result("a"), result("a")])), 400, BAD, "single result"),
        ("same id", round(&["a", "a"], json!([result("a")])), 400, BAD, "`tool_use` ids must be unique"),
        ("odd id", round(&["a b"], json!([result("a b")])), 400, BAD, "String should match pattern"),
        ("out of the blue", user(json!([result("a")])), 400, BAD, "unexpected `tool_use_id`"),
        ("empty failure", round(&["a"], failed(json!(""))), 400, BAD, "cannot be empty if `is_error`"),
        ("failure", round(&["a"], failed(json!("boom"))), 200, "", ""),
        (
            "a call at the end",
            json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": {}}]}]}),
            400,
            BAD,
            "without `tool_result`",
        ),
        (
            "input as text",
            json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": "{}"}]}, {"role": "user", "content": [result("a")]}]}),
            400,
            BAD,
            "tool_use.input",
        ),
        (
            "results in two messages",
            json!({"messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "a", "name": "f", "input": {}},
                    {"type": "tool_use", "id": "b", "name": "f", "input": {}}]},
                {"role": "user", "content": [result("a")]},
                {"role": "system", "content": "tick"},
                {"role": "user", "content": [result("b")]}
            ]}),
            200,
            "",
            "",
        ),
    ]);
}

#[test]
fn breakpoints() {
    let mark = json!({"type": "ephemeral"});
    let blocks = |n: usize| user(json!(vec![json!({"type": "text", "text": "x", "cache_control": mark}); n]));
    let ttl = |first: &str, second: &str| {
        user(json!([
            {"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": first}},
            {"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": second}}]))
    };
    table(vec![
        ("four", blocks(4), 200, "", ""),
        ("five", blocks(5), 400, BAD, "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        ("four and one", patch(&blocks(4), &json!({"cache_control": mark})), 400, BAD, "Found 5"),
        (
            "on empty text",
            user(json!([{"type": "text", "text": "", "cache_control": mark}])),
            400,
            BAD,
            "empty text blocks",
        ),
        (
            "odd type",
            user(json!([{"type": "text", "text": "x", "cache_control": {"type": "x"}}])),
            400,
            BAD,
            "'ephemeral'",
        ),
        ("long before short", ttl("1h", "5m"), 200, "", ""),
        ("short before long", ttl("5m", "1h"), 400, BAD, "must not come after"),
        (
            "on thinking",
            json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "x", "signature": "y", "cache_control": mark}]}]}),
            400,
            BAD,
            "thinking.cache_control: Extra inputs",
        ),
    ]);
}

#[test]
fn the_version_header_is_required() {
    let checker = Checker::new(KEY.to_owned());
    for (version, status) in
        [(None, 400), (Some("2020-01-01"), 400), (Some("2023-06-01"), 200), (Some("2026-10-21"), 200)]
    {
        let mut headers = good_headers(WIRE);
        headers.remove("anthropic-version");
        if let Some(version) = version {
            headers.insert("anthropic-version", version.parse().unwrap());
        }
        let result = checker.check(WIRE, "/v1/messages", &headers, base().to_string().as_bytes());
        judged(WIRE, "version", result, status, BAD, "anthropic-version");
    }
}

#[test]
fn the_newest_version_takes_less() {
    let checker = Checker::new(KEY.to_owned());
    let citation = json!({"type": "char_location", "cited_text": "x", "document_index": 0});
    let cited = json!([{"type": "text", "text": "hi", "citations": [citation]}]);
    let document =
        json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}});
    let answered = json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [document]},
        {"role": "user", "content": "on"}]});
    for (change, phrase) in [
        (json!({"temperature": 1}), "temperature: Extra inputs"),
        (json!({"top_p": 1}), "top_p: Extra inputs"),
        (user(cited), "messages.0.content.0.text.citations"),
        (answered, "messages.1.content.0: `document` blocks"),
    ] {
        let body = patch(&base(), &change).to_string();
        for (version, status) in [("2023-06-01", 200), ("2026-10-21", 400)] {
            let mut headers = good_headers(WIRE);
            headers.insert("anthropic-version", version.parse().unwrap());
            let result = checker.check(WIRE, "/v1/messages", &headers, body.as_bytes());
            judged(WIRE, version, result, status, BAD, phrase);
        }
    }
}

#[test]
fn a_long_prompt_is_refused() {
    table(vec![
        (
            "tiny",
            patch(&user(json!(long(1500))), &json!({"model": "claude-tiny"})),
            400,
            BAD,
            "prompt is too long: ",
        ),
        ("roomy", user(json!(long(1500))), 200, "", ""),
        ("over the default", user(json!(long(200_001))), 400, BAD, "tokens > 200000 maximum"),
    ]);
}
