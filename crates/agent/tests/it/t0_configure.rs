//! What can be changed while a session lives.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto_agent::{Environments, SessionConfig};
use junto_core::{Ack, Agent, AgentError, AgentErrorKind, Body, Change, Command, EndReason};
use junto_env::{ExecutionEnvironment, LocalEnvironment};
use junto_llm::Message;
use serde_json::json;

use crate::scene::{Record, Scene, whole};
use crate::script::{Line, script};

fn run(command: &str) -> Line {
    Line::Calls(vec![("shell", json!({"command": command}))])
}

async fn configure(scene: &Scene, change: Change) -> Result<Ack, AgentError> {
    scene.session.send(Command::Configure { change }).await
}

fn changes(record: &Record) -> Vec<Change> {
    let change = |body: &Body| match body {
        Body::Configured { change } => Some(change.clone()),
        _ => None,
    };
    record.events.iter().filter_map(|e| change(&e.body)).collect()
}

fn to(workdir: impl AsRef<Path>) -> Change {
    Change { workdir: Some(workdir.as_ref().to_owned()), ..Change::default() }
}

#[tokio::test]
async fn limits() {
    let lines = [run("true"), run("true"), Line::Text("Yes."), Line::Text("Yes."), Line::Text("Yes.")];
    let mut scene = Scene::start(script(lines)).await;
    let rounds = Change { max_tool_rounds: Some(2), ..Change::default() };
    assert_eq!(configure(&scene, rounds.clone()).await, Ok(Ack::Done));
    assert_eq!(scene.ask("1").await.0, EndReason::Limit);
    let turns = Change { max_turns: Some(8), max_tool_rounds: Some(0), ..Change::default() };
    configure(&scene, turns.clone()).await.unwrap();
    assert_eq!(scene.ask("2").await.0, EndReason::Done);
    assert_eq!(scene.ask("3").await.0, EndReason::Limit);
    let none = Change { max_turns: Some(0), ..Change::default() };
    configure(&scene, none.clone()).await.unwrap();
    configure(&scene, Change::default()).await.unwrap();
    assert_eq!(scene.ask("4").await.0, EndReason::Done);
    assert_eq!(changes(&scene.end().await), [rounds, turns, none]);
}

#[tokio::test]
async fn a_limit_takes_effect_while_it_works() {
    let lines = [run("mkfifo go; echo up; read line < go"), Line::Text("never said")];
    let mut scene = Scene::start(script(lines)).await;
    scene.submit("1").await;
    scene.command_says("up").await;
    configure(&scene, Change { max_turns: Some(1), ..Change::default() }).await.unwrap();
    crate::scene::let_go(scene.path("go")).await;
    assert_eq!(scene.input_end().await.0, EndReason::Limit);
    scene.end().await;
}

fn environments() -> Environments {
    Arc::new(|path: PathBuf| {
        Box::pin(async move {
            let path_variable = [("PATH", "/usr/bin:/bin")];
            let env = LocalEnvironment::builder(&path).variables(path_variable).build()?;
            Ok(Arc::new(env) as Arc<dyn ExecutionEnvironment>)
        })
    })
}

#[tokio::test]
async fn the_place() {
    let model = script([run("pwd"), run("pwd"), Line::Text("Done."), run("pwd"), Line::Text("Done.")]);
    let place = |config| SessionConfig { environments: Some(environments()), ..config };
    let mut scene = Scene::with(Arc::clone(&model) as _, place).await;
    let (here, there, deeper) = (scene.path(""), scene.path("there"), scene.path("there/deeper"));
    std::fs::create_dir_all(&deeper).unwrap();
    configure(&scene, to("there")).await.unwrap();
    scene.ask("1").await;
    configure(&scene, to("deeper")).await.unwrap();
    let missing = configure(&scene, to("missing")).await.unwrap_err();
    assert_eq!(missing.kind(), AgentErrorKind::Invalid, "{missing}");
    scene.ask("2").await;
    let record = scene.end().await;
    let ran: Vec<PathBuf> = record
        .events
        .iter()
        .filter_map(|e| match &e.body {
            Body::ToolCallEnd { output, .. } => whole(output).lines().next().map(PathBuf::from),
            _ => None,
        })
        .collect();
    assert_eq!(ran, [there.clone(), there.clone(), deeper.clone()], "it began in {}", here.display());
    let requests = model.requests.lock().unwrap();
    let moved = |n: usize| -> Vec<String> {
        let texts = requests[n].messages.iter().map(Message::text);
        texts.filter(|text| text.starts_with("The working directory is now ")).collect()
    };
    let note = |path: &Path| format!("The working directory is now {}.", path.display());
    assert_eq!(moved(0), [note(&there)]);
    assert_eq!(moved(4), [note(&there), note(&deeper)]);
    assert_eq!(changes(&record), [to("there"), to("deeper")]);
    assert_eq!(record.count("steering_injected"), 2);
}

#[tokio::test]
async fn a_place_needs_somebody_who_makes_it() {
    let mut scene = Scene::start(script([Line::Text("Fine.")])).await;
    let change = Change { model: Some("another".into()), ..to("/") };
    let refused = configure(&scene, change).await.unwrap_err();
    assert_eq!(refused.kind(), AgentErrorKind::Unsupported);
    assert!(refused.to_string().contains("working directory"), "{refused}");
    scene.ask("1").await;
    assert_eq!(changes(&scene.end().await), []);
}

/// What is under way ends where it began.
#[tokio::test]
async fn a_round_is_not_moved() {
    let lines =
        [run("mkfifo go; echo up; read line < go; pwd > where"), run("pwd > where"), Line::Text("Done.")];
    let place = |config| SessionConfig { environments: Some(environments()), ..config };
    let mut scene = Scene::with(script(lines), place).await;
    std::fs::create_dir(scene.path("there")).unwrap();
    scene.submit("1").await;
    scene.command_says("up").await;
    configure(&scene, to("there")).await.unwrap();
    crate::scene::let_go(scene.path("go")).await;
    scene.input_end().await;
    let where_it_was = |name: &str| PathBuf::from(scene.read(name).trim_end());
    assert_eq!(where_it_was("where"), scene.path(""));
    assert_eq!(where_it_was("there/where"), scene.path("there"));
    scene.end().await;
}
