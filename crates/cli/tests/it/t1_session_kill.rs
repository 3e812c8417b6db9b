//! Sessions whose process was killed, and sessions that two want at once.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command};

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::Machine;
use crate::stage::{Stage, on_every_wire};
use crate::t1_interrupt::start;
use crate::t1_sessions::{latest, listed};

/// A command that leaves a mark each time it runs, and does not end by itself.
fn endless() -> Step {
    let command = "echo ran >> ran.txt; echo $$; sleep 600";
    Step::call("shell", json!({"command": command, "timeout_ms": 600_000}))
}

/// A run that is in the midst of its tool call; also the id of the tool's process.
fn in_a_tool(machine: &Machine) -> (Child, String) {
    in_a_tool_of(machine, &["run", "--json", "Work."])
}

fn in_a_tool_of(machine: &Machine, args: &[&str]) -> (Child, String) {
    let mut child = start(machine, args);
    drop(child.stdin.take());
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let pid = lines
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        .find(|line| line["type"] == "tool_call_output_delta")
        .map(|delta| delta["text"].as_str().unwrap().trim().to_owned());
    (child, pid.unwrap())
}

fn kill(mut child: Child, tool: &str) {
    child.kill().unwrap();
    child.wait().unwrap();
    // What a killed process started is left over; this test knows of it.
    let _ = Command::new("kill").args(["-9", tool]).output();
}

#[test]
fn a_session_that_was_killed_in_a_tool_call_goes_on() {
    on_every_wire(
        || Play::of([endless(), Step::text("I heard: {{last_result}}")]),
        |setup, stage| {
            let machine = &stage.machine;
            let (child, tool) = in_a_tool(machine);
            kill(child, &tool);
            assert_eq!(listed(machine, &[])[0]["state"], "cut_off", "{}", setup.provider);
            let run = machine.run(&["resume"]);
            assert_eq!(run.code, Some(0), "{run:#?}");
            assert!(run.out.contains("interrupted") && run.out.contains("may have run"), "{run:#?}");
            let marks = fs::read_to_string(machine.path("project/ran.txt")).unwrap();
            assert_eq!(marks, "ran\n", "a call that was cut off is not run again");
            let requests = stage.requests();
            assert_eq!(requests.len(), 2);
            assert_eq!(listed(machine, &[])[0]["state"], "ended");
            machine.run(&["resume"]).fails(2, &["nothing to go on with"]);
            let report = machine.run(&["replay", "latest", "--json"]).ok();
            let report: Value = serde_json::from_str(&report).unwrap();
            let cut = json!(["turn 1: the session was cut off, and brought back"]);
            assert_eq!((&report["calls"], &report["taken"]), (&json!(2), &cut), "{report}");
            assert_eq!(report["divergence"], Value::Null, "{report}");
        },
    );
}

#[test]
fn what_is_said_then_comes_after_what_was_cut_off() {
    let steps = [endless(), Step::text("Gone on."), Step::text("Heard: {{last_user}}")];
    let stage = Stage::on_any_wire(Play::of(steps));
    let (child, tool) = in_a_tool(&stage.machine);
    kill(child, &tool);
    let out = stage.machine.run(&["resume", "latest", "And then?"]).ok();
    assert_eq!(out, "Gone on.\nHeard: And then?\n");
}

/// A session whose second turn was killed after it had changed one file and made another.
fn killed_after_changes() -> Stage {
    let command = "echo two > a.txt; echo new > b.txt; echo $$; sleep 600";
    let stage = Stage::on_any_wire(Play::of([
        Step::call("write_file", json!({"file_path": "a.txt", "content": "one\n"})),
        Step::text("First."),
        Step::call("shell", json!({"command": command, "timeout_ms": 600_000})),
        Step::text("Gone on."),
    ]));
    stage.machine.run(&["run", "Do one."]).ok();
    let (child, tool) = in_a_tool_of(&stage.machine, &["resume", "latest", "--json", "Do two."]);
    kill(child, &tool);
    stage
}

/// Nobody saw the end of a turn that was cut off, so no snapshot was taken then.
#[test]
fn the_files_of_a_turn_that_was_cut_off_come_back() {
    let stage = killed_after_changes();
    let machine = &stage.machine;
    let file = |name: &str| fs::read_to_string(machine.path(&format!("project/{name}"))).ok();
    let run = machine.run(&["rewind", "--to", "1", "--files"]);
    assert_eq!(run.out, "brought back: a.txt\nremoved: b.txt\n", "{run:#?}");
    assert!(run.err.contains("turn 2 was cut off"), "{run:#?}");
    assert_eq!((file("a.txt").as_deref(), file("b.txt")), (Some("one\n"), None));
    machine.run(&["rewind", "--to", "0", "--files"]).ok();
    assert_eq!(file("a.txt"), None);
}

/// Who goes back without the files at first may still want them.
#[test]
fn the_files_of_a_turn_that_was_cut_off_come_back_later() {
    let stage = killed_after_changes();
    let machine = &stage.machine;
    machine.run(&["rewind", "--to", "1"]).ok();
    let told = machine.run(&["rewind", "--to", "0", "--files"]).ok();
    assert_eq!(told, "removed: a.txt\nremoved: b.txt\n");
}

/// What was changed between the cut and the resume is taken for the turn's doing, and whoever undoes it hears so.
#[test]
fn undo_tells_that_a_turn_was_cut_off() {
    let stage = killed_after_changes();
    let machine = &stage.machine;
    machine.write("project/mine.txt", "mine\n");
    machine.run(&["resume"]).ok();
    let meanwhile = "turn 2 was cut off and taken up again";
    for (command, word) in [(&["undo", "--dry-run"][..], "would be removed"), (&["undo"], "removed")] {
        let run = machine.run(command);
        assert!(run.err.contains(meanwhile), "{run:#?}");
        assert!(run.out.contains(&format!("{word}: mine.txt\n")), "{run:#?}");
    }
    let run = machine.run(&["rewind", "--to", "0", "--files"]);
    assert!(run.code == Some(0) && run.err.contains(meanwhile), "{run:#?}");
}

#[test]
fn two_processes_cannot_go_on_with_one_session() {
    let stage = Stage::on_any_wire(Play::of([endless(), Step::text("Done.")]));
    let machine = &stage.machine;
    let (child, tool) = in_a_tool(machine);
    let id = latest(machine);
    let pid = child.id().to_string();
    for command in [&["resume", &id, "Me too."][..], &["rewind", &id, "--to", "0"]] {
        machine.run(command).fails(1, &[&pid, "fork"]);
    }
    assert_eq!(listed(machine, &[])[0]["state"], "open");
    let undo = || machine.run(&["undo", &id]);
    undo().fails(1, &["has not ended", "wait until it has ended"]);
    // To read it, and to begin another with it, needs no leave.
    assert!(machine.run(&["export", &id]).ok().contains("Work."));
    kill(child, &tool);
    undo().fails(1, &["has not ended", "junto resume"]);
    assert_eq!(machine.run(&["resume", &id]).code, Some(0), "the lock ends with its process");
}
