//! Children that live beside their parent: started, told, waited for and ended by calls of their own.

use std::cell::Cell;

use junto_agent::{SessionConfig, SubagentStatus};
use junto_core::{Addressed, Agent, AgentErrorKind, Body, Command, Delta, EndReason, Event, Item, When};
use junto_twin::{Call, Fault, Options, Step};
use serde_json::{Value, json};

use crate::nursery::{delegates, pipe, shell, spawn, told, wait, with_children};
use crate::scene::{Record, Scene, let_go};
use crate::script::{Line, script};
use crate::stand::{Stand, on_each_wire};

/// A command that waits at a pipe until it is let go.
const WAITS: &str = "echo up; read line < go; echo $line";
/// A command that starts others and does not end by itself.
const BUSY: &str = "sleep 600 & (setsid sleep 600 &) ; echo up; wait";

async fn family(wire: junto_llm::Wire, steps: Vec<Step>) -> Stand {
    let stand = Stand::with(wire, steps, Options::default(), with_children).await;
    pipe(&stand.scene.path("go"));
    stand
}

/// A child that waits at the pipe and then answers.
fn waits() -> Vec<Step> {
    vec![told("subtask", 0, shell(WAITS)), told("subtask", 1, Step::text("I counted two."))]
}

/// Waits until the session's own call of this tool has ended; gives what it said.
async fn own_end(stand: &mut Stand, tool: &str) -> String {
    loop {
        let event = stand.scene.event("tool_call_end").await;
        if let Body::ToolCallEnd { name, output, .. } = &event.body
            && name == tool
        {
            return output.preview();
        }
    }
}

/// The events of children.
fn of_children(record: &Record) -> Vec<&Event> {
    record.events.iter().filter(|event| event.parent.is_some()).collect()
}

/// What the session's own calls gave, by tool.
fn results(record: &Record, tool: &str) -> Vec<String> {
    let own = record.events.iter().filter(|event| event.parent.is_none());
    own.filter_map(|event| match &event.body {
        Body::ToolCallEnd { name, output, .. } if name == tool => Some(output.preview()),
        _ => None,
    })
    .collect()
}

