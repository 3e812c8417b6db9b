//! Providers that fail, on every wire.

use std::sync::Arc;
use std::time::Duration;

use junto_agent::SessionConfig;
use junto_core::{Agent, AgentErrorKind, Body, Command, EndReason};
use junto_llm::http::{Endpoint, HttpProvider};
use junto_llm::{Timeouts, Wire};
use junto_twin::{After, DEFAULT_KEY, Fault, Options, Play, Step, Twin};

use crate::scene::Scene;
use crate::stand::{Stand, client, on_each_wire};

fn kind(reason: &EndReason) -> &str {
    match reason {
        EndReason::Failed { error } => &error.kind,
        other => panic!("{other:?}"),
    }
}

async fn stand(wire: Wire, fault: Fault) -> Stand {
    let options = Options { fault: Some(fault), ..Options::default() };
    Stand::with(wire, [Step::text("Fine.")], options, |config| config).await
}

#[tokio::test]
async fn a_server_that_recovers_is_asked_again() {
    on_each_wire(async |wire| {
        let mut stand = stand(wire, Fault::status(503).times(1)).await;
        assert_eq!(stand.scene.ask("Hello").await, (EndReason::Done, "Fine.".into()), "{wire:?}");
        assert_eq!(stand.end(&[]).await.count("retry"), 1);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_does_not_recover_fails_the_input() {
    on_each_wire(async |wire| {
        let mut stand = stand(wire, Fault::status(500).times(3)).await;
        assert_eq!(kind(&stand.scene.ask("Hello").await.0), "server");
        assert_eq!(stand.scene.ask("Now?").await, (EndReason::Done, "Fine.".into()), "{wire:?}");
        let record = stand.end(&[]).await;
        assert_eq!((record.count("retry"), record.count("error"), record.count("call")), (2, 1, 1));
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_fails_the_input_and_keeps_what_was_said() {
    on_each_wire(async |wire| {
        let fault = Fault { drop_after_bytes: Some(After(6000)), ..Fault::default() };
        let long =
            Step { repeat: Some(2000), fault: Some(fault), ..Step::text("on and on ").without_thinking() };
        let mut stand = Stand::new(wire, [long, Step::text("Fine.")]).await;
        let (reason, text) = stand.scene.ask("Talk").await;
        assert_eq!(kind(&reason), "stream", "{wire:?}");
        assert!(text.starts_with("on and on"), "{wire:?}: {text}");
        assert_eq!(stand.scene.ask("Go on").await, (EndReason::Done, "Fine.".into()), "{wire:?}");
        assert_eq!(stand.end(&[0]).await.count("retry"), 0, "what was said is not said twice");
    })
    .await;
}

/// Until something was said, silence is a failure like any other.
#[tokio::test]
async fn a_server_that_is_silent_at_first_is_asked_again() {
    let wire = Wire::Responses;
    let silent = Fault { stall: Some(After(1)), ..Fault::default() }.times(1);
    let options = Options { fault: Some(silent), ..Options::default() };
    let twin = Twin::start(Play::text("Fine."), options).unwrap();
    let (name, model) = crate::stand::model(wire);
    let timeouts = Timeouts { idle: Duration::from_secs(1), ..Timeouts::default() };
    let endpoint = Endpoint::new(name, wire, twin.base_url(wire)).key(DEFAULT_KEY).timeouts(timeouts);
    let provider = Arc::new(HttpProvider::new(endpoint).unwrap());
    let config = |config| SessionConfig { model: Some(model.to_owned()), ..config };
    let mut scene = Scene::with(provider, config).await;
    assert_eq!(scene.ask("Hello").await, (EndReason::Done, "Fine.".into()));
    let record = scene.end().await;
    let retry = record.events.iter().find_map(|event| match &event.body {
        Body::Retry { error, .. } => Some(error.kind.as_str()),
        _ => None,
    });
    assert_eq!((retry, record.count("error")), (Some("timeout"), 0));
    twin.close().await;
}

#[tokio::test]
async fn a_refused_key_ends_the_session() {
    on_each_wire(async |wire| {
        let twin = Twin::start(Play::text("Fine."), Options::default()).unwrap();
        let model = Some(crate::stand::model(wire).1.to_owned());
        let provider = client(&twin, wire, "a wrong key");
        let mut scene = Scene::with(provider, |config| SessionConfig { model, ..config }).await;
        scene.submit("Hello").await;
        let later = scene.session.send(Command::FollowUp { input: "And?".into() }).await;
        assert_eq!(kind(&scene.input_end().await.0), "authentication", "{wire:?}");
        scene.event("session_end").await;
        let refused = scene.session.send(Command::Submit { input: "Hello?".into() }).await;
        assert_eq!(refused.unwrap_err().kind(), AgentErrorKind::Closed);
        let record = scene.end().await;
        assert_eq!(kind(&record.outcome.reason), "authentication");
        assert_eq!(record.count("input_end"), 1 + usize::from(later.is_ok()));
        assert_eq!((record.count("retry"), record.count("call")), (0, 0));
        twin.close().await;
    })
    .await;
}
