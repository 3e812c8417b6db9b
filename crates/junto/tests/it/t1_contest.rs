//! A council of agents among a workshop's kinds: started by itself, and as a subagent.

use std::path::Path;
use std::sync::Arc;

use junto::core::{AgentSpec, Body, Command, Event, Input, Item, Seq};
use junto::council::contest::{Member, Oracle, OracleChoice, Runs};
use junto::llm::{Endpoint, HttpProvider, Wire};
use junto::policy::Mode;
use junto::twin::{Options, Play, Step, Twin};
use junto::{Guard, Kind, Native, Rivals, Workshop};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// A native agent that does this.
fn native(steps: Vec<Step>) -> (Twin, Kind) {
    let twin = Twin::start(Play::of(steps), Options::default()).unwrap();
    let endpoint =
        Endpoint::new("anthropic", Wire::Anthropic, twin.base_url(Wire::Anthropic)).key(twin.key());
    let provider = Arc::new(HttpProvider::new(endpoint).unwrap());
    let native = Native { model: Some("claude-opus-5-5".to_owned()), ..Native::new(provider) };
    (twin, Kind::Native(native))
}

/// A native agent that runs a command and says that it is done.
fn doing(line: &str) -> (Twin, Kind) {
    native(vec![Step::call("shell", json!({"command": line})), Step::text("Done.")])
}

fn git(directory: &Path, args: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.args(args).current_dir(directory).env_clear().env("PATH", "/usr/bin:/bin");
    for who in ["GIT_AUTHOR", "GIT_COMMITTER"] {
        command.env(format!("{who}_NAME"), "user").env(format!("{who}_EMAIL"), "user@localhost");
    }
    assert!(command.status().unwrap().success(), "git {args:?}");
}

fn member(kind: &str) -> Member {
    Member { name: kind.to_owned(), spec: AgentSpec { kind: kind.to_owned(), ..AgentSpec::default() } }
}

#[tokio::test]
async fn an_agent_hands_a_task_to_a_council() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().canonicalize().unwrap().join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("answer"), "41\n").unwrap();
    git(&project, &["init", "--quiet"]);
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "-m", "The beginning"]);
    // What the parent has done so far, and not committed.
    std::fs::write(project.join("wanted"), "42\n").unwrap();
    let rivals = Rivals::new(vec![member("wrong"), member("right")], Runs::new(folder.path().join("runs")));
    let rivals = rivals.adjusted(|mut setup| {
        setup.oracle = OracleChoice::Given(Oracle::given("cmp answer wanted"));
        setup
    });
    let (_right, right) = doing("cp wanted answer");
    let (_wrong, wrong) = doing("echo 43 >answer");
    let (_root, root) = native(vec![
        Step::call("spawn_agent", json!({"task": "Make it right.", "kind": "council:pair", "wait": true})),
        Step::text("{{last_result}}"),
    ]);
    let guard = Guard::new(Mode::Full);
    let path = [("PATH", "/usr/bin:/bin")];
    let workshop = Workshop::guarded(&project, guard, move |dir| {
        junto::env::LocalEnvironment::builder(dir).variables(path)
    });
    let workshop = workshop
        .unwrap()
        .kind("root", root)
        .kind("right", right)
        .kind("wrong", wrong)
        .kind("council:pair", Kind::Contest(Box::new(rivals)))
        .kind(
            "council:nested",
            Kind::Contest(Box::new(Rivals::new(vec![member("council:pair")], Runs::new("runs")))),
        )
        .build();
    let spec = |kind: &str| AgentSpec { kind: kind.to_owned(), ..AgentSpec::default() };
    let agent = workshop.start(spec("root"), CancellationToken::new()).await.unwrap();
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: Input::text("Work") }).await.unwrap();
    let mut events: Vec<Arc<Event>> = Vec::new();
    loop {
        let Item::Event(event) = reader.next().await.unwrap() else { continue };
        let ended = event.parent.is_none() && matches!(event.body, Body::InputEnd { .. });
        events.push(event);
        if ended {
            break;
        }
    }
    let outcome = agent.close().await;
    assert!(outcome.text.contains("right") && outcome.text.contains("its diff"), "{outcome:?}");
    assert_eq!(
        std::fs::read_to_string(project.join("answer")).unwrap(),
        "41\n",
        "nothing is applied by itself"
    );
    let whole = agent.log().subscribe(Seq::START).rest().await.unwrap();
    junto::core::grammar::check(&whole).unwrap();
    let names = events.iter().filter_map(|event| match &event.body {
        Body::Child { name, .. } => Some(name.as_str()),
        _ => None,
    });
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    assert_eq!(names, ["1-wrong", "2-right", "agent-1"]);

    let nested = workshop.start(spec("council:nested"), CancellationToken::new()).await.err().unwrap();
    assert!(nested.to_string().contains("council itself"), "{nested}");
}
