//! The ways in which an input and a session end.

use std::sync::Arc;
use std::time::Duration;

use junto_core::{
    Ack, Agent, AgentErrorKind, AgentSpec, Amount, Body, Command, EndReason, Limits, Parent, Purse, Seq,
};
use junto_llm::{Allowance, Usd};
use junto_testkit::fake_claude::{Behaviour, Fault, Ignored};
use tokio_util::sync::CancellationToken;

use crate::stage::{
    Stage, count, input_end, parent, submit, the_end, the_failure, until, warnings, with_variable,
};

/// Hangs after its first text was begun.
fn hanging() -> Behaviour {
    Behaviour::default().then(4, Fault::Hang)
}

const SHORT: Duration = Duration::from_millis(50);

/// Starts an input and waits until it hangs.
async fn hang(stage: &Stage, parent: Parent) -> junto_runner::CliAgent {
    let agent = stage.agent_below(AgentSpec::default(), parent).await.unwrap();
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "hello".into() }).await.unwrap();
    until(&mut reader, |body| matches!(body, Body::AssistantTextStart {})).await;
    agent
}

#[tokio::test]
async fn an_interrupt_ends_the_input_and_not_the_session() {
    let stage = Stage::new(Behaviour {
        resumed: Some(junto_testkit::recording("claude/resume.2")),
        ..Behaviour::replaying("sigint-tool").then(2, Fault::Hang)
    });
    let agent = stage.agent().await;
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "hello".into() }).await.unwrap();
    until(&mut reader, |body| matches!(body, Body::ToolCallStart { .. })).await;
    assert_eq!(agent.send(Command::Interrupt).await, Ok(Ack::Started));
    assert_eq!(input_end(&mut reader).await, EndReason::Interrupted);
    let events = agent.log().subscribe(Seq::START).rest().await.unwrap();
    assert_eq!((count(&events, "call"), count(&events, "tool_call_end")), (1, 1), "{events:#?}");
    assert_eq!(agent.send(Command::Abort).await, Ok(Ack::Done));
    let events = stage.end(agent).await;
    assert_eq!(count(&events, "input_end"), 1);
}

#[tokio::test]
async fn after_an_interrupt_it_takes_another_input() {
    let stage = Stage::new(hanging());
    let agent = hang(&stage, parent()).await;
    let mut reader = agent.log().subscribe(agent.log().last().next());
    agent.send(Command::Interrupt).await.unwrap();
    assert_eq!(input_end(&mut reader).await, EndReason::Interrupted);
    agent.send(Command::Submit { input: "again".into() }).await.unwrap();
    until(&mut reader, |body| matches!(body, Body::AssistantTextStart {})).await;
    agent.send(Command::Interrupt).await.unwrap();
    assert_eq!(input_end(&mut reader).await, EndReason::Interrupted);
    let events = stage.end(agent).await;
    assert_eq!((count(&events, "user_input"), stage.runs().len()), (2, 2));
}

#[tokio::test]
async fn whoever_does_not_listen_is_killed() {
    for ignore in [vec![Ignored::Interrupt], vec![Ignored::Interrupt, Ignored::Terminate]] {
        let behaviour = Behaviour { ignore, ..hanging() };
        let stage = Stage::new(behaviour).with_patience(|patience| patience.grace = SHORT);
        let agent = hang(&stage, parent()).await;
        let mut reader = agent.log().subscribe(agent.log().last().next());
        agent.send(Command::Interrupt).await.unwrap();
        assert_eq!(input_end(&mut reader).await, EndReason::Interrupted);
        stage.end(agent).await;
    }
}

#[tokio::test]
async fn closing_ends_everything_once() {
    let stage = Stage::new(hanging());
    let agent = hang(&stage, parent()).await;
    let outcome = agent.close().await;
    assert_eq!(outcome.reason, EndReason::Interrupted);
    assert_eq!(agent.close().await, outcome);
    let late = agent.send(Command::Submit { input: "late".into() }).await.unwrap_err();
    assert_eq!(late.kind(), AgentErrorKind::Closed);
    let events = stage.end(agent).await;
    assert_eq!((count(&events, "input_end"), count(&events, "session_end")), (1, 1));
}

#[tokio::test]
async fn closing_whoever_does_not_listen_ends_too() {
    let behaviour = Behaviour { ignore: vec![Ignored::Terminate], escape: true, ..hanging() };
    let stage = Stage::new(behaviour).with_patience(|patience| patience.grace = SHORT);
    let agent = hang(&stage, parent()).await;
    assert_eq!(agent.close().await.reason, EndReason::Interrupted);
    stage.end(agent).await;
}

#[tokio::test]
async fn aborting_ends_the_session() {
    let stage = Stage::new(hanging());
    let agent = hang(&stage, parent()).await;
    assert_eq!(agent.send(Command::Abort).await, Ok(Ack::Started));
    let mut reader = agent.log().subscribe(Seq::START);
    until(&mut reader, |body| matches!(body, Body::SessionEnd { .. })).await;
    assert_eq!(the_end(&stage.end(agent).await).0, EndReason::Interrupted);
}

#[tokio::test]
async fn a_parents_end_is_its_end() {
    let stage = Stage::new(hanging());
    let cancel = CancellationToken::new();
    let agent = hang(&stage, Parent { cancel: cancel.clone(), ..parent() }).await;
    cancel.cancel();
    let mut reader = agent.log().subscribe(Seq::START);
    until(&mut reader, |body| matches!(body, Body::SessionEnd { .. })).await;
    assert_eq!(the_end(&stage.end(agent).await).0, EndReason::Interrupted);
}

