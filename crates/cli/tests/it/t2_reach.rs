//! Files that Claude Code reads, read by Claude Code and by us: hooks get the same, commands and skills say the same.

use std::process::{Command, Stdio};

use junto::llm::Wire;
use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::Machine;
use crate::stage::{KEY, SETUPS, Stage};

/// The same files for both: hooks that note what they are told, a command and a skill.
fn furnish(machine: &Machine) {
    let note = json!([{"hooks": [{"type": "command", "command": "cat >> \"$CLAUDE_PROJECT_DIR\"/told; echo >> \"$CLAUDE_PROJECT_DIR\"/told"}]}]);
    let bash = json!([{"matcher": "Bash", "hooks": note[0]["hooks"]}]);
    let hooks = json!({"hooks": {"SessionStart": note, "UserPromptSubmit": note, "PreToolUse": bash, "PostToolUse": bash, "Stop": note}});
    machine.write("project/.claude/settings.json", hooks.to_string());
    let command =
        "---\ndescription: Greets\nargument-hint: [whom]\n---\nGreet $0 kindly, twice: $ARGUMENTS\n";
    machine.write("project/.claude/commands/greet.md", command);
    let skill =
        "---\nname: salute\ndescription: Salutes in an old way. Use when: a senator comes.\n---\nSay Ave.\n";
    machine.write("project/.claude/skills/salute/SKILL.md", skill);
}

fn play() -> Play {
    Play::of([
        Step::call("Bash", json!({"command": "echo hi"})),
        Step { times: Some(9), ..Step::text("Greeted.") },
    ])
}

fn told(machine: &Machine) -> Vec<Value> {
    let text = std::fs::read_to_string(machine.path("project/told")).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What both must agree on, of each thing that hooks were told.
fn facts(told: &[Value]) -> Vec<Value> {
    let keys =
        ["hook_event_name", "tool_name", "source", "prompt", "stop_hook_active", "last_assistant_message"];
    told.iter()
        .map(|told| {
            let mut facts: serde_json::Map<String, Value> =
                keys.iter().filter_map(|key| Some(((*key).to_owned(), told.get(*key)?.clone()))).collect();
            facts.insert("command".to_owned(), told["tool_input"]["command"].clone());
            facts.insert("stdout".to_owned(), told["tool_response"]["stdout"].clone());
            Value::Object(facts)
        })
        .collect()
}

#[test]
fn hooks_commands_and_skills_of_claude_code_load_unchanged() {
    let program = std::env::var("JUNTO_PEER_CLAUDE")
        .unwrap_or_else(|_| panic!("JUNTO_PEER_CLAUDE is not set: run the tests with `cargo xtask test`"));
    let theirs = Stage::new(&SETUPS[0], play());
    furnish(&theirs.machine);
    let mut command = Command::new(program);
    command.args(["-p", "--permission-mode", "bypassPermissions", "/greet Cato"]).stdin(Stdio::null());
    command.current_dir(theirs.machine.path("project")).env_clear().env("HOME", theirs.machine.path(""));
    command.env("PATH", std::env::var("PATH").unwrap()).env("IS_SANDBOX", "1");
    command.env("ANTHROPIC_BASE_URL", theirs.base_url(Wire::Anthropic)).env("ANTHROPIC_API_KEY", KEY);
    for off in ["DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] {
        command.env(off, "1");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let ours = Stage::new(&SETUPS[0], play());
    furnish(&ours.machine);
    ours.machine.run(&["trust", "--yes"]).ok();
    let run = ours.machine.run(&["run", "--dialect", "native", "/greet Cato"]);
    assert_eq!(run.code, Some(0), "{run:#?}");

    let (theirs_told, ours_told) = (told(&theirs.machine), told(&ours.machine));
    assert_eq!(facts(&ours_told), facts(&theirs_told), "{ours_told:#?}\n{theirs_told:#?}");
    for (ours, theirs) in ours_told.iter().zip(&theirs_told) {
        for key in ["session_id", "transcript_path", "cwd", "hook_event_name"] {
            assert!(ours[key].is_string() && theirs[key].is_string(), "{key}: {ours}\n{theirs}");
        }
    }
    for stage in [&theirs, &ours] {
        let said: String = stage.requests().iter().map(|request| request.body.to_string()).collect();
        assert!(said.contains("Greet Cato kindly, twice: Cato"), "{said}");
        assert!(said.contains("Salutes in an old way. Use when: a senator comes."), "{said}");
    }
}
