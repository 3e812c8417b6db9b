//! Answers of command-line agents.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto::Answers;
use junto::llm::Secret;
use junto::prelude::*;
use junto::runner::{Definition, Host};

/// Answers like `claude`, and writes down what it was told.
const ANSWERS: &str = r#"#!/bin/sh
printf '%s\n' "$@" > "$HOME/argv"
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s-1","model":"m","tools":[]}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Done.","session_id":"s-1","total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":3}}'
"#;

/// What the agent is told in a call with this directory.
async fn told(folder: &Path, workdir: Option<PathBuf>) -> String {
    let program = folder.join("claude");
    std::fs::write(&program, ANSWERS).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut definition = Definition::shipped("claude").unwrap();
    definition.start_by([program.display().to_string()]);
    // The script would play its part for whoever asks.
    definition.versions.ask.clear();
    let home = ("HOME".to_owned(), Secret::new(folder.display().to_string()));
    let path = ("PATH".to_owned(), Secret::new("/usr/bin:/bin"));
    let host = Host {
        variables: [home, path].into(),
        instructions: Some("Be kind.".to_owned()),
        ..Host::new(Arc::new(LocalEnvironment::new(folder).unwrap()))
    };
    let cx = CallCx { workdir, ..CallCx::new() };
    let response = Answers::new(definition, host).complete(Request::prompt("Hi."), &cx).await.unwrap();
    assert_eq!(response.text(), "Done.");
    std::fs::read_to_string(folder.join("argv")).unwrap()
}

#[tokio::test]
async fn the_documents_of_the_callers_project_are_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    std::fs::create_dir(project.join("deep")).unwrap();
    std::fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(project.join("AGENTS.md"), "Use tabs.\n").unwrap();
    std::fs::write(project.join("deep/CLAUDE.md"), "Test first.\n").unwrap();
    // Where the agent would be if nobody named a directory.
    std::fs::write(folder.path().join("CLAUDE.md"), "Not yours.\n").unwrap();
    let all = told(folder.path(), Some(project.join("deep"))).await;
    let place = |words: &str| all.find(words).unwrap_or_else(|| panic!("no {words} in {all}"));
    assert!(place("--append-system-prompt") < place("Use tabs."));
    assert!(place("Use tabs.") < place("Test first.") && place("Test first.") < place("Be kind."));
    for nowhere in [None, Some(folder.path().join("gone")), Some("project".into())] {
        let all = told(folder.path(), nowhere).await;
        assert!(all.contains("Be kind."), "{all}");
        assert!(!all.contains("Use tabs.") && !all.contains("Not yours."), "{all}");
    }
}
