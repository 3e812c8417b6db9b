//! A command that counts over its whole thread, lingers after its last word, and wants to be interrupted.

use std::time::Duration;

use junto_core::{Agent, AgentSpec, Body, Command, EndReason, ResumeHandle, Seq};
use junto_llm::{CallCx, Cost, Provider as _, Request, Usd};
use serde_json::json;

use crate::stage::{Stage, count, handle, parent, runs_of, submit, the_end, until, warnings};

/// Answers as it once did, and again as it did when it was resumed.
const RESUMING: &str = r#"
cat > /dev/null
echo "$@" >> runs.txt
case "$*" in
*"resume "*) cat "$RECORDINGS/resume2.jsonl" ;;
*) cat "$RECORDINGS/resume1.jsonl" ;;
esac"#;

const THREAD: &str = "01a1dcb7-dac7-7400-908b-40ff474a5873";

fn runs(stage: &Stage) -> Vec<String> {
    let text = std::fs::read_to_string(stage.path().join("runs.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_turn_is_billed_what_it_added_to_its_thread() {
    let stage = Stage::codex(RESUMING);
    let agent = stage.agent().await;
    assert_eq!(submit(&agent, "one").await, EndReason::Done);
    assert_eq!(submit(&agent, "two").await, EndReason::Done);
    let events = stage.end(agent).await;
    let billed: Vec<_> = runs_of(&events).into_iter().map(|(_, billing, ..)| billing).collect();
    assert_eq!(billed, [Some((2000, 100)), Some((1000, 50))]);
    let Body::SessionEnd { usage, .. } = &events.last().unwrap().body else { unreachable!() };
    assert_eq!((usage.input, usage.output), (3000, 150));
    // The totals are kept with the handle, for whoever goes on.
    let totals = json!({"input": 3000, "cached_input": 1800, "output": 150, "reasoning": 60});
    assert_eq!(handle(&events).unwrap().data, json!({"session": THREAD, "totals": totals}));
    assert_eq!(count(&events, "handle"), 3, "when it was known, and when its totals had changed");
    assert!(runs(&stage)[1].ends_with(&format!("resume {THREAD} -")), "{:?}", runs(&stage));
}

#[tokio::test]
async fn what_cannot_be_known_is_not_billed() {
    let stage = Stage::codex(RESUMING);
    let resume = |totals| {
        let data = json!({"session": THREAD, "totals": totals});
        Some(ResumeHandle { kind: "codex".to_owned(), v: 1, data })
    };
    for (totals, billed) in [
        (json!(null), None),
        (json!({"input": 2500, "output": 120}), Some((500, 30))),
        // A total that shrank was counted anew.
        (json!({"input": 9000, "output": 120}), Some((3000, 150))),
    ] {
        let spec = AgentSpec { resume: resume(totals.clone()), ..AgentSpec::default() };
        let agent = stage.agent_of(spec).await.unwrap();
        assert_eq!(submit(&agent, "on").await, EndReason::Done);
        let events = stage.end(agent).await;
        assert_eq!(runs_of(&events)[0].1, billed, "{totals}");
        assert_eq!(count(&events, "call"), usize::from(billed.is_some()), "{totals}");
        assert_eq!(handle(&events).unwrap().data["totals"]["input"], 3000);
    }
}

#[tokio::test]
async fn the_last_word_is_published_while_the_process_lingers() {
    // It would linger for ever, listens to no interrupt, and has a child that has left its group.
    let stage = Stage::codex(
        r#"trap '' INT
        cat > /dev/null
        cat "$RECORDINGS/plain.jsonl"
        setsid sleep 1000 &
        exec sleep 1000"#,
    )
    .with_patience(|patience| patience.grace = Duration::from_millis(200));
    let agent = stage.agent().await;
    assert_eq!(submit(&agent, "one").await, EndReason::Done);
    // The next run begins when the one before is gone.
    assert_eq!(submit(&agent, "two").await, EndReason::Done);
    let events = stage.end(agent).await;
    assert_eq!(count(&events, "run_end"), 2);
    assert!(runs_of(&events).iter().all(|(_, _, exit, class)| exit.is_none() && class.is_none()));
}

#[tokio::test]
async fn an_answer_does_not_wait_for_a_process_that_lingers() {
    let stage = Stage::codex(
        r#"cat > /dev/null
        cat "$RECORDINGS/plain.jsonl"
        exec sleep 1000"#,
    );
    let request = junto_llm::Request::prompt("x");
    let response = junto_llm::Provider::complete(&stage.provider(), request, &junto_llm::CallCx::new()).await;
    assert_eq!(response.unwrap().text(), "Hello from the fake model.");
    stage.assert_no_survivors();
}

#[tokio::test]
async fn an_answer_that_no_event_tells_is_in_the_file() {
    let stage = Stage::codex(
        r#"cat > /dev/null
        while [ "$1" != --output-last-message ]; do shift; done
        printf 'from the file' > "$2"
        grep -v agent_message "$RECORDINGS/plain.jsonl""#,
    );
    let request = junto_llm::Request::prompt("x");
    let response = junto_llm::Provider::complete(&stage.provider(), request, &junto_llm::CallCx::new()).await;
    assert_eq!(response.unwrap().text(), "from the file");
}

#[tokio::test]
async fn it_is_interrupted_first_and_keeps_what_it_saw() {
    let script = r#"trap 'echo interrupted > signal.txt; exit 1' INT
        trap 'echo terminated > signal.txt; exit 143' TERM
        cat > /dev/null
        head -n 3 "$RECORDINGS/resume1.jsonl"
        while :; do sleep 0.02; done"#;
    for interrupt in [true, false] {
        let stage = Stage::codex(script);
        let agent = stage.agent_below(AgentSpec::default(), parent()).await.unwrap();
        let mut reader = agent.log().subscribe(Seq::START);
        agent.send(Command::Submit { input: "hello".into() }).await.unwrap();
        until(&mut reader, |body| matches!(body, Body::ToolCallStart { .. })).await;
        if interrupt {
            agent.send(Command::Interrupt).await.unwrap();
            until(&mut reader, |body| matches!(body, Body::InputEnd { .. })).await;
        }
        let events = stage.end(agent).await;
        assert_eq!(the_end(&events).0, EndReason::Interrupted, "{interrupt}");
        assert_eq!(std::fs::read_to_string(stage.path().join("signal.txt")).unwrap(), "interrupted\n");
        assert_eq!(runs_of(&events), [(None, None, Some(1), Some("cancelled".to_owned()))]);
        assert_eq!(handle(&events).unwrap().data["session"], THREAD);
        assert_eq!(count(&events, "tool_call_end"), 1);
    }
}

/// Answers as it once did.
const PLAIN: &str = r#"cat > /dev/null; cat "$RECORDINGS/plain.jsonl""#;

#[tokio::test]
async fn it_costs_what_the_host_says() {
    let stage = Stage::codex(PLAIN).at_a_price(1000.0);
    let spec = AgentSpec { model: Some("gpt-5.5".to_owned()), ..AgentSpec::default() };
    let agent = stage.agent_of(spec).await.unwrap();
    assert_eq!(submit(&agent, "hello").await, EndReason::Done);
    let Body::SessionEnd { cost, .. } = stage.end(agent).await.last().unwrap().body else { unreachable!() };
    assert_eq!(cost, Cost::Estimated(Usd::from_dollars(1.0)));
    let request = Request::prompt("hello").model("gpt-5.5");
    let response = stage.provider().complete(request, &CallCx::new()).await.unwrap();
    assert_eq!(response.usage.calls[0].cost, cost);
}

#[tokio::test]
async fn an_answer_of_its_own_model_has_a_name_and_a_cost() {
    let stage = Stage::codex_that_writes_down(r#"cat "$RECORDINGS/plain.jsonl""#).at_a_price(1000.0);
    let response = stage.provider().complete(Request::prompt("hello"), &CallCx::new()).await.unwrap();
    let [call] = &response.usage.calls[..] else { panic!("{response:?}") };
    assert_eq!((response.model.as_str(), call.model.as_str()), ("gpt-5.5", "gpt-5.5"));
    assert_eq!(call.cost, Cost::Estimated(Usd::from_dollars(1.0)));
    assert!(response.usage.raw.as_ref().is_some_and(|raw| raw["gpt-5.5"].is_object()), "{response:?}");
}

#[tokio::test]
async fn what_it_writes_down_is_not_all_if_it_is_interrupted() {
    let stage = Stage::codex_that_writes_down(
        r#"trap 'exit 1' INT
        head -n 2 "$RECORDINGS/plain.jsonl"
        while :; do sleep 0.02; done"#,
    );
    let agent = stage.agent().await;
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "hello".into() }).await.unwrap();
    until(&mut reader, |body| matches!(body, Body::Handle { .. })).await;
    agent.send(Command::Interrupt).await.unwrap();
    until(&mut reader, |body| matches!(body, Body::InputEnd { .. })).await;
    let events = stage.end(agent).await;
    // The call before is booked; of the one that was under way nobody knows anything.
    assert_eq!((count(&events, "call"), runs_of(&events)[0].1), (1, None));
    let Body::SessionEnd { usage, cost, .. } = &events.last().unwrap().body else { unreachable!() };
    assert_eq!((usage.input, usage.output, *cost), (1000, 10, Cost::Unknown));
}

#[tokio::test]
async fn a_thread_that_is_gone_is_begun_anew_with_the_same_input() {
    let stage = Stage::codex(
        r#"cat >> prompts.txt
        echo "$@" >> runs.txt
        case "$*" in
        *"resume "*) echo "Error: thread/resume failed: no rollout found for thread id 0199" >&2; exit 1 ;;
        *) cat "$RECORDINGS/plain.jsonl" ;;
        esac"#,
    );
    let resume = ResumeHandle { kind: "codex".to_owned(), v: 1, data: json!({"session": "0199"}) };
    let agent = stage.agent_of(AgentSpec { resume: Some(resume), ..AgentSpec::default() }).await.unwrap();
    assert_eq!(submit(&agent, "again").await, EndReason::Done);
    let events = stage.end(agent).await;
    assert_eq!(warnings(&events), ["resume_failed"]);
    assert_eq!(runs(&stage).len(), 2);
    assert_eq!(std::fs::read_to_string(stage.path().join("prompts.txt")).unwrap(), "againagain");
    let [(_, Some(_), Some(0), None)] = runs_of(&events)[..] else { panic!("{:?}", runs_of(&events)) };
}

