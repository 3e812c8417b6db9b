//! `junto run` as a person at a terminal sees it.

use std::fs;

use junto::twin::{Play, Step};
use serde_json::json;

use crate::Machine;
use crate::stage::{SETUPS, Setup, Stage};
use crate::terminal::Terminal;

const ANTHROPIC: &Setup = &SETUPS[0];

fn stage(steps: impl Into<Vec<Step>>) -> Stage {
    Stage::new(ANTHROPIC, Play::of(steps))
}

fn shell(command: &str) -> Step {
    Step::call("shell", json!({"command": command}))
}

/// Runs a task on a terminal of 80 columns to its end.
#[track_caller]
fn run(machine: &Machine, flags: &[&str]) -> (Option<i32>, String, String) {
    Terminal::start(machine, 80, &[&["run"], flags, &["Work."]].concat()).end()
}

#[track_caller]
fn assert_shown(screen: &str, lines: &[&str]) {
    for line in lines {
        assert!(screen.contains(line), "no {line:?} on\n{screen}");
    }
}

const ANSWER: &str =
    "# What I did\n\nIt **works** now, see `sum.sh`:\n\n- first\n- second\n\n```sh\necho done\n```\n";

#[test]
fn answers_are_rendered_while_they_come() {
    // Small pieces, so that they end everywhere.
    let stage = stage([Step { chunk: Some(3), ..Step::text(ANSWER) }]);
    let (code, screen, raw) = run(&stage.machine, &[]);
    assert_eq!(code, Some(0), "{screen}");
    assert_shown(
        &screen,
        &["\nWhat I did\n\nIt works now, see sum.sh:\n\n• first\n• second\n\n  echo done\n"],
    );
    assert!(!screen.contains("**") && !screen.contains("```"), "{screen}");
    assert!(raw.contains("\u{1b}[1mworks\u{1b}[0m"), "{raw:?}");
}

#[test]
fn tool_calls_are_a_line_each_with_what_they_changed() {
    let edit = json!({"file_path": "a.txt", "old_string": "one\ntwo", "new_string": "one\nthree"});
    let stage = stage([
        shell("echo all is well"),
        Step::call("edit_file", edit),
        shell("echo it broke; exit 3"),
        Step::text("Done."),
    ]);
    stage.machine.write("project/a.txt", "one\ntwo\n");
    let (code, screen, raw) = run(&stage.machine, &[]);
    assert_eq!(code, Some(0), "{screen}");
    assert_shown(&screen, &["✓ shell echo all is well · 0.", " s · all is well\n", "✓ edit_file a.txt · 0."]);
    assert_shown(
        &screen,
        &["\n    - two\n    + three\n", "✗ shell echo it broke; exit 3 · 0.", "    it broke\n"],
    );
    assert_shown(&screen, &["\nDone.\n", "anthropic/claude-opus-5-5 · 3 rounds · in "]);
    assert!(
        raw.contains("\u{1b}[31m- two\u{1b}[0m") && raw.contains("\u{1b}[32m+ three\u{1b}[0m"),
        "{raw:?}"
    );
    assert_eq!(fs::read_to_string(stage.machine.path("project/a.txt")).unwrap(), "one\nthree\n");
}

#[test]
fn what_is_under_way_is_shown_and_then_gone() {
    let stage = stage([shell("mkfifo pipe; cat pipe"), Step::text("Done.")]);
    let mut terminal = Terminal::start(&stage.machine, 60, &["run", "Work."]);
    terminal.wait_for(" shell mkfifo pipe; cat pipe · 1 s");
    fs::write(stage.machine.path("project/pipe"), "let through\n").unwrap();
    let (code, screen, raw) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    let turns = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
    assert!(turns.iter().filter(|turn| raw.contains(**turn)).count() > 3, "it turned: {raw:?}");
    assert!(turns.iter().all(|turn| !screen.contains(turn)), "{screen}");
    assert_shown(&screen, &["✓ shell mkfifo pipe; cat pipe · ", "· let through\nDone.\n"]);
}

#[test]
fn the_plan_is_a_checklist() {
    let step = |step: &str, status: &str| json!({"step": step, "status": status});
    let steps = [step("look", "completed"), step("mend", "in_progress"), step("test", "pending")];
    let stage = stage([Step::call("update_plan", json!({"steps": steps})), Step::text("Done.")]);
    let (code, screen, _) = run(&stage.machine, &[]);
    assert_eq!(code, Some(0), "{screen}");
    assert_shown(&screen, &["☑ look\n▸ mend\n☐ test\n"]);
    assert!(!screen.contains("update_plan"), "{screen}");
}

#[test]
fn nothing_that_a_model_or_a_tool_says_drives_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}";
    let stage = stage([
        shell("printf 'said \\033]0;owned\\007\\n'"),
        shell("printf 'broke \\033[2J\\n'; exit 1"),
        Step::text(format!("Answer {evil}\n")),
    ]);
    // The screen knows no such sequence, and would panic.
    let (code, screen, raw) = run(&stage.machine, &[]);
    assert_eq!(code, Some(0), "{screen}");
    assert_shown(
        &screen,
        &["said \u{fffd}]0;owned\u{fffd}", "broke \u{fffd}[2J", "Answer \u{fffd}]0;owned\u{fffd}"],
    );
    assert!(!raw.contains("\u{1b}]") && !raw.contains('\u{7}') && !raw.contains('\u{202e}'), "{raw:?}");
}

