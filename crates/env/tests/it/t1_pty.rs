//! Commands on a terminal.

use std::time::Duration;

use junto_env::{
    CommandSpec, ErrorKind, ExecutionEnvironment, Exit, OutputStream, Process, Stdin, TerminalSize, exec,
};
use tokio_util::sync::CancellationToken;

use crate::support::{HANG, Place, check, everything, is_alive, line, wait_until};

fn on_terminal(line: &str, stdin: Stdin) -> CommandSpec {
    let terminal = Some(TerminalSize { rows: 40, columns: 120 });
    CommandSpec { stdin, terminal, ..CommandSpec::shell(line) }
}

async fn spawn(place: &Place, line: &str) -> Process {
    place.env.spawn(on_terminal(line, Stdin::Open)).await.unwrap()
}

/// Output up to where something was said.
async fn hear(process: &mut Process, what: &str) -> String {
    let mut text = String::new();
    while !text.contains(what) {
        let piece = process.output().await.unwrap().unwrap_or_else(|| panic!("{text:?} and no {what:?}"));
        assert_eq!(piece.stream, OutputStream::Stdout);
        text += std::str::from_utf8(&piece.bytes).unwrap();
    }
    text
}

#[test]
fn a_command_sees_a_terminal() {
    check(async |place| {
        for (line, expected) in [
            ("test -t 0 && test -t 1 && test -t 2 && echo yes", "yes\r\n"),
            ("stty size", "40 120\r\n"),
            // It is its own, not only its streams'.
            ("echo out >/dev/tty", "out\r\n"),
            ("ps -o tty= -p $$ | tr -d ' ' | grep -c '^pts/'", "1\r\n"),
            // Both streams are one.
            ("echo out; echo err >&2", "out\r\nerr\r\n"),
            ("echo $TERM", "dumb\r\n"),
            ("printf 'no end'", "no end"),
        ] {
            let mut process = spawn(place, line).await;
            assert_eq!(everything(&mut process).await, (expected.to_owned(), String::new()), "{line}");
            assert_eq!(process.wait().await.unwrap(), Exit { code: Some(0), signal: None }, "{line}");
        }
    });
}

#[test]
fn what_is_written_is_typed() {
    check(async |place| {
        let mut process = spawn(place, "read -r x; echo got $x; read -r x; echo got $x").await;
        process.write(b"one\n").await.unwrap();
        // With an echo, as on any terminal.
        assert_eq!(hear(&mut process, "got one\r\n").await, "one\r\ngot one\r\n");
        process.write(b"two\n").await.unwrap();
        hear(&mut process, "got two\r\n").await;
        assert!(process.wait().await.unwrap().success());
    });
}

