//! Leave: how far it goes, how long it is waited for, and that it survives.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use junto_agent::{Session, SessionConfig, tools};
use junto_core::{
    Action, Agent, Body, Command, Decision, EndReason, Event, EventLog, Item, Journal, Leash, MemoryJournal,
    OnReject, Policy, Rule, Seq, Unread, Verdict,
};
use junto_env::{ExecutionEnvironment, LocalEnvironment, wrappers};
use junto_llm::{SessionId, Wire};
use junto_twin::{Options, Play, Step, Twin};
use serde_json::json;

use crate::stand::{Stand, client, model};

/// Allows lines that it has learned, and those that say how they want to be allowed.
#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Policy for Lines {
    fn decide(&self, actions: &[Action]) -> Verdict {
        match actions {
            [Action::Shell { line, .. }] if line.contains("# kept") => Verdict::Allow(Leash::Kept),
            [Action::Shell { line, .. }] if line.contains("# loose") => Verdict::Allow(Leash::Loose),
            [Action::Shell { line, .. }] if self.0.lock().unwrap().contains(line) => {
                Verdict::Allow(Leash::Kept)
            }
            _ => Verdict::Ask { proposed: vec![], reason: "it is new".into() },
        }
    }

    fn learn(&self, rule: &Rule) -> Result<(), String> {
        if rule.0 == "nonsense" {
            return Err("nonsense is no rule".into());
        }
        self.0.lock().unwrap().push(rule.0.clone());
        Ok(())
    }
}

fn shell(line: &str) -> Step {
    Step::call("shell", json!({"command": line}))
}

/// An environment that can be left.
struct Fence {
    inside: LocalEnvironment,
    outside: Arc<LocalEnvironment>,
}

impl wrappers::Layer for Fence {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.inside
    }

    fn unconfined(&self) -> Option<Arc<dyn ExecutionEnvironment>> {
        Some(Arc::clone(&self.outside) as _)
    }
}

#[tokio::test]
async fn only_what_is_loose_leaves_the_sandbox() {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| LocalEnvironment::builder(dir.path()).variable("WHERE", name).build().unwrap();
    let fence = Arc::new(Fence { inside: place("inside"), outside: Arc::new(place("outside")) });
    for (line, expected) in [
        ("echo $WHERE # kept", "inside"),
        ("echo $WHERE # loose", "outside"),
        ("echo $WHERE # asked", "outside"),
    ] {
        let env = Arc::clone(&fence);
        let change = |config| SessionConfig { policy: Arc::new(Lines::default()), env, ..config };
        let steps = [shell(line), Step::text("Done.")];
        let mut stand = Stand::with(Wire::Anthropic, steps, Options::default(), change).await;
        stand.scene.submit("Work").await;
        if line.contains("asked") {
            let Body::Ask { request } = stand.scene.event("ask").await.body else { unreachable!() };
            let decision = Decision::Allow { remember: None };
            stand.scene.session.send(Command::Answer { ask: request.ask, decision }).await.unwrap();
        }
        let Body::ToolCallEnd { output, .. } = stand.scene.event("tool_call_end").await.body else {
            unreachable!()
        };
        assert!(output.preview().starts_with(expected), "{line}: {output:?}");
        stand.scene.input_end().await;
        stand.end(&[]).await;
    }
}

#[tokio::test]
async fn what_nobody_answers_in_time_is_told_to_the_model() {
    let change = |config| SessionConfig {
        policy: Arc::new(Lines::default()),
        approval_timeout: Some(Duration::from_millis(20)),
        on_reject: OnReject::EndTurn,
        ..config
    };
    let steps = [shell("touch made"), Step::text("Then not.")];
    let mut stand = Stand::with(Wire::Anthropic, steps, Options::default(), change).await;
    assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "Then not.".into()));
    assert!(stand.last_body().contains("nobody answered in time"), "{}", stand.last_body());
    assert!(!stand.scene.path("made").exists());
    let record = stand.end(&[]).await;
    assert_eq!((record.count("ask"), record.count("answered"), record.count("tool_call_start")), (1, 1, 0));
}

#[tokio::test]
async fn a_no_that_says_why_is_told_where_a_plain_one_ends_the_turn() {
    for (reason, end) in [(None, EndReason::Rejected), (Some("too risky"), EndReason::Done)] {
        let change = |config| SessionConfig {
            policy: Arc::new(Lines::default()),
            on_reject: OnReject::EndUnlessTold,
            ..config
        };
        let steps = [shell("touch made"), Step::text("Then not.")];
        let mut stand = Stand::with(Wire::Anthropic, steps, Options::default(), change).await;
        stand.scene.submit("Work").await;
        let Body::Ask { request } = stand.scene.event("ask").await.body else { unreachable!() };
        let decision = Decision::Reject { reason: reason.map(str::to_owned) };
        stand.scene.session.send(Command::Answer { ask: request.ask, decision }).await.unwrap();
        assert_eq!(stand.scene.input_end().await.0, end);
        assert!(!stand.scene.path("made").exists());
        stand.end(&[]).await;
    }
}

