//! What is left of command-line agents when `junto` itself is killed, and who ends it.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::agents::{ended, until};
use crate::t1_interrupt::start;
use crate::{Machine, text, usual_path};

/// How many agents run at once.
const RUNS: usize = 50;

/// Answers, unless it is to hold: then it starts a process with a session of its own, which nobody is the parent of
/// when it has ended, writes both down, and does not end by itself, nor when it is asked to.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --version ]; then echo "2.1.325 (Claude Code)"; exit 0; fi
task=$(cat)
case "$task" in
hold*) ;;
*) echo "An answer to $task"; exit 0 ;;
esac
trap '' HUP INT TERM
setsid sleep 600 < /dev/null > /dev/null 2>&1 &
echo "$$ $!" >> "$here/processes"
exec sleep 600
"#;

fn machine() -> Machine {
    let machine = Machine::new();
    machine.program("bin/claude", SCRIPT);
    let path = format!("{}:{}", text(&machine.path("bin")), usual_path());
    machine.with("PATH", &path)
}

/// The processes that were written down.
fn processes(machine: &Machine) -> Vec<String> {
    let lines = fs::read_to_string(machine.path("bin/processes")).unwrap_or_default();
    lines.split_whitespace().map(str::to_owned).collect()
}

/// Those of them that live. The dead whom nobody has buried do not.
fn alive(processes: &[String]) -> Vec<&String> {
    let lives = |pid: &&String| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
        state.is_some_and(|state| !matches!(state, "Z" | "X"))
    };
    processes.iter().filter(lives).collect()
}

/// Ends what a test that failed would leave behind.
struct Left<'a>(&'a Machine);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        for pid in alive(&processes(self.0)) {
            let _ = Command::new("kill").args(["-9", pid]).output();
        }
    }
}

/// A process that looks just like one of an agent, and is nobody's business.
struct Bystander(Child);

impl Bystander {
    fn new(machine: &Machine) -> Self {
        let mut command = Command::new("sleep");
        command.arg("600").current_dir(machine.path("project")).env_clear().envs(machine.environment());
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_a_killed_junto_left_is_ended_by_the_next() {
    let machine = machine();
    let _left = Left(&machine);
    let mut bystander = Bystander::new(&machine);
    let holding = vec!["hold"; RUNS];
    let at_once = RUNS.to_string();
    let mut host = start(&machine, &[&["agent", "background", "--at-once", &at_once][..], &holding].concat());
    drop(host.stdin.take());
    until("all of them run", || processes(&machine).len() == 2 * RUNS);
    let left = processes(&machine);
    let next = || ended(start(&machine, &["agent", "background", "--policy", "read-only", "one"]));
    // While it lives, its agents are its own.
    let beside = next();
    assert_eq!((beside.code, beside.out.as_str()), (Some(0), "An answer to one\n"), "{beside:#?}");
    assert!(!beside.err.contains("left behind"), "{beside:#?}");
    assert_eq!(alive(&left).len(), 2 * RUNS);
    host.kill().unwrap();
    host.wait().unwrap();
    assert_eq!(alive(&left).len(), 2 * RUNS, "nobody was there to end them");
    let next = next();
    assert_eq!((next.code, next.out.as_str()), (Some(0), "An answer to one\n"), "{next:#?}");
    assert!(next.err.contains(&format!("{} processes of agents were left behind", 2 * RUNS)), "{next:#?}");
    assert_eq!(alive(&left), Vec::<&String>::new());
    assert!(bystander.lives(), "it was never an agent's");
    let children = machine.path(".local/state/junto/children");
    assert_eq!(fs::read_dir(children).unwrap().count(), 0, "nothing is left to be done");
}
