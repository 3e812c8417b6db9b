//! The fake `claude` as an agent that does what it is told.

use junto_core::{
    Ack, Agent, AgentErrorKind, AgentSpec, AskId, Body, Change, Command, Decision, Delta, EndReason, Input,
    Item, Limits, Mode, ResumeHandle, Seq, When, Workdir,
};
use junto_llm::{Cost, Effort, Usd};
use junto_testkit::fake_claude::{Behaviour, Fault};
use serde_json::{Value, json};

use crate::stage::{Hold, Stage, count, handle, input_end, names, submit, the_end, until, with_variable};

#[tokio::test]
async fn an_answer() {
    let stage = Stage::new(Behaviour::default());
    let events = stage.play("hello").await;
    assert_eq!(
        names(&events),
        [
            "session_start",
            "user_input",
            "handle",
            "assistant_text_start",
            "assistant_text_end",
            "call",
            "run_end",
            "input_end",
            "session_end",
        ]
    );
    assert_eq!(the_end(&events), (EndReason::Done, "You said: hello".to_owned()));
    let Body::SessionEnd { reason, usage, cost } = &events.last().unwrap().body else { unreachable!() };
    assert_eq!((reason, usage.input, usage.output), (&EndReason::Done, 100, 10));
    assert_eq!(*cost, Cost::Reported(Usd(600_000)));
}

#[tokio::test]
async fn the_prompt_goes_by_standard_input_whatever_it_is() {
    let mut stage = Stage::new(Behaviour::default());
    with_variable(&mut stage.host, "SOMEBODY_ELSES_TOKEN", "sesame");
    // Larger than any argument may be, and looks like an option.
    let prompt = format!("--help {}", "é".repeat(1 << 20));
    let events = stage.play(&prompt).await;
    assert_eq!(the_end(&events).0, EndReason::Done);
    let runs = stage.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["prompt"], prompt);
    assert_eq!(runs[0]["cwd"], stage.path().to_str().unwrap());
    assert_eq!(runs[0]["depth"], "1");
    let variables = runs[0]["variables"].as_array().unwrap();
    assert!(variables.contains(&json!("DISABLE_TELEMETRY")), "{variables:?}");
    assert!(!variables.contains(&json!("SOMEBODY_ELSES_TOKEN")), "{variables:?}");
}

#[tokio::test]
async fn deltas_join_to_the_text() {
    let stage = Stage::new(Behaviour::replaying("partial"));
    let agent = stage.agent().await;
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "hello".into() }).await.unwrap();
    let (mut text, mut reasoning) = (String::new(), String::new());
    loop {
        match reader.next().await.unwrap() {
            Item::Delta(Delta::AssistantTextDelta { text: more, .. }) => text += &more,
            Item::Delta(Delta::ReasoningDelta { text: more, .. }) => reasoning += &more,
            Item::Event(event) if event.body.name() == "input_end" => break,
            _ => {}
        }
    }
    assert_eq!(
        (reasoning.as_str(), text.as_str()),
        ("Let me think about it.", "Hello there, this is streamed.")
    );
    stage.end(agent).await;
}

#[tokio::test]
async fn its_own_tools_are_shown() {
    let stage = Stage::new(Behaviour::replaying("tools-all"));
    let events = stage.play("go").await;
    assert_eq!(the_end(&events), (EndReason::Done, "All done.".to_owned()));
    assert_eq!((count(&events, "tool_call_start"), count(&events, "tool_call_end")), (12, 12));
    let calls: Vec<_> = events.iter().filter(|event| event.body.name() == "call").collect();
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    let Body::Call { provider, model, usage, cost, .. } = &call.body else { unreachable!() };
    assert_eq!((provider.as_str(), model.as_str()), ("claude", "claude-opus-5-5"));
    assert_eq!((usage.input, usage.output, *cost), (800, 80, Cost::Reported(Usd(4_800_000))));
}

#[tokio::test]
async fn a_second_input_resumes_the_session() {
    let behaviour = Behaviour {
        resumed: Some(junto_testkit::recording("claude/resume.2")),
        ..Behaviour::replaying("resume.1")
    };
    let stage = Stage::new(behaviour);
    let agent = stage.agent().await;
    assert_eq!(submit(&agent, "one").await, EndReason::Done);
    assert_eq!(submit(&agent, "two").await, EndReason::Done);
    let events = stage.end(agent).await;
    assert_eq!((count(&events, "input_end"), count(&events, "handle")), (2, 1));
    let runs = stage.runs();
    assert!(!argv(&runs[0]).contains(&"--resume"));
    assert_eq!(after(&runs[1], "--resume"), "9a5cd0a4-06f6-47f3-a94a-6fa3bf5c97e8");
    // The client's totals go on growing; the session's sum does not count them twice.
    let Body::SessionEnd { usage, cost, .. } = &events.last().unwrap().body else { unreachable!() };
    assert_eq!((usage.input, *cost), (300, Cost::Reported(Usd(1_800_000))));
}

#[tokio::test]
async fn a_handle_brings_a_session_back() {
    let stage = Stage::new(Behaviour::default());
    let events = stage.play("hello").await;
    let agent = stage.agent_of(AgentSpec { resume: handle(&events), ..AgentSpec::default() }).await.unwrap();
    assert_eq!(submit(&agent, "again").await, EndReason::Done);
    stage.end(agent).await;
    assert_eq!(after(&stage.runs()[1], "--resume"), "00000000-0000-4000-8000-000000000001");
}

