//! `junto council` and `junto apply`: agents in checkouts, and tests that decide.

use std::fs;
use std::process::Command;

use junto::twin::{Play, Step, When};
use serde_json::{Value, json};

use crate::stage::{SETUPS, Stage};
use crate::terminal::Terminal;
use crate::{CLAUDE, Machine, Run, text, usual_path};

/// Agents of the command line that do one thing each.
const CONFIG: &str = r#"
[runners.right]
like = "claude"
command = ["right"]
[runners.wrong]
like = "claude"
command = ["wrong"]
[runners.cheat]
like = "claude"
command = ["cheat"]
[runners.slow]
like = "claude"
command = ["slow"]
[contests.pair]
agents = ["wrong", "right"]
oracle = "sh check.sh"
"#;

/// A machine with a project whose check fails, and agents that know what to do about it, or do not.
pub(crate) fn machine() -> Machine {
    let machine = Machine::configured(CONFIG);
    let (first, rest) = CLAUDE.split_once('\n').unwrap();
    let doing = [
        ("right", "echo 42 >answer"),
        ("wrong", "echo 43 >answer; echo more >notes"),
        ("cheat", "echo true >check.sh"),
    ];
    for (name, line) in doing {
        machine.program(&format!("bin/{name}"), &format!("{first}\n{line}\n{rest}"));
    }
    machine.write("project/answer", "41\n");
    machine.write("project/check.sh", "test \"$(cat answer)\" = 42\n");
    git(&machine, &["init", "--quiet", "--initial-branch=trunk"]);
    git(&machine, &["add", "--all"]);
    git(&machine, &["commit", "--quiet", "-m", "The beginning"]);
    let path = format!("{}:{}", text(&machine.path("bin")), usual_path());
    machine.write(".gitconfig", "[user]\nname = user\nemail = user@localhost\n");
    machine.with("PATH", &path)
}

