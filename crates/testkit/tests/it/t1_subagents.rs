//! Children of other kinds than their parent: a command-line agent, and a session whose model is a council.

use std::sync::Arc;

use junto::core::{Body, Command, Event as LogEvent, Item, Seq};
use junto::council::{self, Council, Member};
use junto::env::{ExecutionEnvironment, LocalEnvironment, survivors};
use junto::llm::{Endpoint, HttpProvider, Provider, Secret, Wire};
use junto::runner::{Definition, Patience};
use junto::twin::{Options, Play, Step, Twin};
use junto::{Cli, Kind, Native, Workshop};
use junto_testkit::fake_claude::{Behaviour, Fault};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::compositions::checks::{checked, count, record};
use crate::compositions::drive::spec;
use crate::compositions::stage::{LONG, ROOT, model};

/// A root that makes these calls, one after another, and then says what the last one gave.
fn root(calls: Vec<(&str, Value)>) -> (Twin, Native) {
    let mut steps: Vec<Step> =
        calls.into_iter().map(|(tool, arguments)| Step::call(tool, arguments)).collect();
    steps.push(Step::text("{{last_result}}"));
    let (twin, provider) = played(Play::of(steps));
    (twin, Native { model: Some(model(Wire::Anthropic).1.to_owned()), ..Native::new(provider) })
}

fn played(play: Play) -> (Twin, Arc<dyn Provider>) {
    let twin = Twin::start(play, Options::default()).unwrap();
    let endpoint = Endpoint::new(model(Wire::Anthropic).0, Wire::Anthropic, twin.base_url(Wire::Anthropic))
        .key(twin.key());
    (twin, Arc::new(HttpProvider::new(endpoint).unwrap()))
}

fn claude(behaviour: &Behaviour) -> Kind {
    let mut definition = Definition::shipped("claude").unwrap();
    env!("CARGO_BIN_EXE_junto-fake-claude").clone_into(&mut definition.command[0]);
    definition.variables.allow.push(Behaviour::VARIABLE.to_owned());
    let variables = behaviour.variables().into_iter().map(|(name, value)| (name, Secret::new(value)));
    let patience = Patience { idle: LONG, hard: None, grace: LONG };
    Kind::Cli(Box::new(Cli { variables: variables.collect(), patience, ..Cli::new(definition) }))
}

/// Lets a root delegate, and gives what its calls said and everything that happened.
async fn delegate(
    dir: &std::path::Path,
    root: Native,
    kind: &str,
    child: Kind,
) -> (Vec<String>, Vec<LogEvent>) {
    let path = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
    let env = Arc::new(LocalEnvironment::builder(dir).variables(path).build().unwrap());
    let made = Arc::clone(&env) as Arc<dyn ExecutionEnvironment>;
    let workshop = Workshop::builder(dir, move |_| Ok(Arc::clone(&made)))
        .kind(ROOT, Kind::Native(root))
        .kind(kind, child)
        .build();
    let agent = workshop.start(spec(), CancellationToken::new()).await.unwrap();
    let recorder = tokio::spawn(record(agent.log().subscribe(Seq::START)));
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "Work".into() }).await.unwrap();
    let mut said = Vec::new();
    loop {
        let Item::Event(event) = reader.next().await.unwrap() else { continue };
        match &event.body {
            Body::ToolCallEnd { output, .. } if event.parent.is_none() => said.push(output.preview()),
            Body::InputEnd { .. } if event.parent.is_none() => break,
            _ => {}
        }
    }
    agent.close().await;
    let events = checked(&recorder.await.unwrap());
    let left = tokio::task::spawn_blocking(move || survivors::after(&env, LONG));
    assert_eq!(left.await.unwrap(), []);
    (said, events)
}

#[tokio::test]
async fn a_command_line_agent_is_told_more_and_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let (twin, native) = root(vec![
        ("spawn_agent", json!({"task": "One", "kind": "claude"})),
        ("send_input", json!({"agent_id": "agent-1", "message": "Two"})),
        ("wait", json!({"agent_id": "agent-1"})),
        ("send_input", json!({"agent_id": "agent-1", "message": "Three"})),
        ("wait", json!({})),
        ("close_agent", json!({"agent_id": "agent-1"})),
    ]);
    let (said, events) = delegate(dir.path(), native, "claude", claude(&Behaviour::default())).await;
    let told = twin.requests()[0].body.to_string();
    assert!(told.contains("`claude`: the command-line agent claude"), "{told}");
    assert_eq!(said[0], "agent-1: running");
    // It may have been done with the first before it heard of the second.
    assert!(said[1].starts_with("agent-1: running; it "), "{}", said[1]);
    assert!(
        said[2].starts_with("agent-1: completed (success: true") && said[2].ends_with("You said: Two"),
        "{}",
        said[2]
    );
    assert_eq!(said[3], "agent-1: running; it works on the message now");
    assert!(said[4].ends_with("You said: Three"), "{}", said[4]);
    assert!(said[5].starts_with("agent-1: closed (it was completed; "), "{}", said[5]);
    assert_eq!((count(&events, "child"), count(&events, "user_input")), (1, 4));
    twin.close().await;
}

#[tokio::test]
async fn a_command_line_agent_that_hangs_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let (twin, native) = root(vec![
        ("spawn_agent", json!({"task": "One", "kind": "claude"})),
        ("wait", json!({"timeout_ms": 1})),
        ("close_agent", json!({"agent_id": "agent-1"})),
    ]);
    let hangs = Behaviour { escape: true, ..Behaviour::default() }.then(1, Fault::Hang);
    let (said, events) = delegate(dir.path(), native, "claude", claude(&hangs)).await;
    assert!(said[1].ends_with("[the time to wait is up]"), "{}", said[1]);
    assert!(said[2].starts_with("agent-1: closed (it was running; "), "{}", said[2]);
    assert_eq!(count(&events, "session_end"), 2);
    twin.close().await;
}

#[tokio::test]
async fn a_council_can_be_a_childs_model() {
    let dir = tempfile::tempdir().unwrap();
    let (twin, native) =
        root(vec![("spawn_agent", json!({"task": "One", "kind": "council"})), ("wait", json!({}))]);
    let (first, one) = played(Play::text("We agree."));
    let (second, other) = played(Play::text("We agree."));
    let member = |name: &str, provider| Member::new(name, provider).model(model(Wire::Anthropic).1);
    let fan_out = council::FanOut::Always;
    let options = council::Options { fan_out, straggler: LONG, ..council::Options::default() };
    let council = Council::new(vec![member("one", one), member("other", other)], None, options).unwrap();
    let child = Kind::Native(Native::new(Arc::new(council)));
    let (said, _) = delegate(dir.path(), native, "council", child).await;
    assert!(said[1].ends_with("\nWe agree."), "{}", said[1]);
    for twin in [twin, first, second] {
        twin.close().await;
    }
}
