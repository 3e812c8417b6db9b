//! `junto run` ends when it should: also if nobody reads what it says, a hook takes its time, or the disk is full.

use std::io::{Read as _, Write as _};
use std::process::Child;

use junto::twin::{Fault, Play, Step};
use serde_json::json;

use crate::agents::until;
use crate::stage::Stage;
use crate::t1_commands::{Session, assert_gone};
use crate::t1_hooks::{hook, install};
use crate::t1_interrupt::{interrupt, signal, start};
use crate::t1_run::{events, of_type};
use crate::{Machine, Run};

/// Says more than any pipe holds, makes a file, and goes on with something else.
fn talkative(then: &str) -> Step {
    let command = format!("echo $$ > pid; seq 100000; touch said; {then}");
    Step::call("shell", json!({"command": command, "timeout_ms": 600_000}))
}

fn until_there(machine: &Machine, file: &str) {
    until(file, || machine.path(file).exists());
}

/// The exit code and standard error of a run whose other streams stay as they are.
fn end(mut child: Child) -> (Option<i32>, String) {
    // `wait` would close standard input.
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let code = child.wait().unwrap().code();
    drop((input, output));
    (code, err)
}

#[test]
fn it_ends_although_nobody_reads_what_it_says() {
    let stage = || Stage::on_any_wire(Play::of([talkative("exec sleep 600"), Step::text("Done.")]));
    let begin = |stage: &Stage, flags: &[&str]| {
        let args = [&["run", "--json", "--policy", "full"], flags, &["Work."]].concat();
        let mut child = start(&stage.machine, &args);
        drop(child.stdin.take());
        child
    };
    let pid = |stage: &Stage| std::fs::read_to_string(stage.machine.path("project/pid")).unwrap();
    for name in ["INT", "TERM"] {
        let stage = stage();
        let child = begin(&stage, &[]);
        until_there(&stage.machine, "project/said");
        signal(&child, name);
        let (code, err) = end(child);
        assert_eq!(code, Some(130), "{name}: {err}");
        assert!(err.contains("what was left of it is lost"), "{name}: {err}");
        assert_gone(pid(&stage).trim());
    }
    let stage = stage();
    let (code, err) = end(begin(&stage, &["--timeout", "5s"]));
    assert_eq!(code, Some(4), "{err}");
    assert!(err.contains("at most 5s in all"), "{err}");
    assert_gone(pid(&stage).trim());
}

#[test]
fn who_reads_late_misses_nothing() {
    let stage = Stage::on_any_wire(Play::of([talkative("true"), Step::text("Done.")]));
    let args = ["run", "--json", "--policy", "full", "Work."];
    let mut child = start(&stage.machine, &args);
    drop(child.stdin.take());
    until_there(&stage.machine, "project/said");
    let (code, events, err) = Session::of(child).end();
    assert_eq!(code, Some(0), "{err}");
    let text = of_type(&events, "tool_call_end")[0]["output"].as_str().unwrap();
    assert!(text.contains("\n100000\n"), "{}", text.len());
    assert_eq!(of_type(&events, "input_end")[0]["text"], "Done.");
}

#[test]
fn an_answer_in_many_small_pieces_is_printed_once() {
    let step = Step { repeat: Some(5_000), chunk: Some(4), ..Step::text("word") };
    let stage = Stage::on_any_wire(Play::of([Step { times: Some(10), ..step.without_thinking() }]));
    for _ in 0..5 {
        let out = stage.machine.run(&["run", "-q", "Hi."]).ok();
        assert!(out == format!("{}\n", "word".repeat(5_000)), "{} bytes: {out}", out.len());
    }
}

#[test]
fn a_hook_that_takes_its_time_does_not_keep_it_from_ending() {
    let begin = |event: &str, flags: &[&str]| {
        let stage = Stage::on_any_wire(Play::text("Done."));
        install(&stage.machine, &hook(event, "", "touch \"$HOME/hooked\"; sleep 600"));
        let mut child = start(&stage.machine, &[&["run"], flags].concat());
        if flags.contains(&"--input") {
            let submit = json!({"command": "submit", "input": {"text": "Work."}});
            writeln!(child.stdin.as_mut().unwrap(), "{submit}").unwrap();
        } else {
            drop(child.stdin.take());
        }
        (stage, child)
    };
    let (given, told): (&[&str], &[&str]) = (&["Hi."], &["--input", "json"]);
    for (event, flags) in [("SessionStart", given), ("UserPromptSubmit", given), ("UserPromptSubmit", told)] {
        let (stage, child) = begin(event, flags);
        until_there(&stage.machine, "hooked");
        interrupt(&child);
        let (code, err) = end(child);
        assert_eq!(code, Some(130), "{event} {flags:?}: {err}");
        assert!(err.ends_with("error: interrupted\n"), "{event} {flags:?}: {err}");
        assert!(stage.requests().is_empty());

        let (stage, child) = begin(event, &[flags, &["--timeout", "2s"]].concat());
        let (code, err) = end(child);
        assert_eq!(code, Some(4), "{event} {flags:?}: {err}");
        assert!(err.contains("at most 2s in all"), "{event} {flags:?}: {err}");
        assert!(stage.requests().is_empty());
    }
}

