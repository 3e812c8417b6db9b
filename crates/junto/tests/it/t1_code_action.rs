//! The turns of a code-action agent: what they yield, what answers do to them, and how they end.

use std::time::Duration;

use junto::AskFirst;
use junto::code_action::{Agent, AgentEvent, AgentEventKind, Config, Options, Phase};
use junto::core::{AgentErrorKind, EndReason, Input};
use junto::prelude::Wire;
use junto::twin::{Call, Fault, Step, Think};
use serde_json::json;

use crate::coder::{Answer, Coder, HANG, Whole, line, request, run, until};

/// A step in which the model does not think.
fn text(text: &str) -> Step {
    Step::text(text).without_thinking()
}

fn read(file: &str) -> Step {
    Step::call("read_file", json!({"file_path": file})).without_thinking()
}

fn touch(file: &str) -> Step {
    Step::call("shell", json!({"command": format!("touch {file}")})).without_thinking()
}

#[tokio::test]
async fn a_turn_yields_what_happens_in_order() {
    let thinking = Step { think: Think::Text("It is in the file.".to_owned()), ..read("a.txt") };
    let coder =
        Coder::new([Step { text: Some("Let me look.".to_owned()), ..thinking }, text("It says hello.")]);
    std::fs::write(coder.work().join("a.txt"), "hello\n").unwrap();
    let agent = coder.start(|config| config).await;
    let mut turn = agent.stream("What does a.txt say?", None);
    let whole = run(&mut turn, []).await;
    assert_eq!(whole.end, Ok(EndReason::Done));
    let lines = whole.lines();
    let spoken: Vec<&str> = lines.iter().map(String::as_str).filter(|l| !l.starts_with("thinks")).collect();
    assert_eq!(spoken, ["says Let me look.", "asks read_file", "gave   1 | hello", "says It says hello."]);
    // What came in pieces is the whole, and before it.
    let (mut chunks, mut thoughts) = (String::new(), String::new());
    for event in &whole.events {
        match &event.kind {
            AgentEventKind::ResponseChunk { content } => chunks.push_str(content),
            AgentEventKind::ThoughtsChunk { content } => thoughts.push_str(content),
            AgentEventKind::Response { content } => assert_eq!(std::mem::take(&mut chunks), *content),
            AgentEventKind::Thoughts { content } => assert_eq!(std::mem::take(&mut thoughts), *content),
            _ => {}
        }
        assert!(event.agent_id == "main" && event.parent.is_none() && !event.corr_id.is_empty(), "{event:?}");
    }
    // What belongs together has one id: a model call, a tool call.
    let id = |at: &str| {
        let found =
            whole.events.iter().find(|event| line(&event.kind).is_some_and(|line| line.starts_with(at)));
        found.unwrap().corr_id.clone()
    };
    assert_eq!(id("asks"), id("gave"));
    assert_ne!(id("says Let"), id("says It"));
    agent.stop().await;
}

#[tokio::test]
async fn what_a_model_thinks_is_told_where_it_is_shown() {
    let coder = Coder::new([Step { think: Think::Text("Two and two.".to_owned()), ..Step::text("Four.") }]);
    let native = coder.native("local", Wire::Chat, "local-model");
    let agent = coder.start(|config| Config { native, ..config }).await;
    let whole = run(&mut agent.stream("What is 2 + 2?", None), []).await;
    assert_eq!(whole.lines(), ["thinks Two and two.", "says Four."]);
    let chunk = |event: &AgentEvent| matches!(event.kind, AgentEventKind::ThoughtsChunk { .. });
    assert!(whole.events.first().is_some_and(chunk), "{whole:?}");
    agent.stop().await;
}

#[tokio::test]
async fn every_call_is_asked_about_unless_there_is_a_policy() {
    for (policy, asked) in [(false, 2), (true, 1)] {
        let coder = Coder::new([read("a.txt"), touch("made"), text("Done.")]);
        std::fs::write(coder.work().join("a.txt"), "hello\n").unwrap();
        let agent = coder
            .start(|config| Config { policy: policy.then(|| std::sync::Arc::new(AskFirst) as _), ..config })
            .await;
        let whole = run(&mut agent.stream("Work.", None), []).await;
        assert_eq!(whole.lines().iter().filter(|line| line.starts_with("asks")).count(), asked);
        assert!(coder.work().join("made").exists());
        agent.stop().await;
    }
}

