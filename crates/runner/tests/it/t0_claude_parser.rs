//! The parser against lines that were never recorded.

use junto_llm::Cost;
use junto_runner::Verdict;
use junto_runner::failure::Class;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::parsed::{CLAUDE, output, parse, reports, short, used};

#[track_caller]
fn check(lines: &[Value], expected: &[&str]) {
    assert_eq!(short(&parse(CLAUDE, &output(lines))), expected);
}

fn stream(event: Value) -> Value {
    json!({"type": "stream_event", "event": event})
}

fn start(message: &str) -> Value {
    stream(json!({"type": "message_start", "message": {"id": message}}))
}

fn block(kind: &str) -> Value {
    stream(json!({"type": "content_block_start", "index": 0, "content_block": {"type": kind}}))
}

fn delta(text: &str) -> Value {
    let delta = json!({"type": "text_delta", "text": text});
    stream(json!({"type": "content_block_delta", "index": 0, "delta": delta}))
}

fn stop() -> Value {
    stream(json!({"type": "content_block_stop", "index": 0}))
}

fn said(message: &str, text: &str) -> Value {
    json!({"type": "assistant", "message": {"id": message, "content": [{"type": "text", "text": text}]}})
}

fn success(text: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "result": text})
}

#[test]
fn what_is_unknown_is_no_answer() {
    check(
        &[
            json!({"type": "from_the_future", "result": "no", "message": {"content": "no"}}),
            json!({"type": "system", "subtype": "from_the_future", "content": "no"}),
            json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "hologram", "text": "no"}]}}),
            json!({"type": "assistant", "message": "no"}),
            json!({"type": "user", "message": {"content": "no"}}),
        ],
        &["turn"],
    );
}

#[test]
fn what_cannot_be_read_is_said_once() {
    let lines = "not JSON\n\n[1]\n{\"type\": 7}\n\"result\"\n";
    assert_eq!(short(&parse(CLAUDE, lines.as_bytes())), ["warning unreadable_output"]);
}

#[test]
fn a_result_that_does_not_say_success_is_none() {
    check(&[json!({"type": "result"})], &["failed "]);
    check(&[json!({"type": "result", "subtype": "success", "result": "yes"})], &["failed "]);
    check(&[json!({"type": "result", "is_error": false, "result": "yes"})], &["failed "]);
    check(&[success("yes")], &["done yes"]);
}

#[test]
fn an_answer_begun_anew_in_pieces_stands_apart() {
    check(
        &[
            start("a"),
            block("text"),
            delta("Helo"),
            stop(),
            start("b"),
            block("text"),
            delta("Hello"),
            said("b", "Hello"),
            stop(),
        ],
        &["turn", "(", "+Helo", ")Helo", "abandoned", "turn", "(", "+Hello", ")Hello"],
    );
}

#[test]
fn a_whole_that_differs_from_its_pieces_wins() {
    check(
        &[start("a"), block("text"), delta("Helo"), said("a", "Hello"), success("Hello")],
        &["turn", "(", "+Helo", ")Helo", "abandoned", "(", "+Hello", ")Hello", "done Hello"],
    );
}

#[test]
fn the_whole_may_come_after_the_pieces_have_stopped() {
    check(
        &[start("a"), block("text"), delta("Hel"), stop(), said("a", "Hello")],
        &["turn", "(", "+Hel", "+lo", ")Hello"],
    );
}

#[test]
fn an_output_that_ends_early_ends_its_text() {
    check(&[start("a"), block("text"), delta("Hel")], &["turn", "(", "+Hel", ")Hel"]);
}

#[test]
fn several_blocks_of_one_message_are_one_answer() {
    let limit =
        json!({"type": "result", "subtype": "error_max_turns", "is_error": true, "errors": ["2 turns"]});
    check(
        &[said("a", "one "), said("a", "two"), limit],
        &["turn", "(", "+one ", ")one ", "(", "+two", ")two", "limit one two"],
    );
}

#[test]
fn tools_and_their_results() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": id}});
    let result = |id: &str, content: Value, failed: bool| {
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed},
        ]}})
    };
    check(
        &[
            json!({"type": "assistant", "message": {"id": "a", "content": [call("c"), call("d"), call("e")]}}),
            result("d", json!([{"type": "text", "text": "a"}, {"type": "image"}]), true),
            result("c", json!("a.txt"), false),
            result("c", json!("again"), false),
            result("unknown", json!("nothing"), false),
        ],
        &[
            "turn",
            "tool Bash {\"command\":\"c\"}",
            "tool Bash {\"command\":\"d\"}",
            "tool Bash {\"command\":\"e\"}",
            "error a\n[image]",
            "output a.txt",
            "error the agent ended before the tool did",
        ],
    );
}