#[test]
fn colours_can_be_left_out() {
    let steps = || [shell("echo hello"), Step::text("It **works**.")];
    let check = |variable: Option<(&str, &str)>, flags: &[&str], moves: bool| {
        let mut stage = stage(steps());
        if let Some((name, value)) = variable {
            stage.machine = stage.machine.with(name, value);
        }
        let (code, screen, raw) = run(&stage.machine, flags);
        assert_eq!(code, Some(0), "{screen}");
        // Without styles the marks stay: they are all there is.
        assert_shown(&screen, &["hello", "It **works**.\n"]);
        assert!(!raw.contains("\u{1b}[0m"), "{raw:?}");
        assert_eq!(raw.contains('\u{1b}'), moves, "{raw:?}");
    };
    check(Some(("NO_COLOR", "1")), &[], true);
    check(None, &["--color", "never"], true);
    check(Some(("TERM", "dumb")), &[], false);
}

#[test]
fn lines_fit_the_terminal() {
    let long = "word ".repeat(30);
    let play = || stage([shell(&format!("echo {long}; : {long}")), Step::text(long.clone())]);
    let (code, screen, raw) = Terminal::start(&play().machine, 40, &["run", "-q", "Work."]).end();
    assert_eq!(code, Some(0), "{screen}");
    // Eight words of five columns, without the last space.
    assert_eq!(screen.lines().next(), Some("word word word word word word word word"), "{screen}");
    assert!(!raw.contains("shell"), "it was told to be quiet: {raw:?}");
    let (_, screen, _) = Terminal::start(&play().machine, 40, &["run", "Work."]).end();
    let shell = screen.lines().find(|line| line.contains("✓ shell")).unwrap_or_else(|| panic!("{screen}"));
    assert!(shell.chars().count() <= 40 && shell.contains('…'), "{screen}");
}

#[test]
fn a_person_is_asked_for_leave() {
    let check = |keys: &[&str], code: i32, made: bool| {
        let stage = stage([shell("touch made.txt"), Step::text("Done.")]);
        let mut terminal = Terminal::start(&stage.machine, 80, &["run", "--ask", "Work."]);
        for (index, key) in keys.iter().enumerate() {
            terminal.wait_for(if index == 0 { "Allow? [y/s/a/n]" } else { "Please answer y, s, a or n." });
            terminal.keys(key);
        }
        let (ended, screen, _) = terminal.end();
        assert_eq!(ended, Some(code), "{screen}");
        assert_eq!(stage.machine.path("project/made.txt").exists(), made, "{screen}");
    };
    check(&["y\n"], 0, true);
    check(&["n\n"], 5, false);
    // Nobody answers any more, and the model goes on without leave.
    check(&["\u{4}"], 0, false);
    check(&["perhaps\n", "yes\n"], 0, true);
    // The model is told why, and goes on.
    check(&["n not today\n"], 0, false);
}

#[test]
fn a_person_sees_exactly_what_would_happen() {
    let stage = stage([shell("touch made.txt # \u{1b}[2J\u{202e}"), Step::text("Done.")]);
    let mut terminal = Terminal::start(&stage.machine, 200, &["run", "--policy", "ask", "Work."]);
    terminal.wait_for("Allow? [y/s/a/n]");
    terminal.keys("y\n");
    let (code, screen, raw) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    let folder = crate::text(&stage.machine.path("project"));
    assert_shown(&screen, &["    run: touch made.txt # ␛[2J⟨U+202E⟩\n", &format!("    in: {folder}\n")]);
    assert!(!raw.contains('\u{202e}'), "{raw:?}");
}

#[test]
fn a_rule_holds_for_the_session() {
    let stage = stage([shell("touch one.txt"), shell("touch two.txt"), Step::text("Done.")]);
    let mut terminal = Terminal::start(&stage.machine, 120, &["run", "--policy", "ask", "Work."]);
    terminal.wait_for("Allow? [y/s/a/n]");
    terminal.keys("s\n");
    terminal.wait_for("The rule that holds for this session:");
    terminal.keys("nonsense\n");
    terminal.wait_for("is no rule");
    terminal.keys("allow command \"touch *\"\n");
    let (code, screen, _) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("The agent wants to use shell").count(), 1, "{screen}");
    assert!(stage.machine.path("project/one.txt").exists() && stage.machine.path("project/two.txt").exists());
    // It is not in the configuration, and is remembered when the session goes on.
    let config = fs::read_to_string(stage.machine.path(".config/junto/config.toml")).unwrap();
    assert!(!config.contains("touch"), "{config}");
}

