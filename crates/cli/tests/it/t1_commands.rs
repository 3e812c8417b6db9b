//! `junto run` while it runs: commands, answers and interrupts.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout};
use std::time::Duration;

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::t1_interrupt::{interrupt, start};
use crate::t1_run::{events, of_type};

/// A run whose events are read while it works.
pub(crate) struct Session {
    pub(crate) child: Child,
    pub(crate) out: BufReader<ChildStdout>,
    seen: String,
}

impl Session {
    pub(crate) fn start(stage: &Stage, flags: &[&str]) -> Self {
        let args = [&["run", "--json"], flags, &["Work."]].concat();
        let mut child = start(&stage.machine, &args);
        if !flags.contains(&"--input") {
            // It would be read as part of the task.
            drop(child.stdin.take());
        }
        Self::of(child)
    }

    /// A run with `--json` that has pipes on all sides.
    pub(crate) fn of(mut child: Child) -> Self {
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out, seen: String::new() }
    }

    /// Reads until a line of this type comes.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, kind: &str) -> Value {
        loop {
            let value = self.next();
            if value["type"] == kind {
                return value;
            }
        }
    }

    /// The next line.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.out.read_line(&mut line).unwrap(), 0, "it ended: {}", self.seen);
        self.seen.push_str(&line);
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) fn tell(&mut self, line: impl ToString) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{}", line.to_string()).unwrap();
    }

    pub(crate) fn answer(&mut self, ask: &Value, decision: Value) {
        self.tell(json!({"command": "answer", "ask": ask["request"]["ask"], "decision": decision}));
    }

    /// The exit code, the events and standard error, once it has ended.
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<Value>, String) {
        // `wait` would close standard input: it must end without that.
        let input = self.child.stdin.take();
        self.out.read_to_string(&mut self.seen).unwrap();
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let code = self.child.wait().unwrap().code();
        drop(input);
        (code, events(&self.seen).0, err)
    }
}

/// A command that ends only if somebody ends it; tells the id of what it started. In a sandbox that is another
/// than the one it has outside.
pub(crate) fn endless() -> Step {
    Step::call("shell", json!({"command": "sleep 600 & echo $!; wait", "timeout_ms": 600_000}))
}