#[test]
fn a_hook_for_what_follows_does_not_keep_it_from_ending() {
    let stage = Stage::on_any_wire(Play::of([crate::t1_commands::endless()]));
    // Only the second input takes its time.
    let slow = "grep -q Later || exit 0; touch \"$HOME/hooked\"; sleep 600";
    install(&stage.machine, &hook("UserPromptSubmit", "", slow));
    let mut session = Session::start(&stage, &["--input", "json"]);
    session.wait_for("tool_call_output_delta");
    session.tell(json!({"command": "follow_up", "input": {"text": "Later."}}));
    until_there(&stage.machine, "hooked");
    interrupt(&session.child);
    let (code, _, err) = session.end();
    assert_eq!(code, Some(130), "{err}");
}

#[test]
fn the_time_runs_while_the_task_is_waited_for() {
    let stage = Stage::on_any_wire(Play::text("Done."));
    let (code, err) = end(start(&stage.machine, &["run", "--timeout", "1s", "Hi."]));
    assert_eq!(code, Some(4), "{err}");
    assert!(err.contains("at most 1s in all"), "{err}");
}

#[test]
fn one_that_waits_for_commands_ends_as_one_that_works() {
    let (plain, timed) = (["run", "--json", "--input", "json"], ["--timeout", "5s"]);
    for (name, flags, expected) in
        [("INT", &timed[..0], 130), ("TERM", &timed[..0], 130), ("", &timed[..], 4)]
    {
        let stage = Stage::on_any_wire(Play::text("Done."));
        let mut session = Session::of(start(&stage.machine, &[&plain[..], flags].concat()));
        session.wait_for("session_start");
        if !name.is_empty() {
            signal(&session.child, name);
        }
        let (code, _, err) = session.end();
        assert_eq!(code, Some(expected), "{name}: {err}");
    }
}

#[test]
fn a_session_that_is_told_nothing_has_a_beginning_and_an_end() {
    let stage = Stage::on_any_wire(Play::text("Done."));
    for said in ["", "{\"command\":\"abort\"}\n"] {
        for _ in 0..10 {
            let mut command = stage.machine.command(&["run", "--json", "--input", "json"]);
            let run = Run::of(command.write_stdin(said));
            assert!(!events(&run.out).0.is_empty(), "{run:#?}");
        }
    }
}

#[test]
fn an_input_that_fails_is_told_though_others_follow() {
    let submits = |texts: &[&str]| -> String {
        let line = |text: &&str| format!("{}\n", json!({"command": "follow_up", "input": {"text": text}}));
        texts.iter().map(line).collect()
    };
    let check = |steps: Vec<Step>, flags: &[&str], said: &str| {
        let stage = Stage::on_any_wire(Play::of(steps));
        let mut command = stage.machine.command(&[&["run", "-q", "--input", "json"], flags].concat());
        let run = Run::of(command.write_stdin(submits(&["One.", "Two."])));
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Fine.\n"), "{run:#?}");
        assert!(run.err.contains(said), "{run:#?}");
    };
    check(vec![Step::fault(Fault::status(400)), Step::text("Fine.")], &[], "error: anthropic: ");
    let call = Step::call("shell", json!({"command": "true"}));
    check(vec![call, Step::text("Fine.")], &["--max-rounds", "1"], "error: stopped at a limit: ");
}

#[test]
fn one_whose_output_is_closed_stops_and_says_so() {
    let command = "echo $$; while :; do echo more; sleep 0.01; done";
    let call = Step::call("shell", json!({"command": command, "timeout_ms": 600_000}));
    let stage = Stage::on_any_wire(Play::of([call]));
    let mut session = Session::start(&stage, &["--policy", "full"]);
    let said = session.wait_for("tool_call_output_delta")["text"].as_str().unwrap().to_owned();
    let mut child = session.child;
    drop(session.out);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{err}");
    assert!(err.contains("error: the agent was stopped in its work: standard output was closed"), "{err}");
    assert_gone(said.lines().next().unwrap());
}

#[test]
fn a_full_disk_ends_it_with_words() {
    let mut failed = 0;
    for blocks in [8, 16, 24, 32, 40, 48, 64, 80, 96, 128] {
        let call = Step::call("shell", json!({"command": "seq 2000"}));
        let stage = Stage::on_any_wire(Play::of([call, Step::text("Done.")]));
        let run = stage.machine.run_without_room(blocks, &["run", "Hi."]);
        match run.code {
            Some(0) => assert_eq!(run.out, "Done.\n", "{blocks}: {run:#?}"),
            Some(1) if run.err.contains("error: ") => failed += 1,
            _ => panic!("{blocks}: {run:#?}"),
        }
    }
    assert!(failed > 2, "{failed}");
}

#[test]
fn an_output_that_has_no_room_loses_its_middle_and_nothing_else() {
    let call = Step::call("shell", json!({"command": "seq 600000"}));
    let stage = Stage::on_any_wire(Play::of([call, Step::text("Done.")]));
    let run = stage.machine.run_without_room(2_000, &["run", "Hi."]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{run:#?}");
}
