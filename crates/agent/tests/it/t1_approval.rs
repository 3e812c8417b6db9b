//! Approval: asked, allowed, refused, denied; on every wire.

use std::sync::Arc;

use junto_agent::SessionConfig;
use junto_core::{Action, Agent, Body, Command, Decision, EndReason, Leash, OnReject, Policy, Verdict};
use junto_llm::Wire;
use junto_twin::{Call, Options, Step};
use serde_json::json;

use crate::stand::{Stand, on_each_wire};

/// Asks about commands, denies files outside of the directory.
struct Careful;

impl Policy for Careful {
    fn decide(&self, actions: &[Action]) -> Verdict {
        for action in actions {
            match action {
                Action::Shell { .. } => return Verdict::Ask { proposed: vec![], reason: String::new() },
                Action::Read { path } if path.as_path().starts_with("/etc") => {
                    return Verdict::Deny { reason: "it is not yours".into() };
                }
                _ => {}
            }
        }
        Verdict::Allow(Leash::Kept)
    }
}

async fn stand(wire: Wire, on_reject: OnReject) -> Stand {
    let steps = [
        Step::calls([
            Call::new("shell", json!({"command": "echo ran > proof"})),
            Call::new("read_file", json!({"file_path": "/etc/../etc/passwd"})),
        ]),
        Step::text("So be it."),
    ];
    let change = |config| SessionConfig { policy: Arc::new(Careful), on_reject, ..config };
    Stand::with(wire, steps, Options::default(), change).await
}

async fn answer(stand: &mut Stand, decision: Decision) {
    let Body::Ask { request } = stand.scene.event("ask").await.body else { unreachable!() };
    assert!(matches!(&request.actions[..], [Action::Shell { line, .. }] if line == "echo ran > proof"));
    assert!(!stand.scene.path("proof").exists(), "it waits for the answer");
    stand.scene.session.send(Command::Answer { ask: request.ask, decision }).await.unwrap();
}

fn no() -> Decision {
    Decision::Reject { reason: Some("too risky".into()) }
}

#[tokio::test]
async fn allowed() {
    on_each_wire(async |wire| {
        let mut stand = stand(wire, OnReject::EndTurn).await;
        stand.scene.submit("Work").await;
        answer(&mut stand, Decision::Allow { remember: None }).await;
        assert_eq!(stand.scene.input_end().await, (EndReason::Done, "So be it.".into()), "{wire:?}");
        assert_eq!(stand.scene.read("proof"), "ran\n");
        assert!(stand.last_body().contains("it is not yours"), "a denial is told to the model");
        let record = stand.end(&[]).await;
        assert_eq!((record.count("tool_call_start"), record.count("tool_call_end")), (1, 2));
    })
    .await;
}

#[tokio::test]
async fn unanswered_and_the_model_goes_on() {
    on_each_wire(async |wire| {
        for on_reject in [OnReject::EndTurn, OnReject::TellModel] {
            let mut stand = stand(wire, on_reject).await;
            stand.scene.submit("Work").await;
            answer(&mut stand, Decision::Unanswered { reason: Some("nobody is there".into()) }).await;
            assert_eq!(stand.scene.input_end().await, (EndReason::Done, "So be it.".into()), "{wire:?}");
            assert!(!stand.scene.path("proof").exists());
            assert!(stand.last_body().contains("not allowed: nobody is there"), "{wire:?}");
            stand.end(&[]).await;
        }
    })
    .await;
}

#[tokio::test]
async fn refused_and_the_turn_ends() {
    on_each_wire(async |wire| {
        let mut stand = stand(wire, OnReject::EndTurn).await;
        stand.scene.submit("Work").await;
        answer(&mut stand, no()).await;
        assert_eq!(stand.scene.input_end().await.0, EndReason::Rejected);
        assert!(!stand.scene.path("proof").exists());
        assert_eq!(stand.scene.ask("Then not").await, (EndReason::Done, "So be it.".into()), "{wire:?}");
        assert!(stand.last_body().contains("the user refused: too risky"));
        assert_eq!(stand.end(&[]).await.count("tool_call_start"), 0);
    })
    .await;
}

#[tokio::test]
async fn refused_and_the_model_is_told() {
    on_each_wire(async |wire| {
        let mut stand = stand(wire, OnReject::TellModel).await;
        stand.scene.submit("Work").await;
        answer(&mut stand, no()).await;
        assert_eq!(stand.scene.input_end().await, (EndReason::Done, "So be it.".into()), "{wire:?}");
        assert!(stand.last_body().contains("the user refused: too risky"));
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn a_refusal_that_ends_the_turn_withdraws_the_other_questions() {
    let shell = |line: &str| Call::new("shell", json!({"command": line}));
    let steps = [Step::calls([shell("echo 1 > proof"), shell("echo 2 > proof")]), Step::text("Fine.")];
    let change = |config| SessionConfig { policy: Arc::new(Careful), ..config };
    let mut stand = Stand::with(Wire::Anthropic, steps, Options::default(), change).await;
    stand.scene.submit("Work").await;
    let Body::Ask { request } = stand.scene.event("ask").await.body else { unreachable!() };
    stand.scene.event("ask").await;
    stand.scene.session.send(Command::Answer { ask: request.ask, decision: no() }).await.unwrap();
    assert_eq!(stand.scene.input_end().await.0, EndReason::Rejected);
    assert!(!stand.scene.path("proof").exists());
    let record = stand.end(&[]).await;
    assert_eq!((record.count("answered"), record.count("tool_call_end")), (1, 2));
}

#[tokio::test]
async fn an_interrupt_withdraws_the_question() {
    on_each_wire(async |wire| {
        let mut stand = stand(wire, OnReject::EndTurn).await;
        stand.scene.submit("Work").await;
        let Body::Ask { request } = stand.scene.event("ask").await.body else { unreachable!() };
        stand.scene.session.send(Command::Interrupt).await.unwrap();
        assert_eq!(stand.scene.input_end().await.0, EndReason::Interrupted);
        let late = Command::Answer { ask: request.ask, decision: no() };
        assert!(stand.scene.session.send(late).await.is_err());
        assert_eq!(stand.scene.ask("Then not").await, (EndReason::Done, "So be it.".into()), "{wire:?}");
        stand.end(&[]).await;
    })
    .await;
}
