//! What holds on every wire: keys, bodies, leniency, and that nothing makes a checker panic.

use http::HeaderMap;
use junto_llm::Wire;
use junto_llm::catalog::Catalog;
use junto_llm::vendor::VENDORS;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::testing::*;
use super::{Checker, Refusal, Seen, model};

/// A conversation on each wire, with a call and its result.
fn rich(wire: Wire) -> Value {
    match wire {
        Wire::Anthropic => json!({
            "model": "m", "max_tokens": 9000, "stream": true,
            "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "f", "input_schema": shape()}],
            "tool_choice": {"type": "auto"},
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "u"}, {"type": "image", "source":
                    {"type": "base64", "media_type": "image/png", "data": "AQID"}}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content":
                    [{"type": "text", "text": "r"}]}]}
            ]
        }),
        Wire::Responses => json!({
            "model": "m", "instructions": "s", "store": false, "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "low", "summary": "auto"},
            "tools": [{"type": "function", "name": "f", "parameters": shape(), "strict": false}],
            "text": {"format": {"type": "json_schema", "name": "o", "schema": shape()}},
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "u"}]},
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", "id": "fc_1"},
                {"type": "function_call_output", "call_id": "a", "output": "r"}
            ]
        }),
        Wire::Chat => json!({
            "model": "m", "max_tokens": 9, "tool_choice": "auto",
            "tools": [{"type": "function", "function": {"name": "f", "parameters": shape()}}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "o", "schema": shape()}},
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "u"}]},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "a", "content": "r"}
            ]
        }),
        Wire::Gemini => json!({
            "systemInstruction": {"parts": [{"text": "s"}]},
            "tools": [{"functionDeclarations": [{"name": "f", "parameters": shape()}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
            "generationConfig": {"thinkingConfig": {"includeThoughts": true, "thinkingBudget": 5}},
            "contents": [
                {"role": "user", "parts": [{"text": "u"}, {"inlineData": {"mimeType": "image/png", "data": "AQID"}}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "r"}}}]}
            ]
        }),
    }
}

fn check(
    checker: &Checker,
    wire: Wire,
    headers: &HeaderMap,
    query: &str,
    body: &[u8],
) -> Result<Seen, Refusal> {
    checker.check(wire, &format!("{}{query}", path(wire, "m")), headers, body)
}

#[test]
fn a_conversation_is_seen_alike_on_every_wire() {
    for wire in Wire::ALL {
        let seen = send(&Checker::new(KEY.into()), wire, "m", &rich(wire)).unwrap();
        let said = (seen.model.as_str(), seen.last_user.as_str(), seen.round, seen.turn);
        assert_eq!(said, ("m", "u", 1, 1), "{wire:?}");
        assert_eq!(seen.last_results, ["r"], "{wire:?}");
        assert_eq!(seen.tools[0].name, "f", "{wire:?}");
        assert_eq!(seen.tools[0].schema, Some(shape()), "{wire:?}");
        assert!((10..2000).contains(&seen.input_tokens), "{wire:?}: {}", seen.input_tokens);
    }
}

#[test]
fn keys() {
    const WRONG: &str = "another-key";
    let cases: &[(Wire, &str, &str, u16, &str)] = &[
        (Wire::Anthropic, "x-api-key: K", "", 200, ""),
        (Wire::Anthropic, "authorization: Bearer K", "", 200, ""),
        (Wire::Anthropic, "x-api-key: W", "", 401, "authentication_error"),
        (Wire::Anthropic, "", "", 401, "authentication_error"),
        (Wire::Responses, "authorization: Bearer K", "", 200, ""),
        (Wire::Responses, "authorization: bearer K", "", 200, ""),
        (Wire::Responses, "authorization: Bearer W", "", 401, "invalid_api_key"),
        (Wire::Responses, "x-api-key: K", "", 401, "invalid_api_key"),
        (Wire::Chat, "authorization: Bearer K", "", 200, ""),
        (Wire::Chat, "authorization: K", "", 401, "invalid_api_key"),
        (Wire::Gemini, "x-goog-api-key: K", "", 200, ""),
        (Wire::Gemini, "", "?alt=sse&key=K", 200, ""),
        (Wire::Gemini, "x-goog-api-key: W", "", 400, "INVALID_ARGUMENT"),
        (Wire::Gemini, "", "?key=W", 400, "INVALID_ARGUMENT"),
        (Wire::Gemini, "", "", 403, "PERMISSION_DENIED"),
    ];
    for checker in [Checker::new(KEY.into()), Checker::lenient(KEY.into())] {
        for &(wire, header, query, status, name) in cases {
            let spell = |text: &str| text.replace('K', KEY).replace('W', WRONG);
            let header = spell(header);
            let mut pairs: Vec<(&str, &str)> = header.split_once(": ").into_iter().collect();
            pairs.push(("anthropic-version", "2023-06-01"));
            let body = rich(wire).to_string();
            let result = check(&checker, wire, &headers(&pairs), &spell(query), body.as_bytes());
            if let Err(refusal) = &result {
                let text = refusal.body.to_string();
                assert!(!text.contains(KEY) && !text.contains(WRONG), "a key in {text}");
                if refusal.status == 400 {
                    assert_eq!(refusal.body["error"]["details"][0]["reason"], "API_KEY_INVALID");
                }
            }
            judged(wire, &format!("{wire:?} {header:?} {query:?}"), result, status, name, "");
        }
    }
}

