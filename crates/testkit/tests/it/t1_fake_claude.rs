//! The fake must fail where the real command would, or tests over it prove nothing.

use std::io::Write as _;
use std::process::{Command, Stdio};

use junto_testkit::fake_claude::{Behaviour, Fault};

const USUAL: &[&str] = &["-p", "--output-format", "stream-json", "--verbose"];

struct Run {
    code: Option<i32>,
    out: String,
    err: String,
}

fn run(arguments: &[&str], prompt: &str, behaviour: &Behaviour) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_junto-fake-claude"))
        .args(arguments)
        .envs(behaviour.variables())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(prompt.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn answers_by_its_script() {
    let run = run(USUAL, "hello", &Behaviour::default());
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.ends_with('\n') && run.out.contains("You said: hello"), "{}", run.out);
}

#[test]
fn takes_the_prompt_as_json_lines_too() {
    let arguments = [USUAL, &["--input-format", "stream-json"]].concat();
    let line = r#"{"type":"user","message":{"role":"user","content":"hello"}}"#;
    assert!(run(&arguments, line, &Behaviour::default()).out.contains("You said: hello"));
}

#[test]
fn replays_a_recording_with_its_status() {
    let run = run(USUAL, "hello", &Behaviour::replaying("err-401"));
    assert_eq!(run.code, Some(1));
    assert_eq!(run.out, std::fs::read_to_string(junto_testkit::recording("claude/err-401")).unwrap());
}

#[test]
fn refuses_what_the_real_command_refuses() {
    for (arguments, prompt, said) in [
        (&["-p", "--output-format", "stream-json"][..], "hello", "--verbose"),
        (USUAL, "", "Input must be provided"),
        (&[USUAL, &["--no-such-option"]].concat(), "hello", "unknown option"),
    ] {
        let run = run(arguments, prompt, &Behaviour::default());
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(run.err.contains(said), "{arguments:?}: {}", run.err);
    }
}

#[test]
fn misbehaves_as_asked() {
    let crash = run(USUAL, "hello", &Behaviour::default().then(1, Fault::Crash));
    assert_eq!(crash.code, None, "killed by a signal");
    assert!(crash.out.contains("init") && !crash.out.ends_with('\n'), "{}", crash.out);
    let exit = run(USUAL, "hello", &Behaviour::default().then(1, Fault::Exit(3)));
    assert_eq!((exit.code, exit.out.lines().count()), (Some(3), 1));
    let flood = run(USUAL, "hello", &Behaviour { stderr_bytes: 5 << 20, ..Behaviour::default() });
    assert_eq!((flood.code, flood.err.len()), (Some(0), 5 << 20));
}