/// What is answered to a call, how the turn ends, whether it was made, how often the model was asked.
#[tokio::test]
async fn what_a_rejection_does() {
    let table = [
        (Answer::Yes, EndReason::Done, true, 2),
        (Answer::No, EndReason::Rejected, false, 1),
        (Answer::Told("make another one"), EndReason::Done, false, 2),
    ];
    for (answer, end, made, asked) in table {
        let coder = Coder::new([touch("made"), text("Done."), text("Well then.")]);
        let agent = coder.start(|config| config).await;
        let told = matches!(answer, Answer::Told(_));
        let mut turn = agent.stream("Work.", None);
        assert!(turn.ended().is_none());
        let whole = run(&mut turn, [answer]).await;
        assert_eq!(whole.end, Ok(end));
        assert_eq!((coder.work().join("made").exists(), coder.requests().len()), (made, asked));
        assert_eq!(coder.requests().last().unwrap().contains("make another one"), told);
        // The agent takes the next prompt, and the model knows what became of its call.
        let next = run(&mut agent.stream("And now?", None), []).await;
        assert_eq!(next.end, Ok(EndReason::Done));
        agent.stop().await;
    }
}

#[tokio::test]
async fn the_first_answer_counts() {
    let coder = Coder::new([touch("made"), text("Done.")]);
    let agent = coder.start(|config| config).await;
    let mut turn = agent.stream("Work.", None);
    let asked = until(&mut turn, request).await;
    assert_eq!((asked.tool_name(), asked.ptc()), ("shell", false));
    assert_eq!(asked.tool_args(), &json!({"command": "touch made"}));
    let (approved, answered) = tokio::join!(asked.approved(), asked.approve(true));
    answered.unwrap();
    assert!(approved.unwrap());
    asked.approve(false).await.unwrap();
    asked.reject_with("no").await.unwrap();
    assert!(asked.approved().await.unwrap(), "also for whoever asks later");
    assert_eq!(run(&mut turn, []).await.end, Ok(EndReason::Done));
    assert!(coder.work().join("made").exists());
    agent.stop().await;
}

/// Nobody answers: the model is told, and goes on.
#[tokio::test]
async fn a_request_that_waits_too_long_is_not_approved() {
    let coder = Coder::new([touch("made"), text("Done.")]);
    let agent =
        coder.start(|config| Config { approval_timeout: Some(Duration::from_millis(20)), ..config }).await;
    let mut turn = agent.stream("Work.", None);
    let asked = until(&mut turn, request).await;
    assert!(!asked.approved().await.unwrap());
    assert_eq!(run(&mut turn, []).await.end, Ok(EndReason::Done));
    asked.approve(true).await.unwrap();
    assert!(!coder.work().join("made").exists());
    agent.stop().await;
}

#[tokio::test]
async fn a_turn_that_is_dropped_is_cancelled_and_the_agent_goes_on() {
    let coder = Coder::new([touch("made"), text("Fine.")]);
    let agent = coder.start(|config| config).await;
    // Never polled, it never was.
    drop(agent.stream("Nothing.", None));
    let mut turn = agent.stream("Work.", None);
    let asked = until(&mut turn, request).await;
    drop(turn);
    let whole = run(&mut agent.stream("And now?", None), []).await;
    assert_eq!((whole.lines(), whole.end), (vec!["says Fine.".to_owned()], Ok(EndReason::Done)));
    assert!(!asked.approved().await.unwrap(), "it was withdrawn");
    assert!(!coder.work().join("made").exists());
    assert_eq!(coder.requests().len(), 2);
    agent.stop().await;
}

/// Dropped at any moment, the agent is usable: after so many events of the turn, and before the first poll is done.
#[tokio::test]
async fn a_turn_can_be_dropped_at_any_moment() {
    let coder = Coder::new([
        Step { times: Some(u32::MAX), ..read("a.txt").when(round(0)) },
        text("Read.").when(round(1)),
    ]);
    std::fs::write(coder.work().join("a.txt"), "hello\n").unwrap();
    let agent = coder.start(|config| config).await;
    for events in 0..6 {
        let mut turn = agent.stream("Read.", None);
        if events == 0 {
            assert!(futures_poll(&mut turn).is_none(), "it has only begun");
        }
        for _ in 0..events {
            let Some(event) = tokio::time::timeout(HANG, turn.next()).await.unwrap() else { break };
            if let Some(request) = request(&event.unwrap().kind) {
                request.approve(true).await.unwrap();
            }
        }
        drop(turn);
        let whole = run(&mut agent.stream("Again.", None), []).await;
        assert_eq!(whole.end, Ok(EndReason::Done), "after {events}");
        assert_eq!(whole.lines().last().unwrap(), "says Read.", "after {events}");
    }
    agent.stop().await;
}

