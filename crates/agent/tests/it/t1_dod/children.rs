//! 9.9: agents that a model starts.

use junto_agent::profile::Family;
use junto_core::{Agent, Body, EndReason, Item, Seq};
use junto_twin::{Step, When};
use serde_json::json;

use super::body::Said;
use super::model::{create, on_each_profile, read, requests, shell, stand_with, with_children};
use crate::scene::{Record, let_go};

fn on(contains: &str) -> When {
    When { contains: Some(contains.into()), ..When::default() }
}

/// What the model does once when it was last told something with these words.
fn once(contains: &str, step: Step) -> Step {
    Step { times: Some(1), ..step.when(on(contains)) }
}

/// The parent's and the child's requests apart, in order.
fn by_agent(all: Vec<Said>) -> (Vec<Said>, Vec<Said>) {
    all.into_iter().partition(|said| said.user.first().is_some_and(|first| first.contains("Delegate")))
}

/// A parent that delegates the making of a file, waits for it, and looks at the file.
async fn delegated(family: Family) -> (Vec<Said>, Vec<Said>, Record) {
    let steps = vec![
        once("Delegate", Step::call("spawn_agent", json!({"task": "Make a file"}))),
        once("Delegate", Step::call("wait", json!({"agent_id": "agent-1"}))),
        once("Delegate", Step::calls([read("made.txt")])),
        once("Make a file", Step::calls([create(family, "made.txt", "by the child\n")])),
        Step::text("The file is there.").when(on("Make a file")),
        Step::text("Well done.").when(on("Delegate")),
    ];
    let mut stand = stand_with(family, steps, with_children).await;
    assert_eq!(stand.scene.ask("Delegate it").await, (EndReason::Done, "Well done.".into()), "{family:?}");
    let (parent, child) = by_agent(requests(&stand));
    (parent, child, stand.end(&[]).await)
}

#[tokio::test]
async fn dod_a_child_has_a_task() {
    on_each_profile(async |family| {
        let (parent, child, record) = delegated(family).await;
        assert_eq!(child[0].user, ["Make a file"], "{family:?}");
        assert!(parent[1].results[0].contains("agent-1"), "{family:?}: {:?}", parent[1].results);
        let children: Vec<&str> = record
            .events
            .iter()
            .filter_map(|event| match &event.body {
                Body::Child { task, .. } => Some(task.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(children, ["Make a file"], "{family:?}");
    })
    .await;
}

#[tokio::test]
async fn dod_a_child_works_where_its_parent_does() {
    on_each_profile(async |family| {
        let (parent, ..) = delegated(family).await;
        assert!(parent.last().unwrap().results[2].contains("  1 | by the child"), "{family:?}");
    })
    .await;
}

#[tokio::test]
async fn dod_a_child_has_a_history_of_its_own() {
    on_each_profile(async |family| {
        let (parent, child, _) = delegated(family).await;
        assert_eq!((parent.len(), child.len()), (4, 2), "{family:?}");
        assert!(
            child.iter().all(|said| !said.user.iter().any(|said| said.contains("Delegate"))),
            "{family:?}"
        );
        assert_eq!(child[1].results.len(), 1, "{family:?}: its own call, and none of its parent's");
        assert_eq!(parent[3].results.len(), 3, "{family:?}: its own calls, and none of its child's");
    })
    .await;
}

#[tokio::test]
async fn dod_a_child_has_no_children() {
    on_each_profile(async |family| {
        let (parent, child, _) = delegated(family).await;
        let can = |said: &Said| said.tools.iter().any(|name| name == "spawn_agent");
        assert!(parent.iter().all(can) && !child.iter().any(can), "{family:?}");
    })
    .await;
}

#[tokio::test]
async fn dod_a_childs_answer_is_a_result() {
    on_each_profile(async |family| {
        let (parent, _, record) = delegated(family).await;
        let told = &parent[2].results[1];
        for part in ["The file is there.", "success: true", "turns used: 2"] {
            assert!(told.contains(part), "{family:?}: {part} in {told}");
        }
        let ends = record.tool_ends();
        assert!(ends.iter().any(|(name, _, failed)| name == "wait" && !failed), "{family:?}: {ends:?}");
    })
    .await;
}

#[tokio::test]
async fn dod_a_child_is_told_waited_for_and_ended() {
    on_each_profile(async |family| {
        let agent = |name: &str| Step::call(name, json!({"agent_id": "agent-1"}));
        let tell = Step::call("send_input", json!({"agent_id": "agent-1", "message": "Hurry"}));
        let steps = vec![
            once("Delegate", Step::call("spawn_agent", json!({"task": "Count"}))),
            once("Delegate", tell),
            once("Delegate", agent("wait")),
            once("Delegate", agent("close_agent")),
            once("Delegate", agent("wait")),
            once("Count", Step::calls([shell("mkfifo go; echo up; read line < go")])),
            Step::text("Counted in haste.").when(on("Hurry")),
            Step::text("All done.").when(on("Delegate")),
        ];
        let mut stand = stand_with(family, steps, with_children).await;
        let mut beside = stand.scene.session.log().subscribe(Seq::START);
        stand.scene.submit("Delegate it").await;
        stand.scene.command_says("up").await;
        // The child goes on only when it has been told.
        loop {
            if let Item::Event(event) = beside.next().await.unwrap()
                && matches!(&event.body, Body::ToolCallEnd { name, .. } if name == "send_input")
            {
                break;
            }
        }
        let_go(stand.scene.path("go")).await;
        assert_eq!(stand.scene.input_end().await, (EndReason::Done, "All done.".into()), "{family:?}");
        let (parent, child) = by_agent(requests(&stand));
        assert!(child[1].user.last().is_some_and(|said| said.contains("Hurry")), "{family:?}");
        let [_, told, waited, closed, gone] = &parent.last().unwrap().results[..] else {
            panic!("five results")
        };
        assert!(told.contains("agent-1"), "{family:?}: {told}");
        assert!(waited.contains("Counted in haste."), "{family:?}: {waited}");
        assert!(closed.contains("closed"), "{family:?}: {closed}");
        let record = stand.end(&[]).await;
        let failed: Vec<bool> =
            record.tool_ends().into_iter().filter(|(name, ..)| name == "wait").map(|(_, _, f)| f).collect();
        assert_eq!(failed, [false, true], "{family:?}: there is nobody left to wait for: {gone}");
        assert_eq!(record.count("session_end"), 2, "{family:?}");
    })
    .await;
}
