//! What the Responses twin sees, issues, recognises and caches over several requests.

use junto_llm::{Content, Part, ToolCall, ToolChoice};
use serde_json::{Value, json};

use super::tests::{MODEL, WIRE, ask, base, call, output};
use crate::strict::testing::*;
use crate::strict::{Checker, Refusal, Seen};

/// A tool round after an answer that reasoned; `change` may spoil the echoed items, of which the
/// first is the reasoning, the second the message, then two calls.
fn after_reasoning(model: &str, settings: Value, change: impl Fn(&mut Vec<Value>)) -> Result<Seen, Refusal> {
    let checker = Checker::new(KEY.to_owned());
    let body = patch(&base(), &settings);
    let seen = send(&checker, WIRE, MODEL, &body).unwrap();
    assert!(seen.thinking);
    let mut response = thoughtful(MODEL);
    checker.issue(&seen, &mut response);
    let mut items: Vec<Value> = response.message.content.iter().map(raw).collect();
    assert!(items[0]["id"].as_str().unwrap().starts_with("rs_"));
    assert!(items[1]["id"].as_str().unwrap().starts_with("msg_"));
    assert!(items[2]["id"].as_str().unwrap().starts_with("fc_"));
    let ids = call_ids(&response);
    assert!(ids.iter().all(|id| id.starts_with("call_")));
    items.extend(ids.iter().map(|id| output(id)));
    change(&mut items);
    items.insert(0, ask());
    send(&checker, WIRE, model, &patch(&body, &json!({"model": model, "input": items})))
}

#[test]
fn reasoning_comes_back_as_it_was_issued() {
    let stateless = || json!({});
    let seen = after_reasoning(MODEL, stateless(), |_| ()).unwrap();
    assert_eq!((seen.round, seen.turn), (1, 1));
    assert_eq!(seen.last_results, ["ok", "ok"]);
    assert!(
        after_reasoning(MODEL, stateless(), |items| items[0]["summary"] = json!([])).is_ok(),
        "without summary"
    );
    assert!(
        after_reasoning(MODEL, stateless(), |items| {
            items.remove(0);
            for item in items {
                item.as_object_mut().unwrap().shift_remove("id");
            }
        })
        .is_ok(),
        "without reasoning and ids"
    );

    let check = |what, code, change: fn(&mut Vec<Value>), phrase| {
        judged(WIRE, what, after_reasoning(MODEL, stateless(), change), 400, code, phrase);
    };
    let code = "invalid_encrypted_content";
    check(
        "content changed",
        code,
        |items| {
            let old = items[0]["encrypted_content"].as_str().unwrap();
            let new = format!("{}{}", &old[..old.len() - 1], if old.ends_with('A') { 'B' } else { 'A' });
            items[0]["encrypted_content"] = json!(new);
        },
        "could not be verified",
    );
    check("summary changed", code, |items| items[0]["summary"][0]["text"] = json!("Let me see!"), "verified");
    check("another item's content", code, |items| items[0]["id"] = json!("rs_other"), "verified");
    let switched = after_reasoning("gpt-5.1", stateless(), |_| ());
    judged(WIRE, "another model", switched, 400, code, "verified");
    check(
        "reasoning lost",
        "null",
        |items| drop(items.remove(0)),
        "was provided without its required 'reasoning' item",
    );
    check("reasoning lost before calls", "null", |items| drop(items.drain(0..2)), "of type 'function_call'");
    assert!(after_reasoning(MODEL, stateless(), |items| items.truncate(1)).is_ok(), "cut off after it");
    let cut = after_reasoning(MODEL, json!({"store": true}), |items| items.truncate(1));
    judged(WIRE, "nothing follows", cut, 400, "null", "without its required following item");
    check("the user follows", "null", |items| items.insert(1, ask()), "without its required following item");
    let stripped =
        |items: &mut Vec<Value>| drop(items[0].as_object_mut().unwrap().shift_remove("encrypted_content"));
    judged(WIRE, "no content", after_reasoning(MODEL, stateless(), stripped), 404, "null", "not persisted");
}

