//! What a session gives its tools, and what it makes of what they say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use junto_agent::{SessionConfig, tool};
use junto_core::{
    Action, Agent, Body, Choice, Command, EndReason, Event, Payload, Plan, PlanStep, Question, Reply,
    StepStatus, Tool, ToolCx, ToolError, ToolOutcome, Via,
};
use junto_llm::ToolCall;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{Barrier, Semaphore};

use crate::scene::Scene;
use crate::script::{Line, Script, script};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

async fn with_tool(lines: Vec<Line>, tool: impl Tool + 'static) -> (Scene, Arc<Script>) {
    let model = script(lines);
    let scene = Scene::with(Arc::clone(&model) as _, |mut config: SessionConfig| {
        config.tools.register(Arc::new(tool));
        config
    });
    (scene.await, model)
}

/// What the model was told of the calls of its first answer.
fn results(model: &Script) -> Vec<(String, bool)> {
    let requests = model.requests.lock().unwrap();
    let results = requests[1].messages.last().unwrap().results();
    results.map(|result| (result.output.to_text(), result.is_error)).collect()
}

fn once(name: &'static str) -> Vec<Line> {
    vec![Line::Calls(vec![(name, json!({}))]), Line::Text("Done.")]
}

#[tokio::test]
async fn a_tool_asks_the_user_and_gets_an_answer() {
    let asking = || {
        tool("choose", "", |_: Nothing, cx: ToolCx| async move {
            let options = vec![Choice { label: "red".into(), description: None }];
            let question = Question { text: "Which colour?".into(), options, several: false };
            cx.caller.ask(question).await
        })
    };
    let check = async |reply: Reply, expected: (&str, bool)| {
        let (mut scene, model) = with_tool(once("choose"), asking()).await;
        scene.submit("Paint it").await;
        let start = scene.event("tool_call_start").await.seq;
        let Body::Question { of, ask, question } = scene.event("question").await.body else { unreachable!() };
        assert_eq!((of, question.text.as_str()), (start, "Which colour?"));
        let command = Command::Reply { ask, reply };
        scene.session.send(command.clone()).await.unwrap();
        assert_eq!(scene.input_end().await.0, EndReason::Done);
        assert!(scene.session.send(command).await.is_err(), "it was answered");
        scene.end().await;
        assert_eq!(results(&model), [(expected.0.to_owned(), expected.1)]);
    };
    check(Reply::Said { text: "blue".into() }, ("blue", false)).await;
    let busy = Reply::Declined { reason: Some("busy".into()) };
    check(busy, ("the question was not answered: busy", true)).await;

    let (mut scene, _) = with_tool(once("choose"), asking()).await;
    scene.submit("Paint it").await;
    scene.event("question").await;
    scene.session.send(Command::Interrupt).await.unwrap();
    assert_eq!(scene.input_end().await.0, EndReason::Interrupted);
    assert_eq!(scene.end().await.count("replied"), 0);
}

#[tokio::test]
async fn a_tool_tells_the_plan() {
    let plan = || Plan {
        explanation: None,
        steps: vec![PlanStep { step: "look".into(), status: StepStatus::InProgress }],
    };
    let planning = tool("plan", "", move |_: Nothing, cx: ToolCx| async move {
        cx.caller.plan(plan()).await.map(|()| "noted".to_owned())
    });
    let (mut scene, _) = with_tool(once("plan"), planning).await;
    scene.ask("Go").await;
    let told = |event: &Event| matches!(&event.body, Body::Plan { plan: told } if *told == plan());
    assert!(scene.end().await.events.iter().any(told));
}

#[tokio::test]
async fn a_large_output_is_cut_for_the_model_and_whole_in_the_log() {
    let flood = tool("shell", "", |_: Nothing, cx: ToolCx| async move {
        let mut spool = cx.caller.spool();
        for n in 0..400_000 {
            spool.push(&format!("line {n}\n")).await;
        }
        ToolOutcome::ok(spool.finish().await)
    });
    let (mut scene, model) = with_tool(once("shell"), flood).await;
    scene.ask("Go").await;
    let log = scene.session.log().clone();
    let record = scene.end().await;
    let end = record.events.iter().find_map(|event| match &event.body {
        Body::ToolCallEnd { output, .. } => Some(output),
        _ => None,
    });
    let Some(output @ Payload::Spilled { .. }) = end else { panic!("{end:?}") };
    let whole = (0..400_000).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    assert_eq!(output.bytes(), whole.len() as u64);
    assert_eq!(log.read(output).await.unwrap(), whole);
    let from = whole.find("line 200000\n").unwrap() as u64;
    assert_eq!(log.read_part(output, from, 12).await.unwrap(), b"line 200000\n");
    let told = &results(&model)[0].0;
    assert!(told.starts_with("line 0\nline 1\n") && told.ends_with("line 399999\n"), "{told}");
    assert!(told.contains("[WARNING: Tool output was truncated.") && told.contains(" lines omitted ...]"));
    assert!(told.len() < 30_000 + 500 && told.lines().count() <= 256 + 5, "{}", told.len());
}

