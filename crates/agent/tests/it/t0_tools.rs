//! The tools, through a session, and calls that make no sense.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use junto_agent::{SessionConfig, ToolRegistry};
use junto_core::{
    Action, Agent, Body, EndReason, Fut, Permit, Policy, Tool, ToolCx, ToolError, ToolOutcome, Verdict, Via,
    When,
};
use junto_llm::{ToolCall, ToolSpec};
use serde_json::{Value, json};

use crate::scene::{Record, Scene};
use crate::script::{Line, script};

/// Lets the model make these calls in one round, in a directory prepared by `before`, and gives the
/// results in the order of the calls, each with whether it failed.
async fn round(
    calls: Vec<(&'static str, Value)>,
    before: impl FnOnce(&Scene),
    after: impl FnOnce(&Scene),
) -> Vec<(String, bool)> {
    let model = script([Line::Calls(calls), Line::Text("Done.")]);
    let mut scene = Scene::start(Arc::clone(&model) as _).await;
    before(&scene);
    assert_eq!(scene.ask("Go").await.0, EndReason::Done);
    after(&scene);
    scene.end().await;
    let requests = model.requests.lock().unwrap();
    let message = requests[1].messages.last().unwrap();
    message.results().map(|r| (r.output.to_text(), r.is_error)).collect()
}

async fn check(call: (&'static str, Value), before: impl FnOnce(&Scene), expected: &str, fails: bool) {
    let results = round(vec![call], before, |_| {}).await;
    assert!(results[0].0.contains(expected), "{results:?}");
    assert_eq!(results[0].1, fails, "{results:?}");
}

#[tokio::test]
async fn calls_that_make_no_sense_are_told_to_the_model() {
    let nothing = |_: &Scene| {};
    check(("fly", json!({})), nothing, "There are: read_file, write_file, edit_file, shell", true).await;
    check(("shell", json!({"cmd": "ls"})), nothing, "did you mean `command`?", true).await;
    check(("shell", json!({"command": 1})), nothing, "`command` must be a string", true).await;
    check(("shell", json!("{\"command\":")), nothing, "not a JSON object", true).await;
    check(("read_file", json!({"file_path": ""})), nothing, "the path is empty", true).await;
}

#[tokio::test]
async fn a_call_that_never_starts_is_in_the_log_with_its_arguments() {
    let calls = vec![
        ("fly", json!({"to": "MARKER"})),
        ("edit_file", json!({"file_path": "MARKER", "old_string": 5})),
        ("write_file", json!({"file_path": "a/b", "content": "MARKER"})),
        ("shell", json!({"command": "true"})),
    ];
    let mut scene = Scene::start(script([Line::Calls(calls), Line::Text("Done.")])).await;
    scene.write("a", "");
    assert_eq!(scene.ask("Go").await.0, EndReason::Done);
    let record = scene.end().await;
    let mut ends = 0;
    for event in &record.events {
        let Body::ToolCallEnd { of, name, call, .. } = &event.body else { continue };
        ends += 1;
        assert_eq!((of.is_some(), call.is_none()), (name == "shell", name == "shell"), "{event:?}");
        assert!(call.iter().all(|call| call.raw_arguments.contains("MARKER")), "{event:?}");
    }
    assert_eq!(ends, 4);
}

#[tokio::test]
async fn files_are_read() {
    let write = |name: &'static str, content: &'static [u8]| move |scene: &Scene| scene.write(name, content);
    let read = |args: Value| ("read_file", args);
    check(read(json!({"file_path": "a"})), write("a", b"x\ny\n"), "  1 | x\n  2 | y\n", false).await;
    let second = json!({"file_path": "a", "offset": 2, "limit": 1});
    check(read(second), write("a", b"x\ny\nz\n"), "  2 | y\n[the file goes on", false).await;
    check(read(json!({"file_path": "a"})), write("a", b"x\0y"), "binary", true).await;
    check(read(json!({"file_path": "b"})), write("a", b""), "there is no", true).await;
    check(read(json!({"file_path": "."})), write("a", b""), "directory", true).await;
    check(read(json!({"file_path": "a", "offset": 9})), write("a", b"x\n"), "the file has 1 line,", true)
        .await;
}

#[tokio::test]
async fn files_are_written_and_edited() {
    let results = round(
        vec![("write_file", json!({"file_path": "deep/down/a", "content": "one\ntwo\n"}))],
        |_| {},
        |scene| assert_eq!(scene.read("deep/down/a"), "one\ntwo\n"),
    );
    let results = results.await;
    assert!(results[0].0.starts_with("created ") && results[0].0.ends_with("(8 bytes)"), "{results:?}");

    let edit = |old: &str, new: &str, all: bool| {
        let args = json!({"file_path": "a", "old_string": old, "new_string": new, "replace_all": all});
        ("edit_file", args)
    };
    let before = |scene: &Scene| scene.write("a", "one two one\n");
    check(edit("two", "2", false), before, "replaced once", false).await;
    check(edit("one", "1", true), before, "replaced 2 times", false).await;
    check(edit("one", "1", false), before, "is in the file 2 times", true).await;
    check(edit("three", "3", false), before, "not in the file", true).await;
    check(edit("two", "2", false), |_| {}, "there is no", true).await;
    check(edit("two", "2", false), |scene| scene.write("a", b"two\0\x01"), "binary", true).await;
}

#[tokio::test]
async fn edits_of_one_file_go_in_the_order_of_the_calls() {
    let edits: Vec<_> = (0..20)
        .map(|n| {
            let (old, new) = (format!("<{n}>"), format!("<{}>", n + 1));
            ("edit_file", json!({"file_path": "a", "old_string": old, "new_string": new}))
        })
        .collect();
    let results =
        round(edits, |scene| scene.write("a", "<0>"), |scene| assert_eq!(scene.read("a"), "<20>")).await;
    assert!(results.iter().all(|(_, failed)| !failed), "{results:?}");
}

#[tokio::test]
async fn commands_say_what_they_say_and_how_they_end() {
    let shell = |command: &str| ("shell", json!({"command": command}));
    let nothing = |_: &Scene| {};
    check(shell("echo out"), nothing, "out\n[exit code 0]", false).await;
    check(shell("echo err >&2"), nothing, "err\n[exit code 0]", false).await;
    check(shell("printf x; exit 3"), nothing, "x\n[exit code 3]", true).await;
    check(shell("kill -9 $$"), nothing, "[ended by signal 9]", true).await;
    check(shell("printf '\\303'; sleep 0.01; printf '\\251'"), nothing, "\u{e9}", false).await;
    let slow = ("shell", json!({"command": "echo begun; sleep 60", "timeout_ms": 200}));
    check(slow, nothing, "begun\n[ERROR: Command timed out after 200ms. Partial output is shown above.\nYou can retry with a longer timeout by setting the timeout_ms parameter.]", true).await;
}

#[tokio::test]
async fn results_come_in_the_order_of_the_calls() {
    // The first waits for the second, which makes the pipe or finds it made.
    let calls = vec![
        ("shell", json!({"command": "mkfifo pipe 2>&-; read line < pipe; echo $line"})),
        ("shell", json!({"command": "mkfifo pipe 2>&-; echo second > pipe; echo first"})),
    ];
    let results = round(calls, |_| {}, |_| {}).await;
    assert!(results[0].0.starts_with("second") && results[1].0.starts_with("first"), "{results:?}");
}

/// A tool that does what the test says.
struct Odd {
    spec: ToolSpec,
    does: Does,
    runs: AtomicU32,
}

#[derive(Clone, Copy)]
enum Does {
    Answer(&'static str),
    Panic,
    PanicBefore,
    /// Does not listen when it is told to stop.
    Ignore,
}

fn odd(name: &str, does: Does) -> Arc<Odd> {
    let spec = ToolSpec::new(name, "odd", json!({"type": "object"})).unwrap();
    Arc::new(Odd { spec, does, runs: AtomicU32::new(0) })
}

impl Tool for Odd {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, _cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move {
            assert!(!matches!(self.does, Does::PanicBefore), "not even this");
            Ok(vec![Action::Tool { name: call.name.clone(), args: call.arguments.clone() }])
        })
    }

    fn run<'a>(&'a self, _permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            self.runs.fetch_add(1, Ordering::SeqCst);
            match self.does {
                Does::Answer(text) => ToolOutcome::ok(text),
                Does::Panic | Does::PanicBefore => panic!("dropped it"),
                Does::Ignore => {
                    cx.caller.show("ignoring");
                    std::future::pending().await
                }
            }
        })
    }
}