fn round(round: u32) -> junto::twin::When {
    junto::twin::When { round: Some(round), ..Default::default() }
}

/// Polls a turn once.
fn futures_poll(turn: &mut junto::code_action::Turn) -> Option<()> {
    use std::future::Future as _;
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let next = std::pin::pin!(turn.next());
    match next.poll(&mut cx) {
        std::task::Poll::Ready(_) => Some(()),
        std::task::Poll::Pending => None,
    }
}

#[tokio::test]
async fn a_cancelled_turn_says_what_went_on() {
    let stalls = Step {
        fault: Some(Fault { stall: Some(junto::twin::After(600)), ..Fault::default() }),
        ..text(&"word ".repeat(200))
    };
    let coder = Coder::new([stalls, touch("made"), text("Fine.")]);
    let agent = coder.start(|config| config).await;
    agent.cancel().await;
    let mut turn = agent.stream("Talk.", None);
    until(&mut turn, |kind| matches!(kind, AgentEventKind::ResponseChunk { .. }).then_some(())).await;
    agent.cancel().await;
    let whole = run(&mut turn, []).await;
    assert_eq!(whole.lines(), [format!("cancelled {:?}", Phase::LlmStreaming)]);
    assert_eq!(whole.end, Ok(EndReason::Interrupted));
    let mut turn = agent.stream("Work.", None);
    let asked = until(&mut turn, request).await;
    agent.cancel().await;
    let Whole { events, end } = run(&mut turn, []).await;
    let last = line(&events.last().unwrap().kind).unwrap();
    assert_eq!((last, end), (format!("cancelled {:?}", Phase::ToolExecution), Ok(EndReason::Interrupted)));
    assert!(!asked.approved().await.unwrap());
    assert_eq!(run(&mut agent.stream("And now?", None), []).await.lines(), ["says Fine."]);
    agent.stop().await;
}

#[tokio::test]
async fn rounds_of_tools_have_a_limit_for_each_turn() {
    let coder = Coder::new([touch("a"), touch("b"), touch("c"), text("Done.")]);
    let agent = coder.start(|config| config).await;
    let error = run(&mut agent.stream("Work.", Some(0)), []).await.end.unwrap_err();
    assert_eq!(error.kind(), AgentErrorKind::Invalid);
    assert_eq!(run(&mut agent.stream("Work.", Some(2)), []).await.end, Ok(EndReason::Limit));
    let made = |name: &str| coder.work().join(name).exists();
    assert_eq!([made("a"), made("b"), made("c")], [true, true, false]);
    assert_eq!(run(&mut agent.stream("Go on.", None), []).await.end, Ok(EndReason::Done));
    assert!(made("c"));
    agent.stop().await;
}

#[tokio::test]
async fn there_is_one_turn_at_a_time() {
    let coder = Coder::new([touch("a"), text("Done.")]);
    let agent = coder.start(|config| config).await;
    let mut first = agent.stream("Work.", None);
    let asked = until(&mut first, request).await;
    let error = run(&mut agent.stream("Work.", None), []).await.end.unwrap_err();
    assert_eq!(error.kind(), AgentErrorKind::WrongState);
    asked.approve(true).await.unwrap();
    assert_eq!(run(&mut first, []).await.end, Ok(EndReason::Done), "it is not disturbed");
    agent.stop().await;
}

#[tokio::test]
async fn a_prompt_may_have_pictures() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let coder = Coder::new([text("A cat.")]);
    std::fs::write(coder.work().join("cat.png"), PNG).unwrap();
    let agent = coder.start(|config| config).await;
    let prompt = |image: &str| Input { images: vec![image.into()], ..Input::text("What is this?") };
    let error = run(&mut agent.stream(prompt("dog.png"), None), []).await.end.unwrap_err();
    assert_eq!(error.kind(), AgentErrorKind::Invalid);
    let whole = run(&mut agent.stream(prompt("cat.png"), None), []).await;
    assert_eq!(whole.lines(), ["says A cat."]);
    assert!(coder.requests()[0].contains("image/png"));
    agent.stop().await;
}