#[test]
fn a_rule_is_kept_for_good() {
    let run = |stage: &Stage| {
        let mut terminal = Terminal::start(&stage.machine, 120, &["run", "--policy", "ask", "Work."]);
        terminal.wait_for("Allow? [y/s/a/n]");
        terminal.keys("a\n");
        terminal.wait_for("The rule that holds always");
        terminal.keys("\n");
        terminal.end()
    };
    let stage = stage([shell("touch one.txt"), Step::text("Done.")]);
    let config = stage.machine.path(".config/junto/config.toml");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("# mine\n{before}")).unwrap();
    let (code, screen, _) = run(&stage);
    assert_eq!(code, Some(0), "{screen}");
    let after = fs::read_to_string(&config).unwrap();
    assert!(after.starts_with(&format!("# mine\n{before}")), "{after}");
    assert!(
        after.contains("[[policy.rule]]\nwrite = \"") && after.contains("decision = \"allow\""),
        "{after}"
    );
    stage.machine.run(&["config", "validate"]).ok();
}

#[test]
fn a_question_is_withdrawn_when_its_time_is_up() {
    let stage = stage([shell("touch made.txt"), Step::text("Then not.")]);
    let flags = ["run", "--policy", "ask", "--approval-timeout", "300ms", "Work."];
    let (code, screen, _) = Terminal::start(&stage.machine, 80, &flags).end();
    assert_eq!(code, Some(0), "{screen}");
    assert_shown(&screen, &["Allow? [y/s/a/n]", "Then not."]);
    assert!(!stage.machine.path("project/made.txt").exists());
}

#[test]
fn a_person_is_asked_what_the_model_wants_to_know() {
    let ask = Step::call("ask_user", json!({"question": "Which colour?", "choices": ["red", "blue"]}));
    let stage = stage([ask, Step::text("You said: {{last_result}}")]);
    let mut terminal = Terminal::start(&stage.machine, 80, &["run", "Work."]);
    terminal.wait_for("The agent asks: Which colour?\n    1. red\n    2. blue\nAnswer (a number,");
    terminal.keys("2\n");
    let (code, screen, _) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_shown(&screen, &["You said: blue"]);
}

/// A command that ends only if somebody ends it.
fn endless() -> Step {
    Step::call("shell", json!({"command": "echo up; sleep 600", "timeout_ms": 600_000}))
}

#[test]
fn ctrl_c_interrupts() {
    let stage = stage([endless(), Step::text("Never said.")]);
    let mut terminal = Terminal::start(&stage.machine, 80, &["run", "Work."]);
    terminal.wait_for(" shell echo up; sleep 600");
    terminal.keys("\u{3}");
    let (code, screen, _) = terminal.end();
    assert_eq!(code, Some(130), "{screen}");
    assert_shown(&screen, &["Ctrl-C again aborts at once", "1 round · in ", "error: interrupted"]);
    assert!(!screen.contains("Never said"), "{screen}");
}

#[test]
fn ctrl_c_ends_a_question() {
    let stage = stage([shell("touch made.txt"), Step::text("Never said.")]);
    let mut terminal = Terminal::start(&stage.machine, 80, &["run", "--ask", "Work."]);
    terminal.wait_for("Allow? [y/s/a/n]");
    terminal.keys("\u{3}");
    let (code, screen, _) = terminal.end();
    assert_eq!(code, Some(130), "{screen}");
    assert_eq!(screen.matches("Allow? [y/s/a/n]").count(), 1, "{screen}");
    assert!(!stage.machine.path("project/made.txt").exists() && !screen.contains("Never said"), "{screen}");
}

#[test]
fn ctrl_c_twice_aborts() {
    // It ignores being asked to end.
    let stubborn = "trap '' TERM INT HUP; echo up; while :; do sleep 600; done";
    let stage = stage([Step::call("shell", json!({"command": stubborn, "timeout_ms": 600_000}))]);
    let mut terminal = Terminal::start(&stage.machine, 80, &["run", "Work."]);
    terminal.wait_for(" shell trap");
    terminal.keys("\u{3}");
    terminal.wait_for("Ctrl-C again aborts at once");
    terminal.keys("\u{3}");
    let (code, screen, _) = terminal.end();
    assert_eq!(code, Some(130), "{screen}");
    assert_shown(&screen, &["error: interrupted"]);
    assert!(!screen.contains("round"), "it did not wait for the end: {screen}");
}

#[test]
fn children_are_set_in_and_named() {
    let spawn = Step::call("spawn_agent", json!({"task": "Look inside.", "wait": true}));
    let stage = stage([spawn, shell("echo inside"), Step::text("It is dark."), Step::text("Done.")]);
    let (code, screen, _) = run(&stage.machine, &[]);
    assert_eq!(code, Some(0), "{screen}");
    assert_shown(&screen, &["\n↳ agent-1 native Look inside.\n", "\n  agent-1 ✓ shell echo inside · 0."]);
    assert_shown(&screen, &["\n✓ spawn_agent Look inside. · ", "\nDone.\n"]);
    assert!(!screen.contains("It is dark."), "a child answers its parent: {screen}");
}