#[tokio::test]
async fn a_specification_that_makes_no_sense_is_refused() {
    let stage = Stage::new(Behaviour::default());
    let handle = |kind: &str, data: Value| Some(ResumeHandle { kind: kind.to_owned(), v: 1, data });
    for spec in [
        AgentSpec { resume: handle("codex", json!({"session": "x"})), ..AgentSpec::default() },
        AgentSpec { resume: handle("claude", json!({})), ..AgentSpec::default() },
        AgentSpec { resume: handle("claude", json!({"session": "--bare"})), ..AgentSpec::default() },
        AgentSpec { model: Some("--bare".to_owned()), ..AgentSpec::default() },
    ] {
        let error = stage.agent_of(spec.clone()).await.err().unwrap_or_else(|| panic!("{spec:?}"));
        assert_eq!(error.kind(), AgentErrorKind::Invalid, "{spec:?}");
    }
    assert_eq!(stage.runs().len(), 0);
    let spec = AgentSpec { effort: Some(Effort::Other("minimal".to_owned())), ..AgentSpec::default() };
    let error = stage.agent_of(spec).await.err().unwrap();
    assert_eq!(error.hint(), Some("choose one of low, medium, high, xhigh, max"));
}

#[tokio::test]
async fn mode_model_limits_and_directory_reach_the_command() {
    for (mode, flag) in [
        (Mode::ReadOnly, "default"),
        (Mode::WorkspaceWrite, "acceptEdits"),
        (Mode::Full, "bypassPermissions"),
    ] {
        let stage = Stage::new(Behaviour::default());
        std::fs::create_dir(stage.path().join("sub")).unwrap();
        let spec = AgentSpec {
            mode,
            model: Some("opus".to_owned()),
            workdir: Workdir::Path("sub".into()),
            limits: Limits { max_turns: 9, max_tool_rounds: 3 },
            ..AgentSpec::default()
        };
        let agent = stage.agent_of(spec).await.unwrap();
        submit(&agent, "hello").await;
        stage.end(agent).await;
        let run = &stage.runs()[0];
        assert_eq!(after(run, "--permission-mode"), flag);
        assert_eq!(after(run, "--model"), "opus");
        assert_eq!(after(run, "--max-turns"), "4");
        assert_eq!(run["cwd"], stage.path().join("sub").to_str().unwrap());
    }
}

#[tokio::test]
async fn what_it_cannot_do_is_an_error() {
    let stage = Stage::new(Behaviour::default());
    let agent = stage.agent().await;
    let picture = Input { images: vec!["a.png".into()], ..Input::text("look") };
    let effort = Change { effort: Some("high".to_owned()), ..Change::default() };
    let answer = Command::Answer { ask: AskId::fresh(), decision: Decision::Allow { remember: None } };
    for (command, kind) in [
        (Command::Steer { input: "x".into(), when: When::Now }, AgentErrorKind::Unsupported),
        (answer, AgentErrorKind::Unsupported),
        (Command::Compact, AgentErrorKind::Unsupported),
        (Command::Configure { change: effort }, AgentErrorKind::Unsupported),
        (Command::Submit { input: picture }, AgentErrorKind::Unsupported),
        (Command::Submit { input: " \n".into() }, AgentErrorKind::Invalid),
        (Command::Interrupt, AgentErrorKind::WrongState),
    ] {
        assert_eq!(agent.send(command.clone()).await.unwrap_err().kind(), kind, "{command:?}");
    }
    let model = Change { model: Some("haiku".to_owned()), ..Change::default() };
    assert_eq!(agent.send(Command::Configure { change: model }).await, Ok(Ack::Done));
    submit(&agent, "hello").await;
    let events = stage.end(agent).await;
    assert_eq!(count(&events, "user_input"), 1);
    assert_eq!(after(&stage.runs()[0], "--model"), "haiku");
}

#[tokio::test]
async fn while_it_works_inputs_wait_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let hold = Hold::new(&folder);
    let behaviour = Behaviour {
        // The second run, which resumes, has no line after which to wait.
        resumed: Some(junto_testkit::recording("claude/resume.2")),
        ..Behaviour::default().then(7, Fault::Hold(hold.path()))
    };
    let stage = Stage::new(behaviour);
    let agent = stage.agent().await;
    let mut reader = agent.log().subscribe(Seq::START);
    assert_eq!(agent.send(Command::Submit { input: "one".into() }).await, Ok(Ack::Started));
    until(&mut reader, |body| matches!(body, Body::AssistantTextEnd { .. })).await;
    let busy = agent.send(Command::Submit { input: "two".into() }).await.unwrap_err();
    assert_eq!(busy.kind(), AgentErrorKind::WrongState);
    assert_eq!(agent.send(Command::FollowUp { input: "three".into() }).await, Ok(Ack::Queued));
    let steer = Command::Steer { input: "four".into(), when: When::Round };
    assert_eq!(agent.send(steer).await.unwrap_err().kind(), AgentErrorKind::Unsupported);
    hold.release().await;
    assert_eq!(input_end(&mut reader).await, EndReason::Done);
    until(&mut reader, |body| matches!(body, Body::UserInput { input, .. } if input.text == "three")).await;
    agent.close().await;
    let events = stage.end(agent).await;
    assert_eq!(count(&events, "user_input"), 2);
}

fn argv(run: &Value) -> Vec<&str> {
    run["argv"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect()
}

#[track_caller]
fn after<'a>(run: &'a Value, option: &str) -> &'a str {
    let argv = argv(run);
    let place = argv.iter().position(|argument| *argument == option);
    place.and_then(|place| argv.get(place + 1).copied()).unwrap_or_else(|| panic!("no {option} in {argv:?}"))
}
