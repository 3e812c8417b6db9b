//! Hooks: the user's programs around what agents do.

use std::fs;

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::Machine;
use crate::stage::{KEY, SETUPS, Stage, on_every_wire};

/// A hooks file with one hook.
pub(crate) fn hook(event: &str, matcher: &str, command: &str) -> String {
    json!({"hooks": {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]}})
        .to_string()
}

/// The hooks of the user.
pub(crate) fn install(machine: &Machine, hooks: &str) {
    machine.write(".config/junto/hooks.json", hooks);
}

/// What hooks were told, one after another: each wrote its input into this file.
fn told(machine: &Machine, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(machine.path(file)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_hook_blocks_a_tool_and_the_model_reads_why() {
    on_every_wire(
        || Play::of([Step::call("shell", json!({"command": "touch made"})), Step::text("{{last_result}}")]),
        |setup, stage| {
            install(
                &stage.machine,
                &hook("PreToolUse", "Bash", "cat >> \"$HOME/told\"; echo 'not on Sundays' >&2; exit 2"),
            );
            let run = stage.machine.run(&["run", "Work."]);
            assert!(run.out.contains("not allowed: not on Sundays"), "{}: {run:#?}", setup.provider);
            assert!(!stage.machine.path("project/made").exists());
            let [told] = &told(&stage.machine, "told")[..] else { panic!("{run:#?}") };
            let project = crate::text(&stage.machine.path("project"));
            for (key, value) in [
                ("hook_event_name", json!("PreToolUse")),
                ("tool_name", json!("Bash")),
                ("tool_input", json!({"command": "touch made"})),
                ("cwd", json!(project)),
                ("permission_mode", json!("acceptEdits")),
            ] {
                assert_eq!(told[key], value, "{told}");
            }
            assert!(fs::metadata(told["transcript_path"].as_str().unwrap()).is_ok(), "{told}");
            assert!(
                !told["session_id"].as_str().unwrap().is_empty() && !told["tool_use_id"].is_null(),
                "{told}"
            );
        },
    );
}

/// Whatever tool a profile has for it, a hook that watches over files sees each of them.
#[test]
fn a_patch_is_an_edit_of_each_file() {
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+a\n*** Add File: b.txt\n+b\n*** End Patch\n";
    let play = Play::of([Step::call("apply_patch", json!({"patch": patch})), Step::text("{{last_result}}")]);
    let stage = Stage::new(&SETUPS[1], play);
    let command = "grep -q b.txt && { echo 'b.txt is not yours' >&2; exit 2; }; exit 0";
    install(&stage.machine, &hook("PreToolUse", "Edit|Write", command));
    let run = stage.machine.run(&["run", "--tool", "apply_patch", "Work."]);
    assert!(run.out.contains("b.txt is not yours"), "{run:#?}");
    assert!(!stage.machine.path("project/a.txt").exists());
}

#[test]
fn a_whole_session_is_watched_over() {
    let stage = Stage::on_any_wire(Play::of([
        Step::call("shell", json!({"command": "echo done"})),
        Step::text("I stop."),
        Step::text("Now I stop."),
    ]));
    let say = |text: &str| json!([{"hooks": [{"type": "command", "command": format!("cat >> \"$HOME/told\"; {text}")}]}]);
    let more = |event: &str, text: &str| {
        let said = json!({"systemMessage": format!("hello from {event}"),
            "hookSpecificOutput": {"hookEventName": event, "additionalContext": text}});
        format!("echo '{said}'")
    };
    let stop =
        "grep -q '\"stop_hook_active\":true' \"$HOME/told\" || { echo 'run the tests first' >&2; exit 2; }";
    let hooks = json!({"hooks": {
        "SessionStart": say("echo 'the build is red'"),
        "UserPromptSubmit": say(&more("UserPromptSubmit", "it is Sunday")),
        "PreToolUse": say(&more("PreToolUse", "take care")),
        "PostToolUse": say(&more("PostToolUse", "well done")),
        "Stop": say(stop),
        "SessionEnd": say("exit 0"),
        "Notification": say("exit 0"),
    }});
    install(&stage.machine, &hooks.to_string());
    let run = stage.machine.run(&["run", "Work."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.out.contains("Now I stop."), "{run:#?}");
    let told = told(&stage.machine, "told");
    let names: Vec<&str> = told.iter().map(|told| told["hook_event_name"].as_str().unwrap()).collect();
    let expected =
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Stop", "SessionEnd"];
    assert_eq!(names, expected);
    assert_eq!((&told[0]["source"], &told[1]["prompt"]), (&json!("startup"), &json!("Work.")));
    assert_eq!(
        told[3]["tool_response"]["stdout"].as_str().map(|out| out.contains("done")),
        Some(true),
        "{}",
        told[3]
    );
    assert_eq!((&told[4]["stop_hook_active"], &told[5]["stop_hook_active"]), (&json!(false), &json!(true)));
    assert_eq!(told[4]["last_assistant_message"], json!("I stop."));

    let requests = stage.requests();
    let system = requests[0].body["system"].to_string();
    assert!(system.contains("# Context\\n\\nthe build is red"), "{system}");
    assert!(requests[0].body["messages"].to_string().contains("it is Sunday"));
    let after = requests[1].body["messages"].to_string();
    assert!(after.contains("take care") && after.contains("well done"), "{after}");
    assert!(requests[2].body["messages"].to_string().contains("run the tests first"));
    assert!(run.err.contains("hello from PostToolUse"), "{run:#?}");

    // Brought back, it has everything that was said, and what the hook says now.
    stage.machine.run(&["resume", "latest", "Go on."]).ok();
    let last = stage.requests().last().unwrap().body.to_string();
    for said in ["it is Sunday", "well done", "run the tests first"] {
        assert!(last.contains(said), "no {said} in {last}");
    }
    assert_eq!(last.matches("the build is red").count(), 2, "{last}");
    let told = crate::t1_hooks::told(&stage.machine, "told");
    assert_eq!(told[7]["source"], json!("resume"));
}

#[test]
fn an_input_can_be_refused() {
    let stage = Stage::on_any_wire(Play::text("Done."));
    install(&stage.machine, &hook("UserPromptSubmit", "", "echo 'no secrets here' >&2; exit 2"));
    let run = stage.machine.run(&["run", "The key is 123."]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.err.contains("a hook refused the input: no secrets here"), "{run:#?}");
    assert!(stage.requests().is_empty());
}

/// What a hook starts does not outlive it, and a hook that hangs is ended at its time and does not count.
#[test]
fn a_hook_that_hangs_is_ended_with_all_it_started() {
    let stage = Stage::on_any_wire(Play::of([
        Step::call("shell", json!({"command": "touch made"})),
        Step::text("Done."),
    ]));
    let command = "sleep 600 & echo $! > \"$HOME/pid\"; setsid sleep 600 & echo $! >> \"$HOME/pid\"; wait";
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command, "timeout": 0.5}]}]}});
    install(&stage.machine, &hooks.to_string());
    let run = stage.machine.run(&["run", "Work."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.err.contains("hooks.json:1 was ended after 0.5 seconds"), "{run:#?}");
    assert!(stage.machine.path("project/made").exists());
    let pids = fs::read_to_string(stage.machine.path("pid")).unwrap();
    assert_eq!(pids.lines().count(), 2, "{pids}");
    for pid in pids.lines() {
        let state = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        assert!(state.is_empty() || state.contains("State:\tZ"), "{pid} lives: {state}");
    }
}

