//! One process of the command, from its start to its end or its death.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use junto_twin::Twin;
use serde_json::{Value, json};

use super::Tried;
use super::aim::{Aim, Trigger};
use super::journal::{Journal, size};
use super::plays::{STEERING, Scenario, TASKS};

/// How often what triggers a kill is looked at.
const POLL: Duration = Duration::from_micros(200);
/// A process that takes longer hangs. A guard, and far beyond what one takes.
const LONGEST: Duration = Duration::from_mins(2);
/// How many lines may wait to be looked at.
const WAITING: usize = 64;

/// How the command is started.
pub(super) struct Start<'a> {
    pub(super) junto: &'a Path,
    pub(super) args: Vec<String>,
    pub(super) variables: &'a [(String, String)],
    pub(super) project: &'a Path,
    /// Where it keeps what it keeps.
    pub(super) state: &'a Path,
}

/// What a process did.
#[derive(Debug)]
pub(super) struct Lived {
    /// What it printed, line by line.
    pub(super) shown: Vec<Value>,
    /// What it said to people.
    pub(super) said: String,
    pub(super) end: End,
    pub(super) took: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Killed,
    /// With this code, if it was no signal.
    Ended(Option<i32>),
}

/// What is said to the agent.
pub(super) struct Host {
    scenario: Scenario,
    /// How many of the tasks were given.
    given: usize,
    open: bool,
    steered: bool,
    /// The session's own agent, once it is known.
    root: Option<Value>,
}

/// What is done about a line.
enum Say {
    Line(Value),
    /// There will be no more.
    End,
}

impl Host {
    /// Goes on where the journal ends.
    pub(super) fn after(journal: &Journal, scenario: Scenario) -> Self {
        Self {
            scenario,
            given: journal.inputs(),
            open: journal.is_open(),
            steered: journal.is_steered(),
            root: journal.events.first().map(|first| json!(first.agent)),
        }
    }

    /// What is said at the start.
    fn begin(&mut self) -> Vec<Say> {
        if self.open { Vec::new() } else { vec![self.next()] }
    }

    fn next(&mut self) -> Say {
        let Some(task) = TASKS.get(self.given).copied() else { return Say::End };
        self.given += 1;
        self.open = true;
        Say::Line(json!({"command": "submit", "input": {"text": task}}))
    }

    /// What is said to a line.
    fn hear(&mut self, line: &Value) -> Vec<Say> {
        let root = self.root.get_or_insert_with(|| line["agent"].clone());
        let own = line["agent"] == *root;
        match line["type"].as_str() {
            Some("input_end") if own => {
                self.open = false;
                vec![self.next()]
            }
            Some("ask") => {
                let mut said = Vec::new();
                if self.scenario.steers() && !std::mem::replace(&mut self.steered, true) {
                    said.push(Say::Line(json!({"command": "steer", "input": {"text": STEERING}})));
                }
                let ask = &line["request"]["ask"];
                let mut answer = json!({"command": "answer", "ask": ask, "decision": {"answer": "allow"}});
                if !own {
                    answer["agent"] = line["agent"].clone();
                }
                said.push(Say::Line(answer));
                said
            }
            _ => Vec::new(),
        }
    }
}

/// Runs the command until it ends, or until it is killed.
///
/// # Errors
/// If it cannot be started, or hangs.
pub(super) fn live(start: &Start<'_>, mut host: Host, twin: &Twin, aim: Option<&Aim>) -> Tried<Lived> {
    let mut life = Life::start(start)?;
    let mut watch = aim.map(|aim| Watch::new(aim, start.state, twin));
    let mut shown = Vec::new();
    life.say(host.begin());
    let mut killed = false;
    while life.is_there {
        if life.started.elapsed() > LONGEST {
            life.kill();
            return Err(format!("it hangs: {}", life.end(shown, true).said));
        }
        let line = life.next(watch.is_some());
        let due = watch.as_mut().is_some_and(|watch| watch.is_due(line.as_ref(), life.started));
        if due && aim.is_some_and(|aim| aim.mute) {
            shown.extend(line);
        } else if let Some(line) = line {
            life.say(host.hear(&line));
            shown.push(line);
        }
        if due && let Some(aim) = aim {
            if aim.at != Trigger::Start {
                std::thread::sleep(aim.then);
            }
            killed = life.kill();
            break;
        }
    }
    Ok(life.end(shown, killed))
}

