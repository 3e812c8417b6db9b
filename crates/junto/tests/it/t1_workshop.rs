//! What a workshop gives the sessions it makes.

use std::sync::Arc;

use junto::agent::SessionConfig;
use junto::core::Change;
use junto::prelude::*;
use junto::twin::{Options, Play, Step, Twin};
use serde_json::json;

/// A workshop of one native kind in this folder, whose model plays these steps.
fn workshop(folder: &std::path::Path, twin: &Twin, change: impl Fn(Native) -> Native) -> Workshop {
    let endpoint =
        Endpoint::new("anthropic", Wire::Anthropic, twin.base_url(Wire::Anthropic)).key(twin.key());
    let native = Native {
        model: Some("claude-opus-5-5".to_owned()),
        ..Native::new(Arc::new(HttpProvider::new(endpoint).unwrap()))
    };
    Workshop::builder(folder, |dir| Ok(Arc::new(LocalEnvironment::new(dir)?)))
        .kind("native", Kind::Native(change(native)))
        .build()
}

async fn start(workshop: &Workshop) -> Arc<dyn Agent> {
    let spec = AgentSpec { kind: "native".into(), ..AgentSpec::default() };
    workshop.start(spec, CancellationToken::new()).await.unwrap()
}

/// How an input ends, and with which words.
async fn ask(agent: &dyn Agent) -> (EndReason, String) {
    let mut events = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "Work.".into() }).await.unwrap();
    loop {
        let Item::Event(event) = events.next().await.unwrap() else { continue };
        if let Body::InputEnd { reason, text } = &event.body {
            return (reason.clone(), text.preview());
        }
    }
}

#[tokio::test]
async fn a_session_can_be_told_to_work_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let steps = [Step::call("shell", json!({"command": "pwd"})), Step::text("{{last_result}}")];
    let twin = Twin::start(Play::of(steps), Options::default()).unwrap();
    let agent = start(&workshop(folder.path(), &twin, |native| native)).await;
    let change = Change { workdir: Some("sub".into()), ..Change::default() };
    agent.send(Command::Configure { change }).await.unwrap();
    let (reason, text) = ask(&*agent).await;
    assert_eq!(reason, EndReason::Done);
    let sub = folder.path().canonicalize().unwrap().join("sub");
    assert!(text.contains(&format!("{}\n", sub.display())), "{text}");
    agent.close().await;
}

#[tokio::test]
async fn everything_of_a_session_can_be_set() {
    for (ask_on_question, expected) in [(true, EndReason::AwaitingInput), (false, EndReason::Done)] {
        let folder = tempfile::tempdir().unwrap();
        let twin = Twin::start(Play::text("Which one?"), Options::default()).unwrap();
        let agent = start(&workshop(folder.path(), &twin, |native| {
            native.adjusted(move |config| SessionConfig { ask_on_question, ..config })
        }))
        .await;
        assert_eq!(ask(&*agent).await, (expected, "Which one?".to_owned()));
        agent.close().await;
    }
}

/// Whoever starts an agent may name its model as a user does, and hears of one that is not there.
#[tokio::test]
async fn the_model_of_a_child() {
    let folder = tempfile::tempdir().unwrap();
    let twin = Twin::start(Play::text("Fine."), Options::default()).unwrap();
    let mut client = Client::builder().alias("other", "openai/gpt-5.5");
    for (name, wire) in [("anthropic", Wire::Anthropic), ("openai", Wire::Responses)] {
        let endpoint = Endpoint::new(name, wire, twin.base_url(wire)).key(twin.key());
        client = client.provider(name, Arc::new(HttpProvider::new(endpoint).unwrap()));
    }
    let client = Arc::new(client.build().unwrap());
    let workshop = workshop(folder.path(), &twin, |native| Native { provider: client.clone(), ..native });
    let spec = |model: &str| AgentSpec {
        kind: "native".into(),
        model: Some(model.to_owned()),
        ..AgentSpec::default()
    };
    let refused = workshop.start(spec("gpt-5.5"), CancellationToken::new()).await.err().unwrap();
    assert!(refused.to_string().contains("`anthropic` has no model named `gpt-5.5`"), "{refused}");
    for (model, path) in
        [("claude-opus-5-5", "messages"), ("openai/gpt-5.5", "responses"), ("other", "responses")]
    {
        let agent = workshop.start(spec(model), CancellationToken::new()).await.unwrap();
        assert_eq!(ask(&*agent).await.0, EndReason::Done, "{model}");
        let request = twin.requests().pop().unwrap();
        assert!(request.path.contains(path), "{model}: {}", request.path);
        agent.close().await;
    }
}
