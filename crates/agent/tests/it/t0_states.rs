//! What a session is doing, as its handle shows it.

use std::sync::Arc;

use junto_agent::{Overflow, SessionConfig, tools};
use junto_core::SessionState::{AwaitingInput, Closed, Idle, Processing};
use junto_core::{Agent, AskId, Body, Command, EndReason, Limits, Reply, SessionState};
use junto_llm::{Error, ErrorKind};
use serde_json::json;
use tokio::sync::watch;

use crate::scene::Scene;
use crate::script::{Line, script};

/// Waits until the session is in this state; what it was in before must have led there.
async fn becomes(states: &mut watch::Receiver<SessionState>, state: SessionState) {
    let wait = states.wait_for(|now| *now == state);
    tokio::time::timeout(std::time::Duration::from_mins(1), wait).await.expect("the state comes").unwrap();
}

async fn asking(change: impl FnOnce(SessionConfig) -> SessionConfig, lines: Vec<Line>) -> Scene {
    let config = |config: SessionConfig| change(SessionConfig { tools: tools::all().into(), ..config });
    Scene::with(script(lines), config).await
}

fn asks() -> Line {
    Line::Calls(vec![("ask_user", json!({"question": "Which one?"}))])
}

/// The question that is open.
async fn question(scene: &mut Scene) -> AskId {
    match scene.event("question").await.body {
        Body::Question { ask, .. } => ask,
        _ => unreachable!(),
    }
}

fn said(ask: AskId, text: &str) -> Command {
    Command::Reply { ask, reply: Reply::Said { text: text.into() } }
}

#[test]
fn only_these_steps_are_legal() {
    let all = [Idle, Processing, AwaitingInput, Closed];
    let legal: Vec<_> =
        all.into_iter().flat_map(|a| all.map(|b| (a, b))).filter(|(a, b)| a.can_become(*b)).collect();
    let expected = [
        (Idle, Processing),
        (Idle, Closed),
        (Processing, Idle),
        (Processing, AwaitingInput),
        (Processing, Closed),
        (AwaitingInput, Processing),
        (AwaitingInput, Closed),
    ];
    assert_eq!(legal, expected);
}

#[tokio::test]
async fn from_idle_to_closed() {
    let mut scene = Scene::start(script([Line::Hangs("Hm"), Line::Text("Yes.")])).await;
    let session = scene.session.clone();
    assert_eq!(session.state(), Idle);
    scene.submit("Think").await;
    assert_eq!(session.state(), Processing);
    scene.talking().await;
    session.send(Command::Interrupt).await.unwrap();
    scene.input_end().await;
    assert_eq!(session.state(), Idle);
    scene.ask("Well?").await;
    assert_eq!(session.state(), Idle);
    scene.end().await;
    assert_eq!(session.state(), Closed);
}

#[tokio::test]
async fn a_question_waits_for_its_answer() {
    let mut scene = asking(|c| c, vec![asks(), Line::Text("The left one."), Line::Text("Bye.")]).await;
    scene.submit("Choose").await;
    let ask = question(&mut scene).await;
    assert_eq!(scene.session.state(), AwaitingInput);
    let mut states = scene.session.watch_state();
    scene.session.send(said(ask, "left")).await.unwrap();
    becomes(&mut states, Processing).await;
    assert_eq!(scene.input_end().await, (EndReason::Done, "The left one.".into()));
    assert_eq!(scene.session.state(), Idle);
    let record = scene.end().await;
    assert_eq!(record.tool_ends(), [("ask_user".into(), "left".into(), false)]);
}

#[tokio::test]
async fn two_questions_wait_for_both_answers() {
    let both = vec![("ask_user", json!({"question": "A?"})), ("ask_user", json!({"question": "B?"}))];
    let mut scene = asking(|c| c, vec![Line::Calls(both), Line::Text("Fine.")]).await;
    scene.submit("Choose").await;
    let (one, two) = (question(&mut scene).await, question(&mut scene).await);
    scene.session.send(said(one, "a")).await.unwrap();
    scene.event("replied").await;
    assert_eq!(scene.session.state(), AwaitingInput);
    scene.session.send(said(two, "b")).await.unwrap();
    assert_eq!(scene.input_end().await.0, EndReason::Done);
    scene.end().await;
}

#[tokio::test]
async fn a_question_can_be_broken_off() {
    let mut scene = asking(|c| c, vec![asks(), asks()]).await;
    scene.submit("Choose").await;
    question(&mut scene).await;
    scene.session.send(Command::Interrupt).await.unwrap();
    assert_eq!(scene.input_end().await.0, EndReason::Interrupted);
    assert_eq!(scene.session.state(), Idle);
    scene.submit("Again").await;
    question(&mut scene).await;
    scene.session.send(Command::Abort).await.unwrap();
    scene.event("session_end").await;
    assert_eq!(scene.session.state(), Closed);
    assert_eq!(scene.end().await.outcome.reason, EndReason::Interrupted);
}