async fn with_tools(tools: Vec<Arc<Odd>>, lines: Vec<Line>, policy: Arc<dyn Policy>) -> Record {
    let mut scene = Scene::with(script(lines), |mut config| {
        config.tools.extend(tools.into_iter().map(|tool| tool as Arc<dyn Tool>));
        SessionConfig { policy, ..config }
    })
    .await;
    assert_eq!(scene.ask("Go").await.0, EndReason::Done);
    scene.end().await
}

#[tokio::test]
async fn of_two_tools_with_one_name_the_later_wins() {
    let lines = vec![Line::Calls(vec![("shell", json!({}))]), Line::Text("Done.")];
    let record =
        with_tools(vec![odd("shell", Does::Answer("mine"))], lines, Arc::new(junto_core::Open)).await;
    assert_eq!(record.tool_ends(), [("shell".into(), "mine".into(), false)]);
}

#[tokio::test]
async fn a_tool_or_a_policy_that_panics_is_an_error_result() {
    struct Mad;
    impl Policy for Mad {
        fn decide(&self, _actions: &[Action]) -> Verdict {
            panic!("cannot decide")
        }
    }
    let lines = || vec![Line::Calls(vec![("a", json!({})), ("b", json!({}))]), Line::Text("Done.")];
    let tools = || vec![odd("a", Does::Panic), odd("b", Does::PanicBefore)];
    let record = with_tools(tools(), lines(), Arc::new(junto_core::Open)).await;
    let mut ends = record.tool_ends();
    ends.sort();
    assert!(ends[0].1.contains("dropped it") && ends[1].1.contains("not even this"), "{ends:?}");
    assert_eq!(record.count("tool_call_start"), 1);
    let sane = odd("a", Does::Answer("x"));
    let record = with_tools(vec![Arc::clone(&sane), odd("b", Does::Panic)], lines(), Arc::new(Mad)).await;
    assert!(record.tool_ends().iter().all(|(_, output, failed)| output.contains("cannot decide") && *failed));
    assert_eq!(sane.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_stop_is_left_behind() {
    let model = script([Line::Calls(vec![("deaf", json!({}))]), Line::Text("Done.")]);
    let mut scene = Scene::with(model, |mut config| {
        config.tools = ToolRegistry::from_iter([odd("deaf", Does::Ignore) as Arc<dyn Tool>]);
        config
    })
    .await;
    scene.submit("Go").await;
    scene.command_says("ignoring").await;
    scene.steer("Enough", When::Now).await;
    assert_eq!(scene.input_end().await.0, EndReason::Done);
    let record = scene.end().await;
    assert!(record.tool_ends()[0].2);
}

#[tokio::test]
async fn somebody_else_can_call_the_tools() {
    let mut scene = Scene::start(script([Line::Text("Done.")])).await;
    scene.write("a", "x\n");
    let host = scene.session.tool_host();
    assert_eq!(host.specs().len(), junto_agent::tools::standard().len());
    let call = |name: &str, args: Value| ToolCall::function("c", name, args.to_string());
    let read = host.call(call("read_file", json!({"file_path": "a"})), Via::Cell).await;
    assert_eq!(read, ToolOutcome::ok("  1 | x\n"));
    assert!(host.call(call("fly", json!({})), Via::Cell).await.is_error);

    // One that is under way when the input ends, ends with it.
    let waits = tokio::spawn({
        let host = scene.session.tool_host();
        let call = call("shell", json!({"command": "echo up; exec sleep 600", "timeout_ms": 600_000}));
        async move { host.call(call, Via::Cell).await }
    });
    scene.command_says("up").await;
    scene.ask("Go").await;
    let stopped = waits.await.unwrap();
    assert!(stopped.is_error && stopped.output.preview().contains("interrupted"), "{stopped:?}");

    // One whose caller goes away ends, and says so.
    let gone = tokio::spawn({
        let host = scene.session.tool_host();
        let call = call("shell", json!({"command": "echo again; exec sleep 600", "timeout_ms": 600_000}));
        async move { host.call(call, Via::Cell).await }
    });
    scene.command_says("again").await;
    gone.abort();
    scene.event("tool_call_end").await;
    scene.session.close().await;
    let late = host.call(call("read_file", json!({"file_path": "a"})), Via::Cell).await;
    assert!(late.is_error && late.output.preview().contains("takes no calls"), "{late:?}");
    let record = scene.end().await;
    assert_eq!((record.count("tool_call_start"), record.count("tool_call_end")), (3, 4));
}

#[tokio::test]
async fn what_somebody_else_calls_is_asked_about_like_any_other() {
    struct AskAll;
    impl Policy for AskAll {
        fn decide(&self, _actions: &[Action]) -> Verdict {
            Verdict::Ask { proposed: vec![], reason: String::new() }
        }
    }
    let mut scene =
        Scene::with(script([]), |config| SessionConfig { policy: Arc::new(AskAll), ..config }).await;
    let host = scene.session.tool_host();
    let calling = tokio::spawn(async move {
        host.call(ToolCall::function("c", "shell", "{\"command\":\"echo hi\"}"), Via::Cell).await
    });
    let event = scene.event("ask").await;
    let Body::Ask { request } = event.body else { unreachable!() };
    assert_eq!(request.via, Via::Cell);
    let decision = junto_core::Decision::Reject { reason: Some("not now".into()) };
    scene.session.send(junto_core::Command::Answer { ask: request.ask, decision }).await.unwrap();
    assert_eq!(calling.await.unwrap(), ToolOutcome::rejected("the user refused: not now"));
    scene.end().await;
}
