//! What was shown is what runs, whatever changes between the question and its answer.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use junto_agent::{Environments, SessionConfig, tools};
use junto_core::{Action, Agent, Body, Change, Command, Decision, EndReason, Policy, Verdict};
use junto_env::{ExecutionEnvironment, LocalEnvironment};
use junto_llm::Wire;
use junto_twin::{Options, Step};
use serde_json::{Value, json};

use crate::stand::Stand;

/// Asks about everything.
struct AskAll;

impl Policy for AskAll {
    fn decide(&self, _: &[Action]) -> Verdict {
        Verdict::Ask { proposed: vec![], reason: String::new() }
    }
}

/// Lets a call be asked about, does something before it is allowed, and gives what the model was told.
async fn race(
    tool: &str,
    args: Value,
    before: &[(&str, &str)],
    meanwhile: impl FnOnce(&Stand),
) -> (Stand, String) {
    let steps = [Step::call(tool, args), Step::text("So be it.")];
    let change = |config: SessionConfig| SessionConfig {
        policy: Arc::new(AskAll),
        tools: tools::all().into(),
        environments: Some(elsewhere(&config)),
        ..config
    };
    let mut stand = Stand::with(Wire::Anthropic, steps, Options::default(), change).await;
    for (name, content) in before {
        let path = stand.scene.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    stand.scene.submit("Work").await;
    let Body::Ask { request } = stand.scene.event("ask").await.body else { unreachable!() };
    meanwhile(&stand);
    let decision = Decision::Allow { remember: None };
    stand.scene.session.send(Command::Answer { ask: request.ask, decision }).await.unwrap();
    let Body::ToolCallEnd { output, .. } = stand.scene.event("tool_call_end").await.body else {
        unreachable!()
    };
    assert_eq!(stand.scene.input_end().await.0, EndReason::Done);
    (stand, output.preview())
}

/// Other environments of the session, which have another value of a variable.
fn elsewhere(config: &SessionConfig) -> Environments {
    let _ = config;
    Arc::new(|path: PathBuf| {
        Box::pin(async move {
            let env = LocalEnvironment::builder(path).variable("X", "changed").build()?;
            Ok(Arc::new(env) as Arc<dyn ExecutionEnvironment>)
        })
    })
}

const WHILE_ASKED: &str = "while leave for this was waited for";

#[tokio::test]
async fn a_file_that_changed_meanwhile_is_left_alone() {
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-one\n+two\n*** End Patch\n";
    for (tool, args) in [
        ("write_file", json!({"file_path": "f", "content": "mine\n"})),
        ("edit_file", json!({"file_path": "f", "old_string": "one", "new_string": "two"})),
        ("apply_patch", json!({"patch": patch})),
    ] {
        let change = |stand: &Stand| stand.scene.write("f", "one, and somebody else's\n");
        let (stand, told) = race(tool, args.clone(), &[("f", "one\n")], change).await;
        assert!(told.contains(WHILE_ASKED), "{tool}: {told}");
        assert_eq!(stand.scene.read("f"), "one, and somebody else's\n");
        stand.end(&[]).await;
        // If nothing changes, it is done.
        let (stand, told) = race(tool, args, &[("f", "one\n")], |_| {}).await;
        assert_ne!(stand.scene.read("f"), "one\n", "{tool}: {told}");
        stand.end(&[]).await;
    }
}

#[tokio::test]
async fn a_file_that_came_or_went_meanwhile_is_left_alone() {
    let args = || json!({"file_path": "f", "content": "mine\n"});
    let (stand, told) = race("write_file", args(), &[], |stand| stand.scene.write("f", "theirs\n")).await;
    assert!(told.contains(WHILE_ASKED), "{told}");
    assert_eq!(stand.scene.read("f"), "theirs\n");
    stand.end(&[]).await;
    let remove = |stand: &Stand| fs::remove_file(stand.scene.path("f")).unwrap();
    let (stand, told) = race("write_file", args(), &[("f", "one\n")], remove).await;
    assert!(told.contains(WHILE_ASKED) && !stand.scene.path("f").exists(), "{told}");
    stand.end(&[]).await;
}

/// A file, or a folder on the way to it, that becomes a link after it was shown.
#[tokio::test]
async fn a_link_that_came_meanwhile_is_not_followed() {
    let before = [("dir/f", "one\n"), ("elsewhere/f", "one\n"), ("elsewhere/secret", "key\n")];
    let swap_folder = |stand: &Stand| {
        fs::rename(stand.scene.path("dir"), stand.scene.path("moved")).unwrap();
        symlink("elsewhere", stand.scene.path("dir")).unwrap();
    };
    let swap_file = |stand: &Stand| {
        fs::remove_file(stand.scene.path("dir/f")).unwrap();
        symlink(stand.scene.path("elsewhere/secret"), stand.scene.path("dir/f")).unwrap();
    };
    let swaps: [&dyn Fn(&Stand); 2] = [&swap_folder, &swap_file];
    for swap in swaps {
        for (tool, args) in [
            ("write_file", json!({"file_path": "dir/f", "content": "mine\n"})),
            ("edit_file", json!({"file_path": "dir/f", "old_string": "one", "new_string": "two"})),
            ("read_file", json!({"file_path": "dir/f"})),
            ("read_many_files", json!({"paths": ["dir/f"]})),
            ("grep", json!({"pattern": "one|key", "path": "dir/f"})),
        ] {
            let (stand, told) = race(tool, args, &before, swap).await;
            assert!(
                !told.contains("key") && !told.contains("| one"),
                "{tool} read what was not shown: {told}"
            );
            assert!(!told.contains("replaced") && !told.contains("created"), "{tool}: {told}");
            assert_eq!(stand.scene.read("elsewhere/f"), "one\n", "{tool}");
            assert_eq!(stand.scene.read("elsewhere/secret"), "key\n", "{tool}");
            stand.end(&[]).await;
        }
    }
    let listed = |tool| race(tool, json!({"path": "dir", "pattern": "*"}), &before, swap_folder);
    let (stand, told) = listed("glob").await;
    assert!(!told.contains("secret"), "{told}");
    stand.end(&[]).await;
    let (stand, told) = race("list_dir", json!({"path": "dir"}), &before, swap_folder).await;
    assert!(!told.contains("secret"), "{told}");
    stand.end(&[]).await;
}

/// The command runs where, and with what, it was shown: also if the session has moved on meanwhile.
#[tokio::test]
async fn a_command_runs_where_it_was_shown_and_with_its_variables() {
    let line = json!({"command": "echo \"$X in $PWD\""});
    let steps = [Step::call("shell", line), Step::text("So be it.")];
    let dir = tempfile::tempdir().unwrap();
    let here = dir.path().canonicalize().unwrap();
    fs::create_dir(here.join("other")).unwrap();
    let change = |config: SessionConfig| SessionConfig {
        policy: Arc::new(AskAll),
        environments: Some(elsewhere(&config)),
        env: Arc::new(LocalEnvironment::builder(&here).variable("X", "as shown").build().unwrap()),
        ..config
    };
    let mut stand = Stand::with(Wire::Anthropic, steps, Options::default(), change).await;
    stand.scene.submit("Work").await;
    let Body::Ask { request } = stand.scene.event("ask").await.body else { unreachable!() };
    let [Action::Shell { line, cwd }] = &request.actions[..] else { panic!("{request:?}") };
    assert_eq!((line.as_str(), cwd.as_path()), ("echo \"$X in $PWD\"", here.as_path()));
    let change = Change { workdir: Some(here.join("other")), ..Change::default() };
    stand.scene.session.send(Command::Configure { change }).await.unwrap();
    let decision = Decision::Allow { remember: None };
    stand.scene.session.send(Command::Answer { ask: request.ask, decision }).await.unwrap();
    let Body::ToolCallStart { call, .. } = stand.scene.event("tool_call_start").await.body else {
        unreachable!()
    };
    assert_eq!(call, request.call, "what is said to start is what was shown");
    let Body::ToolCallEnd { output, .. } = stand.scene.event("tool_call_end").await.body else {
        unreachable!()
    };
    assert!(output.preview().starts_with(&format!("as shown in {}\n", here.display())), "{output:?}");
    stand.scene.input_end().await;
    stand.end(&[]).await;
}
