//! What the models and the command-line agent do in each event.

use std::path::{Path, PathBuf};

use junto::twin::{After, Call, Fault, Options, Play, Step, When};
use junto_testkit::cast::Who;
use junto_testkit::fake_claude::{Behaviour, Fault as CliFault};
use serde_json::{Value, json};

use super::table::{Event, Mind};

/// What the worker is told by a parent.
pub(crate) const TASK: &str = "Do it";
/// What is said while it works.
pub(crate) const STEERING: &str = "Turn left";
/// What it answers in the end.
pub(crate) const ANSWER: &str = "Fine.";

/// The file that a refused command would write.
pub(crate) const PROOF: &str = "proof";

/// A command that starts others and does not end by itself.
pub(crate) const BUSY: &str = "sleep 600 & (setsid sleep 600 &) ; echo up; wait";
/// A command that waits until somebody writes to a pipe.
const WAITS: &str = "mkfifo go; echo up; read line < go; echo $line";

pub(crate) fn shell(command: &str) -> Value {
    json!({"command": command, "timeout_ms": 600_000})
}

/// What the model does that works on an event.
pub(crate) fn worker(event: Event) -> (Play, Options) {
    let answer = Step::text(ANSWER);
    let steps = match event {
        Event::Plain | Event::Failure => vec![answer],
        Event::Tools => vec![
            Step::calls([
                Call::new("shell", shell("echo one")),
                Call::new("write_file", json!({"file_path": "two", "content": "two\n"})),
            ]),
            Step::call("read_file", json!({"file_path": "two"})),
            answer,
        ],
        Event::Steer => vec![Step::call("shell", shell(WAITS)), answer],
        Event::Reject => vec![Step::call("shell", shell(&format!("echo ran > {PROOF}"))), answer],
        Event::Cancel => vec![Step::call("shell", shell(BUSY)), answer],
        Event::Crash => {
            vec![breaking(Fault { drop_after_bytes: Some(After(6000)), ..Fault::default() }), answer]
        }
    };
    let fault = (event == Event::Failure).then(|| Fault::status(400).times(1));
    (Play::of(steps), Options { fault, ..Options::default() })
}

/// A model that says nothing, not even what it read: nobody could tell whether that was heard before it was
/// told to stop.
pub(crate) fn silent() -> (Play, Options) {
    let stall = breaking(Fault { stall: Some(After(0)), ..Fault::default() });
    (Play::of([stall, Step::text(ANSWER)]), Options::default())
}

/// What the model of a real command-line agent does. One that is asked for answers looks at files where
/// another makes them.
pub(crate) fn program(who: Who, dir: &Path, answers: bool, event: Event) -> (Play, Options) {
    let answer = Step::text(ANSWER);
    let call = |name: &str| {
        let call = if answers { who.look(dir, name) } else { who.write(dir, name, "made\n") };
        Step::calls([call])
    };
    let steps = match event {
        Event::Tools => vec![call("one"), call("two"), call("three"), answer],
        // Somebody stops it, or kills it, before the model has said anything.
        Event::Cancel | Event::Crash => return silent(),
        Event::Plain | Event::Failure | Event::Steer | Event::Reject => vec![answer],
    };
    let fault = (event == Event::Failure).then(|| Fault::status(401));
    (Play::of(steps), Options { fault, ..Options::default() })
}

fn breaking(fault: Fault) -> Step {
    Step { repeat: Some(2000), fault: Some(fault), ..Step::text("on and on ").without_thinking() }
}

/// A parent that hands the work to a child of this kind.
pub(crate) fn parent(kind: &str) -> (Play, Options) {
    let steps = [Step::call("spawn_agent", spawn(kind)), Step::text("It says: {{last_result}}")];
    (Play::of(steps), Options::default())
}

/// A parent and its child over one model, which tells them apart by what they are told.
pub(crate) fn family(event: Event) -> (Play, Options) {
    let on = |text: &str| When { contains: Some(text.to_owned()), ..When::default() };
    let once = |step: Step| Step { times: Some(1), ..step };
    let mut steps = vec![
        once(Step::call("spawn_agent", json!({"task": TASK, "wait": true})).when(on("Work"))),
        Step::text("It says: {{last_result}}").when(on("Work")),
    ];
    if event == Event::Failure {
        steps.push(once(Step::fault(Fault::status(400)).when(on(TASK))));
    }
    let mut child = worker(event).0.steps;
    let last = child.pop();
    steps.extend(child.into_iter().map(|step| once(step.when(on(TASK)))));
    steps.extend(last);
    (Play::of(steps), Options::default())
}

/// The arguments that start a child of this kind and wait for its answer.
pub(crate) fn spawn(kind: &str) -> Value {
    json!({"task": TASK, "kind": kind, "wait": true})
}

/// How the command-line agent behaves in an event; `pipe` is where it waits.
pub(crate) fn cli(mind: Mind, event: Event, pipe: &Path) -> Behaviour {
    let pipe: PathBuf = pipe.to_owned();
    match (mind, event) {
        // Of a council one member works, and the other need only answer.
        (_, Event::Plain | Event::Reject) | (Mind::CouncilWithCli, Event::Tools | Event::Steer) => {
            Behaviour::default()
        }
        // Before it has said anything that the council could use.
        (Mind::CouncilWithCli, Event::Cancel) => {
            Behaviour { escape: true, ..Behaviour::default() }.then(1, CliFault::Hold(pipe))
        }
        (_, Event::Tools) => Behaviour::replaying("tools-all"),
        (_, Event::Steer) => Behaviour::default().then(4, CliFault::Hold(pipe)),
        (_, Event::Cancel) => Behaviour { escape: true, ..Behaviour::default() }.then(4, CliFault::Hang),
        (_, Event::Failure) => Behaviour::replaying("err-401"),
        (_, Event::Crash) => Behaviour::replaying("partial").then(13, CliFault::Crash),
    }
}
