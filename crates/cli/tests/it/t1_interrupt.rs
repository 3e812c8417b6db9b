use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use junto::twin::{After, Fault, Play, Step};
use serde_json::json;

use crate::Machine;
use crate::stage::Stage;
use crate::t1_session_cost::cost;

/// The command with pipes on all sides.
pub(crate) fn start(machine: &Machine, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_junto"));
    command.env_clear().envs(machine.environment()).current_dir(machine.path("project")).args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(crate) fn interrupt(child: &Child) {
    signal(child, "INT");
}

pub(crate) fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

#[test]
fn an_interrupt_ends_a_call_at_once() {
    let stalled = Fault { stall: Some(After(2000)), ..Fault::default() };
    let step = Step { repeat: Some(1000), fault: Some(stalled), ..Step::text("word ") };
    let stage = Stage::on_any_wire(Play::of([step]));
    let mut child = start(&stage.machine, &["ask", "hi"]);
    drop(child.stdin.take());
    let mut first = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "error: interrupted\n");
    // It is paid for, and nobody knows how much.
    let cost = cost(&stage.machine, &[]);
    assert_eq!((&cost["total"]["calls"], &cost["total"]["cost"]["unknown_calls"]), (&json!(1), &json!(1)));
}

#[test]
fn an_interrupt_ends_the_wait_for_input() {
    let stage = Stage::on_any_wire(Play::default());
    stage.machine.write("project/.junto/config.toml", "");
    let mut child = start(&stage.machine, &["ask", "hi"]);
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut note = String::new();
    said.read_line(&mut note).unwrap();
    assert!(note.contains("not trusted"), "{note}");
    interrupt(&child);
    // `wait` would close standard input, which must stay open here.
    let input = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(input);
    assert!(stage.requests().is_empty());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    // More than any pipe holds, so that the command must notice.
    let step = Step { repeat: Some(200_000), chunk: Some(4096), ..Step::text("word ") };
    let stage = Stage::on_any_wire(Play::of([step.without_thinking()]));
    let mut child = start(&stage.machine, &["ask", "hi"]);
    drop(child.stdin.take());
    let mut first = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}
