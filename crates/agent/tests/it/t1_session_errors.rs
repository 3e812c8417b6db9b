//! What can go wrong, and what becomes of it: errors of tools, which the model is told, and errors of the
//! session, by their kind.

use std::sync::Arc;

use junto_agent::{Overflow, SessionConfig};
use junto_core::{Agent, AgentErrorKind, Body, Command, EndReason, SessionState};
use junto_llm::Wire;
use junto_twin::{Fault, Options, Step};
use serde_json::{Value, json};

use crate::scene::{Record, Scene};
use crate::script::{Line, script};
use crate::stand::{Stand, on_each_wire};

/// Errors of tools are results: the model is told what happened, and goes on.
#[tokio::test]
async fn errors_of_tools_are_told_to_the_model() {
    let check = async |name: &'static str, args: Value, expected: &str| {
        let model = script([Line::Calls(vec![(name, args)]), Line::Text("I see.")]);
        let mut scene = Scene::start(Arc::clone(&model) as _).await;
        scene.write("twice.txt", "one\none\n");
        assert_eq!(scene.ask("Try").await, (EndReason::Done, "I see.".into()), "{name}");
        scene.end().await;
        let requests = model.requests.lock().unwrap();
        let told = requests[1].messages.last().unwrap().results().next().unwrap();
        let text = told.output.to_text();
        assert!(told.is_error && text.contains(expected), "{name}: {text}");
    };
    // FileNotFound
    check("read_file", json!({"file_path": "missing.txt"}), "missing.txt").await;
    // EditConflict
    let edit = |old: &str| json!({"file_path": "twice.txt", "old_string": old, "new_string": "two"});
    check("edit_file", edit("three"), "not in the file").await;
    check("edit_file", edit("one"), "2").await;
    // ShellExitError
    check("shell", json!({"command": "echo why >&2; exit 3"}), "[exit code 3").await;
    // ShellTimeout
    check("shell", json!({"command": "echo on; sleep 60", "timeout_ms": 100}), "timed out after 100ms").await;
    // PermissionDenied
    check("write_file", json!({"file_path": "/proc/version", "content": "x"}), "/proc").await;
    // ValidationError
    check("read_file", json!({"path": "twice.txt"}), "file_path").await;
    check("read_file", Value::String("{\"file_path\": ".into()), "not a JSON object").await;
    // UnknownTool
    check("reed_file", json!({}), "reed_file").await;
}

async fn stand(wire: Wire, fault: Fault, change: impl FnOnce(SessionConfig) -> SessionConfig) -> Stand {
    let options = Options { fault: Some(fault), ..Options::default() };
    Stand::with(wire, [Step::text("Fine.")], options, change).await
}

fn retries(record: &Record) -> Vec<(u32, String)> {
    let retry = |body: &Body| match body {
        Body::Retry { attempt, error, .. } => Some((*attempt, error.kind.clone())),
        _ => None,
    };
    record.events.iter().filter_map(|e| retry(&e.body)).collect()
}

fn kind(reason: &EndReason) -> &str {
    match reason {
        EndReason::Failed { error } => &error.kind,
        other => panic!("{other:?}"),
    }
}

/// What passes is tried again, in sight.
#[tokio::test]
async fn what_passes_is_tried_again() {
    on_each_wire(async |wire| {
        for (status, expected) in [(429, "rate_limit"), (500, "server"), (502, "server"), (503, "server")] {
            let mut stand = stand(wire, Fault::status(status).times(2), |config| config).await;
            assert_eq!(
                stand.scene.ask("Hello").await,
                (EndReason::Done, "Fine.".into()),
                "{wire:?} {status}"
            );
            let record = stand.end(&[]).await;
            assert_eq!(retries(&record), [(1, expected.into()), (2, expected.into())], "{wire:?} {status}");
            assert_eq!(record.count("error"), 0);
        }
    })
    .await;
}

/// So is a server that cannot be reached; and when it does not come back, the session waits for better times.
#[tokio::test]
async fn an_unreachable_server_fails_the_input() {
    on_each_wire(async |wire| {
        let twin = junto_twin::Twin::start(junto_twin::Play::text("Fine."), Options::default()).unwrap();
        let provider = crate::stand::client(&twin, wire, junto_twin::DEFAULT_KEY);
        twin.close().await;
        let model = Some(crate::stand::model(wire).1.to_owned());
        let mut scene = Scene::with(provider, |config| SessionConfig { model, ..config }).await;
        assert_eq!(kind(&scene.ask("Hello").await.0), "network", "{wire:?}");
        assert_eq!(scene.session.state(), SessionState::Idle);
        let record = scene.end().await;
        assert_eq!(retries(&record), [(1, "network".into()), (2, "network".into())], "{wire:?}");
        assert_eq!((record.count("error"), record.count("call")), (1, 0));
    })
    .await;
}

/// A key that is refused is said at once, and nothing more can be asked.
#[tokio::test]
async fn a_refused_key_closes_the_session() {
    on_each_wire(async |wire| {
        let mut stand = stand(wire, Fault::status(401), |config| config).await;
        assert_eq!(kind(&stand.scene.ask("Hello").await.0), "authentication", "{wire:?}");
        stand.scene.event("session_end").await;
        assert_eq!(stand.scene.session.state(), SessionState::Closed);
        let record = stand.end(&[]).await;
        assert_eq!((retries(&record), record.count("error")), (vec![], 1));
    })
    .await;
}

/// A conversation that has become too long is warned of and ends the session, or fails only the input.
#[tokio::test]
async fn a_conversation_that_is_too_long() {
    let overflow = |record: &Record| {
        let is = |body: &Body| matches!(body, Body::Warning { code, .. } if code == "context_overflow");
        record.events.iter().filter(|e| is(&e.body)).count()
    };
    on_each_wire(async |wire| {
        let mut closing = stand(wire, Fault::status(413), |config| config).await;
        assert_eq!(kind(&closing.scene.ask("Hello").await.0), "context_length", "{wire:?}");
        closing.scene.event("session_end").await;
        let refused = closing.scene.session.send(Command::Submit { input: "Hello?".into() }).await;
        assert_eq!(refused.unwrap_err().kind(), AgentErrorKind::Closed);
        let record = closing.end(&[]).await;
        assert_eq!((overflow(&record), retries(&record)), (1, vec![]));

        let open = |config| SessionConfig { on_overflow: Overflow::Fail, ..config };
        let mut open = stand(wire, Fault::status(413).times(1), open).await;
        assert_eq!(kind(&open.scene.ask("Hello").await.0), "context_length", "{wire:?}");
        assert_eq!(open.scene.session.state(), SessionState::Idle);
        assert_eq!(open.scene.ask("Shorter").await, (EndReason::Done, "Fine.".into()), "{wire:?}");
        assert_eq!(overflow(&open.end(&[]).await), 1);
    })
    .await;
}
