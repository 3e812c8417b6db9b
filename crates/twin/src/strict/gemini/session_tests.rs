//! What the Gemini twin sees, issues, recognises and caches over several requests.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use junto_llm::ToolChoice;
use junto_llm::wire::Mode;
use serde_json::{Value, json};

use super::tests::{BAD, MODEL, WIRE, base, call, result, user};
use crate::strict::testing::*;
use crate::strict::{Checker, Refusal, Seen};

/// A step of a turn after an answer that thought; `change` may spoil the model's parts, of which the
/// last two are calls. `then` follows the responses.
fn after_thinking(model: &str, change: impl Fn(&mut Vec<Value>), then: &[Value]) -> Result<Seen, Refusal> {
    let checker = Checker::new(KEY.to_owned());
    let body = patch(&base(), &json!({"generationConfig": {"thinkingConfig=": {"includeThoughts": true}}}));
    let seen = send(&checker, WIRE, MODEL, &body).unwrap();
    assert!(seen.thinking);
    let mut response = thoughtful(MODEL);
    checker.issue(&seen, &mut response);
    let mut parts: Vec<Value> = response
        .message
        .content
        .iter()
        .map(|part| part.as_text().map_or_else(|| raw(part), |text| json!({"text": text})))
        .collect();
    assert_eq!(parts[0], json!({"text": "Let me see.", "thought": true}));
    assert!(parts[2]["thoughtSignature"].is_string() && parts[3].get("thoughtSignature").is_none());
    change(&mut parts);
    let mut contents = vec![
        json!({"role": "user", "parts": [{"text": "hi"}]}),
        json!({"role": "model", "parts": parts}),
        json!({"role": "user", "parts": [result("f"), result("f")]}),
    ];
    contents.extend_from_slice(then);
    send(&checker, WIRE, model, &patch(&body, &json!({"contents": contents})))
}

#[test]
fn thought_signatures_come_back() {
    let seen = after_thinking(MODEL, |_| (), &[]).unwrap();
    assert_eq!((seen.round, seen.turn), (1, 1));
    assert_eq!(seen.last_results, ["ok", "ok"]);
    let sign = |parts: &mut Vec<Value>, to: &str| parts[2]["thoughtSignature"] = json!(to);
    let unsign =
        |parts: &mut Vec<Value>| drop(parts[2].as_object_mut().unwrap().shift_remove("thoughtSignature"));
    let other_alphabet = |parts: &mut Vec<Value>| {
        let bytes = STANDARD.decode(parts[2]["thoughtSignature"].as_str().unwrap()).unwrap();
        sign(parts, &URL_SAFE.encode(bytes));
    };
    let reordered = |parts: &mut Vec<Value>| parts[2]["functionCall"]["args"] = json!({"a": [2], "b": 1});
    let changed = |parts: &mut Vec<Value>| {
        let old = parts[2]["thoughtSignature"].as_str().unwrap().to_owned();
        sign(parts, &format!("{}{}", &old[..43], if old.ends_with('A') { 'B' } else { 'A' }));
    };
    let skip = STANDARD.encode("skip_thought_signature_validator");
    let next = [
        json!({"role": "model", "parts": [{"text": "done"}]}),
        json!({"role": "user", "parts": [{"text": "more"}]}),
    ];

    assert!(after_thinking(MODEL, |parts| drop(parts.remove(0)), &[]).is_ok(), "without the thought's text");
    assert!(after_thinking(MODEL, other_alphabet, &[]).is_ok(), "in the other alphabet");
    assert!(after_thinking(MODEL, reordered, &[]).is_ok(), "with its arguments in another order");
    assert!(after_thinking(MODEL, |parts| sign(parts, "skip_thought_signature_validator"), &[]).is_ok());
    assert!(after_thinking(MODEL, |parts| sign(parts, &skip), &[]).is_ok());
    assert!(after_thinking(MODEL, unsign, &next).is_ok(), "a turn that is over needs none");
    assert!(after_thinking("gemini-2.5-pro", unsign, &[]).is_ok(), "old models need none");

    let check = |what, result, phrase| judged(WIRE, what, result, 400, BAD, phrase);
    check("missing", after_thinking(MODEL, unsign, &[]), "missing a thought_signature");
    check("changed", after_thinking(MODEL, changed, &[]), "signature is not valid");
    check("changed long ago", after_thinking(MODEL, changed, &next), "signature is not valid");
    check("another model", after_thinking("gemini-3-flash", |_| (), &[]), "signature is not valid");
    let argument = |parts: &mut Vec<Value>| parts[2]["functionCall"]["args"]["b"] = json!(2);
    check("another argument", after_thinking(MODEL, argument, &[]), "signature is not valid");
}

#[test]
fn what_is_seen() {
    let body = json!({
        "contents": [
            {"role": "user", "parts": [{"text": "one"}]},
            {"role": "model", "parts": [{"text": "two"}]},
            {"role": "user", "parts": [{"text": "three"}]},
            {"role": "model", "parts": [call("f")]},
            {"role": "user", "parts": [result("f")]}
        ],
        "tools": [{"function_declarations": [{"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": true}}}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {"maxOutputTokens": 9, "responseMimeType": "application/json"}
    });
    let checker = Checker::new(KEY.to_owned());
    let path = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse";
    let seen = checker.check(WIRE, path, &good_headers(WIRE), body.to_string().as_bytes()).unwrap();
    assert_eq!((seen.model.as_str(), seen.mode), (MODEL, Mode::Stream));
    assert_eq!((seen.last_user.as_str(), seen.round, seen.turn), ("three", 1, 2));
    assert_eq!(seen.last_results, ["ok"]);
    assert_eq!(seen.tool_choice, Some(ToolChoice::Named("f".into())));
    assert_eq!((seen.max_tokens, seen.thinking), (Some(9), false));
    assert_eq!(seen.schema, Some(json!({"type": "object"})));
    let expected = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}});
    assert_eq!(seen.tools[0].schema, Some(expected));
    assert_eq!(seen.body, body, "the body stays as it came");
}

#[test]
fn counting_reads_both_forms() {
    let checker = Checker::new(KEY.to_owned());
    let count = |body: Value| {
        let path = "/v1beta/models/gemini-3-pro:countTokens";
        checker.check(WIRE, path, &good_headers(WIRE), body.to_string().as_bytes()).unwrap().input_tokens
    };
    let contents = json!([{"role": "user", "parts": [{"text": long(50)}]}]);
    assert_eq!(
        count(json!({"contents": contents})),
        count(json!({"generateContentRequest": {"model": "models/gemini-3-pro", "contents": contents}}))
    );
}

#[test]
fn repeated_prefixes_are_cached() {
    let checker = Checker::new(KEY.to_owned());
    let body = patch(&base(), &user(json!({"text": long(2000)})));
    let first = send(&checker, WIRE, MODEL, &body).unwrap();
    let second = send(&checker, WIRE, MODEL, &body).unwrap();
    assert_eq!((first.cache_read, second.cache_read), (0, first.input_tokens));
}