/// Hooks that fail or make no sense are told, and stop nothing.
#[test]
fn a_broken_hook_is_named_and_passed_over() {
    let stage = Stage::on_any_wire(Play::of([
        Step::call("shell", json!({"command": "touch made"})),
        Step::text("Done."),
    ]));
    let hooks = "{\"hooks\": {\"PreToolUse\": [\n{\"matcher\": \"(\", \"hooks\": []},\n\
                 {\"hooks\": [{\"type\": \"http\", \"url\": \"x\"},\n\
                 {\"type\": \"command\", \"command\": \"echo oh no >&2; exit 1\"}]}]}}";
    install(&stage.machine, hooks);
    let run = stage.machine.run(&["run", "Work."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    for said in [
        "hooks.json:2: the matcher",
        "hooks.json:3: hooks of the type `http`",
        "hooks.json:4 failed (exit 1): oh no",
    ] {
        assert!(run.err.contains(said), "no {said} in {run:#?}");
    }
    assert!(stage.machine.path("project/made").exists());
    let listed = stage.machine.run(&["hooks"]);
    assert!(listed.out.contains("PreToolUse\n    echo oh no"), "{listed:#?}");
}

#[test]
fn a_hook_gives_leave_or_wants_somebody_asked() {
    let say = |decision: &str| {
        let said = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
            "permissionDecisionReason": "says the hook"}});
        hook("PreToolUse", "Write", &format!("echo '{said}'"))
    };
    for (decision, flags, made) in [
        ("allow", &["--policy", "ask"][..], true),
        ("ask", &["--policy", "full"], false),
        ("deny", &["--policy", "full"], false),
        // What the policy denies stays denied.
        ("allow", &["--policy", "read-only", "--sandbox", "off"], false),
    ] {
        let stage = Stage::on_any_wire(Play::of([
            Step::call("write_file", json!({"file_path": "made", "content": "x"})),
            Step::text("{{last_result}}"),
        ]));
        install(&stage.machine, &say(decision));
        let run = stage.machine.run(&[&["run"], flags, &["Work."]].concat());
        assert_eq!(stage.machine.path("project/made").exists(), made, "{decision} {flags:?}: {run:#?}");
        if !made && decision != "allow" {
            assert!(run.out.contains("says the hook"), "{decision}: {run:#?}");
        }
    }
}

