//! Steering, on every wire: the next request is taken by a strict provider, and says what was said.

use junto_core::{EndReason, When};
use junto_twin::Step;
use serde_json::json;

use crate::scene::let_go;
use crate::stand::{Stand, falls_silent, on_each_wire};

fn waits() -> Step {
    Step::call(
        "shell",
        json!({"command": "mkfifo go; echo up; read line < go; echo $line", "timeout_ms": 60_000}),
    )
}

#[tokio::test]
async fn a_message_waits_for_the_round() {
    on_each_wire(async |wire| {
        let mut stand = Stand::new(wire, [waits(), Step::text("Left it is.")]).await;
        stand.scene.submit("Drive").await;
        stand.scene.command_says("up").await;
        stand.scene.steer("Turn left", When::Round).await;
        let_go(stand.scene.path("go")).await;
        assert_eq!(stand.scene.input_end().await, (EndReason::Done, "Left it is.".into()), "{wire:?}");
        let body = stand.last_body();
        assert!(body.contains("Turn left") && body.contains("go\\n[exit code 0"), "{body}");
        let record = stand.end(&[]).await;
        let order: Vec<&str> = record
            .names()
            .into_iter()
            .filter(|name| ["tool_call_end", "steering_injected", "call"].contains(name))
            .collect();
        assert_eq!(order, ["call", "tool_call_end", "steering_injected", "call"]);
    })
    .await;
}

#[tokio::test]
async fn a_message_that_cannot_wait_stops_the_tools() {
    on_each_wire(async |wire| {
        let mut stand = Stand::new(wire, [waits(), Step::text("Left it is.")]).await;
        stand.scene.submit("Drive").await;
        stand.scene.command_says("up").await;
        stand.scene.steer("Turn left", When::Now).await;
        assert_eq!(stand.scene.input_end().await, (EndReason::Done, "Left it is.".into()), "{wire:?}");
        let body = stand.last_body();
        assert!(body.contains("Turn left") && body.contains("[interrupted"), "{body}");
        let record = stand.end(&[]).await;
        assert_eq!(record.tool_ends()[0].1, "up\n[interrupted; the output up to then is above]");
    })
    .await;
}

#[tokio::test]
async fn a_message_that_cannot_wait_stops_the_answer() {
    on_each_wire(async |wire| {
        let mut stand = Stand::new(wire, [falls_silent(), Step::text("Left it is.")]).await;
        stand.scene.submit("Drive").await;
        stand.scene.talking().await;
        stand.scene.steer("Turn left", When::Now).await;
        assert_eq!(stand.scene.input_end().await, (EndReason::Done, "Left it is.".into()), "{wire:?}");
        let body = stand.last_body();
        assert!(body.contains("Turn left") && body.contains("on and on"), "{wire:?}: {body}");
        let record = stand.end(&[0]).await;
        assert_eq!(record.count("assistant_text_end"), 2);
    })
    .await;
}
