//! Sessions of the fake `claude` that go on, or cannot.

use junto_core::{AgentSpec, EndReason, ResumeHandle};
use junto_testkit::fake_claude::{Behaviour, Fault};
use serde_json::{Value, json};

use crate::stage::{Stage, count, handle, runs_of, submit, the_end, warnings};

fn resumed(session: &str) -> AgentSpec {
    let data = json!({"session": session, "later": "unknown fields are left alone"});
    let handle = ResumeHandle { kind: "claude".to_owned(), v: 1, data };
    AgentSpec { resume: Some(handle), ..AgentSpec::default() }
}

fn resumes(run: &Value) -> bool {
    run["argv"].as_array().unwrap().contains(&json!("--resume"))
}

#[tokio::test]
async fn a_session_that_is_gone_is_begun_anew_with_the_same_input() {
    let behaviour = Behaviour {
        resumed: Some(junto_testkit::recording("claude/resume-badid.1")),
        ..Behaviour::default()
    };
    let stage = Stage::new(behaviour);
    let agent = stage.agent_of(resumed("00000000-0000-0000-0000-000000000005")).await.unwrap();
    assert_eq!(submit(&agent, "again").await, EndReason::Done);
    let events = stage.end(agent).await;
    let runs = stage.runs();
    let asked: Vec<_> = runs.iter().map(|run| (resumes(run), run["prompt"].as_str().unwrap())).collect();
    assert_eq!(asked, [(true, "again"), (false, "again")]);
    assert_eq!(warnings(&events), ["resume_failed"]);
    assert_eq!(the_end(&events), (EndReason::Done, "You said: again".to_owned()));
    assert_eq!(handle(&events).unwrap().data["session"], "00000000-0000-4000-8000-000000000001");
    // One end for the input, and what it took: the attempt that found nothing took nothing.
    let [(_, Some((100, 10)), Some(0), None)] = runs_of(&events)[..] else {
        panic!("{:?}", runs_of(&events))
    };
    assert_eq!(count(&events, "call"), 1);
}

#[tokio::test]
async fn whatever_was_seen_before_a_crash_is_told() {
    let stage = Stage::new(Behaviour::replaying("tools-all").then(12, Fault::Crash));
    let events = stage.play("go").await;
    let (reason, _) = the_end(&events);
    assert!(matches!(reason, EndReason::Failed { .. }), "{reason:?}");
    let (_, billing, exit, class) = runs_of(&events).remove(0);
    assert_eq!((billing, exit, class.as_deref()), (None, Some(137), Some("crashed")));
    assert!(handle(&events).is_some(), "a run that is killed keeps its session");
    // A text that was complete is the nearest to an answer.
    let stage = Stage::new(Behaviour::default().then(6, Fault::Exit(3)));
    let (reason, text) = the_end(&stage.play("go").await);
    assert!(matches!(reason, EndReason::Failed { .. }), "{reason:?}");
    assert_eq!(text, "You said: go");
}

#[tokio::test]
async fn the_size_of_the_context_is_told() {
    let stage = Stage::new(Behaviour::replaying("usage-cache"));
    let events = stage.play("go").await;
    assert!(runs_of(&events)[0].0.is_some(), "{:?}", runs_of(&events));
}

#[tokio::test]
async fn several_results_are_one_answer() {
    let stage = Stage::new(Behaviour::replaying("subagent-bg"));
    let events = stage.play("go").await;
    assert_eq!(the_end(&events).0, EndReason::Done);
    assert_eq!((count(&events, "run_end"), count(&events, "input_end")), (1, 1));
    let (_, billing, ..) = runs_of(&events).remove(0);
    let calls: u64 = events
        .iter()
        .filter_map(|event| match &event.body {
            junto_core::Body::Call { usage, .. } => Some(usage.input),
            _ => None,
        })
        .sum();
    assert_eq!(billing.map(|(input, _)| input), Some(calls));
}
