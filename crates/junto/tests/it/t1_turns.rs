//! Snapshots of the files of a session that is cut off in the middle of a turn.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use junto::prelude::*;
use junto::store::{Extent, Snapshots};
use junto::twin::{Options, Play, Step, Twin};
use junto::{Doing, SnapshotPolicy, Turns};
use serde_json::json;

/// A workshop in this folder that keeps its sessions, and snapshots of the files.
fn workshop(folder: &Path, twin: &Twin, store: &Store) -> Workshop {
    let endpoint =
        Endpoint::new("anthropic", Wire::Anthropic, twin.base_url(Wire::Anthropic)).key(twin.key());
    let native = Native {
        model: Some("claude-opus-5-5".to_owned()),
        ..Native::new(Arc::new(HttpProvider::new(endpoint).unwrap()))
    };
    Workshop::builder(folder, |dir| Ok(Arc::new(LocalEnvironment::new(dir)?)))
        .kind("native", Kind::Native(native))
        .store(store.clone())
        .snapshots(SnapshotPolicy { extent: Extent::Any, on_fault: Arc::new(fault) })
        .build()
}

fn fault(error: &junto::store::Error) {
    panic!("{error}");
}

fn spec() -> AgentSpec {
    AgentSpec { kind: "native".into(), ..AgentSpec::default() }
}

fn open(root: &Path) -> Store {
    Store::open(root, junto::store::Options::default()).unwrap()
}

/// Waits until so many of such events were written.
async fn wait_for(agent: &dyn Agent, count: usize, is_meant: impl Fn(&Body) -> bool) {
    let mut events = agent.log().subscribe(Seq::START);
    let mut left = count;
    while left > 0 {
        if let Item::Event(event) = events.next().await.unwrap() {
            left -= usize::from(is_meant(&event.body));
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// What was done before the cut belongs to the turn as well as what is done after it.
#[tokio::test]
async fn a_turn_that_was_cut_off_is_undone_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("mine.txt"), "mine\n").unwrap();
    let work = work.canonicalize().unwrap();
    let shell = |command: &str| Step::call("shell", json!({"command": command}));

    let twin =
        Twin::start(Play::of([shell("echo 1 > one.txt"), shell("sleep 60")]), Options::default()).unwrap();
    let store = open(&dir.path().join("state"));
    let agent = workshop(&work, &twin, &store).start(spec(), CancellationToken::new()).await.unwrap();
    let id = agent.log().session().clone();
    agent.send(Command::Submit { input: "Work.".into() }).await.unwrap();
    wait_for(&*agent, 2, |body| matches!(body, Body::ToolCallStart { .. })).await;
    // What a crash would leave now.
    for part in ["sessions", "snapshots"] {
        copy(&store.root().join(part), &dir.path().join("left").join(part));
    }
    agent.send(Command::Abort).await.unwrap();
    agent.close().await;

    let twin =
        Twin::start(Play::of([shell("echo 2 > two.txt"), Step::text("Done.")]), Options::default()).unwrap();
    let store = open(&dir.path().join("left"));
    let env = Arc::new(LocalEnvironment::new(&work).unwrap());
    let turns = Turns::new(Snapshots::new(store.root(), env, id.clone(), Extent::Any));
    // As long as it is open, what it did then is no matter of an end that was seen before.
    for file in ["early.txt", "late.txt"] {
        fs::write(work.join(file), "it\n").unwrap();
        assert!(turns.end_cut_off(1).await.unwrap());
    }
    let mut told = turns.undo(1, Doing::Dry).await.unwrap().files;
    told.sort_by(|a, b| a.path.cmp(&b.path));
    let told: Vec<&str> = told.iter().map(|change| &*change.path).collect();
    assert_eq!(told, ["early.txt", "late.txt", "one.txt"]);
    for file in ["early.txt", "late.txt"] {
        fs::remove_file(work.join(file)).unwrap();
    }

    let kept = Kept::reopen(&store, &id).unwrap();
    let workshop = workshop(&work, &twin, &store);
    let agent = workshop.resume(spec(), kept, CancellationToken::new()).await.unwrap();
    wait_for(&*agent, 1, |body| matches!(body, Body::InputEnd { .. })).await;
    agent.close().await;
    assert!(work.join("one.txt").exists() && work.join("two.txt").exists());

    let undone = turns.undo(1, Doing::Really).await.unwrap();
    let mut paths: Vec<&str> = undone.files.iter().map(|change| &*change.path).collect();
    paths.sort_unstable();
    assert_eq!((paths, undone.left), (vec!["one.txt", "two.txt"], vec![]));
    let names: Vec<_> = fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["mine.txt"]);
}

/// A turn that only looks has no snapshots; one that looks first has one before it does something.
#[tokio::test]
async fn what_changes_nothing_is_not_snapshotted() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("mine.txt"), "mine\n").unwrap();
    let work = work.canonicalize().unwrap();
    let read = || Step::call("read_file", json!({"file_path": "mine.txt"}));
    let write = Step::call("shell", json!({"command": "echo yours > mine.txt"}));
    let play = Play::of([read(), Step::text("Seen."), read(), write, Step::text("Done.")]);
    let twin = Twin::start(play, Options::default()).unwrap();
    let store = open(&dir.path().join("state"));
    let agent = workshop(&work, &twin, &store).start(spec(), CancellationToken::new()).await.unwrap();
    let id = agent.log().session().clone();
    let env = Arc::new(LocalEnvironment::new(&work).unwrap());
    let turns = Turns::new(Snapshots::new(store.root(), env, id, Extent::Any));

    agent.send(Command::Submit { input: "Look.".into() }).await.unwrap();
    wait_for(&*agent, 1, |body| matches!(body, Body::InputEnd { .. })).await;
    assert!(turns.undo(1, Doing::Dry).await.is_err());

    agent.send(Command::Submit { input: "Work.".into() }).await.unwrap();
    wait_for(&*agent, 2, |body| matches!(body, Body::InputEnd { .. })).await;
    agent.close().await;
    assert_eq!(turns.undo(2, Doing::Really).await.unwrap().files.len(), 1);
    assert_eq!(fs::read_to_string(work.join("mine.txt")).unwrap(), "mine\n");
}

/// Of a turn that has a beginning and no end nobody knows what it did: its folder became too large, or the disk full.
#[tokio::test]
async fn a_turn_without_an_end_is_not_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    fs::create_dir(&work).unwrap();
    let work = work.canonicalize().unwrap();
    let env = Arc::new(LocalEnvironment::new(&work).unwrap());
    let snapshots = || {
        Snapshots::new(&dir.path().join("state"), env.clone(), junto::llm::SessionId("s".into()), Extent::Any)
    };
    let taker = snapshots();
    for (turn, text) in [(1, "one"), (2, "two"), (3, "three")] {
        taker.take(&format!("turn-{turn}-begin")).await.unwrap();
        fs::write(work.join("a.txt"), text).unwrap();
        if turn != 2 {
            taker.take(&format!("turn-{turn}-end")).await.unwrap();
        }
    }
    let turns = Turns::new(snapshots());
    for to in [0, 1] {
        let error = turns.rewind(to, 3).await.unwrap_err();
        assert_eq!(error.kind(), junto::store::ErrorKind::NotFound, "{error}");
        assert_eq!(fs::read_to_string(work.join("a.txt")).unwrap(), "three");
    }
    turns.rewind(2, 3).await.unwrap();
    assert_eq!(fs::read_to_string(work.join("a.txt")).unwrap(), "two");
}