#[tokio::test]
async fn an_answer_that_asks_awaits_input_where_that_is_wanted() {
    let lines = || vec![Line::Text("Left or **right?**"), Line::Text("Gone left.")];
    let wanted = |config| SessionConfig { ask_on_question: true, ..config };
    let mut scene = asking(wanted, lines()).await;
    assert_eq!(scene.ask("Go").await, (EndReason::AwaitingInput, "Left or **right?**".into()));
    assert_eq!(scene.session.state(), AwaitingInput);
    scene.submit("Left").await;
    assert_ne!(scene.session.state(), AwaitingInput);
    assert_eq!(scene.input_end().await, (EndReason::Done, "Gone left.".into()));
    assert_eq!(scene.session.state(), Idle);
    scene.end().await;

    let mut scene = asking(|config| config, lines()).await;
    assert_eq!(scene.ask("Go").await.0, EndReason::Done);
    assert_eq!(scene.session.state(), Idle);
    scene.end().await;
}

#[tokio::test]
async fn a_session_can_end_while_it_awaits_input() {
    let wanted = |config| SessionConfig { ask_on_question: true, ..config };
    let mut scene = asking(wanted, vec![Line::Text("Which?")]).await;
    scene.ask("Go").await;
    let session = scene.session.clone();
    assert_eq!(scene.end().await.outcome.reason, EndReason::AwaitingInput);
    assert_eq!(session.state(), Closed);
}

#[tokio::test]
async fn queued_inputs_follow_without_a_pause_and_also_after_an_interrupt() {
    let mut scene = Scene::start(script([Line::Hangs("Hm"), Line::Text("2"), Line::Hangs("3")])).await;
    let mut states = scene.session.watch_state();
    scene.submit("1").await;
    scene.talking().await;
    for text in ["2", "3"] {
        scene.session.send(Command::FollowUp { input: text.into() }).await.unwrap();
    }
    states.mark_unchanged();
    scene.session.send(Command::Interrupt).await.unwrap();
    assert_eq!(scene.input_end().await.0, EndReason::Interrupted);
    assert_eq!(scene.input_end().await.1, "2");
    scene.talking().await;
    assert!(!states.has_changed().unwrap(), "it was never idle in between");
    assert_eq!(*states.borrow(), Processing);
    assert_eq!(scene.end().await.count("input_end"), 3);
}

#[tokio::test]
async fn a_limit_leaves_it_idle() {
    let limits = Limits { max_turns: 3, max_tool_rounds: 0 };
    let calls = Line::Calls(vec![("shell", json!({"command": "true"}))]);
    let mut scene = Scene::with(script([calls]), |config| SessionConfig { limits, ..config }).await;
    assert_eq!(scene.ask("1").await.0, EndReason::Limit);
    assert_eq!(scene.session.state(), Idle);
    assert_eq!(scene.ask("2").await.0, EndReason::Limit);
    assert_eq!(scene.end().await.count("turn_limit"), 2);
}

/// What ends a session, and what only ends an input.
#[tokio::test]
async fn failures_for_good_close_it() {
    let check = async |kind, on_overflow, expected| {
        let model = script([Line::Fails(Error::new(kind, "no")), Line::Text("Fine.")]);
        let mut scene = Scene::with(model, |config| SessionConfig { on_overflow, ..config }).await;
        let session = scene.session.clone();
        let mut states = session.watch_state();
        scene.submit("1").await;
        // Not by way of idle: nobody may take it for one that goes on.
        let next = *states.wait_for(|state| *state != Processing).await.unwrap();
        assert_eq!(next, expected, "{kind:?}");
        assert!(matches!(scene.input_end().await.0, EndReason::Failed { .. }));
        if expected == Idle {
            assert_eq!(scene.ask("2").await.1, "Fine.");
        } else {
            scene.event("session_end").await;
        }
        let record = scene.end().await;
        let overflow = record
            .events
            .iter()
            .any(|e| matches!(&e.body, Body::Warning { code, .. } if code == "context_overflow"));
        assert_eq!(overflow, kind == ErrorKind::ContextLength);
    };
    check(ErrorKind::Authentication, Overflow::Close, Closed).await;
    check(ErrorKind::Authentication, Overflow::Fail, Closed).await;
    check(ErrorKind::ContextLength, Overflow::Close, Closed).await;
    check(ErrorKind::ContextLength, Overflow::Fail, Idle).await;
    check(ErrorKind::InvalidRequest, Overflow::Close, Idle).await;
    check(ErrorKind::Quota, Overflow::Close, Idle).await;
    check(ErrorKind::ContentFilter, Overflow::Close, Idle).await;
}

#[tokio::test]
async fn questions_of_others_are_not_the_sessions() {
    let mut scene = asking(|c| c, vec![]).await;
    let host = scene.session.tool_host();
    let call = junto_llm::ToolCall::function("1", "ask_user", r#"{"question":"Why?"}"#);
    let answer = tokio::spawn(async move { host.call(call, junto_core::Via::Cell).await });
    let ask = question(&mut scene).await;
    assert_eq!(scene.session.state(), Idle);
    scene.session.send(said(ask, "because")).await.unwrap();
    assert_eq!(answer.await.unwrap().output.preview(), "because");
    scene.end().await;
}

/// Dropping every handle closes it, and whoever watches hears of it.
#[tokio::test]
async fn a_watcher_outlives_the_handles() {
    let scene = Scene::start(script([])).await;
    let mut states = scene.session.watch_state();
    drop(scene);
    becomes(&mut states, Closed).await;
}

#[tokio::test]
async fn a_message_without_a_turn_changes_nothing() {
    let model = script([Line::Text("Yes.")]);
    let mut scene = Scene::start(Arc::clone(&model) as _).await;
    scene.steer("Be brief", junto_core::When::Round).await;
    assert_eq!(scene.session.state(), Idle);
    scene.ask("Well?").await;
    scene.end().await;
}
