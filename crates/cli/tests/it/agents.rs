//! A machine with a `claude` that does what its test wants, and an agent of that kind.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::t1_interrupt::start;
use crate::{Machine, Run, text, usual_path};

/// How long something is waited for that always comes, unless something is broken.
const HANG: Duration = Duration::from_mins(1);

/// Answers with what it was told. The file `mode` beside it says how it misbehaves; `calls` gets a line for each
/// run: its session, its arguments and its task.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --version ]; then echo "2.1.325 (Claude Code)"; exit 0; fi
mkdir "$here/busy" 2>/dev/null || echo overlap >> "$here/overlaps"
session=s-$$
previous=
for argument; do
  if [ "$previous" = --resume ]; then session=$argument; fi
  previous=$argument
done
task=$(cat)
mode=$(cat "$here/mode" 2>/dev/null)
printf '%s|%s|%s\n' "$session" "$*" "$task" >> "$here/calls"
usage='{"input_tokens":900,"cache_read_input_tokens":50,"cache_creation_input_tokens":25,"output_tokens":25}'
echo '{"type":"system","subtype":"init","session_id":"'"$session"'","model":"claude-x","tools":[],"cwd":"/"}'
case "$mode" in
hold) cat "$here/gate" > /dev/null ;;
crash) rmdir "$here/busy"; exit 7 ;;
esac
said='{"type":"assistant","session_id":"'"$session"'","message":{"id":"m-1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"I was told: '"$task"'"}],"usage":'"$usage"'}}'
cost=0
case "$mode" in
begun) echo "$said"; mode=auth ;;
dear) cost=0.9; mode=auth ;;
esac
if [ "$mode" = auth ]; then
  rmdir "$here/busy"
  echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"num_turns":1,"result":"Failed to authenticate. API Error: 401 invalid x-api-key","session_id":"'"$session"'","total_cost_usd":'"$cost"',"usage":{"input_tokens":0,"output_tokens":0}}'
  exit 1
fi
echo "$said"
if [ "$mode" = late ]; then rmdir "$here/busy"; exit 7; fi
rmdir "$here/busy"
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"I was told: '"$task"'","session_id":"'"$session"'","total_cost_usd":0.01,"usage":'"$usage"'}'
"#;

/// A machine with a `claude` and an agent of that kind, whose name is `nex`.
pub(crate) struct Agents {
    pub(crate) machine: Machine,
}

/// What `claude` was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) session: String,
    pub(crate) arguments: String,
    pub(crate) task: String,
}

impl Call {
    /// The session it was to go on with.
    pub(crate) fn resumed(&self) -> Option<&str> {
        self.arguments.split(' ').skip_while(|argument| *argument != "--resume").nth(1)
    }
}

impl Agents {
    pub(crate) fn new() -> Self {
        Self::set_up(&[])
    }

    /// With these flags of `junto agent add`.
    pub(crate) fn set_up(flags: &[&str]) -> Self {
        let agents = Self::unnamed(Machine::new());
        agents.machine.run(&[&["agent", "add", "nex"], flags].concat()).ok();
        agents
    }

    /// On a machine, and without an agent yet.
    pub(crate) fn unnamed(machine: Machine) -> Self {
        machine.program("bin/claude", SCRIPT);
        let path = format!("{}:{}", text(&machine.path("bin")), usual_path());
        Self { machine: machine.with("PATH", &path) }
    }

    /// Another program of the same kind, with files of its own in this folder below the home.
    pub(crate) fn program(&self, folder: &str) {
        self.machine.program(&format!("{folder}/claude"), SCRIPT);
    }

    /// Lets `claude` behave like this from now on.
    pub(crate) fn mode(&self, mode: &str) {
        self.machine.write("bin/mode", mode);
        let gate = self.machine.path("bin/gate");
        if mode == "hold" && !gate.exists() {
            assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
        }
    }

    /// Lets those go on that hold.
    pub(crate) fn open_gate(&self) {
        fs::write(self.machine.path("bin/gate"), "").unwrap();
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.machine.run(args)
    }

    pub(crate) fn send(&self, text: &str) -> Run {
        self.run(&["agent", "send", "nex", text])
    }

    /// Starts a command, and leaves it alone.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        let mut child = start(&self.machine, args);
        drop(child.stdin.take());
        child
    }

    /// A run that holds.
    pub(crate) fn start_held(&self, task: &str) -> Child {
        let before = self.calls().len();
        self.mode("hold");
        let child = self.start(&["agent", "send", "nex", task]);
        until("claude is started", || self.calls().len() > before);
        child
    }

    /// What `claude` was given, each time.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let lines = fs::read_to_string(self.machine.path("bin/calls")).unwrap_or_default();
        let call = |line: &str| {
            let mut parts = line.splitn(3, '|').map(str::to_owned);
            let mut next = || parts.next().unwrap_or_default();
            Call { session: next(), arguments: next(), task: next() }
        };
        lines.lines().map(call).collect()
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.run(&["agent", "status", "nex", "--json", "--runs", "100"]).ok()).unwrap()
    }
}

/// Waits until something holds that always does in the end.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < HANG, "it never came to this: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a command left behind that was started.
pub(crate) fn ended(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The values of a field, in the order of the rows.
pub(crate) fn each(rows: &Value, field: &str) -> Vec<Value> {
    rows.as_array().unwrap().iter().map(|row| row[field].clone()).collect()
}
