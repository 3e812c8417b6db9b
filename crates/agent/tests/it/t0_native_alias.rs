//! Tools by the names of the other dialect, and of other vendors.

use std::sync::Arc;

use junto_agent::profile::{Dialect, Family, Profile};
use junto_agent::{ToolRegistry, tools};
use junto_core::EndReason;
use serde_json::{Value, json};

use crate::scene::Scene;
use crate::script::{Line, script};

/// A call by each name, with arguments that fit and what it says; files `a.txt` and `e1` to `e3` are
/// there. Calls of one list come one after another in one session, in which jobs are counted from 1.
const NAMES: &[&[(&str, &str, &str)]] = &[
    &[
        ("read_file", r#"{"file_path": "a.txt"}"#, "one"),
        ("Read", r#"{"file_path": "a.txt", "limit": 5}"#, "one"),
        ("read_many_files", r#"{"paths": ["a.txt"]}"#, "one"),
        ("grep", r#"{"pattern": "on"}"#, "a.txt"),
        ("Grep", r#"{"pattern": "on"}"#, "a.txt"),
        ("grep_search", r#"{"pattern": "on"}"#, "a.txt"),
        ("search_file_content", r#"{"pattern": "on"}"#, "a.txt"),
        ("glob", r#"{"pattern": "*.txt"}"#, "a.txt"),
        ("Glob", r#"{"pattern": "*.txt"}"#, "a.txt"),
        ("list_dir", r#"{}"#, "a.txt"),
        ("LS", r#"{"path": "."}"#, "a.txt"),
        ("list_directory", r#"{"dir_path": "."}"#, "a.txt"),
    ],
    &[
        ("write_file", r#"{"file_path": "w", "content": "1"}"#, "w"),
        ("Write", r#"{"file_path": "W", "content": "1"}"#, "W"),
        ("edit_file", r#"{"file_path": "e1", "old_string": "1", "new_string": "2"}"#, "e1"),
        ("Edit", r#"{"file_path": "e2", "old_string": "1", "new_string": "2"}"#, "has been updated"),
        (
            "replace",
            r#"{"file_path": "e3", "instruction": "i", "old_string": "1", "new_string": "2"}"#,
            "Modified file",
        ),
        ("apply_patch", r#"{"patch": "*** Begin Patch\n*** Add File: p\n+x\n*** End Patch"}"#, "A p"),
        ("apply_patch", r#"{"input": "*** Begin Patch\n*** Add File: q\n+x\n*** End Patch"}"#, "A q"),
    ],
    &[
        ("shell", r#"{"command": "echo one"}"#, "one"),
        ("shell_command", r#"{"command": "echo two"}"#, "two"),
        ("exec_command", r#"{"cmd": "echo three"}"#, "three"),
        ("Bash", r#"{"command": "echo four"}"#, "four"),
        ("run_shell_command", r#"{"command": "echo five"}"#, "five"),
        ("list_background_processes", "{}", "No background processes."),
        ("update_plan", r#"{"steps": [{"step": "a", "status": "pending"}]}"#, ""),
        ("TodoWrite", r#"{"todos": [{"content": "a", "status": "pending"}]}"#, "updated"),
        ("write_todos", r#"{"todos": [{"description": "a", "status": "pending"}]}"#, "[pending] a"),
    ],
];

/// Whether a name is one of the other dialect's. What a profile has itself is its own, and what a profile in our
/// dialect leaves out of our tools is left out.
fn is_alias(profile: &Profile, name: &str) -> bool {
    let ours = profile.dialect() == Dialect::Spec || profile.family() == Family::Compatible;
    profile.tools.get(name).is_none() && !(ours && tools::named(name).is_some())
}

#[tokio::test]
async fn names_of_either_dialect_are_understood_in_both() {
    for family in Family::ALL {
        for dialect in [Dialect::Spec, Dialect::Native] {
            let profile = Profile::of(family).with_dialect(dialect);
            for list in NAMES {
                let calls: Vec<_> =
                    list.iter().filter(|(name, ..)| is_alias(&profile, name)).copied().collect();
                check(profile.clone(), &calls).await;
            }
        }
    }
}

async fn check(profile: Profile, calls: &[(&'static str, &str, &str)]) {
    let line = |(name, args, _): &(&'static str, &str, &str)| {
        Line::Calls(vec![(*name, serde_json::from_str::<Value>(args).unwrap())])
    };
    let lines: Vec<Line> = calls.iter().map(line).chain([Line::Text("Done.")]).collect();
    let which = format!("{} {:?}", profile.id, profile.dialect());
    let model = script(lines);
    let mut scene = Scene::with(Arc::clone(&model) as _, |mut config| {
        (config.profile, config.tools) = (Some(profile), ToolRegistry::default());
        config
    })
    .await;
    scene.write("a.txt", "one\n");
    for name in ["e1", "e2", "e3"] {
        scene.write(name, "1");
    }
    assert_eq!(scene.ask("Go").await.0, EndReason::Done, "{which}");
    let declared = model.requests.lock().unwrap()[0].tools.clone();
    for ((called, _, part), (name, said, failed)) in calls.iter().zip(scene.end().await.tool_ends()) {
        assert!(name == *called && said.contains(part) && !failed, "{which}: {called}: {said}");
        assert!(declared.iter().all(|spec| spec.name != name), "{which}: {name} is understood, not declared");
    }
}

/// A session that lost a tool does not get it back by another name.
#[tokio::test]
async fn what_a_session_has_not_it_has_by_no_name() {
    let calls = ["Bash", "exec_command", "shell", "run_shell_command"];
    let line = |name: &'static str| Line::Calls(vec![(name, json!({"command": "echo x", "cmd": "echo x"}))]);
    let model = script(calls.map(line).into_iter().chain([Line::Text("Done.")]));
    let mut scene = Scene::with(Arc::clone(&model) as _, |mut config| {
        let mut profile = Profile::anthropic();
        profile.tools.unregister("shell");
        (config.profile, config.tools) = (Some(profile), ToolRegistry::default());
        config
    })
    .await;
    scene.ask("Go").await;
    for (name, said, failed) in scene.end().await.tool_ends() {
        assert!(failed && said.contains("there is no tool named"), "{name}: {said}");
    }
}