/// Sees when it is time.
struct Watch<'a> {
    aim: &'a Aim,
    state: &'a Path,
    twin: &'a Twin,
    /// What there was at the start.
    bytes: u64,
    requests: usize,
    /// Lines of the type that is waited for.
    lines: u64,
}

impl<'a> Watch<'a> {
    fn new(aim: &'a Aim, state: &'a Path, twin: &'a Twin) -> Self {
        Self { aim, state, twin, bytes: size(state), requests: twin.bodies().len(), lines: 0 }
    }

    fn is_due(&mut self, line: Option<&Value>, started: Instant) -> bool {
        match &self.aim.at {
            Trigger::Start => started.elapsed() >= self.aim.then,
            Trigger::Line { kind, number } => {
                if line.is_none_or(|line| line["type"] != **kind) {
                    return false;
                }
                self.lines += 1;
                self.lines > *number
            }
            Trigger::Journal(bytes) => size(self.state) > self.bytes + bytes,
            Trigger::Request(number) => {
                let made = self.twin.bodies().len() - self.requests;
                made as u64 >= *number
            }
        }
    }
}

/// A running process.
struct Life {
    child: Child,
    /// Absent once there is nothing more to say.
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Whether it may print more.
    is_there: bool,
    errors: JoinHandle<String>,
    started: Instant,
}

#[expect(clippy::disallowed_methods, reason = "a real process takes real time")]
fn now() -> Instant {
    Instant::now()
}

impl Life {
    #[expect(clippy::disallowed_methods, reason = "it is what is tested that is started")]
    fn start(start: &Start<'_>) -> Tried<Self> {
        let mut command = Command::new(start.junto);
        command.args(&start.args).env_clear().current_dir(start.project);
        command.envs(start.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = now();
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", start.junto.display()))?;
        let input = child.stdin.take();
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("it has no output".to_owned());
        };
        let errors = std::thread::spawn(move || {
            let mut said = Vec::new();
            // What is left is enough to tell what went wrong.
            let _ = BufReader::new(errors).read_to_end(&mut said);
            String::from_utf8_lossy(&said).into_owned()
        });
        Ok(Self { child, input, lines: reading(output), is_there: true, errors, started })
    }

    /// The next line, if it comes soon.
    fn next(&mut self, watched: bool) -> Option<Value> {
        let patience = if watched { POLL } else { Duration::from_millis(50) };
        match self.lines.recv_timeout(patience) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                self.is_there = false;
                None
            }
        }
    }

    fn say(&mut self, said: Vec<Say>) {
        for say in said {
            match (say, &mut self.input) {
                // It may be gone.
                (Say::Line(line), Some(input)) => drop(writeln!(input, "{line}")),
                (Say::End, input) => *input = None,
                (Say::Line(_), None) => {}
            }
        }
    }

    /// Kills it; false if it had ended.
    fn kill(&mut self) -> bool {
        let ended = matches!(self.child.try_wait(), Ok(Some(_)));
        // It may end just now, which its status tells.
        let _ = self.child.kill();
        !ended
    }

    /// What it left: everything it printed is still to be read.
    fn end(self, mut shown: Vec<Value>, killed: bool) -> Lived {
        let Self { mut child, input, lines, errors, started, .. } = self;
        shown.extend(lines.iter());
        let status = child.wait();
        drop(input);
        let code = status.ok().and_then(|status| status.code());
        let end = if killed && code.is_none() { End::Killed } else { End::Ended(code) };
        Lived { shown, said: errors.join().unwrap_or_default(), end, took: started.elapsed() }
    }
}

/// Reads whole lines on a thread of its own, which ends with the output.
fn reading(from: impl Read + Send + 'static) -> Receiver<Value> {
    let (sender, receiver) = sync_channel(WAITING);
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        // A line without an end was cut off: it was not shown.
        while matches!(from.read_until(b'\n', &mut line), Ok(read) if read > 0) && line.ends_with(b"\n") {
            let value = serde_json::from_slice(&line).unwrap_or_else(
                |error| json!({"no_json": error.to_string(), "line": String::from_utf8_lossy(&line)}),
            );
            if sender.send(value).is_err() {
                return;
            }
            line.clear();
        }
    });
    receiver
}