#[tokio::test]
async fn a_child_works_while_its_parent_goes_on() {
    on_each_wire(async |wire| {
        let mut steps =
            delegates([spawn("subtask"), shell("echo meanwhile"), wait(json!({"agent_id": "agent-1"}))]);
        steps.extend(waits());
        let mut stand = family(wire, steps).await;
        stand.scene.submit("Delegate").await;
        assert_eq!(own_end(&mut stand, "spawn_agent").await, "agent-1: running", "{wire:?}");
        assert!(own_end(&mut stand, "shell").await.starts_with("meanwhile"), "{wire:?}");
        let [child] = &stand.scene.session.subagents()[..] else { panic!("one child") };
        assert_eq!(
            (child.status, child.task.as_str(), child.kind.as_str()),
            (SubagentStatus::Running, "subtask", "native")
        );
        let child = child.agent.log().agent().clone();
        let_go(stand.scene.path("go")).await;
        let (reason, text) = stand.scene.input_end().await;
        assert_eq!(reason, EndReason::Done);
        assert_eq!(text, "agent-1: completed (success: true, turns used: 2)\nI counted two.", "{wire:?}");
        assert_eq!(stand.scene.session.subagents()[0].status, SubagentStatus::Completed);

        let root = stand.scene.session.log().agent().clone();
        let record = stand.end(&[]).await;
        let announced: Vec<&Event> = record.events.iter().filter(|e| e.body.name() == "child").collect();
        let [announced] = announced[..] else { panic!("{announced:?}") };
        let Body::Child { agent, name, task, .. } = &announced.body else { unreachable!() };
        assert_eq!((agent, name.as_str(), task.as_str()), (&child, "agent-1", "subtask"));
        let call = record.events.iter().find_map(|e| match &e.body {
            Body::ToolCallStart { call, .. } if call.name == "spawn_agent" => Some(call.id.clone()),
            _ => None,
        });
        assert_eq!(announced.corr.as_ref().map(|call| call.0.clone()), call, "{wire:?}");
        for event in of_children(&record) {
            assert_eq!((&event.agent, event.parent.as_ref()), (&child, Some(&root)));
            assert_eq!(event.parent_call.as_ref().map(|call| call.0.clone()), call, "{wire:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn several_children_work_side_by_side() {
    on_each_wire(async |wire| {
        let start = |task: &str| Call::new("spawn_agent", json!({"task": task}));
        // A directory takes a while to be looked at.
        let first = Call::new("spawn_agent", json!({"task": "first", "working_dir": "."}));
        let all = Step::calls([first, start("second"), start("third")]);
        let mut steps = delegates([all, wait(json!({}))]);
        // A pipe has two ends: neither of the two is done without the other.
        for (task, command) in
            [("first", "read line < go; echo $line"), ("second", "echo go > go"), ("third", "true")]
        {
            steps.push(told(task, 0, shell(command)));
            steps.push(told(task, 1, Step::text(format!("{task} is done."))));
        }
        let mut stand = family(wire, steps).await;
        let (reason, text) = stand.scene.ask("Delegate").await;
        assert_eq!(reason, EndReason::Done, "{wire:?}");
        for (task, name) in [("first", "agent-1"), ("second", "agent-2"), ("third", "agent-3")] {
            let report = format!("{name}: completed (success: true, turns used: 2)\n{task} is done.");
            assert!(text.contains(&report), "{wire:?}: {text}");
        }
        let heads: Vec<&str> =
            text.lines().filter_map(|line| line.split_once(": completed")).map(|(name, _)| name).collect();
        assert_eq!(heads, ["agent-1", "agent-2", "agent-3"], "{wire:?}");
        let record = stand.end(&[]).await;
        assert_eq!(record.count("session_end"), 4, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn a_child_is_told_more_while_it_works_and_when_it_is_done() {
    on_each_wire(async |wire| {
        let send =
            |message: &str| Step::call("send_input", json!({"agent_id": "agent-1", "message": message}));
        let one = || wait(json!({"agent_ids": ["agent-1"]}));
        let mut steps = delegates([spawn("subtask"), send("Turn left"), one(), send("Once more"), one()]);
        steps.extend([
            told("subtask", 0, shell(WAITS)),
            told("Turn left", 0, Step::text("Left it is.")),
            told("Once more", 0, Step::text("I remember.")),
        ]);
        let mut stand = family(wire, steps).await;
        stand.scene.submit("Delegate").await;
        let taken = own_end(&mut stand, "send_input").await;
        assert_eq!(taken, "agent-1: running; it reads the message after its current step", "{wire:?}");
        let_go(stand.scene.path("go")).await;
        assert_eq!(
            own_end(&mut stand, "wait").await,
            "agent-1: completed (success: true, turns used: 2)\nLeft it is."
        );
        assert_eq!(own_end(&mut stand, "send_input").await, "agent-1: running; it works on the message now");
        let (_, text) = stand.scene.input_end().await;
        assert_eq!(text, "agent-1: completed (success: true, turns used: 3)\nI remember.", "{wire:?}");
        let record = stand.end(&[]).await;
        assert_eq!(record.count("steering_injected"), 1, "{wire:?}");
        assert_eq!(record.count("user_input"), 3, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn a_child_that_is_closed_leaves_nothing_behind() {
    on_each_wire(async |wire| {
        let close = || Step::call("close_agent", json!({"agent_id": "agent-1"}));
        let mut steps = delegates([spawn("subtask"), shell("read line < go"), close(), close()]);
        steps.push(told("subtask", 0, shell(BUSY)));
        let mut stand = family(wire, steps).await;
        stand.scene.submit("Delegate").await;
        stand.scene.command_says("up").await;
        let_go(stand.scene.path("go")).await;
        let closed = own_end(&mut stand, "close_agent").await;
        assert_eq!(closed, "agent-1: closed (it was running; turns used: 1)", "{wire:?}");
        assert_eq!(stand.scene.env.survivors(), [], "{wire:?}");
        assert!(stand.scene.session.subagents().is_empty());
        let (reason, text) = stand.scene.input_end().await;
        assert_eq!(
            (reason, text.as_str()),
            (EndReason::Done, "there is no agent `agent-1` (any more); there are: none")
        );
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn a_child_is_not_offered_children() {
    on_each_wire(async |wire| {
        let mut steps = delegates([spawn("subtask"), wait(json!({}))]);
        steps.push(told("subtask", 0, Step::text("Alone.")));
        let mut stand = family(wire, steps).await;
        assert!(stand.scene.ask("Delegate").await.1.ends_with("Alone."), "{wire:?}");
        for request in stand.twin.requests() {
            let body = request.body.to_string();
            let names =
                ["spawn_agent", "send_input", "wait", "close_agent"].map(|name| format!("\"{name}\""));
            let offered = names.iter().filter(|name| body.contains(*name)).count();
            assert_eq!(offered, if body.contains("Delegate") { 4 } else { 0 }, "{wire:?}: {body}");
        }
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn a_child_that_wants_children_is_told_why_not() {
    let calls = ["spawn_agent", "send_input", "wait", "close_agent", "spawn"].map(|name| (name, json!({})));
    let model = script([Line::Calls(calls.into()), Line::Text("I see.")]);
    let at_the_limit = |config| with_children(SessionConfig { depth: 1, ..config });
    let mut scene = Scene::with(model, at_the_limit).await;
    scene.ask("Delegate").await;
    let ends = scene.end().await.tool_ends();
    for (name, told, is_error) in ends {
        let why = if name == "spawn" { "there is no tool" } else { "agents may not be nested any deeper" };
        assert!(is_error && told.contains(why), "{name}: {told}");
    }
}

#[tokio::test]
async fn two_levels_where_two_are_allowed() {
    let change = |config| with_children(SessionConfig { max_depth: 2, ..config });
    let mut steps = delegates([spawn("subtask"), wait(json!({}))]);
    let inner = Step::call("spawn_agent", json!({"task": "deepest", "wait": true}));
    steps.extend([told("subtask", 0, inner), told("subtask", 1, Step::text("It says: {{last_result}}"))]);
    steps.push(told("deepest", 0, Step::text("Hello.")));
    let mut stand = Stand::with(junto_llm::Wire::Chat, steps, Options::default(), change).await;
    let (_, text) = stand.scene.ask("Delegate").await;
    assert!(text.ends_with("It says: Hello."), "{text}");
    assert_eq!(stand.end(&[]).await.count("session_end"), 3);
}

#[tokio::test]
async fn a_scoped_child_cannot_leave_its_directory() {
    on_each_wire(async |wire| {
        let start = |dir: &str| Step::call("spawn_agent", json!({"task": "subtask", "working_dir": dir}));
        let mut steps = delegates([
            start(".."),
            start("missing"),
            start("secret"),
            start("link"),
            start("part"),
            wait(json!({})),
        ]);
        let read = |path: &str| Call::new("read_file", json!({"file_path": path}));
        let write = |path: &str| Call::new("write_file", json!({"file_path": path, "content": "x"}));
        let tries = Step::calls([
            write("inside"),
            write("../outside"),
            read("../secret"),
            read("link/secret"),
            Call::new("grep", json!({"pattern": "x", "path": ".."})),
            Call::new("shell", json!({"command": "pwd"})),
        ]);
        steps.extend([told("subtask", 0, tries), told("subtask", 1, Step::text("I tried."))]);
        let mut stand = family(wire, steps).await;
        std::fs::create_dir(stand.scene.path("part")).unwrap();
        std::os::unix::fs::symlink("..", stand.scene.path("part/link")).unwrap();
        std::os::unix::fs::symlink("/", stand.scene.path("link")).unwrap();
        stand.scene.write("secret", "x");
        let (_, text) = stand.scene.ask("Delegate").await;
        assert!(text.ends_with("I tried."), "{wire:?}: {text}");
        assert_eq!(
            (stand.scene.path("part/inside").exists(), stand.scene.path("outside").exists()),
            (true, false)
        );
        let part = stand.scene.path("part").display().to_string();
        let record = stand.end(&[]).await;
        let refused = results(&record, "spawn_agent");
        for (n, why) in ["is not within your working directory", "missing", "secret", "is not within"]
            .into_iter()
            .enumerate()
        {
            assert!(refused[n].contains(why), "{wire:?}: {}", refused[n]);
        }
        assert_eq!(refused[4], "agent-1: running");
        let tried: Vec<(String, bool)> = of_children(&record)
            .iter()
            .filter_map(|event| match &event.body {
                Body::ToolCallEnd { name, output, is_error, .. } if name != "shell" => {
                    assert_eq!(
                        output.preview().contains(&format!("it is outside {part}")),
                        *is_error,
                        "{output:?}"
                    );
                    Some((name.clone(), *is_error))
                }
                Body::ToolCallEnd { output, .. } => {
                    assert!(output.preview().starts_with(&part), "{output:?}");
                    None
                }
                _ => None,
            })
            .collect();
        assert_eq!(tried.iter().filter(|(_, is_error)| *is_error).count(), 4, "{wire:?}: {tried:?}");
        assert!(tried.contains(&("write_file".to_owned(), false)));
    })
    .await;
}

#[tokio::test]
async fn an_interrupt_reaches_the_children_too() {
    on_each_wire(async |wire| {
        let mut steps = delegates([spawn("subtask"), wait(json!({}))]);
        steps.push(told("subtask", 0, shell(BUSY)));
        steps.push(told("How is it?", 0, wait(json!({}))));
        steps.push(told("How is it?", 1, Step::text("{{last_result}}")));
        let mut stand = family(wire, steps).await;
        stand.scene.submit("Delegate").await;
        stand.scene.command_says("up").await;
        stand.scene.session.send(Command::Interrupt).await.unwrap();
        assert_eq!(stand.scene.input_end().await.0, EndReason::Interrupted, "{wire:?}");
        let (reason, text) = stand.scene.ask("How is it?").await;
        assert_eq!(reason, EndReason::Done);
        assert_eq!(text, "agent-1: failed (success: false, turns used: 1); it was interrupted", "{wire:?}");
        assert_eq!(stand.scene.env.survivors(), [], "{wire:?}");
        let record = stand.end(&[]).await;
        let ends = |name: &str| of_children(&record).iter().filter(|e| e.body.name() == name).count();
        assert_eq!((ends("input_end"), ends("session_end")), (1, 1), "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn a_message_that_cannot_wait_cuts_the_wait_and_not_the_child() {
    on_each_wire(async |wire| {
        let mut steps = delegates([spawn("subtask"), wait(json!({}))]);
        steps.extend(waits());
        steps.push(told("Hurry", 0, wait(json!({"timeout_ms": 0}))));
        steps.push(told("Hurry", 1, wait(json!({}))));
        steps.push(told("Hurry", 2, Step::text("{{last_result}}")));
        let mut stand = family(wire, steps).await;
        stand.scene.submit("Delegate").await;
        stand.scene.command_says("up").await;
        let waits = |item: &Item| matches!(item, Item::Event(e) if matches!(&e.body, Body::ToolCallStart { call, .. } if call.name == "wait"));
        if results_so_far(&stand).await == 0 {
            stand.scene.until(waits).await;
        }
        stand.scene.steer("Hurry", When::Now).await;
        let running = "agent-1: running (success: false, turns used: 1)";
        assert_eq!(own_end(&mut stand, "wait").await, format!("{running}\n\n[the wait was interrupted]"), "{wire:?}");
        assert_eq!(own_end(&mut stand, "wait").await, format!("{running}\n\n[the time to wait is up]"), "{wire:?}");
        let_go(stand.scene.path("go")).await;
        let (_, text) = stand.scene.input_end().await;
        assert_eq!(text, "agent-1: completed (success: true, turns used: 2)\nI counted two.", "{wire:?}");
        stand.end(&[]).await;
    })
    .await;
}

/// How often the session has begun to wait so far.
async fn results_so_far(stand: &Stand) -> usize {
    let log = stand.scene.session.log();
    let events = log.subscribe(junto_core::Seq::START).rest().await.unwrap();
    let waits =
        |event: &&Event| matches!(&event.body, Body::ToolCallStart { call, .. } if call.name == "wait");
    events.iter().filter(waits).count()
}

#[tokio::test]
async fn a_host_speaks_to_a_child_through_its_parent() {
    on_each_wire(async |wire| {
        let mut steps = delegates([spawn("subtask"), wait(json!({}))]);
        steps.extend([told("subtask", 0, shell(WAITS)), told("Turn left", 0, Step::text("Left it is."))]);
        let mut stand = family(wire, steps).await;
        stand.scene.submit("Delegate").await;
        stand.scene.command_says("up").await;
        let session = &stand.scene.session;
        let child = session.subagents()[0].agent.log().agent().clone();
        let line = json!({"agent": child, "command": "steer", "input": {"text": "Turn left"}});
        let order: Addressed = serde_json::from_value(line).unwrap();
        order.send(session).await.unwrap();
        let nobody: Addressed =
            serde_json::from_value(json!({"agent": "nobody", "command": "abort"})).unwrap();
        assert_eq!(nobody.send(session).await.unwrap_err().kind(), AgentErrorKind::Invalid);
        let_go(stand.scene.path("go")).await;
        let (_, text) = stand.scene.input_end().await;
        assert!(text.ends_with("Left it is."), "{wire:?}: {text}");
        stand.end(&[]).await;
    })
    .await;
}

/// Lets the parent delegate without waiting, until its input has ended and so many children are at work.
async fn left_alone(stand: &mut Stand, children: u32) {
    stand.scene.submit("Delegate").await;
    let (at_work, ended) = (Cell::new(0), Cell::new(false));
    let both = |item: &Item| {
        match item {
            Item::Delta(Delta::ToolCallOutputDelta { text, .. }) if text.contains("up") => {
                at_work.set(at_work.get() + 1);
            }
            Item::Event(event) if event.parent.is_none() && event.body.name() == "input_end" => {
                ended.set(true);
            }
            _ => {}
        }
        ended.get() && at_work.get() == children
    };
    stand.scene.until(both).await;
}

#[tokio::test]
async fn children_end_with_their_parent() {
    on_each_wire(async |wire| {
        let start = |task: &str| Call::new("spawn_agent", json!({"task": task}));
        let mut steps = delegates([Step::calls([start("subtask"), start("subtask")])]);
        steps.push(told("subtask", 0, shell(BUSY)));
        let mut stand = family(wire, steps).await;
        left_alone(&mut stand, 2).await;
        let record = stand.end(&[]).await;
        assert_eq!(record.outcome.reason, EndReason::Done);
        let ends: Vec<&Event> = record.events.iter().filter(|e| e.body.name() == "session_end").collect();
        assert_eq!(ends.len(), 3, "{wire:?}");
        assert!(ends[2].parent.is_none(), "the parent's is the last");
    })
    .await;
}

#[tokio::test]
async fn idle_parents_can_interrupt_their_children() {
    let mut steps = delegates([spawn("subtask")]);
    steps.push(told("subtask", 0, shell(BUSY)));
    let mut stand = family(junto_llm::Wire::Responses, steps).await;
    left_alone(&mut stand, 1).await;
    stand.scene.session.send(Command::Interrupt).await.unwrap();
    let ended =
        |item: &Item| matches!(item, Item::Event(e) if e.parent.is_some() && e.body.name() == "input_end");
    stand.scene.until(ended).await;
    assert_eq!(stand.scene.env.survivors(), []);
    stand.end(&[]).await;
}

#[tokio::test]
async fn a_child_that_fails_is_a_result() {
    on_each_wire(async |wire| {
        let mut steps = delegates([spawn("subtask"), wait(json!({"until": "first"}))]);
        steps.push(told("subtask", 0, Step::fault(Fault::status(400))));
        let mut stand = family(wire, steps).await;
        let (reason, text) = stand.scene.ask("Delegate").await;
        assert_eq!(reason, EndReason::Done, "{wire:?}");
        assert!(
            text.starts_with("agent-1: failed (success: false, turns used: 0); it failed: "),
            "{wire:?}: {text}"
        );
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn a_child_stops_at_its_own_limit() {
    let limited = Step::call("spawn_agent", json!({"task": "subtask", "max_turns": 3}));
    let mut steps = delegates([limited, wait(json!({}))]);
    steps.push(told("subtask", 0, shell("true")));
    let mut stand = family(junto_llm::Wire::Anthropic, steps).await;
    let (_, text) = stand.scene.ask("Delegate").await;
    assert_eq!(
        text,
        "agent-1: failed (success: false, turns used: 1); it reached its limit before it was done"
    );
    stand.end(&[]).await;
}

#[tokio::test]
async fn there_are_only_so_many_children_at_a_time() {
    let close = Step::call("close_agent", json!({"agent_id": "agent-1"}));
    let mut steps = delegates([spawn("subtask"), wait(json!({})), spawn("subtask"), close, spawn("subtask")]);
    steps.push(told("subtask", 0, Step::text("Done.")));
    let change = |config| with_children(SessionConfig { max_children: 1, ..config });
    let mut stand = Stand::with(junto_llm::Wire::Gemini, steps, Options::default(), change).await;
    assert_eq!(stand.scene.ask("Delegate").await.1, "agent-2: running");
    let record = stand.end(&[]).await;
    let refused = &results(&record, "spawn_agent")[1];
    let expected = "there are 1 agents already, and no more are allowed; close_agent ends those that are no longer \
                    needed: agent-1 (completed)";
    assert_eq!(refused, expected);
}

/// What the model is told of its tools, and what it is told when it calls them wrongly.
#[tokio::test]
async fn a_model_knows_whom_it_can_start() {
    let check = async |tool: &str, arguments: Value, expected: &str| {
        let mut stand = family(junto_llm::Wire::Chat, delegates([Step::call(tool, arguments.clone())])).await;
        let (_, text) = stand.scene.ask("Delegate").await;
        assert!(text.contains(expected), "{tool} {arguments}: {text}");
        let asked = stand.last_body();
        assert!(asked.contains("`native`: is like you"), "{asked}");
        stand.end(&[]).await;
    };
    check("spawn_agent", json!({"task": "x", "kind": "elf"}), "native").await;
    check("spawn_agent", json!({"task": " "}), "the task is empty").await;
    check("wait", json!({}), "there are no agents to wait for").await;
    check("wait", json!({"agent_id": "agent-7"}), "there is no agent `agent-7` (any more); there are: none")
        .await;
    check("send_input", json!({"agent_id": "agent-7", "message": "x"}), "there is no agent").await;
    check("close_agent", json!({"agent_id": "agent-7"}), "there is no agent").await;
}
