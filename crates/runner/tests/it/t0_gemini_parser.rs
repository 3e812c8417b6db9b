//! The parser of gemini against lines that were never recorded.

use junto_llm::{Cost, ErrorKind};
use junto_runner::{Used, Verdict};
use serde_json::{Value, json};

use crate::parsed::{GEMINI, output, parse, reports, short};

#[track_caller]
fn check(lines: &[Value], expected: &[&str]) {
    assert_eq!(short(&parse(GEMINI, &output(lines))), expected);
}

fn said(text: &str, delta: bool) -> Value {
    json!({"type": "message", "role": "assistant", "content": text, "delta": delta})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "tool_id": id, "tool_name": "read_file", "parameters": {"file_path": id}})
}

fn result() -> Value {
    json!({"type": "result", "status": "success", "stats": {}})
}

fn error(message: &str) -> Value {
    json!({"type": "error", "severity": "error", "message": message})
}

fn failed(error: Value) -> Value {
    json!({"type": "result", "status": "error", "error": error, "stats": {}})
}

#[test]
fn pieces_are_one_text_until_something_else_comes() {
    check(
        &[said("Hel", true), said("lo", true), call("a"), said("", true), said("Bye", true), result()],
        &[
            "turn",
            "(",
            "+Hel",
            "+lo",
            ")Hello",
            "tool read_file {\"file_path\":\"a\"}",
            "(",
            "+Bye",
            ")Bye",
            "error the agent ended before the tool did",
            "done Bye",
        ],
    );
    check(
        &[said("Hel", true), said("Hello", false)],
        &["turn", "(", "+Hel", ")Hel", "(", "+Hello", ")Hello"],
    );
}

#[test]
fn a_round_is_over_when_its_tools_have_answered() {
    let answered = |id: &str, status: &str| json!({"type": "tool_result", "tool_id": id, "status": status, "output": "", "error": {"message": "why"}});
    let shown = |id: &str| format!("tool read_file {{\"file_path\":\"{id}\"}}");
    check(
        &[
            call("a"),
            call("b"),
            answered("b", "error"),
            answered("a", "success"),
            call("c"),
            answered("c", "success"),
        ],
        &["turn", &shown("a"), &shown("b"), "error why", "output why", "turn", &shown("c"), "output why"],
    );
}

#[test]
fn a_failure_may_be_told_before_the_result() {
    for lines in [
        vec![error("API key not valid"), failed(json!({"type": "INVALID_STREAM"}))],
        vec![error("API key not valid"), failed(json!({"type": "unknown", "message": "API key not valid"}))],
    ] {
        let events = parse(GEMINI, &output(&lines));
        let [report] = reports(&events)[..] else { panic!("{events:?}") };
        let Verdict::Failed(error) = &report.verdict else { panic!("{report:?}") };
        assert_eq!((error.kind(), error.message()), (ErrorKind::Authentication, "API key not valid"));
        assert_eq!(events.len(), 1, "told once: {events:?}");
    }
    check(&[error("odd"), result()], &["warning reported_error", "done "]);
    check(&[error("odd")], &["excuse odd"]);
    check(&[failed(Value::Null)], &["failed "]);
}

#[test]
fn limits_and_interrupts_are_no_failures() {
    let fatal = |kind: &str| failed(json!({"type": kind, "message": "Reached it."}));
    check(&[fatal("FatalTurnLimitedError")], &["limit "]);
    check(&[fatal("FatalCancellationError")], &["interrupted "]);
    check(&[error("Loop detected, stopping execution"), result()], &["limit "]);
    check(&[error("Maximum session turns exceeded"), result()], &["limit "]);
    check(
        &[error("Loop detected, stopping execution"), said("on", true), result()],
        &["warning reported_error", "turn", "(", "+on", ")on", "done on"],
    );
}

#[test]
fn what_was_thought_is_in_the_total() {
    let stats = |models: Value| {
        json!({"type": "result", "status": "success", "stats": {
            "total_tokens": 21, "input_tokens": 10, "output_tokens": 4, "cached": 3, "models": models}})
    };
    let models = json!({"m": {"total_tokens": 17, "input_tokens": 10, "output_tokens": 4, "cached": 3}, "n": {"total_tokens": 0}});
    let init = json!({"type": "init", "session_id": "s", "model": "asked"});
    for (models, model, output_tokens) in [(models, "m", 7), (Value::Null, "asked", 11)] {
        let events = parse(GEMINI, &output(&[init.clone(), stats(models)]));
        let Used::Turn(used) = &reports(&events)[0].used else { panic!("{events:?}") };
        let [used] = &used[..] else { panic!("{used:?}") };
        assert_eq!((used.model.as_str(), used.usage.input, used.usage.output), (model, 10, output_tokens));
        assert_eq!((used.usage.cache_read, used.usage.reasoning), (Some(3), Some(output_tokens - 4)));
        assert_eq!(used.cost, Cost::Unknown);
    }
}

#[test]
fn an_answer_that_broke_off_was_not_for_nothing() {
    let events = parse(GEMINI, &output(&[said("Hel", true), failed(json!({"message": "terminated"}))]));
    assert_eq!(reports(&events)[0].used, Used::Untold);
    let events = parse(GEMINI, &output(&[failed(json!({"message": "terminated"}))]));
    assert_eq!(reports(&events)[0].used, Used::Turn(Vec::new()));
    let interrupted = |stats: Value| {
        json!({"type": "result", "status": "error", "stats": stats,
            "error": {"type": "FatalCancellationError", "message": "cancelled"}})
    };
    let tool = json!({"type": "tool_use", "tool_id": "t", "tool_name": "x", "parameters": {}});
    let stats = json!({"total_tokens": 5, "input_tokens": 4, "output_tokens": 1});
    for (lines, is_all) in [(vec![], false), (vec![tool], true)] {
        let events = parse(GEMINI, &output(&[lines, vec![interrupted(stats.clone())]].concat()));
        match &reports(&events)[0].used {
            Used::Turn(used) if is_all => assert_eq!(used.len(), 1),
            Used::Part(used) if !is_all => assert_eq!(used.len(), 1),
            other => panic!("{other:?}"),
        }
    }
    let events = parse(GEMINI, &output(&[interrupted(Value::Null)]));
    assert_eq!(reports(&events)[0].used, Used::Untold);
}