#[test]
fn limits_of_the_account_are_told() {
    let event = |status: &str| {
        let info = json!({"status": status, "resetsAt": 1_794_700_000, "rateLimitType": "five_hour"});
        json!({"type": "rate_limit_event", "rate_limit_info": info})
    };
    check(&[event("allowed"), event("allowed_warning")], &["warning rate_limit"]);
    let result = json!({"type": "result", "subtype": "success", "is_error": true, "result": "No more."});
    let events = parse(CLAUDE, &output(&[event("rejected"), result]));
    let Verdict::Failed(error) = &reports(&events)[0].verdict else { panic!("{events:?}") };
    assert_eq!((Class::of(error), error.message()), (Some(Class::UsageLimit), "No more.|1794700000"));
}

#[test]
fn the_size_of_the_conversation_is_that_of_the_main_models_last_call() {
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 30, "output_tokens": 1});
    let message = |id: &str, parent: Value| json!({"type": "assistant", "parent_tool_use_id": parent, "message": {"id": id, "usage": usage, "content": []}});
    let mut subagent = message("b", json!("call"));
    subagent["message"]["usage"]["input_tokens"] = json!(1000);
    check(&[message("a", Value::Null), subagent], &["turn", "context 61"]);
}

#[test]
fn totals_that_add_up_are_taken_apart() {
    let total = |input: u64, cost: f64| {
        let used =
            json!({"inputTokens": input, "outputTokens": 1, "cacheReadInputTokens": 5, "costUSD": cost});
        json!({"type": "result", "subtype": "success", "is_error": false, "modelUsage": {"m": used}})
    };
    let (usage, cost) = used(&parse(CLAUDE, &output(&[total(10, 0.1), total(30, 0.4)])));
    assert_eq!((usage.input, usage.output, usage.cache_read), (35, 1, Some(5)));
    assert_eq!(cost.amount().unwrap().0, 400_000_000);
}

#[test]
fn a_price_that_the_client_guessed_is_no_price() {
    let used_by = json!({"m": {"inputTokens": 10, "costUSD": 0.1, "costBasis": "unknown"}});
    let result = json!({"type": "result", "modelUsage": used_by});
    assert_eq!(used(&parse(CLAUDE, &output(&[result]))).1, Cost::Unknown);
}

#[test]
fn a_result_without_models_is_the_sessions_models() {
    let result = json!({
        "type": "result", "total_cost_usd": 0.5, "usage": {"input_tokens": 7, "cache_creation_input_tokens": 3},
    });
    let (usage, cost) = used(&parse(CLAUDE, &output(&[result.clone(), result])));
    assert_eq!((usage.input, usage.cache_write), (20, Some(6)));
    assert_eq!(cost.amount().unwrap().0, 500_000_000);
}

/// Lines whose fields have the right names and any values.
fn event() -> impl Strategy<Value = String> {
    let kind = prop_oneof![
        Just("system"),
        Just("assistant"),
        Just("user"),
        Just("result"),
        Just("stream_event"),
        ".{0,8}".prop_map(|_| "x"),
    ];
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(0)),
        Just(json!(-1.5e300)),
        Just(json!("text")),
        Just(json!([])),
        Just(json!({})),
        Just(json!({"type": "text", "text": "é"})),
        Just(json!([{"type": "text", "text": "é"}])),
        Just(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}})),
        Just(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "é"}})
        ),
        Just(json!({"type": "content_block_stop", "index": 0})),
        Just(json!({"id": "m", "content": [{"type": "text", "text": "éé"}]})),
        Just(json!({"m": {"inputTokens": u64::MAX, "cacheReadInputTokens": u64::MAX, "costUSD": 1e300}})),
    ];
    let field = prop_oneof![
        Just("subtype"),
        Just("message"),
        Just("event"),
        Just("result"),
        Just("modelUsage"),
        Just("usage"),
        Just("total_cost_usd"),
        Just("permission_denials"),
        Just("errors"),
        Just("parent_tool_use_id"),
    ];
    (kind, proptest::collection::vec((field, leaf), 0..5)).prop_map(|(kind, fields)| {
        let mut value = json!({"type": kind});
        for (name, leaf) in fields {
            value[name] = leaf;
        }
        value.to_string()
    })
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        parse(CLAUDE, &bytes);
    }

    #[test]
    fn any_events_are_survived_and_paired(lines in proptest::collection::vec(event(), 0..30)) {
        parse(CLAUDE, lines.join("\n").as_bytes());
    }
}