#[tokio::test]
async fn what_was_never_read_is_left_alone_where_that_is_wanted() {
    let write = |content: &str| Step::call("write_file", json!({"file_path": "f", "content": content}));
    let edit = Step::call("edit_file", json!({"file_path": "f", "old_string": "one", "new_string": "two"}));
    let read = Step::call("read_file", json!({"file_path": "f"}));
    let new = Step::call("write_file", json!({"file_path": "new", "content": "x\n"}));
    let steps = [write("mine\n"), edit.clone(), new, read, edit, Step::text("Done.")];
    let change = |config| SessionConfig { unread: Unread::Refused, ..config };
    let mut stand = Stand::with(Wire::Anthropic, steps, Options::default(), change).await;
    stand.scene.write("f", "one\n");
    stand.scene.ask("Work").await;
    assert_eq!((stand.scene.read("f"), stand.scene.read("new")), ("two\n".into(), "x\n".into()));
    let record = stand.end(&[]).await;
    let told = |event: &Event| match &event.body {
        Body::ToolCallEnd { output, .. } => Some(output.preview().contains("you have not read")),
        _ => None,
    };
    let told: Vec<bool> = record.events.iter().filter_map(told).collect();
    assert_eq!(told, [true, true, false, false, false]);
}

/// Rules that were given before hold again, and one that the policy of now does not take is told.
#[tokio::test]
async fn rules_survive_the_session() {
    let steps = [shell("echo 1 > a"), Step::text("One."), shell("echo 1 > a"), Step::text("Two.")];
    let twin = Twin::start(Play::of(steps), Options::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (journal, id) = (Arc::new(MemoryJournal::default()), SessionId::fresh());
    let config = |last: Seq| {
        let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
        let log = EventLog::new(id.clone(), Arc::clone(&journal) as Arc<dyn Journal>, last, clock);
        let env = Arc::new(LocalEnvironment::new(dir.path()).unwrap());
        let provider = client(&twin, Wire::Anthropic, junto_twin::DEFAULT_KEY);
        SessionConfig {
            model: Some(model(Wire::Anthropic).1.into()),
            tools: tools::standard().into(),
            policy: Arc::new(Lines::default()),
            ..SessionConfig::new(provider, env, log)
        }
    };
    let session = Session::start(config(Seq(0))).await.unwrap();
    let mut events = session.log().subscribe(Seq::START);
    session.send(Command::Submit { input: "Work".into() }).await.unwrap();
    loop {
        let Item::Event(event) = events.next().await.unwrap() else { continue };
        match &event.body {
            Body::Ask { request } => {
                let answer = |rule: &str| {
                    let decision = Decision::Allow { remember: Some(Rule(rule.into())) };
                    session.send(Command::Answer { ask: request.ask.clone(), decision })
                };
                let error = answer("nonsense").await.unwrap_err();
                assert!(error.to_string().contains("nonsense is no rule"), "{error}");
                answer("echo 1 > a").await.unwrap();
            }
            Body::InputEnd { .. } => break,
            _ => {}
        }
    }
    session.close().await;

    let past = journal.read(Seq::START, usize::MAX).await.unwrap();
    let last = past.last().unwrap().seq;
    let session = Session::resume(config(last), past).await.unwrap();
    let mut events = session.log().subscribe(last.next());
    session.send(Command::Submit { input: "Again".into() }).await.unwrap();
    let mut names = Vec::new();
    loop {
        let Item::Event(event) = events.next().await.unwrap() else { continue };
        names.push(event.body.name());
        if matches!(event.body, Body::InputEnd { .. }) {
            break;
        }
    }
    assert!(names.contains(&"tool_call_start") && !names.contains(&"ask"), "{names:?}");
    session.close().await;

    // A policy that keeps no rules.
    let past = journal.read(Seq::START, usize::MAX).await.unwrap();
    let last = past.last().unwrap().seq;
    let strict = SessionConfig { policy: Arc::new(junto_core::Open), ..config(last) };
    let session = Session::resume(strict, past).await.unwrap();
    session.close().await;
    let events = journal.read(last.next(), usize::MAX).await.unwrap();
    let lost =
        events.iter().any(|event| matches!(&event.body, Body::Warning { code, .. } if code == "rule_lost"));
    assert!(lost, "{events:?}");
    twin.close().await;
}
