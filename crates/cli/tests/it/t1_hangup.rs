//! What becomes of a run when its terminal is closed.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use junto::twin::{Play, Step};
use pty_process::blocking::{Command as OnTerminal, open};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::t1_commands::{Session, assert_gone, endless};
use crate::t1_interrupt::signal;

#[test]
fn a_terminal_that_is_closed_leaves_nothing_behind() {
    let stage = Stage::on_any_wire(Play::of([endless()]));
    let (terminal, other_end) = open().unwrap();
    let mut run = OnTerminal::new(env!("CARGO_BIN_EXE_junto"))
        .env_clear()
        .envs(stage.machine.environment())
        .current_dir(stage.machine.path("project"))
        .args(["run", "--policy", "full", "--json", "Work."])
        .spawn(other_end)
        .unwrap();
    let mut lines = BufReader::new(terminal).lines();
    let pid = lines
        .by_ref()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap_or_default())
        .find(|event| event["type"] == "tool_call_output_delta")
        .map(|event| event["text"].as_str().unwrap().trim().to_owned())
        .unwrap();
    drop(lines);
    let status = run.wait().unwrap();
    assert_eq!(status.signal(), None, "it ended by itself");
    assert_gone(&pid);
}

#[test]
fn a_run_that_shall_outlive_its_terminal_goes_on() {
    let stage = Stage::on_any_wire(Play::of([endless(), Step::text("Heard: {{last_user}}")]));
    // As `nohup` starts its command.
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_junto")])
        .args(["run", "--json", "--input", "json", "Work."])
        .env_clear()
        .envs(stage.machine.environment())
        .current_dir(stage.machine.path("project"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut session = Session::of(command.spawn().unwrap());
    session.wait_for("tool_call_output_delta");
    signal(&session.child, "HUP");
    session.tell(json!({"command": "steer", "input": {"text": "Go on."}, "when": "now"}));
    let (code, events, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(events.iter().find(|event| event["type"] == "input_end").unwrap()["text"], "Heard: Go on.");
}
