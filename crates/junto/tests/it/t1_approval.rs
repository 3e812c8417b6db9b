//! A question as a handle, and agents that are held.

use std::sync::Arc;

use junto::core::OnReject;
use junto::env::Means;
use junto::policy::Mode;
use junto::prelude::*;
use junto::twin::{Options, Play, Step, Twin};
use junto::{Enforcement, WorkshopBuilder};
use serde_json::json;

fn native(twin: &Twin) -> Kind {
    let endpoint =
        Endpoint::new("anthropic", Wire::Anthropic, twin.base_url(Wire::Anthropic)).key(twin.key());
    let provider = Arc::new(HttpProvider::new(endpoint).unwrap());
    Kind::Native(Native { model: Some("claude-opus-5-5".to_owned()), ..Native::new(provider) })
}

async fn start(builder: WorkshopBuilder, twin: &Twin) -> Arc<dyn Agent> {
    let spec = AgentSpec { kind: "native".into(), ..AgentSpec::default() };
    builder.kind("native", native(twin)).build().start(spec, CancellationToken::new()).await.unwrap()
}

fn twin(line: &str) -> Twin {
    let steps = [Step::call("shell", json!({"command": line})), Step::text("{{last_result}}")];
    Twin::start(Play::of(steps), Options::default()).unwrap()
}

/// Lets the agent work until it asks.
async fn asked(agent: &Arc<dyn Agent>) -> Approval {
    let mut events = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "Work.".into() }).await.unwrap();
    loop {
        let Item::Event(event) = events.next().await.unwrap() else { continue };
        if let Some(approval) = Approval::of(agent, &event) {
            return approval;
        }
    }
}

/// Waits until the input has been worked on: closing an agent before that would end what was allowed.
async fn finished(agent: &Arc<dyn Agent>) {
    let mut events = agent.log().subscribe(Seq::START);
    loop {
        let Item::Event(event) = events.next().await.unwrap() else { continue };
        if matches!(event.body, Body::InputEnd { .. }) {
            return;
        }
    }
}

#[tokio::test]
async fn a_question_is_answered_and_waited_for() {
    for yes in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let twin = twin("touch made");
        let builder = Workshop::builder(folder.path(), |dir| Ok(Arc::new(LocalEnvironment::new(dir)?)));
        let agent = start(builder.policy(Arc::new(AskFirst), OnReject::EndTurn), &twin).await;
        let approval = asked(&agent).await;
        assert_eq!((approval.tool_name(), &approval.tool_args()["command"]), ("shell", &json!("touch made")));
        assert!(approval.agent_id() == agent.log().agent() && !approval.is_programmatic());
        let (waited, answered) = tokio::join!(approval.approved(), approval.approve(yes));
        answered.unwrap();
        assert_eq!(waited.unwrap(), yes);
        assert!(approval.approve(yes).await.is_err(), "it was answered");
        assert_eq!(approval.approved().await.unwrap(), yes, "also for whoever asks later");
        finished(&agent).await;
        agent.close().await;
        assert_eq!(folder.path().join("made").exists(), yes);
    }
}

#[tokio::test]
async fn a_question_that_is_withdrawn_is_a_no() {
    let folder = tempfile::tempdir().unwrap();
    let twin = twin("touch made");
    let builder = Workshop::builder(folder.path(), |dir| Ok(Arc::new(LocalEnvironment::new(dir)?)));
    let agent = start(builder.policy(Arc::new(AskFirst), OnReject::EndTurn), &twin).await;
    let approval = asked(&agent).await;
    agent.send(Command::Interrupt).await.unwrap();
    assert!(!approval.approved().await.unwrap());
    assert!(!folder.path().join("made").exists());
    agent.close().await;
}

/// A workshop of the library allows everything; one with a guard what its mode says.
#[tokio::test]
async fn a_guard_holds_the_agents_of_a_workshop() {
    let folder = tempfile::tempdir().unwrap();
    let twin = twin("touch made");
    let guard = Guard { enforcement: Enforcement::Off, ..Guard::new(Mode::ReadOnly) };
    let builder = Workshop::guarded(folder.path(), guard, |dir| LocalEnvironment::builder(dir)).unwrap();
    let agent = start(builder, &twin).await;
    let mut events = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "Work.".into() }).await.unwrap();
    let text = loop {
        let Item::Event(event) = events.next().await.unwrap() else { continue };
        if let Body::InputEnd { text, .. } = &event.body {
            break text.preview();
        }
    };
    assert!(text.contains("not allowed by the policy"), "{text}");
    assert!(!folder.path().join("made").exists());
    agent.close().await;
}

#[test]
fn a_guard_that_cannot_be_had_is_refused() {
    let guard = Guard { means: Some(Means::default()), ..Guard::new(Mode::Workspace) };
    let Err(error) = Workshop::guarded("/", guard, |dir| LocalEnvironment::builder(dir)) else {
        panic!("there is nothing to hold commands with")
    };
    assert!(error.to_string().contains("workspace"), "{error}");
}