#[test]
fn stored_items_can_be_named_by_id() {
    let stored = || json!({"store": true});
    let by_id = |items: &mut Vec<Value>| {
        for item in items.iter_mut().take(4) {
            *item = json!({"type": "item_reference", "id": item["id"]});
        }
    };
    assert!(after_reasoning(MODEL, stored(), by_id).is_ok());
    assert_eq!(after_reasoning(MODEL, json!({}), by_id).unwrap_err().status, 404, "not with store: false");
    let partly = |items: &mut Vec<Value>| {
        by_id(items);
        items.remove(0);
    };
    judged(WIRE, "lost", after_reasoning(MODEL, stored(), partly), 400, "null", "required 'reasoning' item");
}

#[test]
fn custom_calls_and_hidden_reasoning_are_issued() {
    let checker = Checker::new(KEY.to_owned());
    let seen = send(&checker, WIRE, MODEL, &base()).unwrap();
    let mut response = answer(
        MODEL,
        vec![
            Part::new(Content::RedactedThinking("x".into())),
            Part::new(Content::ToolCall(ToolCall::custom("", "p", "text"))),
        ],
    );
    checker.issue(&seen, &mut response);
    let items: Vec<Value> = response.message.content.iter().map(raw).collect();
    assert_eq!(items[0]["summary"], json!([]));
    assert_eq!((&items[1]["type"], &items[1]["input"]), (&json!("custom_tool_call"), &json!("text")));
    let id = items[1]["call_id"].clone();
    let echoed = json!({"input": [ask(), items[0], items[1], {"type": "custom_tool_call_output", "call_id": id, "output": "ok"}]});
    assert!(send(&checker, WIRE, MODEL, &patch(&base(), &echoed)).is_ok());
}

#[test]
fn what_is_seen() {
    let body = patch(
        &base(),
        &json!({
            "tools": [
                {"type": "function", "name": "f", "parameters": shape()},
                {"type": "custom", "name": "p"},
                {"type": "web_search"}
            ],
            "tool_choice": {"type": "custom", "name": "p"},
            "text": {"format": {"type": "json_schema", "name": "o", "schema": shape()}},
            "max_output_tokens": 99,
            "reasoning": {"summary": null},
            "input": [
                {"role": "user", "content": "<environment_context>x</environment_context>"},
                {"role": "user", "content": [{"type": "input_text", "text": "one"}]},
                {"role": "assistant", "content": "two"},
                call("a"),
                {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "three"}]}
            ]
        }),
    );
    let seen = send(&Checker::new(KEY.to_owned()), WIRE, MODEL, &body).unwrap();
    let tools: Vec<_> = seen.tools.iter().map(|t| (t.name.as_str(), t.custom)).collect();
    assert_eq!(tools, [("f", false), ("p", true)]);
    assert_eq!((seen.last_user.as_str(), seen.round, seen.turn), ("one", 1, 1));
    assert_eq!(seen.last_results, ["three"]);
    assert_eq!((seen.thinking, seen.max_tokens, seen.schema), (false, Some(99), Some(shape())));
    assert_eq!(seen.tool_choice, Some(ToolChoice::Named("p".into())));
}

#[test]
fn a_steady_client_reads_its_cache() {
    let reads = |change: fn(usize, &mut Value)| {
        let checker = Checker::new(KEY.to_owned());
        let mut items = Vec::new();
        let mut reads = Vec::new();
        for turn in 0..3 {
            items.push(json!({"role": "user", "content": long(600)}));
            let mut body = patch(&base(), &json!({"instructions": long(1000), "input": items}));
            change(turn, &mut body);
            let seen = send(&checker, WIRE, MODEL, &body).unwrap();
            reads.push((seen.input_tokens, seen.cache_read));
            items.push(json!({"role": "assistant", "content": "done"}));
        }
        reads
    };
    let steady = reads(|_, _| ());
    assert_eq!(steady[0].1, 0);
    assert_eq!(steady[1].1, steady[0].0 / 128 * 128);
    assert_eq!(steady[2].1, steady[1].0 / 128 * 128);
    let clock = reads(|turn, body| body["instructions"] = json!(format!("{turn} {}", long(1000))));
    assert!(clock.iter().all(|(_, read)| *read == 0), "{clock:?}");
}
