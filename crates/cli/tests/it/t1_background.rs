//! Tasks that nobody follows: in a line, and their answers in order.

use std::process::Child;

use serde_json::{Value, json};

use crate::agents::{each, ended, until};
use crate::t1_interrupt::{interrupt, start};
use crate::{Machine, text, usual_path};

/// Prints its answer and nothing else. `began` gets a line for each run: its task and its arguments.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --version ]; then echo "2.1.325 (Claude Code)"; exit 0; fi
task=$(cat)
printf '%s|%s\n' "$task" "$*" >> "$here/began"
case "$task" in
hold*) exec sleep 600 ;;
fail*) echo "Invalid API key"; exit 1 ;;
esac
echo "An answer to $task"
"#;

fn machine() -> Machine {
    let machine = Machine::new();
    machine.program("bin/claude", SCRIPT);
    let path = format!("{}:{}", text(&machine.path("bin")), usual_path());
    machine.with("PATH", &path)
}

fn began(machine: &Machine) -> Vec<String> {
    let lines = std::fs::read_to_string(machine.path("bin/began")).unwrap_or_default();
    lines.lines().map(str::to_owned).collect()
}

fn background(machine: &Machine, args: &[&str]) -> Child {
    let mut child = start(machine, &[&["agent", "background"], args].concat());
    drop(child.stdin.take());
    child
}

#[test]
fn answers_come_in_the_order_of_the_tasks() {
    let machine = machine();
    let run = ended(background(&machine, &["--at-once", "2", "one", "two", "three"]));
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(run.out, "An answer to one\nAn answer to two\nAn answer to three\n");
    let began = began(&machine);
    assert_eq!(began.len(), 3, "{began:?}");
    assert!(began.iter().all(|line| line.contains("--output-format text")), "{began:?}");
    let sessions: Value = serde_json::from_str(&machine.run(&["sessions", "--json"]).ok()).unwrap();
    assert_eq!(each(&sessions["sessions"], "kind"), vec![json!("claude"); 3], "{sessions:#}");
}

#[test]
fn one_that_fails_does_not_keep_the_others_from_their_end() {
    let machine = machine();
    let run = ended(background(&machine, &["--json", "fail", "two"]));
    assert_eq!(run.code, Some(3), "{run:#?}");
    assert!(run.err.contains("1 of 2 tasks came to no answer"), "{run:#?}");
    let told: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let states: Vec<_> = told.iter().map(|line| (&line["task"], &line["state"])).collect();
    assert_eq!(states, [(&json!(1), &json!("failed")), (&json!(2), &json!("success"))]);
    assert!(told[0]["error"].as_str().unwrap().contains("Invalid API key"), "{told:?}");
    assert_eq!(told[1]["text"], "An answer to two");
    assert!(told.iter().all(|line| line["session"].is_string()));
    ended(background(&machine, &["fail"])).fails(3, &["Invalid API key"]);
}

#[test]
fn an_interrupt_ends_what_runs_and_what_waits() {
    let machine = machine();
    let child = background(&machine, &["--at-once", "1", "--json", "hold", "later"]);
    until("the first runs", || !began(&machine).is_empty());
    interrupt(&child);
    let run = ended(child);
    assert_eq!(run.code, Some(130), "{run:#?}");
    let told: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(each(&json!(told), "state"), ["cancelled", "cancelled"]);
    assert_eq!(began(&machine).len(), 1);
}

#[test]
fn what_makes_no_sense_is_said_before_anything_runs() {
    let machine = machine();
    for (args, said) in [
        (&["--agent", "native", "x"][..], "\"native\" is no command-line agent"),
        (&["--max-usd", "1", "x"], "--max-usd does nothing"),
        (&[], "there is no task"),
    ] {
        ended(background(&machine, args)).fails(2, &[said]);
    }
    assert_eq!(began(&machine), Vec::<String>::new());
}