#[test]
fn a_body_must_be_json() {
    for wire in Wire::ALL {
        let headers = good_headers(wire);
        for body in ["", "{", "not json", "{} {}"] {
            let refusal = check(&Checker::new(KEY.into()), wire, &headers, "", body.as_bytes()).unwrap_err();
            assert_eq!(refusal.status, 400, "{wire:?} {body:?}");
            let seen = check(&Checker::lenient(KEY.into()), wire, &headers, "", body.as_bytes()).unwrap();
            assert_eq!(seen.body, Value::Null);
        }
        for body in ["null", "[]", "3", "\"x\""] {
            let refusal = check(&Checker::new(KEY.into()), wire, &headers, "", body.as_bytes()).unwrap_err();
            assert_eq!(refusal.status, 400, "{wire:?} {body:?}");
        }
    }
}

#[test]
fn a_lenient_checker_takes_anything_and_still_sees() {
    for wire in Wire::ALL {
        let body = patch(&rich(wire), &json!({"foo": 1, "max_tokens": null}));
        let seen = send(&Checker::lenient(KEY.into()), wire, "no-such-model", &body).unwrap();
        assert_eq!((seen.last_user.as_str(), seen.round), ("u", 1), "{wire:?}");
        assert!(send(&Checker::new(KEY.into()), wire, "m", &body).is_err(), "{wire:?}");
    }
}

/// Words that mean something on some wire.
const WORDS: &[&str] = &[
    "assistant",
    "user",
    "system",
    "tool",
    "model",
    "text",
    "thinking",
    "tool_use",
    "tool_result",
    "image",
    "base64",
    "enabled",
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "item_reference",
    "function",
    "custom",
    "input_text",
    "json_schema",
    "object",
    "STRING",
    "ANY",
    "a",
    "f",
    "rs_1",
    "é",
    "",
];
const NAMES: &[&str] = &[
    "type",
    "role",
    "content",
    "text",
    "id",
    "name",
    "input",
    "messages",
    "contents",
    "parts",
    "tools",
    "tool_choice",
    "source",
    "data",
    "call_id",
    "output",
    "summary",
    "encrypted_content",
    "functionCall",
    "function_response",
    "thoughtSignature",
    "properties",
    "anyOf",
    "required",
    "parameters",
    "function",
    "tool_calls",
    "tool_call_id",
    "tool_use_id",
    "cache_control",
    "format",
    "schema",
    "generationConfig",
];

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f32>().prop_map(|x| json!(x)),
        prop::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(NAMES), inner), 0..5).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

/// Replaces the `n`th value of a tree, counted in reading order.
fn replace(value: &mut Value, n: &mut usize, with: &Value) {
    if *n == 0 {
        *value = with.clone();
    }
    *n = n.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, n, with)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, n, with)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_a_checker_panic(anything in tree(), at in 0_usize..80) {
        for wire in Wire::ALL {
            let mut spoiled = rich(wire);
            replace(&mut spoiled, &mut at.clone(), &anything);
            for body in [&anything, &spoiled] {
                for checker in [Checker::new(KEY.into()), Checker::lenient(KEY.into())] {
                    if let Ok(seen) = send(&checker, wire, "gemini-3-pro", body) {
                        checker.issue(&seen, &mut thoughtful("m"));
                    }
                }
            }
        }
    }

    #[test]
    fn an_issued_id_is_never_given_twice(count in 1_usize..5) {
        let checker = Checker::new(KEY.into());
        for wire in Wire::ALL {
            let seen = send(&checker, wire, "m", &rich(wire)).unwrap();
            let mut ids = std::collections::BTreeSet::new();
            for _ in 0..count {
                let mut response = thoughtful("m");
                checker.issue(&seen, &mut response);
                for id in call_ids(&response) {
                    prop_assert!(ids.insert(id));
                }
            }
        }
    }
}

/// The twins have a table of their own; a stale one would refuse what the provider takes.
#[test]
fn windows_are_those_of_the_catalog() {
    for info in Catalog::builtin().list(None) {
        let wire = VENDORS.iter().find(|vendor| vendor.name == info.provider).unwrap().wire;
        // Of OpenAI's reasoning models the answer has a share that no input may take.
        let answer = if model::reasons(&info.id) == Some(true) { info.max_output } else { 0 };
        let most = info.context_window - answer;
        assert!(model::fits(wire, &info.id, most).is_ok(), "{} takes {most}", info.id);
        assert!(model::fits(wire, &info.id, most + 1).is_err(), "{} takes no more than {most}", info.id);
    }
}
