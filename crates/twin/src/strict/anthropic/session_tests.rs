//! What the Messages twin sees, issues, recognises and caches over several requests.

use junto_llm::{Content, Part, ToolCall, ToolChoice};
use serde_json::{Value, json};

use super::tests::{BAD, MODEL, WIRE, base, result, round};
use crate::strict::testing::*;
use crate::strict::{Checker, Refusal, Seen};

/// A tool round after an answer that thought; `change` may spoil the assistant's blocks.
fn after_thinking(model: &str, change: impl Fn(&mut Vec<Value>)) -> Result<Seen, Refusal> {
    let checker = Checker::new(KEY.to_owned());
    let ask = patch(&base(), &json!({"thinking": {"type": "enabled", "budget_tokens": 2000}}));
    let seen = send(&checker, WIRE, MODEL, &ask).unwrap();
    assert!(seen.thinking);
    let mut response = thoughtful(MODEL);
    response.message.content.insert(1, Part::new(Content::RedactedThinking("opaque".into())));
    checker.issue(&seen, &mut response);
    let mut blocks: Vec<Value> = response
        .message
        .content
        .iter()
        .map(|part| match part.content() {
            Content::Thinking(t) => {
                json!({"type": "thinking", "thinking": t.text, "signature": t.signature.clone().unwrap()})
            }
            Content::RedactedThinking(data) => json!({"type": "redacted_thinking", "data": data}),
            Content::ToolCall(call) => {
                assert!(call.id.starts_with("toolu_"));
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
            }
            Content::Text(text) => json!({"type": "text", "text": text}),
            other => panic!("{other:?}"),
        })
        .collect();
    change(&mut blocks);
    let ids = call_ids(&response);
    let body = patch(
        &ask,
        &json!({"model": model, "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": ids.iter().map(|id| result(id)).collect::<Vec<_>>()}
        ]}),
    );
    send(&checker, WIRE, model, &body)
}

#[test]
fn thinking_comes_back_as_it_was_issued() {
    let seen = after_thinking(MODEL, |_| ()).unwrap();
    assert_eq!((seen.round, seen.turn), (1, 1));
    assert_eq!(seen.last_results, ["ok", "ok"]);

    let check = |what, model, change: fn(&mut Vec<Value>), phrase| {
        judged(WIRE, what, after_thinking(model, change), 400, BAD, phrase);
    };
    let signature = "Invalid `signature` in `thinking` block";
    check("text changed", MODEL, |b| b[0]["thinking"] = json!("Let me see!"), signature);
    check(
        "signature changed",
        MODEL,
        |b| {
            let old = b[0]["signature"].as_str().unwrap();
            let new = format!("{}{}", if old.starts_with('B') { 'C' } else { 'B' }, &old[1..]);
            b[0]["signature"] = json!(new);
        },
        signature,
    );
    check("unsigned", MODEL, |b| b[0]["signature"] = json!(""), signature);
    check("another model", "claude-opus-4-1", |_| (), signature);
    check("redacted changed", MODEL, |b| b[1]["data"] = json!("opaquf"), "redacted_thinking");
    check(
        "lost",
        MODEL,
        |b| drop(b.drain(0..2)),
        "Expected `thinking` or `redacted_thinking`, but found `text`",
    );
    assert!(after_thinking("claude-opus-4-1", |b| drop(b.drain(0..2))).is_ok(), "dropped for another model");
}

#[test]
fn calls_from_elsewhere_need_no_thinking() {
    let body = patch(
        &patch(&base(), &round(&["call_1"], json!([result("call_1")]))),
        &json!({"thinking": {"type": "adaptive"}}),
    );
    assert!(send(&Checker::new(KEY.to_owned()), WIRE, MODEL, &body).is_ok());
}

#[test]
fn counting_needs_no_limit() {
    let checker = Checker::new(KEY.to_owned());
    let body = patch(&base(), &json!({"max_tokens": null})).to_string();
    let headers = good_headers(WIRE);
    let seen = checker.check(WIRE, "/v1/messages/count_tokens?beta=true", &headers, body.as_bytes()).unwrap();
    assert!(seen.input_tokens > 10);
}