#[track_caller]
pub(crate) fn assert_gone(pid: &str) {
    assert!(!pid.is_empty());
    // What was killed takes a moment to die, and the kernel tells only its parent.
    let mut lives = String::new();
    for _ in 0..5_000 {
        lives = std::fs::read_to_string(Path::new("/proc").join(pid).join("status")).unwrap_or_default();
        // What is dead and not yet buried by its new parent is gone, too.
        if lives.is_empty() || lives.contains("State:\tZ") {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("{pid} lives: {lives}");
}

#[test]
fn a_run_can_be_steered() {
    let stage = Stage::on_any_wire(Play::of([endless(), Step::text("Heard: {{last_user}}")]));
    let mut session = Session::start(&stage, &["--policy", "full", "--input", "json"]);
    let pid = session.wait_for("tool_call_output_delta")["text"].as_str().unwrap().trim().to_owned();
    session.tell("this is no command");
    session.tell(json!({"command": "steer", "input": {"text": "Be brief."}, "when": "now"}));
    let (code, events, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("warning: this line is no command"), "{err}");
    assert_eq!(of_type(&events, "steering_injected").len(), 1);
    assert_eq!(of_type(&events, "input_end")[0]["text"], "Heard: Be brief.");
    assert_gone(&pid);
}

#[test]
fn what_is_no_command_is_told_and_nothing_else_happens() {
    let stage = Stage::on_any_wire(Play::text("Done."));
    let mut session = Session::of(start(&stage.machine, &["run", "--json", "--input", "json"]));
    // The rest of a line that is too long is no line of its own.
    let long = format!(r#"{{"command":"submit","input":{{"text":"{}""#, "y".repeat(32 << 20));
    session.tell(long + r#"}}{"command":"submit","input":{"text":"INJECTED"}}"#);
    session.tell(json!({"command": "submit", "input": {"text": "A."}, "bogus": 1}));
    session.tell(json!({"command": "configure", "change": {"modle": "zebra"}}));
    session.tell(json!({"command": "configure", "change": {}}));
    // Far more than a megabyte, and still one command.
    session.tell(format!(r#"{{"command":"submit",{}"input":{{"text":"B."}}}}"#, " ".repeat(3 << 20)));
    session.wait_for("input_end");
    drop(session.child.stdin.take());
    let (code, events, err) = session.end();
    assert_eq!((code, of_type(&events, "input_end").len()), (Some(0), 1), "{err}");
    assert_eq!(of_type(&events, "user_input")[0]["input"]["text"], "B.");
    for said in ["longer than 32 MiB", "`bogus`", "`change.modle`", "the change is empty"] {
        assert_eq!(err.matches(said).count(), 1, "{said}: {err}");
    }
}

#[test]
fn a_subagent_can_be_steered() {
    let spawn = Step::call("spawn_agent", json!({"task": "CHILD", "wait": true}));
    let heard = Step::text("Heard: {{last_user}}");
    let stage = Stage::on_any_wire(Play::of([spawn, endless(), heard, Step::text("Done.")]));
    let mut session = Session::start(&stage, &["--input", "json"]);
    let delta = session.wait_for("tool_call_output_delta");
    session.tell(json!({"agent": "nobody", "command": "interrupt"}));
    let input = json!({"text": "Be brief."});
    session.tell(json!({"agent": delta["agent"], "command": "steer", "input": input, "when": "now"}));
    let (code, events, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("there is no agent nobody"), "{err}");
    let steered = of_type(&events, "steering_injected");
    assert_eq!((steered.len(), &steered[0]["agent"]), (1, &delta["agent"]), "{events:?}");
    let ends = of_type(&events, "input_end");
    assert!(ends.iter().any(|end| end["text"] == "Heard: Be brief."), "{ends:?}");
}

#[test]
fn questions_are_answered_by_the_program_that_runs_it() {
    let touch = || Step::call("shell", json!({"command": "touch made.txt"}));
    let check = |decision: Value, code: i32, reason: &str, made: bool| {
        let stage = Stage::on_any_wire(Play::of([touch(), Step::text("Done.")]));
        let mut session = Session::start(&stage, &["--ask", "--input", "json"]);
        let ask = session.wait_for("ask");
        assert_eq!(ask["request"]["actions"][0]["line"], "touch made.txt");
        session.answer(&ask, decision);
        let (ended, events, err) = session.end();
        assert_eq!(ended, Some(code), "{err}");
        assert_eq!(of_type(&events, "input_end")[0]["reason"]["end"], reason);
        assert_eq!(stage.machine.path("project/made.txt").exists(), made);
    };
    check(json!({"answer": "allow"}), 0, "done", true);
    check(json!({"answer": "reject", "reason": "not today"}), 5, "rejected", false);
}

#[test]
fn when_the_program_has_gone_the_model_goes_on_without_leave() {
    let touch = Step::call("shell", json!({"command": "touch made.txt"}));
    let stage = Stage::on_any_wire(Play::of([touch, Step::text("Done.")]));
    let mut session = Session::start(&stage, &["--ask", "--input", "json"]);
    session.wait_for("ask");
    drop(session.child.stdin.take());
    let (code, events, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(of_type(&events, "answered")[0]["decision"]["answer"], "unanswered");
    assert_eq!(of_type(&events, "input_end")[0]["text"], "Done.");
}

#[test]
fn what_is_to_follow_is_worked_on_before_it_ends() {
    let touch = Step::call("shell", json!({"command": "touch made.txt"}));
    let stage = Stage::on_any_wire(Play::of([touch, Step::text("Did: {{last_user}}")]));
    let mut session = Session::start(&stage, &["--ask", "--input", "json"]);
    let ask = session.wait_for("ask");
    session.tell(json!({"command": "follow_up", "input": {"text": "And this."}}));
    session.answer(&ask, json!({"answer": "allow"}));
    let (code, events, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
    let texts: Vec<&Value> = of_type(&events, "input_end").iter().map(|event| &event["text"]).collect();
    assert_eq!(texts, ["Did: Work.", "Did: And this."]);
}

#[test]
fn without_a_task_it_works_on_what_it_is_told_until_the_input_ends() {
    let stage = Stage::on_any_wire(Play::of([Step { times: Some(9), ..Step::text("Did: {{last_user}}") }]));
    let mut session = Session::of(start(&stage.machine, &["run", "--json", "--input", "json"]));
    for task in ["One.", "Two."] {
        session.tell(json!({"command": "submit", "input": {"text": task}}));
        assert_eq!(session.wait_for("input_end")["text"], format!("Did: {task}"));
    }
    drop(session.child.stdin.take());
    let (code, events, err) = session.end();
    assert_eq!((code, of_type(&events, "input_end").len()), (Some(0), 2), "{err}");
}

#[test]
fn it_can_be_configured_while_it_runs() {
    let stage = Stage::on_any_wire(Play::of([endless(), Step::text("Done.")]));
    let mut session = Session::start(&stage, &["--input", "json"]);
    session.wait_for("tool_call_output_delta");
    session.tell(json!({"command": "configure", "change": {"model": "claude-haiku-5-5"}}));
    session.tell(json!({"command": "steer", "input": {"text": "Go on."}, "when": "now"}));
    let (code, _, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
    let models: Vec<Value> = stage.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(models, ["claude-opus-5-5", "claude-haiku-5-5"]);
}

#[test]
fn it_can_be_told_to_work_elsewhere() {
    let pwd = Step::call("shell", json!({"command": "pwd"}));
    let stage = Stage::on_any_wire(Play::of([endless(), pwd, Step::text("It is in {{last_result}}")]));
    stage.machine.write("project/sub/file", "");
    let mut session = Session::start(&stage, &["--input", "json"]);
    session.wait_for("tool_call_output_delta");
    session.tell(json!({"command": "configure", "change": {"workdir": "gone"}}));
    session.tell(json!({"command": "configure", "change": {"workdir": "sub"}}));
    session.tell(json!({"command": "steer", "input": {"text": "Go on."}, "when": "now"}));
    let (code, events, err) = session.end();
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("warning: ") && err.contains("/project/gone"), "{err}");
    let text = of_type(&events, "input_end")[0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("/project/sub\n"), "{text}");
}

#[test]
fn an_interrupt_ends_the_input_and_not_what_is_to_follow() {
    let stage = Stage::on_any_wire(Play::of([endless(), Step::text("Did: {{last_user}}")]));
    let mut session = Session::start(&stage, &["--input", "json"]);
    session.wait_for("tool_call_output_delta");
    session.tell(json!({"command": "follow_up", "input": {"text": "And this."}}));
    // The next command is read after the one before was taken.
    session.tell("no command");
    let mut said = String::new();
    let mut err = BufReader::new(session.child.stderr.take().unwrap());
    while !said.contains("no command") {
        assert_ne!(err.read_line(&mut said).unwrap(), 0, "{said}");
    }
    interrupt(&session.child);
    session.out.read_to_string(&mut session.seen).unwrap();
    assert_eq!(session.child.wait().unwrap().code(), Some(0), "{}", session.seen);
    let ends: Vec<Value> = of_type(&events(&session.seen).0, "input_end")
        .iter()
        .map(|end| end["reason"]["end"].clone())
        .collect();
    assert_eq!(ends, ["interrupted", "done"]);
}

#[test]
fn it_ends_when_it_is_told_to() {
    for command in ["interrupt", "abort"] {
        let stage = Stage::on_any_wire(Play::of([endless()]));
        let mut session = Session::start(&stage, &["--policy", "full", "--input", "json"]);
        let pid = session.wait_for("tool_call_output_delta")["text"].as_str().unwrap().trim().to_owned();
        session.tell(json!({"command": command}));
        let (code, events, err) = session.end();
        assert_eq!(code, Some(130), "{command}: {err}");
        assert_eq!(of_type(&events, "session_end")[0]["reason"]["end"], "interrupted");
        assert_gone(&pid);
    }
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let stage = Stage::on_any_wire(Play::of([endless()]));
    let mut session = Session::start(&stage, &["--policy", "full"]);
    let pid = session.wait_for("tool_call_output_delta")["text"].as_str().unwrap().trim().to_owned();
    interrupt(&session.child);
    let (code, events, err) = session.end();
    assert_eq!(code, Some(130), "{err}");
    assert!(err.ends_with("error: interrupted\n"), "{err}");
    assert_eq!(of_type(&events, "input_end")[0]["reason"]["end"], "interrupted");
    assert_gone(&pid);
}

#[test]
fn a_second_interrupt_does_not_wait() {
    // It ignores being asked to end.
    let stubborn = "trap '' TERM INT HUP; sleep 600 & echo $!; while :; do wait; done";
    let call = Step::call("shell", json!({"command": stubborn, "timeout_ms": 600_000}));
    let stage = Stage::on_any_wire(Play::of([call]));
    let mut session = Session::start(&stage, &["--policy", "full"]);
    let pid = session.wait_for("tool_call_output_delta")["text"].as_str().unwrap().trim().to_owned();
    let mut err = BufReader::new(session.child.stderr.take().unwrap());
    let mut said = String::new();
    interrupt(&session.child);
    while !said.contains("waiting for the agent to end") {
        assert_ne!(err.read_line(&mut said).unwrap(), 0, "{said}");
    }
    interrupt(&session.child);
    assert_eq!(session.child.wait().unwrap().code(), Some(130), "{said}");
    assert_gone(&pid);
}