#[test]
fn the_input_ends() {
    check(async |place| {
        // After a line, within one, and with nothing said.
        for (typed, counted) in [("one\n", "4\r\n"), ("half", "4\r\n"), ("", "0\r\n")] {
            let mut process = spawn(place, "stty -echo; echo ready; wc -c").await;
            hear(&mut process, "ready\r\n").await;
            process.write(typed.as_bytes()).await.unwrap();
            process.close_stdin().await.unwrap();
            assert_eq!(hear(&mut process, "\n").await, counted, "{typed:?}");
            assert!(process.wait().await.unwrap().success());
            let command = on_terminal("stty -echo; wc -c", Stdin::Bytes(typed.into()));
            let mut process = place.env.spawn(command).await.unwrap();
            let (said, _) = everything(&mut process).await;
            assert!(said.ends_with(counted), "{said:?}");
        }
        // One that has no input reads nothing, and cannot be written to.
        let mut process = place.env.spawn(on_terminal("cat; test -t 1", Stdin::Empty)).await.unwrap();
        assert_eq!(process.write(b"x").await.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(everything(&mut process).await.0, "");
        assert!(process.wait().await.unwrap().success());
    });
}

#[test]
fn keys_and_sizes_are_heard() {
    check(async |place| {
        let mut process =
            spawn(place, "trap 'stty size' WINCH; echo ready; while :; do sleep 0.01; done").await;
        hear(&mut process, "ready\r\n").await;
        process.resize(TerminalSize { rows: 7, columns: 9 }).unwrap();
        hear(&mut process, "7 9\r\n").await;
        process.write(b"\x03").await.unwrap();
        assert_eq!(process.wait().await.unwrap(), Exit { code: None, signal: Some(2) });
        let mut process = spawn(place, "echo ready; sleep 1000").await;
        hear(&mut process, "ready\r\n").await;
        process.interrupt().unwrap();
        assert_eq!(process.wait().await.unwrap(), Exit { code: None, signal: Some(2) });
        let mut piped = place.shell("sleep 1000").await;
        assert_eq!(piped.resize(TerminalSize::default()).unwrap_err().kind(), ErrorKind::Unsupported);
    });
}

#[test]
fn much_output_comes_whole() {
    check(async |place| {
        let mut process = spawn(place, "seq 100000").await;
        let (said, _) = everything(&mut process).await;
        assert!(said.lines().eq((1..=100_000).map(|n| n.to_string())), "{} bytes", said.len());
        assert_eq!(said.matches("\r\n").count(), 100_000);
    });
}

#[test]
fn a_command_that_fills_its_terminal_waits_and_can_be_killed() {
    check(async |place| {
        for ended in [true, false] {
            let mut process = spawn(place, "yes; echo never > never").await;
            // Nobody reads.
            assert!(tokio::time::timeout(Duration::from_millis(100), process.wait()).await.is_err());
            let root = process.id().to_string();
            if ended {
                assert_eq!(process.close(HANG).await.unwrap().signal, Some(15));
            } else {
                drop(process);
            }
            wait_until("it ends", || !is_alive(&root));
            assert!(!place.at("never").exists());
        }
        let token = CancellationToken::new();
        let command = on_terminal("yes", Stdin::Empty);
        let limit = Duration::from_millis(100);
        let result = exec(&place.env, command, limit, &token, &mut |_| {}).await.unwrap();
        assert!(result.timed_out && result.stdout.total() > 0);
        assert_eq!(result.both, result.stdout);
    });
}

#[test]
fn output_ends_with_the_command_whoever_holds_the_terminal() {
    check(async |place| {
        let mut process = spawn(place, "trap '' HUP; printf x; sleep 1000 & exit 0").await;
        let (said, _) = everything(&mut process).await;
        assert!(said.starts_with('x'), "{said:?}");
        assert!(process.wait().await.unwrap().success());
        assert!(!place.env.survivors().is_empty(), "it was to outlive the command");
    });
}

#[test]
fn what_escapes_from_a_terminal_is_found() {
    check(async |_| {
        for script in [
            "echo $$; exec sleep 1000",
            "(trap '' HUP TERM; echo $BASHPID; exec sleep 1000) & wait",
            "(trap '' HUP; setsid bash -c 'echo $$; exec sleep 1000 </dev/null >/dev/null 2>&1' &); sleep 1000",
            // Known only by the terminal that it still holds.
            "(trap '' HUP; env -i setsid /bin/bash -c 'echo $$; exec /bin/sleep 1000' &); sleep 1000",
        ] {
            for closed in [true, false] {
                let place = Place::new();
                let mut process = spawn(&place, script).await;
                let pid = line(&mut process).await.trim().to_owned();
                let root = process.id().to_string();
                assert!(is_alive(&pid), "{script}");
                if closed {
                    process.close(Duration::from_millis(50)).await.unwrap();
                    assert!(!is_alive(&pid), "{script}");
                } else {
                    drop(process);
                    wait_until(script, || !is_alive(&pid));
                }
                wait_until("the child is reaped", || !std::path::Path::new("/proc").join(&root).exists());
                place.assert_no_survivors();
            }
        }
    });
}

#[test]
fn no_thread_and_no_descriptor_is_left() {
    check(async |place| {
        let count = |what: &str| std::fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
        let mut process = spawn(place, "true").await;
        everything(&mut process).await;
        process.close(HANG).await.unwrap();
        let descriptors = count("fd");
        for _ in 0..20 {
            let mut process = spawn(place, "echo x").await;
            everything(&mut process).await;
            process.close(HANG).await.unwrap();
            drop(spawn(place, "sleep 1000").await);
        }
        wait_until("the descriptors are closed", || count("fd") <= descriptors);
        let keepers = || {
            let names = std::fs::read_dir("/proc/self/task")
                .unwrap()
                .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
            names.filter(|name| name.trim() == "junto-child").count()
        };
        wait_until("the threads end", || keepers() == 0);
    });
}
