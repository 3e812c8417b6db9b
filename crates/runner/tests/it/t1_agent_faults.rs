//! Whatever the command does, the input ends once and nothing survives.

use std::time::Duration;

use junto_core::{Body, EndReason, Event};
use junto_llm::{Cost, Usd};
use junto_testkit::fake_claude::{Behaviour, Fault};

use crate::stage::{Stage, count, names, runs_of, the_end, the_failure, with_variable};

async fn play(behaviour: Behaviour) -> Vec<Event> {
    Stage::new(behaviour).play("hello").await
}

#[tokio::test]
async fn a_failed_call_of_the_model() {
    let events = play(Behaviour::replaying("err-401")).await;
    let (kind, message) = the_failure(&events);
    assert_eq!(kind, "authentication");
    assert!(message.contains("Invalid API key"), "{message}");
    assert_eq!((count(&events, "retry"), count(&events, "assistant_text_start")), (10, 0));
}

#[tokio::test]
async fn a_silence_that_begins_with_a_retry_is_the_providers() {
    let recorded = std::fs::read_to_string(junto_testkit::recording("claude/err-529-exhaust2")).unwrap();
    let retry = recorded.lines().position(|line| line.contains("api_retry")).unwrap();
    let stage = Stage::new(Behaviour::replaying("err-529-exhaust2").then(retry + 1, Fault::Hang))
        .with_patience(|patience| patience.idle = Duration::from_secs(3));
    let events = stage.play("hello").await;
    assert_eq!(runs_of(&events)[0].3.as_deref(), Some("overloaded"));
    let (kind, message) = the_failure(&events);
    assert!(kind == "server" && message.contains("(idle timeout)"), "{kind}: {message}");
}

#[tokio::test]
async fn a_refusal() {
    let events = play(Behaviour::replaying("refusal-stop")).await;
    assert_eq!(the_failure(&events).0, "content_filter");
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_line() {
    // While a text is being written, and while a tool is running.
    for (recording, after, ended) in
        [("partial", 12, "assistant_text_end"), ("tools-all", 7, "tool_call_end")]
    {
        let events = play(Behaviour::replaying(recording).then(after, Fault::Crash)).await;
        let (kind, message) = the_failure(&events);
        assert_eq!(kind, "process", "{recording}");
        assert!(message.contains("signal 9"), "{recording}: {message}");
        assert!(count(&events, ended) > 0, "{recording}: {:?}", names(&events));
        let Body::SessionEnd { cost, .. } = &events.last().unwrap().body else { unreachable!() };
        assert_eq!(*cost, Cost::Unknown, "{recording}");
    }
}

#[tokio::test]
async fn an_end_without_a_result() {
    let behaviour = Behaviour { stderr_bytes: 10, ..Behaviour::default().then(1, Fault::Exit(3)) };
    let (kind, message) = the_failure(&play(behaviour).await);
    assert_eq!(kind, "process");
    assert!(message.contains("status 3: !!!!!!!!!!"), "{message}");
    let (_, message) = the_failure(&play(Behaviour::default().then(0, Fault::Exit(0))).await);
    assert!(message.contains("without a result (status 0)"), "{message}");
}

#[tokio::test]
async fn words_in_the_place_of_an_answer_are_the_reason() {
    // Ends after the client's own message and before the result.
    let behaviour = Behaviour::replaying("err-401").then(12, Fault::Exit(1));
    let (_, message) = the_failure(&play(behaviour).await);
    assert!(message.contains("it said: Invalid API key"), "{message}");
}

#[tokio::test]
async fn a_bad_status_after_an_answer_is_a_warning() {
    let events = play(Behaviour { exit: Some(7), ..Behaviour::default() }).await;
    assert_eq!(the_end(&events), (EndReason::Done, "You said: hello".to_owned()));
    assert_eq!(count(&events, "warning"), 1);
}

#[tokio::test]
async fn a_process_that_ran_from_its_tree() {
    assert_eq!(the_end(&play(Behaviour { escape: true, ..Behaviour::default() }).await).0, EndReason::Done);
    let crash = Behaviour { escape: true, ..Behaviour::default() }.then(2, Fault::Crash);
    assert_eq!(the_failure(&play(crash).await).0, "process");
}

#[tokio::test]
async fn garbage() {
    let events = play(Behaviour { garbage: true, ..Behaviour::default() }).await;
    assert_eq!(the_end(&events), (EndReason::Done, "You said: hello".to_owned()));
    assert_eq!(count(&events, "warning"), 1, "{:?}", names(&events));
}

#[tokio::test]
async fn a_flood_on_standard_error() {
    let flood = Behaviour { stderr_bytes: 5 << 20, ..Behaviour::default() };
    assert_eq!(the_end(&play(flood.clone()).await).0, EndReason::Done);
    let (_, message) = the_failure(&play(flood.then(1, Fault::Exit(3))).await);
    assert!(message.len() < 10_000 && message.contains("bytes left out"), "{} bytes", message.len());
}

#[tokio::test]
async fn a_program_that_is_not_there() {
    let mut stage = Stage::new(Behaviour::default());
    stage.definition.command[0] = "no-such-program-as-this".to_owned();
    let events = stage.play("hello").await;
    match the_end(&events).0 {
        EndReason::Failed { error } => {
            assert_eq!(error.kind, "configuration");
            assert!(error.hint.unwrap().contains("no-such-program-as-this"));
        }
        other => panic!("{other:?}"),
    }
    let Body::SessionEnd { cost, .. } = &events.last().unwrap().body else { unreachable!() };
    assert_eq!(*cost, Cost::Reported(Usd::ZERO));
}

#[tokio::test]
async fn an_option_that_the_program_does_not_know() {
    let mut stage = Stage::new(Behaviour::default());
    stage.definition.command.push("--from-the-future".to_owned());
    let (_, message) = the_failure(&stage.play("hello").await);
    assert!(message.contains("unknown option '--from-the-future'"), "{message}");
}

#[tokio::test]
async fn a_key_that_the_command_prints_is_hidden() {
    let mut stage = Stage::new(Behaviour::default());
    with_variable(&mut stage.host, "ANTHROPIC_API_KEY", "sk-very-secret");
    let agent = stage.agent().await;
    // The fake repeats what it is told; only the input itself still has the key.
    crate::stage::submit(&agent, "my key is sk-very-secret").await;
    let events = stage.end(agent).await;
    let said: Vec<_> = events.iter().filter(|event| event.body.name() != "user_input").collect();
    let said = serde_json::to_string(&said).unwrap();
    assert!(said.contains("You said: my key is [redacted]"), "{said}");
    assert!(!said.contains("sk-very-secret"), "{said}");
}
