//! A session as a whole: changed between two calls, warned of its window, and ended in good order.

use std::sync::Arc;

use junto_agent::{SessionConfig, tools};
use junto_core::{Agent, AgentError, AgentErrorKind, Body, Change, Command, EndReason, SessionState};
use junto_llm::http::{Endpoint, HttpProvider};
use junto_llm::{Client, Wire};
use junto_twin::{DEFAULT_KEY, Options, Play, Step, Twin, UsageOverride, When};
use serde_json::json;

use crate::nursery::with_children;
use crate::scene::Scene;
use crate::script::{Line, script};
use crate::stand::{Stand, falls_silent, model, on_each_wire};

#[tokio::test]
async fn another_provider_from_the_next_call_on() {
    let steps = [
        Step::call("shell", json!({"command": "echo x"})),
        Step::text("One."),
        Step::call("shell", json!({"command": "echo y"})),
        Step::text("Two."),
        Step::text("Three."),
        Step::text("Four."),
    ];
    let twin = Twin::start(Play::of(steps), Options::default()).unwrap();
    let [first, second] = [Wire::Anthropic, Wire::Responses];
    let mut client = Client::builder().alias("other", format!("openai/{}", model(second).1));
    for wire in [first, second] {
        let endpoint = Endpoint::new(model(wire).0, wire, twin.base_url(wire)).key(DEFAULT_KEY);
        client = client.provider(model(wire).0, Arc::new(HttpProvider::new(endpoint).unwrap()));
    }
    let config = |config| SessionConfig { model: Some(model(first).1.into()), ..config };
    let mut scene = Scene::with(Arc::new(client.build().unwrap()), config).await;
    assert_eq!(scene.ask("1").await.1, "One.");

    let configure = async |change| scene.session.send(Command::Configure { change }).await;
    let refused = async |change, message: &str, hint: &str| {
        let error: AgentError = configure(change).await.unwrap_err();
        assert_eq!(error.kind(), AgentErrorKind::Invalid, "{error}");
        let said = error.hint().unwrap_or_default();
        assert!(error.to_string().contains(message) && said.contains(hint), "{error} ({said})");
    };
    let to = |provider: Option<&str>, model: Option<&str>| Change {
        provider: provider.map(str::to_owned),
        model: model.map(str::to_owned),
        ..Change::default()
    };
    refused(to(Some("mistral"), None), "no provider named `mistral`", "anthropic, openai").await;
    refused(to(None, Some(model(second).1)), "`anthropic` has no model named", "of `openai`").await;
    refused(to(Some("openai"), None), "`openai` has no model named", "of `anthropic`").await;
    refused(to(None, Some(" ")), "no name", "").await;
    configure(to(Some("openai"), Some(model(second).1))).await.unwrap();
    assert_eq!(scene.ask("2").await, (EndReason::Done, "Two.".into()));
    // Named together, and by a name of the user's.
    let configure = async |change| scene.session.send(Command::Configure { change }).await;
    configure(to(None, Some(&format!("anthropic/{}", model(first).1)))).await.unwrap();
    assert_eq!(scene.ask("3").await, (EndReason::Done, "Three.".into()));
    let configure = async |change| scene.session.send(Command::Configure { change }).await;
    configure(to(None, Some("other"))).await.unwrap();
    assert_eq!(scene.ask("4").await, (EndReason::Done, "Four.".into()));
    let record = scene.end().await;
    let changes: Vec<&Change> = record
        .events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Configured { change } => Some(change),
            _ => None,
        })
        .collect();
    let [first, second] = [model(first), model(second)].map(|(name, model)| to(Some(name), Some(model)));
    assert_eq!(changes, [&second, &first, &second], "what was refused changed nothing");
    let asked: Vec<bool> = twin.requests().iter().map(|r| r.path.contains("responses")).collect();
    assert_eq!(asked, [false, false, true, true, false, true]);
    twin.close().await;
}