#[tokio::test]
async fn a_resume_that_fails_otherwise_is_not_tried_again() {
    let stage = Stage::codex("cat > /dev/null; echo 'Not logged in' >&2; echo x >> runs.txt; exit 1");
    let resume = ResumeHandle { kind: "codex".to_owned(), v: 1, data: json!({"session": "0199"}) };
    let agent = stage.agent_of(AgentSpec { resume: Some(resume), ..AgentSpec::default() }).await.unwrap();
    let EndReason::Failed { error } = submit(&agent, "again").await else { panic!("it failed") };
    assert_eq!(error.kind, "authentication");
    let events = stage.end(agent).await;
    assert_eq!((runs(&stage).len(), warnings(&events).len()), (1, 0));
    assert_eq!(runs_of(&events), [(None, None, Some(1), Some("not-signed-in".to_owned()))]);
}

#[tokio::test]
async fn another_thread_than_was_asked_for_is_told_and_counted_from_nothing() {
    let stage = Stage::codex("cat > /dev/null; cat \"$RECORDINGS/resume1.jsonl\"");
    let data = json!({"session": "0199", "totals": {"input": 1500, "output": 60}});
    let resume = ResumeHandle { kind: "codex".to_owned(), v: 1, data };
    let agent = stage.agent_of(AgentSpec { resume: Some(resume), ..AgentSpec::default() }).await.unwrap();
    assert_eq!(submit(&agent, "again").await, EndReason::Done);
    let events = stage.end(agent).await;
    assert_eq!(warnings(&events), ["session_changed"]);
    assert_eq!(runs_of(&events)[0].1, Some((2000, 100)));
    assert_eq!(handle(&events).unwrap().data["session"], THREAD);
}

#[tokio::test]
async fn failures_have_their_class() {
    for (recording, class) in [
        ("e401", Some("auth")),
        ("e429", Some("rate-limit")),
        ("e500", Some("overloaded")),
        ("failed", Some("context-length")),
        ("e400", None),
        ("drop", None),
    ] {
        let stage = Stage::codex(&format!("cat > /dev/null; cat \"$RECORDINGS/{recording}.jsonl\"; exit 1"));
        let events = stage.play("hello").await;
        assert!(matches!(the_end(&events).0, EndReason::Failed { .. }), "{recording}");
        assert_eq!(runs_of(&events)[0].3.as_deref(), class, "{recording}");
    }
}