#[test]
fn what_is_seen() {
    let checker = Checker::new(KEY.to_owned());
    let body = patch(
        &base(),
        &json!({
            "stream": true,
            "tools": [
                {"name": "f", "input_schema": shape()},
                {"name": "later", "input_schema": shape(), "defer_loading": true},
                {"type": "web_search_20250305", "name": "web_search"},
                {"type": "bash_20250124", "name": "bash"}
            ],
            "tool_choice": {"type": "tool", "name": "f"},
            "output_config": {"format": {"type": "json_schema",
                "schema": {"type": "object", "properties": {}, "additionalProperties": false}}},
            "messages": [
                {"role": "user", "content": "one"},
                {"role": "assistant", "content": "two"},
                {"role": "user", "content": [
                    {"type": "text", "text": "<system-reminder>x</system-reminder>"},
                    {"type": "text", "text": "three"}]},
                {"role": "system", "content": "four"}
            ]
        }),
    );
    let seen = send(&checker, WIRE, MODEL, &body).unwrap();
    assert_eq!(seen.mode, junto_llm::wire::Mode::Stream);
    assert_eq!(seen.tools.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["f", "bash"]);
    assert_eq!(seen.last_user, "three");
    assert_eq!((seen.round, seen.turn, seen.max_tokens), (0, 2, Some(4096)));
    assert_eq!(seen.tool_choice, Some(ToolChoice::Named("f".into())));
    assert!(seen.schema.is_some() && !seen.thinking);
}

/// Three turns of one conversation with breakpoints on the system prompt and the last block.
fn session(change: impl Fn(usize, &mut Value)) -> Vec<(u64, u64, u64)> {
    let checker = Checker::new(KEY.to_owned());
    let mark = json!({"type": "ephemeral"});
    let mut messages = Vec::new();
    let mut out = Vec::new();
    for turn in 0..3 {
        messages.push(json!({"role": "user", "content": [{"type": "text", "text": long(300)}]}));
        let mut body = patch(
            &base(),
            &json!({
                "system": [{"type": "text", "text": long(1200), "cache_control": mark}],
                "messages": messages
            }),
        );
        body["messages"][turn * 2]["content"][0]["cache_control"] = mark.clone();
        change(turn, &mut body);
        let seen = send(&checker, WIRE, MODEL, &body).unwrap();
        out.push((seen.input_tokens, seen.cache_read, seen.cache_write));
        messages.push(json!({"role": "assistant", "content": "done"}));
    }
    out
}

#[test]
fn a_steady_client_reads_its_cache() {
    let [first, second, third] = session(|_, _| ()).try_into().unwrap();
    assert_eq!((first.1, first.2), (0, first.0));
    assert_eq!((second.1, second.2), (first.0, second.0 - first.0));
    assert_eq!((third.1, third.2), (second.0, third.0 - second.0));
}

#[test]
fn a_cache_hostile_client_shows() {
    let clock = session(|turn, body| body["system"][0]["text"] = json!(format!("{turn} {}", long(1200))));
    assert!(clock.iter().all(|(_, read, _)| *read == 0), "{clock:?}");
    let choice = session(|turn, body| {
        body["tool_choice"] = json!({"type": if turn % 2 == 0 { "auto" } else { "any" }});
    });
    assert!(choice[1].1 > 1000 && choice[1].1 < choice[0].0, "tools and system only: {choice:?}");
    let bare = session(|turn, body| {
        body["system"][0].as_object_mut().unwrap().shift_remove("cache_control");
        body["messages"][turn * 2]["content"][0].as_object_mut().unwrap().shift_remove("cache_control");
    });
    assert!(bare.iter().all(|(_, read, write)| (*read, *write) == (0, 0)), "{bare:?}");
}

#[test]
fn given_call_ids_are_kept() {
    let checker = Checker::new(KEY.to_owned());
    let seen = send(&checker, WIRE, MODEL, &base()).unwrap();
    let call = |id: &str| Part::new(Content::ToolCall(ToolCall::function(id, "f", "{}")));
    let mut response = answer(MODEL, vec![call("mine"), call(""), call("")]);
    checker.issue(&seen, &mut response);
    let ids = call_ids(&response);
    assert_eq!(ids[0], "mine");
    assert_ne!(ids[1], ids[2]);
}
