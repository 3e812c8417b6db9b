//! The same as for bash with whatever `sh` is here: what it runs of a line that it is given is seen, although it may read
//! some signs in another way than bash. Where `sh` is dash, this is a second opinion on what only bash knows.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use junto_policy::Answer;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use crate::t1_bash::{MOST, damaged, denying, joined, line, odd};

/// Writes down how it is called. Odd ones fail, so that both branches are taken; whoever runs too many is stopped.
const STUB: &str = r#"#!/bin/sh
trap '' XFSZ
printf '%s\0' "${0##*/}" >> "$LOG" || kill -9 0
case $0 in *[02468]) ;; *) exit 1 ;; esac
"#;

/// A directory with a program for every command of the lines.
fn programs() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let stub = dir.path().join("stub");
    fs::write(&stub, STUB).unwrap();
    fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    for number in 0..MOST {
        symlink(&stub, dir.path().join(format!("c{number}"))).unwrap();
    }
    dir
}

/// The names of the commands that `sh` ran, of these.
fn ran(programs: &TempDir, line: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join(".log");
    Command::new("/bin/sh")
        .args(["-c", "ulimit -t 5; ulimit -f 2; eval \"$0\"", line])
        .current_dir(dir.path())
        .env_clear()
        .env("PATH", programs.path())
        .env("LOG", &log)
        .process_group(0)
        .stdin(Stdio::null())
        // Everything that it starts holds the pipe open, so the end of it is the end of them all.
        .output()
        .unwrap();
    let log = fs::read(&log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    // What comes after the last end was cut off.
    let (whole, _) = log.rsplit_once('\0').unwrap_or_default();
    whole.split_terminator('\0').map(str::to_owned).collect()
}

/// Checks a line that `sh` is given.
fn check(programs: &TempDir, line: &str) -> Result<usize, TestCaseError> {
    let ran = ran(programs, line);
    let given = format!("sh -c '{}'", line.replace('\'', r"'\''"));
    for name in &ran {
        let explained = denying(name).explain_line(&given);
        prop_assert_ne!(explained.answer(), Answer::Allow, "sh ran {} in\n{}\n{}", name, line, explained);
    }
    Ok(ran.len())
}

#[test]
fn what_sh_runs_is_told() {
    let line = "c0; echo $(c2) `c3`; f() { c4; }; f; /bin/sh -c c6";
    assert_eq!(ran(&programs(), line), ["c0", "c2", "c3", "c4", "c6"]);
    assert_eq!(denying("c2").explain_line("sh -c 'echo $(c2)'").answer(), Answer::Deny);
    assert_eq!(denying("c1").explain_line("sh -c 'echo $(c2)'").answer(), Answer::Allow);
}

#[test]
fn commands_in_lines_for_sh_are_seen() {
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() });
    let lines = prop_oneof![2 => line(), 1 => damaged(), 1 => joined(), 1 => odd()];
    let programs = programs();
    runner.run(&lines, |line| check(&programs, &line).map(drop)).unwrap_or_else(|error| panic!("{error}"));
}

/// What random lines rarely hit upon.
#[test]
fn what_only_bash_reads_so_hides_no_command() {
    let (programs, mut runs) = (programs(), 0);
    for line in [
        r"echo $'\''; c0 #'",
        r#"eval "echo \$""'\\''; c0 #'""#,
        "((c0))",
        "c0 &> x",
        "coproc { c0; }",
        "y='a z=c0'; export x=$y; $z",
        "y='a z=c0'; declare x=$y; $z c0",
        "x=c1; x+=c0; $x",
        "[[ a && c0 ]]",
        "[[ a || c0 ]]",
        "[[ a < b ]]; c0",
        "echo {c0,c1}",
        "function f { c0; }",
        "case c0 in [^a]0) c0;; esac",
        "exec -a x c0; c0",
        "select x in a; do c0; done",
        "c0 <(c2)",
        "c0; : <<< c0",
        "time -p c0",
        "c0 |& c2",
    ] {
        runs += check(&programs, line).unwrap_or_else(|error| panic!("{error}"));
    }
    assert!(runs > 5, "only {runs} commands ran");
}
