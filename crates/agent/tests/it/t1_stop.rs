//! Stopping: an input, the session; and limits. On every wire the conversation goes on afterwards.

use junto_agent::SessionConfig;
use junto_core::{Agent, AgentErrorKind, Command, EndReason, Limits};
use junto_twin::{Options, Step};
use serde_json::json;

use crate::stand::{Stand, falls_silent, on_each_wire};

/// A command that starts others and does not end by itself.
fn busy() -> Step {
    let command = "sleep 600 & (setsid sleep 600 &) ; echo up; wait";
    Step::call("shell", json!({"command": command, "timeout_ms": 600_000}))
}

#[tokio::test]
async fn interrupted_while_it_speaks() {
    on_each_wire(async |wire| {
        let mut stand = Stand::new(wire, [falls_silent(), Step::text("Fine.")]).await;
        stand.scene.submit("Talk").await;
        stand.scene.talking().await;
        stand.scene.session.send(Command::Interrupt).await.unwrap();
        let (reason, text) = stand.scene.input_end().await;
        assert_eq!(reason, EndReason::Interrupted);
        assert!(text.starts_with("on and on"), "{wire:?}: {text}");
        stand.twin.wait_until_idle().await;
        assert_eq!(stand.scene.ask("Go on").await, (EndReason::Done, "Fine.".into()), "{wire:?}");
        stand.end(&[0]).await;
    })
    .await;
}

#[tokio::test]
async fn interrupted_while_a_command_runs() {
    on_each_wire(async |wire| {
        let mut stand = Stand::new(wire, [busy(), Step::text("Fine.")]).await;
        stand.scene.submit("Work").await;
        stand.scene.command_says("up").await;
        stand.scene.session.send(Command::Interrupt).await.unwrap();
        assert_eq!(stand.scene.input_end().await.0, EndReason::Interrupted);
        assert_eq!(stand.scene.env.survivors(), [], "{wire:?}");
        assert_eq!(stand.scene.ask("Go on").await, (EndReason::Done, "Fine.".into()), "{wire:?}");
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn aborted_while_a_command_runs() {
    on_each_wire(async |wire| {
        let mut stand = Stand::new(wire, [busy()]).await;
        stand.scene.submit("Work").await;
        stand.scene.command_says("up").await;
        stand.scene.session.send(Command::Abort).await.unwrap();
        assert_eq!(stand.scene.input_end().await.0, EndReason::Interrupted);
        stand.scene.event("session_end").await;
        assert_eq!(stand.scene.env.survivors(), [], "{wire:?}");
        let refused = stand.scene.session.send(Command::Interrupt).await;
        assert_eq!(refused.unwrap_err().kind(), AgentErrorKind::Closed);
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn closed_while_it_speaks() {
    on_each_wire(async |wire| {
        let mut stand = Stand::new(wire, [falls_silent()]).await;
        stand.scene.submit("Talk").await;
        stand.scene.talking().await;
        let record = stand.end(&[0]).await;
        assert_eq!(record.outcome.reason, EndReason::Interrupted);
    })
    .await;
}

#[tokio::test]
async fn stopped_by_a_limit() {
    on_each_wire(async |wire| {
        let steps =
            [Step { times: Some(2), ..Step::call("shell", json!({"command": "true"})) }, Step::text("Fine.")];
        let limits = Limits { max_tool_rounds: 2, max_turns: 0 };
        let change = |config| SessionConfig { limits, ..config };
        let mut stand = Stand::with(wire, steps, Options::default(), change).await;
        assert_eq!(stand.scene.ask("Work").await.0, EndReason::Limit);
        assert_eq!(stand.scene.ask("Go on").await, (EndReason::Done, "Fine.".into()), "{wire:?}");
        assert_eq!(stand.end(&[]).await.count("turn_limit"), 1);
    })
    .await;
}