pub(crate) fn git(machine: &Machine, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(args).current_dir(machine.path("project")).env_clear().env("PATH", usual_path());
    for who in ["GIT_AUTHOR", "GIT_COMMITTER"] {
        command.env(format!("{who}_NAME"), "user").env(format!("{who}_EMAIL"), "user@localhost");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn council(machine: &Machine, flags: &[&str]) -> Run {
    machine.run(&[&["council", "Make it right.", "--policy", "full"], flags].concat())
}

#[test]
fn the_one_that_passes_wins_and_is_applied_when_somebody_says_so() {
    let machine = machine();
    let before = [git(&machine, &["for-each-ref"]), git(&machine, &["status", "--porcelain"])];
    let run = council(&machine, &["--agents", "wrong,right", "--oracle", "sh check.sh"]);
    for part in ["base fails: exit 1 (test)", "1. wrong", "2. right"] {
        assert!(run.err.contains(part), "no {part:?} in {run:#?}");
    }
    let said = run.ok();
    for part in
        ["1. wrong: fails: exit 1 (test) · 2 files", "2. right: passes · 1 file, +1 −1 ← winner", "M answer"]
    {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    assert_eq!(before, [git(&machine, &["for-each-ref"]), git(&machine, &["status", "--porcelain"])]);
    assert_eq!(fs::read_to_string(machine.path("project/answer")).unwrap(), "41\n");
    let contests = machine.path(".local/state/junto/contests");
    let run = fs::read_dir(&contests).unwrap().next().unwrap().unwrap();
    assert!(!run.path().join("work").exists());
    let run = run.file_name().into_string().unwrap();

    assert!(machine.run(&["apply", "latest", "--show"]).ok().contains("-41\n+42\n"));
    assert!(machine.run(&["apply", &run, "1", "--show"]).ok().contains("+more\n"));
    let elsewhere = machine.run(&["apply", "latest", "--show", "-C", ".."]);
    elsewhere.fails(2, &["no run of a council of agents was kept for"]);
    machine.run(&["apply", "nope"]).fails(2, &["there is no run \"nope\""]);
    machine.run(&["apply", &run, "9"]).fails(2, &["no candidate 9"]);
    machine.write("project/answer", "mine\n");
    machine.run(&["apply", &run]).fails(1, &["changes that are in no commit"]);
    git(&machine, &["checkout", "--quiet", "answer"]);
    let branch = machine.run(&["apply", &run[..20]]).ok();
    assert_eq!(git(&machine, &["branch", "--show-current"]), branch);
    assert_eq!(fs::read_to_string(machine.path("project/answer")).unwrap(), "42\n");
}

#[test]
fn json_has_everything_and_apply_may_come_at_once() {
    let machine = machine();
    let run = council(&machine, &["--name", "pair", "-n", "3", "--json", "--apply", "--quiet"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let line = run.out.lines().next().unwrap();
    let record: Value = serde_json::from_str(line).unwrap();
    assert_eq!(record["winner"], 2);
    assert_eq!(record["candidates"].as_array().unwrap().len(), 3);
    assert_eq!(record["candidates"][0]["verdict"]["proof"]["proof"], "failed");
    assert_eq!(record["candidates"][1]["cost"]["basis"], "reported");
    assert_eq!(git(&machine, &["branch", "--show-current"]).trim(), run.out.lines().nth(1).unwrap());
}

#[test]
fn who_cheats_is_marked_and_not_applied_by_itself_and_nobody_may_win() {
    let machine = machine();
    let run = council(&machine, &["--agents", "cheat", "--oracle", "sh check.sh", "--apply"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.out.contains("changes what it is checked by (check.sh)"), "{run:#?}");
    assert!(run.err.contains("not applied by itself"), "{run:#?}");
    assert_eq!(git(&machine, &["branch", "--list"]).trim(), "* trunk");
    let run = council(&machine, &["--agents", "wrong", "--oracle", "sh check.sh", "--apply"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.err.contains("the candidate does not pass") && run.out.contains("NUMBER"), "{run:#?}");
    assert_eq!(git(&machine, &["branch", "--list"]).trim(), "* trunk");
}

#[test]
fn a_council_is_an_agent_of_a_run() {
    let machine = machine();
    let said = machine.run(&["run", "--policy", "full", "--agent", "council:pair", "Make it right."]).ok();
    assert!(said.contains("2. right: passes") && said.contains("junto apply"), "{said}");
    machine.run(&["resume", "latest", "Go on."]).fails(1, &["a council of agents has no conversation"]);
    let wrong = machine.run(&["run", "--agent", "council:pairs", "Make it right."]);
    wrong.fails(2, &["no council of agents \"pairs\"", "did you mean \"pair\""]);
    let events =
        machine.run(&["run", "--json", "--policy", "full", "--agent", "council:pair", "Make it right."]).ok();
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let children: Vec<&Value> = events.iter().filter(|event| event["type"] == "child").collect();
    assert_eq!(children.iter().map(|child| child["name"].as_str().unwrap()).collect::<Vec<_>>().len(), 2);
    let mut ended = events.iter().filter(|event| event["type"] == "session_end");
    let usage = ended.next_back().unwrap()["usage"]["total"].as_u64();
    assert_eq!(usage, Some(16), "the sum of its members");
}

#[test]
fn the_sandbox_holds_the_checks() {
    let machine = machine();
    let check = "! (echo x >/usr/junto-check-was-here) && test \"$(cat answer)\" = 42\n";
    machine.write("project/check.sh", check);
    git(&machine, &["commit", "--quiet", "-am", "A check that wants to leave"]);
    let said =
        machine.run(&["council", "--agents", "right", "--oracle", "sh check.sh", "Make it right."]).ok();
    assert!(said.contains("passes"), "{said}");
    assert!(!std::path::Path::new("/usr/junto-check-was-here").exists());
}

#[test]
fn what_makes_no_sense_is_told() {
    let machine = machine();
    for number in ["0", "1000", "many"] {
        council(&machine, &["-n", number]).fails(2, &["--candidates"]);
    }
    council(&machine, &["--agents", "wrnog"]).fails(2, &["no agent \"wrnog\"", "did you mean \"wrong\""]);
    council(&machine, &["--agents", "gemini"]).fails(2, &["gemini is not installed"]);
    council(&machine, &["--name", "none"]).fails(2, &["no council of agents \"none\""]);
    council(&machine, &["--agents", "right,wrong"]).fails(1, &["nothing says how", "--oracle CMD"]);
    council(&machine, &["--agents", "right", "--oracle", "no-such-check"]).fails(1, &["no-such-check"]);
    machine.write("project/answer", "40\n");
    council(&machine, &["--agents", "right", "--oracle", "true"]).fails(1, &["answer", "--with-changes"]);
    let bare = Machine::new();
    fs::remove_dir(bare.path("project/.git")).unwrap();
    let nobody = bare.run(&["council", "Make it right.", "--policy", "full"]);
    nobody.fails(2, &["nobody can sit in the council"]);
    let bare = Machine::configured(CONFIG);
    bare.program("bin/right", CLAUDE);
    let path = format!("{}:{}", text(&bare.path("bin")), usual_path());
    let bare = bare.with("PATH", &path);
    fs::remove_dir(bare.path("project/.git")).unwrap();
    council(&bare, &["--agents", "right"]).fails(1, &["no git repository", "junto run"]);
}

#[test]
fn one_agent_may_work_without_checks() {
    let machine = machine();
    let said = council(&machine, &["--agents", "right,wrong", "-n", "1"]).ok();
    assert!(said.contains("nothing could judge") && said.contains("NUMBER"), "{said}");
    machine.run(&["apply", "latest"]).fails(2, &["no winner"]);
    machine.run(&["apply", "latest", "1"]).ok();
    assert_eq!(fs::read_to_string(machine.path("project/answer")).unwrap(), "42\n");
}

#[test]
fn a_table_shows_how_it_stands_and_an_interrupt_keeps_what_was_done() {
    let machine = machine();
    machine.program("bin/slow", "#!/bin/sh\necho 7 >answer\ntouch \"$HOME/begun\"\nexec sleep 300\n");
    let flags = ["--policy", "full", "--agents", "slow,right", "--oracle", "sh check.sh"];
    let mut terminal =
        Terminal::start(&machine, 100, &[&["council"], &flags[..], &["Make it right."]].concat());
    terminal.wait_for("2. right                    passes");
    terminal.wait_for("1. slow                     works");
    while !machine.path("begun").exists() {
        std::thread::yield_now();
    }
    terminal.keys("\u{3}");
    let (code, screen, _) = terminal.end();
    assert_eq!(code, Some(130), "{screen}");
    assert!(screen.contains("1. slow: was interrupted · 1 file"), "{screen}");
    assert!(machine.run(&["apply", "latest", "1", "--show"]).ok().contains("+7\n"));
    assert_eq!(fs::read_to_string(machine.path("project/answer")).unwrap(), "41\n");
}

/// Nobody is there to give leave: a member that asks is refused and told so, and does not wait.
#[test]
fn a_member_that_asks_is_refused_where_nobody_is_there() {
    let write = || Step::call("shell", json!({"command": "echo 42 >answer"})).without_thinking();
    let round = |round| When { round: Some(round), ..When::default() };
    let play = Play::of([write().when(round(0)), Step::text("I may not.").without_thinking()]);
    let stage = Stage::new(&SETUPS[0], play);
    let machine = &stage.machine;
    machine.write("project/answer", "41\n");
    machine.write("project/check.sh", "test \"$(cat answer)\" = 42\n");
    git(machine, &["init", "--quiet", "--initial-branch=trunk"]);
    git(machine, &["add", "--all"]);
    git(machine, &["commit", "--quiet", "-m", "The beginning"]);
    let flags = ["--policy", "ask", "--agents", "native", "--oracle", "sh check.sh"];
    let run = machine.run(&[&["council", "Make it right."], &flags[..]].concat());
    assert_eq!(run.code, Some(1), "{run:#?}");
    let told = stage.requests()[1].body.to_string();
    assert!(told.contains("nobody is there to give it"), "{told}");
}
