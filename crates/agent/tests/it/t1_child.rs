//! A child that its parent waits for in the call that starts it: it lives within that call.

use std::sync::Arc;

use junto_agent::SessionConfig;
use junto_core::{
    Action, Agent, AgentError, AgentSpec, Body, Command, Decision, EndReason, Fut, Leash, Parent, Policy,
    Spawner, Verdict,
};
use junto_twin::{Options, Step, When};
use serde_json::json;

use crate::nursery::with_children;
use crate::stand::{Stand, on_each_wire};

struct AskForCommands;

impl Policy for AskForCommands {
    fn decide(&self, actions: &[Action]) -> Verdict {
        match actions {
            [Action::Shell { .. }] => Verdict::Ask { proposed: vec![], reason: String::new() },
            _ => Verdict::Allow(Leash::Kept),
        }
    }
}

fn on(contains: &str) -> When {
    When { contains: Some(contains.into()), ..When::default() }
}

/// The parent delegates; the child runs a command and answers; the parent says what it heard.
fn steps(command: &str) -> Vec<Step> {
    let work = Step::call("shell", json!({"command": command, "timeout_ms": 60_000}));
    vec![
        Step {
            times: Some(1),
            ..Step::call("spawn_agent", json!({"task": "subtask", "wait": true})).when(on("Delegate"))
        },
        Step { times: Some(1), ..work.when(on("subtask")) },
        Step::text("I counted two.").when(on("subtask")),
        Step::text("The child says: {{last_result}}").when(on("Delegate")),
        Step::text("Fine."),
    ]
}

#[tokio::test]
async fn a_child_works_and_its_parent_hears_of_it() {
    on_each_wire(async |wire| {
        let mut stand = Stand::with(wire, steps("echo 2"), Options::default(), with_children).await;
        let (reason, text) = stand.scene.ask("Delegate").await;
        assert_eq!((reason, text.as_str()), (EndReason::Done, "The child says: I counted two."), "{wire:?}");
        let root = stand.scene.session.log().agent().clone();
        let specs = |n: usize| stand.twin.requests()[n].body.to_string().contains("spawn_agent");
        assert!(specs(0) && !specs(1), "a child of a child is one too many");
        let record = stand.end(&[]).await;
        let child = record.events.iter().find_map(|e| match &e.body {
            Body::Child { agent, task, .. } => Some((agent.clone(), task.clone())),
            _ => None,
        });
        let (child, task) = child.unwrap();
        assert_eq!(task, "subtask");
        let of_child: Vec<_> = record.events.iter().filter(|e| e.agent == child).collect();
        assert!(of_child.iter().all(|e| e.parent.as_ref() == Some(&root)));
        assert_eq!(of_child.last().unwrap().body.name(), "session_end");
    })
    .await;
}

#[tokio::test]
async fn a_child_ends_with_the_interrupted_call() {
    on_each_wire(async |wire| {
        let command = "echo up; (setsid sleep 600 &); exec sleep 600";
        let mut stand = Stand::with(wire, steps(command), Options::default(), with_children).await;
        stand.scene.submit("Delegate").await;
        stand.scene.command_says("up").await;
        stand.scene.session.send(Command::Interrupt).await.unwrap();
        assert_eq!(stand.scene.input_end().await.0, EndReason::Interrupted);
        assert_eq!(stand.scene.env.survivors(), [], "{wire:?}");
        assert_eq!(stand.scene.ask("Never mind").await, (EndReason::Done, "Fine.".into()), "{wire:?}");
        let record = stand.end(&[]).await;
        assert_eq!(record.count("session_end"), 2);
    })
    .await;
}

#[tokio::test]
async fn a_childs_question_is_answered_through_its_parent() {
    on_each_wire(async |wire| {
        let change = |config| with_children(SessionConfig { policy: Arc::new(AskForCommands), ..config });
        let mut stand = Stand::with(wire, steps("echo 2"), Options::default(), change).await;
        stand.scene.submit("Delegate").await;
        let asked =
            |item: &junto_core::Item| matches!(item, junto_core::Item::Event(e) if e.body.name() == "ask");
        let junto_core::Item::Event(event) = stand.scene.until(asked).await else { unreachable!() };
        let Body::Ask { request } = &event.body else { unreachable!() };
        assert_ne!(&event.agent, stand.scene.session.log().agent());
        let decision = Decision::Allow { remember: None };
        stand.scene.session.send(Command::Answer { ask: request.ask.clone(), decision }).await.unwrap();
        assert_eq!(stand.scene.input_end().await.0, EndReason::Done, "{wire:?}");
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn a_child_that_cannot_start_is_an_error_result() {
    struct Barren;
    impl Spawner for Barren {
        fn spawn(&self, spec: AgentSpec, _parent: Parent) -> Fut<'_, Result<Arc<dyn Agent>, AgentError>> {
            let message = format!("there is no kind `{}`", spec.kind);
            Box::pin(async move { Err(AgentError::new(junto_core::AgentErrorKind::Invalid, message)) })
        }
    }
    let steps =
        [Step::call("spawn_agent", json!({"task": "x", "kind": "elf"})), Step::text("{{last_result}}")];
    let change = |config| SessionConfig { spawner: Some(Arc::new(Barren)), ..config };
    let mut stand = Stand::with(junto_llm::Wire::Chat, steps, Options::default(), change).await;
    assert_eq!(stand.scene.ask("Delegate").await.1, "there is no kind `elf`");
    stand.end(&[]).await;
}