/// Agents can change what a project's hooks run: such a hook can refuse, and not give leave.
#[test]
fn a_hook_of_a_project_gives_no_leave() {
    let said = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}});
    let stage = Stage::on_any_wire(Play::of([
        Step::call("write_file", json!({"file_path": "made", "content": "x"})),
        Step::text("{{last_result}}"),
    ]));
    let machine = &stage.machine;
    machine.write("project/.claude/settings.json", hook("PreToolUse", "Write", &format!("echo '{said}'")));
    machine.run(&["trust", "--yes"]);
    let run = machine.run(&["run", "--policy", "ask", "Work."]);
    assert!(!machine.path("project/made").exists(), "{run:#?}");
    assert!(run.err.contains("gives leave, which only hooks of yours can"), "{run:#?}");
}

/// A project's hooks run after trust, stay in the sandbox, and see no keys; a changed program asks again.
#[test]
fn hooks_of_a_project_run_only_after_trust_and_where_its_commands_run() {
    let stage = Stage::on_any_wire(Play::of([Step { times: Some(9), ..Step::text("Done.") }]));
    let machine = &stage.machine;
    machine.write(
        "project/.claude/settings.json",
        hook("SessionStart", "startup", "sh \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/start.sh"),
    );
    machine.write(
        "project/.claude/hooks/start.sh",
        "env > seen; touch /usr/local/share/junto-hook-never; echo from the project\n",
    );
    let run = machine.run(&["run", "Work."]);
    assert!(run.err.contains("brings (hooks) is not in force"), "{run:#?}");
    assert!(!machine.path("project/seen").exists());

    let shown = machine.run(&["trust", "--yes"]);
    assert!(shown.err.contains("+ hook SessionStart startup: sh \"$CLAUDE_PROJECT_DIR\""), "{shown:#?}");
    machine.run(&["run", "Work."]).ok();
    let seen = fs::read_to_string(machine.path("project/seen")).unwrap();
    assert!(seen.contains("JUNTO_PROJECT_DIR=") && !seen.contains(KEY), "{seen}");
    assert!(!std::path::Path::new("/usr/local/share/junto-hook-never").exists(), "it left the sandbox");
    assert!(stage.requests().last().unwrap().body["system"].to_string().contains("from the project"));

    fs::remove_file(machine.path("project/seen")).unwrap();
    machine.write("project/.claude/hooks/start.sh", "touch seen\n");
    let run = machine.run(&["run", "Work."]);
    assert!(run.err.contains("has changed since it was trusted"), "{run:#?}");
    assert!(!machine.path("project/seen").exists());
}

