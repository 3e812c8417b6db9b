//! The fake `claude`, told more while it works.

use junto_core::{Ack, Agent, AgentErrorKind, Body, Command, EndReason, Seq, Steer, When};
use junto_testkit::fake_claude::{Behaviour, Fault};

use crate::stage::{Stage, count, input_end, runs_of, submit, the_end, until};

fn steerable(behaviour: Behaviour) -> Stage {
    let mut stage = Stage::new(behaviour);
    stage.host.steerable = true;
    stage
}

fn steer(text: &str) -> Command {
    Command::Steer { input: text.into(), when: When::Round }
}

#[tokio::test]
async fn a_message_reaches_a_turn_that_is_under_way() {
    let stage = steerable(Behaviour { await_steering: true, ..Behaviour::default() });
    let agent = stage.agent().await;
    assert_eq!(agent.abilities().steer, Steer::Round);
    assert_eq!(agent.send(steer("too early")).await.unwrap_err().kind(), AgentErrorKind::WrongState);
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "-hello".into() }).await.unwrap();
    until(&mut reader, |body| matches!(body, Body::AssistantTextEnd { .. })).await;
    assert_eq!(agent.send(steer("faster")).await, Ok(Ack::Queued));
    assert_eq!(input_end(&mut reader).await, EndReason::Done);
    let events = stage.end(agent).await;
    assert_eq!((count(&events, "steering_injected"), count(&events, "run_end")), (1, 1));
    let said: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::AssistantTextEnd { text, .. } => Some(text.preview()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["You said: -hello", "And: faster"]);
    let run = &stage.runs()[0];
    assert_eq!(run["prompt"], "-hello");
    assert!(run["argv"].to_string().contains(r#""--input-format","stream-json""#), "{run}");
}

#[tokio::test]
async fn a_turn_that_hears_nothing_more_ends_as_ever() {
    let stage = steerable(Behaviour::default());
    let agent = stage.agent().await;
    // Larger than a pipe holds.
    let prompt = "é".repeat(600 << 10);
    assert_eq!(submit(&agent, &prompt).await, EndReason::Done);
    assert_eq!(submit(&agent, "again").await, EndReason::Done);
    let events = stage.end(agent).await;
    assert_eq!(count(&events, "handle"), 1);
    assert_eq!(stage.runs()[0]["prompt"], prompt.as_str());
    assert!(runs_of(&events).iter().all(|(_, _, exit, _)| *exit == Some(0)), "{:?}", runs_of(&events));
}

#[tokio::test]
async fn an_interrupt_needs_no_signal_and_the_session_goes_on() {
    let stage = steerable(Behaviour::replaying("sigint-tool").then(2, Fault::Hang));
    let agent = stage.agent().await;
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "hello".into() }).await.unwrap();
    until(&mut reader, |body| matches!(body, Body::ToolCallStart { .. })).await;
    assert_eq!(agent.send(Command::Interrupt).await, Ok(Ack::Started));
    assert_eq!(input_end(&mut reader).await, EndReason::Interrupted);
    let events = stage.end(agent).await;
    assert_eq!(the_end(&events).0, EndReason::Interrupted);
    let (_, billing, exit, class) = runs_of(&events).remove(0);
    assert_eq!((billing, exit, class.as_deref()), (Some((100, 10)), Some(1), Some("cancelled")));
}

#[tokio::test]
async fn a_process_that_dies_while_it_is_told_something_ends_the_input_once() {
    let stage = steerable(Behaviour::default().then(1, Fault::Crash));
    let events = stage.play(&"x".repeat(1 << 20)).await;
    assert!(matches!(the_end(&events).0, EndReason::Failed { .. }));
}

#[tokio::test]
async fn whoever_cannot_be_steered_says_so() {
    let stage = Stage::new(Behaviour::default());
    let agent = stage.agent().await;
    assert_eq!(agent.abilities().steer, Steer::No);
    assert_eq!(agent.send(steer("x")).await.unwrap_err().kind(), AgentErrorKind::Unsupported);
    stage.end(agent).await;
    // What the host wants is not what every command can.
    let mut stage = Stage::codex("cat > /dev/null");
    stage.host.steerable = true;
    let agent = stage.agent().await;
    assert_eq!(agent.abilities().steer, Steer::No);
    stage.end(agent).await;
}