#[tokio::test]
async fn what_fails_is_an_error_and_the_agent_goes_on() {
    let broken = Step::fault(Fault { message: Some("not like this".to_owned()), ..Fault::status(400) });
    let coder = Coder::new([broken, text("Fine.")]);
    let agent = coder.start(|config| config).await;
    let error = run(&mut agent.stream("Work.", None), []).await.end.unwrap_err();
    assert!(
        error.kind() == AgentErrorKind::Provider && error.to_string().contains("not like this"),
        "{error}"
    );
    assert_eq!(run(&mut agent.stream("And now?", None), []).await.lines(), ["says Fine."]);
    agent.stop().await;
}

#[tokio::test]
async fn an_agent_is_started_and_stopped() {
    let coder = Coder::new([text("One."), text("Two."), touch("made")]);
    let agent =
        Agent::new(coder.config(), Options { agent_id: Some("me".into()), ..Options::default() }).unwrap();
    assert_eq!((agent.agent_id(), agent.session_id()), ("me", None));
    let idle = async |agent: &Agent| {
        run(&mut agent.stream("Hello?", None), []).await.end.unwrap_err().kind() == AgentErrorKind::WrongState
    };
    assert!(idle(&agent).await);
    for said in ["says One.", "says Two."] {
        agent.start().await.unwrap();
        agent.start().await.unwrap();
        let whole = run(&mut agent.stream("Hello?", None), []).await;
        assert_eq!((whole.lines(), whole.events[0].agent_id.as_str()), (vec![said.to_owned()], "me"));
        agent.stop().await;
        agent.stop().await;
        assert!(idle(&agent).await);
    }
    // A turn under way ends with its agent.
    agent.start().await.unwrap();
    let mut turn = agent.stream("Work.", None);
    until(&mut turn, request).await;
    agent.stop().await;
    assert_eq!(run(&mut turn, []).await.end, Ok(EndReason::Interrupted));
    agent.start().await.unwrap();
    let mut turn = agent.stream("Work.", None);
    let asked = until(&mut turn, request).await;
    drop(agent);
    assert_eq!(run(&mut turn, []).await.end, Ok(EndReason::Interrupted));
    assert!(!asked.approved().await.unwrap());
    assert!(!coder.work().join("made").exists());
}

/// What a subagent does is told with whose it is, and which call it is for.
#[tokio::test]
async fn what_subagents_do_is_told_with_whose_it_is() {
    let on = |told: &str, round: u32, step: Step| {
        let when =
            junto::twin::When { contains: Some(told.into()), round: Some(round), ..Default::default() };
        step.without_thinking().when(when)
    };
    let steps = || {
        [
            on("Let somebody", 0, Step::calls([Call::new("spawn_agent", json!({"task": "Touch it."}))])),
            on("Let somebody", 1, Step::call("wait", json!({}))),
            on("Let somebody", 2, Step::text("It was done.")),
            on("Touch it", 0, Step::call("shell", json!({"command": "touch made"}))),
            on("Touch it", 1, Step::text("I did.")),
        ]
    };
    let coder = Coder::new(steps());
    let agent = coder.start(|config| config).await;
    let whole = run(&mut agent.stream("Let somebody touch it.", None), []).await;
    assert_eq!(whole.end, Ok(EndReason::Done));
    assert!(coder.work().join("made").exists());
    let find = |is: &str| {
        whole.events.iter().find(|event| line(&event.kind).is_some_and(|line| line == is)).unwrap()
    };
    let spawn = find("asks spawn_agent");
    for said in ["asks shell", "says I did."] {
        let event = find(said);
        let parent = event.parent.as_ref().unwrap();
        assert_ne!(event.agent_id, "main");
        assert_eq!((parent.agent_id.as_str(), &parent.corr_id), ("main", &spawn.corr_id), "{said}");
    }
    agent.stop().await;
    // Without subagents there is no such tool, so nobody is asked about it.
    let coder = Coder::new(steps());
    let agent = coder.start(|config| Config { enable_subagents: false, ..config }).await;
    let undeclared = run(&mut agent.stream("Let somebody touch it.", None), []).await;
    assert!(!undeclared.lines().iter().any(|line| line == "asks spawn_agent"), "{undeclared:?}");
    agent.stop().await;
}