#[tokio::test]
async fn dropping_it_kills_everything_at_once() {
    // It would never end by itself, and its grace is a minute.
    let ignore = vec![Ignored::Interrupt, Ignored::Terminate];
    let stage = Stage::new(Behaviour { ignore, escape: true, ..hanging() });
    let agent = hang(&stage, parent()).await;
    let log = agent.log().clone();
    let mut reader = log.subscribe(Seq::START);
    drop(agent);
    until(&mut reader, |body| matches!(body, Body::SessionEnd { .. })).await;
    stage.assert_no_survivors();
    let events = junto_testkit::finished(&log).await;
    assert_eq!(the_end(&events).0, EndReason::Interrupted);
}

#[tokio::test]
async fn a_session_without_an_input_ends() {
    let stage = Stage::new(Behaviour::default());
    let agent = stage.agent().await;
    assert_eq!(agent.close().await.reason, EndReason::Done);
    assert_eq!(stage.end(agent).await.len(), 2);
    let agent = stage.agent().await;
    let log = agent.log().clone();
    drop(agent);
    until(&mut log.subscribe(Seq::START), |body| matches!(body, Body::SessionEnd { .. })).await;
    junto_testkit::finished(&log).await;
}

#[tokio::test]
async fn silence_and_length_are_told_apart() {
    let stage = Stage::new(hanging()).with_patience(|patience| patience.idle = SHORT);
    let (kind, message) = the_failure(&stage.play("hello").await);
    assert_eq!(kind, "timeout");
    assert!(message.contains("idle timeout"), "{message}");
    let stage = Stage::new(hanging()).with_patience(|patience| patience.hard = Some(SHORT));
    let (kind, message) = the_failure(&stage.play("hello").await);
    assert_eq!(kind, "timeout");
    assert!(message.contains("hard timeout"), "{message}");
}

#[tokio::test]
async fn silence_after_the_answer_is_no_failure() {
    let stage = Stage::new(Behaviour::default().then(usize::MAX, Fault::Hang))
        .with_patience(|patience| patience.idle = Duration::from_secs(2));
    let events = stage.play("hello").await;
    assert_eq!(the_end(&events), (EndReason::Done, "You said: hello".to_owned()));
    assert_eq!(warnings(&events), ["lingered"]);
}

#[tokio::test]
async fn limits_of_the_command_are_limits() {
    for (name, text) in [("maxturns", ""), ("budget-final-answer", "final")] {
        let stage = Stage::new(Behaviour::replaying(name));
        let events = stage.play("hello").await;
        assert_eq!(the_end(&events), (EndReason::Limit, text.to_owned()), "{name}");
        assert_eq!((count(&events, "turn_limit"), count(&events, "call")), (1, 1), "{name}");
    }
}

#[tokio::test]
async fn turns_are_counted_over_the_whole_session() {
    let stage = Stage::new(Behaviour::replaying("resume.1"));
    let limits = Limits { max_turns: 2, ..Limits::default() };
    let agent = stage.agent_of(AgentSpec { limits, ..AgentSpec::default() }).await.unwrap();
    assert_eq!(submit(&agent, "one").await, EndReason::Done);
    assert_eq!(submit(&agent, "two").await, EndReason::Limit);
    let events = stage.end(agent).await;
    assert_eq!((stage.runs().len(), count(&events, "turn_limit")), (1, 1));
}

#[tokio::test]
async fn the_budget_pays_and_an_empty_one_refuses() {
    let stage = Stage::new(Behaviour::default());
    let purse = Purse::new(Allowance::usd(Usd(600_000)));
    let parent = Parent { budget: Arc::new(purse.clone()), ..parent() };
    let agent = stage.agent_below(AgentSpec::default(), parent).await.unwrap();
    assert_eq!(submit(&agent, "one").await, EndReason::Done);
    assert_eq!(purse.spent(), Amount { usd: Usd(600_000), tokens: 110 });
    assert_eq!(submit(&agent, "two").await, EndReason::Limit);
    let events = stage.end(agent).await;
    let runs = stage.runs();
    assert_eq!((runs.len(), count(&events, "turn_limit")), (1, 1));
    let argv = runs[0]["argv"].to_string();
    assert!(argv.contains(r#""--max-budget-usd","0.0006""#), "{argv}");
}

#[tokio::test]
async fn what_it_cannot_be_held_to_ends_the_input_before_it_starts() {
    let stage = Stage::new(Behaviour::default());
    let purse = Purse::new(Allowance::tokens(1_000_000));
    let parent = Parent { budget: Arc::new(purse.clone()), ..parent() };
    let agent = stage.agent_below(AgentSpec::default(), parent).await.unwrap();
    let EndReason::Failed { error } = submit(&agent, "one").await else { panic!("it failed") };
    assert_eq!(error.kind, "configuration");
    stage.end(agent).await;
    assert_eq!((stage.runs().len(), purse.spent()), (0, Amount::default()));
}

#[tokio::test]
async fn an_agent_below_too_many_others_is_not_started() {
    let mut stage = Stage::new(Behaviour::default());
    with_variable(&mut stage.host, "JUNTO_DEPTH", "1");
    let error = stage.agent_of(AgentSpec::default()).await.err().unwrap();
    assert_eq!(error.kind(), AgentErrorKind::Limit);
}