#[tokio::test]
async fn tools_change_between_model_calls() {
    let greet = |text: &'static str| {
        Arc::new(tool("greet", "", move |_: Nothing, _: ToolCx| async move { text })) as Arc<dyn Tool>
    };
    let lines = ["greet", "greet", "greet"].into_iter().flat_map(once);
    let model = script(lines.collect::<Vec<_>>());
    let mut scene = Scene::start(Arc::clone(&model) as _).await;
    let session = scene.session.clone();
    assert!(session.register(greet("hello")).unwrap().is_none());
    scene.ask("Go").await;
    assert!(session.register(greet("good day")).unwrap().is_some());
    scene.ask("Go").await;
    assert!(session.unregister("greet").is_some() && session.unregister("greet").is_none());
    assert!(!session.tools().names().any(|name| name == "greet"));
    let broken = tool("broken", "", |_: String, _: ToolCx| async { "" });
    assert!(session.register(Arc::new(broken)).is_err() && session.tools().get("broken").is_none());
    scene.ask("Go").await;
    let ends = scene.end().await.tool_ends();
    assert_eq!(ends[0].1, "hello");
    assert_eq!(ends[1].1, "good day");
    assert!(ends[2].2 && ends[2].1.contains("no tool named `greet`"), "{ends:?}");
    let requests = model.requests.lock().unwrap();
    let offered = |n: usize| requests[n].tools.iter().any(|spec| spec.name == "greet");
    assert_eq!([0, 2, 4].map(offered), [true, true, false]);
}

#[derive(Deserialize, JsonSchema)]
struct Files {
    paths: Vec<String>,
}

/// What a call that writes these files would do.
async fn writes(files: Files, cx: ToolCx) -> Result<Vec<Action>, ToolError> {
    let mut actions = Vec::new();
    for path in &files.paths {
        actions.push(Action::Write { path: cx.env.resolve(path).await? });
    }
    Ok(actions)
}

/// A tool that writes these files, and sees whether it is alone at them: those that may run at the same
/// time all wait for each other, so they must.
fn writer(side_by_side: usize, most: Arc<AtomicUsize>) -> impl Tool {
    let barrier = Arc::new(Barrier::new(side_by_side));
    let running = Arc::new(AtomicUsize::new(0));
    let run = move |_: Files, _: ToolCx| {
        let (barrier, running, most) = (Arc::clone(&barrier), Arc::clone(&running), Arc::clone(&most));
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            barrier.wait().await;
            running.fetch_sub(1, Ordering::SeqCst);
            "written"
        }
    };
    tool("write", "", run).acts(writes)
}

/// Calls that write one file take turns, whichever other files they write and by whatever name; calls
/// that write others do not wait.
#[tokio::test]
async fn writes_to_one_path_take_turns() {
    let check = async |calls: &[&[&str]], side_by_side: usize| {
        let most = Arc::new(AtomicUsize::new(0));
        let calls = calls.iter().map(|paths| ("write", json!({"paths": paths}))).collect();
        let lines = vec![Line::Calls(calls), Line::Text("Done.")];
        let (mut scene, model) = with_tool(lines, writer(side_by_side, Arc::clone(&most))).await;
        assert_eq!(scene.ask("Go").await.0, EndReason::Done);
        scene.end().await;
        assert!(results(&model).iter().all(|(output, failed)| output == "written" && !failed));
        assert_eq!(most.load(Ordering::SeqCst), side_by_side);
    };
    check(&[&["a"], &["a"], &["./a"]], 1).await;
    check(&[&["a", "b"], &["b", "c"], &["c", "a"]], 1).await;
    check(&[&["a"], &["b"]], 2).await;
}

/// The loop and a cell that write one file take turns too. The cell's call is done when a call of the loop
/// lets it be, which comes after the loop's own write: were that not to wait, both would run.
#[tokio::test]
async fn the_loop_waits_for_a_cell() {
    let (most, running) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gate = Arc::new(Semaphore::new(0));
    let write = {
        let (most, gate) = (Arc::clone(&most), Arc::clone(&gate));
        move |_: Files, _: ToolCx| {
            let (most, running, gate) = (Arc::clone(&most), Arc::clone(&running), Arc::clone(&gate));
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let _open = gate.acquire().await;
                running.fetch_sub(1, Ordering::SeqCst);
                "written"
            }
        }
    };
    let release = tool("release", "", move |_: Nothing, _: ToolCx| {
        gate.add_permits(1);
        async { "released" }
    });
    let calls = vec![("write", json!({"paths": ["a"]})), ("release", json!({}))];
    let lines = vec![Line::Calls(calls), Line::Text("Done.")];
    let (mut scene, model) = with_tool(lines, tool("write", "", write).acts(writes)).await;
    scene.session.register(Arc::new(release)).unwrap();
    let host = scene.session.tool_host();
    let cell = tokio::spawn(async move {
        let arguments = json!({"paths": ["b", "./a"]}).to_string();
        host.call(ToolCall::function("cell", "write", arguments), Via::Cell).await
    });
    scene.event("tool_call_start").await;
    assert_eq!(scene.ask("Go").await.0, EndReason::Done);
    assert_eq!(cell.await.unwrap(), ToolOutcome::ok("written"));
    scene.end().await;
    assert_eq!(results(&model), [("written".to_owned(), false), ("released".to_owned(), false)]);
    assert_eq!(most.load(Ordering::SeqCst), 1);
}