/// Children are watched over like their parent, and hooks know whose call it is. What is said to a child is its parent's,
/// so nothing is included.
#[test]
fn children_are_watched_over() {
    let stage = Stage::on_any_wire(Play::of([
        Step::call("spawn_agent", json!({"task": "Make it as in @plan.md", "wait": true})),
        Step::call("shell", json!({"command": "touch made"})),
        Step::text("I was told: {{last_result}}"),
        Step::text("The child says: {{last_result}}"),
    ]));
    stage.machine.write("project/plan.md", "a plan with seventeen steps");
    stage.machine.write("project/.agents/skills/greet/SKILL.md", "Say Salve.\n");
    let note = |event: &str, matcher: &str, rest: &str| json!({event: [{"matcher": matcher, "hooks": [{"command": format!("cat >> \"$HOME/told\"{rest}")}]}]});
    let mut hooks = note("PreToolUse", "Bash", "; echo 'not you' >&2; exit 2");
    for event in ["SessionStart", "SubagentStop", "Stop"] {
        hooks[event] = note(event, "", "")[event].clone();
    }
    install(&stage.machine, &json!({"hooks": hooks}).to_string());
    let run = stage.machine.run(&["run", "Work."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.out.contains("not you"), "{run:#?}");
    assert!(!stage.machine.path("project/made").exists());
    let told = told(&stage.machine, "told");
    let seen: Vec<_> = told
        .iter()
        .map(|told| (told["hook_event_name"].as_str().unwrap(), told["agent_id"].is_string()))
        .collect();
    assert_eq!(
        seen,
        [("SessionStart", false), ("PreToolUse", true), ("SubagentStop", true), ("Stop", false)]
    );
    let child = stage.requests()[1].body.to_string();
    assert!(child.contains("as in @plan.md") && !child.contains("seventeen steps"), "{child}");
    assert!(child.contains("- greet: Say Salve."), "{child}");
}

/// `continue: false` ends the turn, whatever else is said: the user reads why, and the model is not asked again.
#[test]
fn a_hook_can_end_the_turn() {
    let said =
        r#"echo '{"continue": false, "stopReason": "it is late", "decision": "block", "reason": "go on"}'"#;
    for (event, made, requests, code) in
        [("PreToolUse", false, 1, Some(5)), ("PostToolUse", true, 1, Some(5)), ("Stop", true, 2, Some(0))]
    {
        let stage = Stage::on_any_wire(Play::of([
            Step::call("shell", json!({"command": "touch made"})),
            Step { times: Some(9), ..Step::text("Done.") },
        ]));
        install(&stage.machine, &hook(event, "", said));
        let run = stage.machine.run(&["run", "Work."]);
        assert_eq!((run.code, stage.requests().len()), (code, requests), "{event}: {run:#?}");
        assert_eq!(stage.machine.path("project/made").exists(), made, "{event}");
        if event != "Stop" {
            assert!(run.err.contains("a hook ended the turn: it is late"), "{event}: {run:#?}");
        }
        // What was ended can go on.
        fs::remove_file(stage.machine.path(".config/junto/hooks.json")).unwrap();
        assert!(stage.machine.run(&["resume", "latest", "Go on."]).ok().contains("Done."), "{event}");
    }
    let stage = Stage::on_any_wire(Play::text("Done."));
    install(&stage.machine, &hook("UserPromptSubmit", "", said));
    let run = stage.machine.run(&["run", "Work."]);
    assert!(run.err.contains("it is late") && stage.requests().is_empty(), "{run:#?}");
}
