//! The parser of codex against lines that were never recorded.

use junto_llm::{Cost, ErrorKind, Usd};
use junto_runner::{CliEvent, Used, Verdict};
use serde_json::{Value, json};

use crate::listing::listing;
use crate::parsed::{CODEX, output, parse, reports, short};

#[track_caller]
fn check(lines: &[Value], expected: &[&str]) {
    assert_eq!(short(&parse(CODEX, &output(lines))), expected);
}

fn item(stage: &str, item: Value) -> Value {
    json!({"type": format!("item.{stage}"), "item": item})
}

fn message(stage: &str, id: &str, text: &str) -> Value {
    item(stage, json!({"id": id, "type": "agent_message", "text": text}))
}

fn error(message: &str) -> Value {
    json!({"type": "error", "message": message})
}

fn failed(message: &str) -> Value {
    json!({"type": "turn.failed", "error": {"message": message}})
}

fn completed() -> Value {
    json!({"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 2}})
}

fn legacy(msg: Value) -> Value {
    json!({"id": "0", "msg": msg})
}

#[test]
fn a_text_may_grow() {
    check(
        &[
            message("started", "a", ""),
            message("updated", "a", "Hel"),
            message("updated", "a", "Hello"),
            message("completed", "a", "Hello."),
            completed(),
        ],
        &["turn", "(", "+Hel", "+lo", "+.", ")Hello.", "done Hello."],
    );
    check(
        &[
            message("updated", "a", "Helo"),
            message("updated", "a", "Hello"),
            message("completed", "a", "Hello"),
        ],
        &["turn", "(", "+Helo", ")Helo", "abandoned", "(", "+Hello", ")Hello"],
    );
    check(&[message("updated", "a", "Hel"), completed()], &["turn", "(", "+Hel", ")Hel", "done Hel"]);
}

#[test]
fn a_message_may_be_made_of_parts() {
    let parts = json!([{"type": "output_text", "text": "Hel"}, {"type": "image"}, {"type": "output_text", "text": "lo"}]);
    check(
        &[item("completed", json!({"id": "a", "type": "agent_message", "content": parts}))],
        &["turn", "(", "+Hello", ")Hello"],
    );
}

#[test]
fn every_kind_of_item_is_a_tool() {
    let mcp = |result: Value, error: Value| {
        json!({"id": "m", "type": "mcp_tool_call", "server": "db", "tool": "query", "arguments": {"q": 1},
            "result": result, "error": error, "status": "completed"})
    };
    let blocks = json!({"content": [{"type": "text", "text": "row"}, {"type": "image"}]});
    let search = json!({"id": "w", "type": "web_search", "query": "rust", "action": {"type": "search"}});
    let declined = json!({"id": "f", "type": "file_change", "changes": [], "status": "declined"});
    check(
        &[
            item("completed", mcp(blocks, Value::Null)),
            item("completed", mcp(Value::Null, json!({"message": "no such table"}))),
            item("completed", search),
            item("completed", declined),
        ],
        &[
            "turn",
            "tool mcp__db__query {\"q\":1}",
            "output row\n[image]",
            "turn",
            "tool mcp__db__query {\"q\":1}",
            "error no such table",
            "turn",
            "tool web_search {\"query\":\"rust\",\"action\":{\"type\":\"search\"}}",
            "output ",
            "turn",
            "tool file_change {}",
            "error declined",
        ],
    );
}

#[test]
fn a_tool_that_never_completes_ends_with_the_turn() {
    let command =
        json!({"id": "c", "type": "command_execution", "command": "sleep 9", "status": "in_progress"});
    let lines = [item("started", command.clone()), item("started", command.clone()), completed()];
    let ended = [
        "turn",
        "tool command_execution {\"command\":\"sleep 9\"}",
        "error the agent ended before the tool did",
    ];
    check(&lines, &[&ended[..], &["done "]].concat());
    check(&lines[..1], &ended);
}

#[test]
fn the_network_is_not_waited_for_without_end() {
    let wait = || error("Reconnecting... waiting for network (refused)");
    check(&[wait(), wait(), wait()], &["retry 1 refused", "retry 2 refused", "failed "]);
    // It came back meanwhile.
    let lines = [wait(), wait(), message("completed", "a", "x"), wait(), completed()];
    let expected =
        ["retry 1 refused", "retry 2 refused", "turn", "(", "+x", ")x", "retry 1 refused", "done x"];
    check(&lines, &expected);
}

#[test]
fn an_error_is_told_once() {
    let lines = [error("first"), error("Reconnecting... 1/5 (closed)"), error("last"), failed("last")];
    check(&lines, &["warning reported_error", "retry 1 closed", "failed "]);
    check(&[error("one"), failed("other")], &["warning reported_error", "failed "]);
    check(
        &[error("one"), message("completed", "a", "x")],
        &["warning reported_error", "turn", "(", "+x", ")x"],
    );
    check(&[error("one")], &["excuse one"]);
    let events = parse(CODEX, &output(&[error("why"), failed("")]));
    let Verdict::Failed(error) = &reports(&events)[0].verdict else { panic!("{events:?}") };
    assert_eq!(error.message(), "why");
}

#[test]
fn a_failure_has_its_kind() {
    for (words, kind, status) in [
        ("unexpected status 401 Unauthorized: Incorrect API key", ErrorKind::Authentication, Some(401)),
        ("exceeded retry limit, last status: 429 Too Many Requests", ErrorKind::RateLimit, Some(429)),
        (
            "Codex ran out of room in the model's context window. Start a new thread",
            ErrorKind::ContextLength,
            None,
        ),
    ] {
        let events = parse(CODEX, &output(&[failed(words)]));
        let report = reports(&events)[0];
        let Verdict::Failed(error) = &report.verdict else { panic!("{report:?}") };
        assert_eq!((error.kind(), error.status()), (kind, status), "{words}");
        assert!(report.last && report.used == Used::Untold);
    }
    let events = parse(CODEX, &output(&[failed("turn interrupted")]));
    assert!(matches!(reports(&events)[0].verdict, Verdict::Interrupted));
}

#[test]
fn what_was_used_is_the_total_of_the_thread() {
    let usage = json!({"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 9, "reasoning_output_tokens": 4, "cost_usd": 0.5});
    let events = parse(CODEX, &output(&[json!({"type": "turn.completed", "usage": usage})]));
    let used = reports(&events)[0].used.since(None, true).unwrap();
    assert_eq!((used[0].usage.input, used[0].usage.output, used[0].usage.cache_read), (100, 9, Some(60)));
    assert_eq!(used[0].cost, Cost::Reported(Usd::from_dollars(0.5)));
    let events = parse(CODEX, &output(&[json!({"type": "turn.completed"})]));
    assert_eq!(reports(&events)[0].used, Used::Untold);
}

#[test]
fn a_plan_is_told_when_it_changes() {
    let list =
        |done: bool| json!({"id": "t", "type": "todo_list", "items": [{"text": "a", "completed": done}]});
    let lines = [
        item("started", list(false)),
        item("updated", list(false)),
        item("updated", list(true)),
        item("completed", list(true)),
    ];
    let plans = listing(&parse(CODEX, &output(&lines)));
    assert_eq!(plans, "plan [ ] a\nplan [x] a\n");
}

#[test]
fn older_events_say_the_same() {
    let usage = |input: u64| json!({"input_tokens": input, "output_tokens": 1});
    check(
        &[
            json!({"model": "m", "workdir": "w"}),
            json!({"prompt": "p"}),
            legacy(json!({"type": "session_configured", "session_id": "s", "model": "m"})),
            legacy(json!({"type": "task_started"})),
            legacy(json!({"type": "agent_reasoning_delta", "delta": "h"})),
            legacy(json!({"type": "agent_reasoning", "text": "hm"})),
            legacy(json!({"type": "exec_command_begin", "call_id": "c", "command": ["ls", "-l"]})),
            legacy(
                json!({"type": "exec_command_end", "call_id": "c", "stdout": "a", "stderr": "b", "exit_code": 2}),
            ),
            legacy(json!({"type": "patch_apply_begin", "call_id": "p", "changes": {"f": {"add": {}}}})),
            legacy(
                json!({"type": "patch_apply_end", "call_id": "p", "stdout": "", "stderr": "bad", "success": false}),
            ),
            legacy(
                json!({"type": "mcp_tool_call_begin", "call_id": "m", "invocation": {"server": "s", "tool": "t", "arguments": {}}}),
            ),
            legacy(
                json!({"type": "mcp_tool_call_end", "call_id": "m", "result": {"Ok": {"content": [{"type": "text", "text": "ok"}]}}}),
            ),
            legacy(json!({"type": "web_search_begin", "call_id": "w"})),
            legacy(json!({"type": "web_search_end", "call_id": "w", "query": "q"})),
            legacy(json!({"type": "plan_update", "plan": [{"step": "a", "status": "in_progress"}]})),
            legacy(json!({"type": "stream_error", "message": "closed; retrying 2/5 in 400ms…"})),
            legacy(
                json!({"type": "token_count", "info": {"total_token_usage": usage(90), "last_token_usage": usage(40)}}),
            ),
            legacy(json!({"type": "token_count", "info": null})),
            legacy(json!({"type": "agent_message_delta", "delta": "do"})),
            legacy(json!({"type": "agent_message", "message": "done"})),
            legacy(json!({"type": "task_complete", "last_agent_message": "done"})),
        ],
        &[
            "session s",
            "turn",
            "(",
            "+h",
            "+m",
            ")hm",
            "tool command_execution {\"command\":\"ls -l\"}",
            "error ab\n[exit code 2]",
            "turn",
            "tool file_change {\"changes\":{\"f\":{\"add\":{}}}}",
            "error bad",
            "turn",
            "tool mcp__s__t {}",
            "output ok",
            "turn",
            "tool web_search ",
            "output q",
            "plan 1",
            "retry 2 closed",
            "context 41",
            "turn",
            "(",
            "+do",
            "+ne",
            ")done",
            "done done",
        ],
    );
}

#[test]
fn an_older_failure_ends_with_the_task() {
    let broke = [legacy(json!({"type": "task_started"})), legacy(json!({"type": "error", "message": "no"}))];
    let end = legacy(json!({"type": "task_complete", "last_agent_message": null}));
    check(&[&broke[..], &[legacy(json!({"type": "token_count"})), end]].concat(), &["turn", "failed "]);
    check(&broke, &["turn", "excuse no"]);
    check(&[legacy(json!({"type": "turn_aborted", "reason": "interrupted"}))], &["interrupted "]);
}

#[test]
fn a_thread_is_a_session() {
    let events = parse(CODEX, &output(&[json!({"type": "thread.started", "thread_id": "t"})]));
    assert!(matches!(&events[..], [CliEvent::Session { id, model: None }] if id == "t"), "{events:?}");
    check(&[json!({"type": "thread.started"})], &[]);
}