#[tokio::test]
async fn a_window_that_gets_full_by_the_providers_own_count() {
    on_each_wire(async |wire| {
        let usage =
            |input| UsageOverride { input: Some(input), output: Some(10), ..UsageOverride::default() };
        let step = |input| Step { usage: usage(input), ..Step::text("Yes.").without_thinking() };
        let config = |config| SessionConfig { context_window: Some(100_000), ..config };
        let steps = [step(79_000), step(81_000), step(90_000)];
        let mut stand = Stand::with(wire, steps, Options::default(), config).await;
        for input in ["1", "2", "3"] {
            stand.scene.ask(input).await;
        }
        let record = stand.end(&[]).await;
        let warnings: Vec<(u32, &str)> = record
            .events
            .iter()
            .filter_map(|e| match &e.body {
                Body::Warning { code, message } if code == "context_usage" => {
                    Some((e.turn, message.as_str()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(warnings, [(2, "Context usage at ~81% of context window")], "{wire:?}");
    })
    .await;
}

/// Each model call can be found at the provider by the id it gave its answer.
#[tokio::test]
async fn answers_have_their_providers_ids() {
    on_each_wire(async |wire| {
        let mut stand = Stand::new(wire, [Step::text("One."), Step::text("Two.")]).await;
        stand.scene.ask("1").await;
        stand.scene.ask("2").await;
        let record = stand.end(&[]).await;
        let ids: Vec<String> = record
            .events
            .iter()
            .filter_map(|e| match &e.body {
                Body::Call { response_id, .. } => Some(response_id.clone().expect("an id")),
                _ => None,
            })
            .collect();
        assert!(ids.len() == 2 && ids[0] != ids[1], "{wire:?}: {ids:?}");
    })
    .await;
}

#[tokio::test]
async fn an_abort_closes_the_connection_and_the_session() {
    on_each_wire(async |wire| {
        let mut stand = Stand::new(wire, [falls_silent()]).await;
        stand.scene.submit("Talk").await;
        stand.scene.talking().await;
        stand.scene.session.send(Command::Abort).await.unwrap();
        stand.twin.wait_until_idle().await;
        stand.scene.event("session_end").await;
        assert_eq!(stand.scene.session.state(), SessionState::Closed);
        stand.end(&[0]).await;
    })
    .await;
}

/// A command that says farewell when it is asked to end, and goes.
const POLITE: &str = "trap 'echo bye > bye; exit 0' TERM; echo up; while :; do sleep 0.02; done";
/// One that does not listen, and whose child does not either.
const DEAF: &str = "trap '' TERM; echo up; (while :; do sleep 0.02; done) & while :; do sleep 0.02; done";

#[tokio::test]
async fn commands_are_asked_to_end_before_they_are_made_to() {
    for command in [POLITE, DEAF] {
        let run = json!({"command": command, "timeout_ms": 600_000});
        let mut scene = Scene::start(script([Line::Calls(vec![("shell", run)])])).await;
        scene.submit("Work").await;
        scene.command_says("up").await;
        scene.session.send(Command::Abort).await.unwrap();
        assert_eq!(scene.input_end().await.0, EndReason::Interrupted);
        assert_eq!(scene.env.survivors(), []);
        assert_eq!(scene.path("bye").exists(), command == POLITE);
        scene.event("session_end").await;
        scene.end().await;
    }
}

#[tokio::test]
async fn commands_in_the_background_too() {
    let lines = [
        Line::Calls(vec![("shell", json!({"command": POLITE, "background": true}))]),
        Line::Calls(vec![("shell_output", json!({"job": 1, "wait_ms": 60_000}))]),
        Line::Text("It runs."),
    ];
    let all = |config| SessionConfig { tools: tools::all().into(), ..config };
    let mut scene = Scene::with(script(lines), all).await;
    assert_eq!(scene.ask("Serve").await.1, "It runs.");
    assert!(!scene.path("bye").exists() && !scene.env.survivors().is_empty());
    scene.session.close().await;
    assert_eq!(scene.env.survivors(), []);
    assert!(scene.path("bye").exists());
    scene.end().await;
}

#[tokio::test]
async fn children_end_before_their_parent() {
    let on = |contains: &str| When { contains: Some(contains.into()), ..When::default() };
    let steps = [
        Step { times: Some(1), ..Step::call("spawn_agent", json!({"task": "subtask"})).when(on("Delegate")) },
        Step::call("shell", json!({"command": POLITE, "timeout_ms": 600_000})).when(on("subtask")),
    ];
    on_each_wire(async |wire| {
        let mut stand = Stand::with(wire, steps.clone(), Options::default(), with_children).await;
        stand.scene.submit("Delegate").await;
        stand.scene.command_says("up").await;
        stand.scene.session.send(Command::Abort).await.unwrap();
        stand.scene.event("session_end").await;
        let root = stand.scene.session.log().agent().clone();
        assert_eq!(stand.scene.env.survivors(), []);
        assert!(stand.scene.path("bye").exists(), "{wire:?}");
        let record = stand.end(&[]).await;
        let ends: Vec<bool> = record
            .events
            .iter()
            .filter(|e| e.body.name() == "session_end")
            .map(|e| e.agent == root)
            .collect();
        assert_eq!(ends, [false, true], "{wire:?}");
    })
    .await;
}
