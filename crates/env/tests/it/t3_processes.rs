//! Processes that misbehave, and owners that go away.

use std::path::Path;
use std::time::Duration;

use junto_env::{CommandSpec, ErrorKind, ExecutionEnvironment, Exit, OutputStream, Process, Stdin};

use crate::support::{HANG, Place, check, check_in, everything, is_alive, line, peak_memory, wait_until};

/// Scripts that start something that is hard to find or to end, and print its pid.
const ESCAPES: &[(&str, &str)] = &[
    ("the process itself", "echo $$; exec sleep 1000"),
    ("a child", "sleep 1000 & echo $!; wait"),
    ("a grandchild", "(sleep 1000 & echo $!; wait) & wait"),
    ("an orphan", "(sleep 1000 & echo $!)"),
    ("a group of its own", "set -m; sleep 1000 & echo $!; wait"),
    ("a session of its own", "setsid bash -c 'echo $$; exec sleep 1000' & wait"),
    ("an orphan session", "(setsid bash -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &)"),
    (
        "a daemon: forked twice, a session of its own, no pipe of ours",
        "(setsid bash -c '(echo $BASHPID; exec sleep 1000 </dev/null >/dev/null 2>&1) &' &)",
    ),
    ("an orphan with a wiped environment", "(env -i setsid /bin/bash -c 'echo $$; exec /bin/sleep 1000' &)"),
    (
        "a child of an escaped process without our mark",
        "setsid env -i /bin/bash -c '/bin/sleep 1000 & echo $!; wait' & wait",
    ),
    (
        "a child with a session of its own, a wiped environment and no pipe of ours",
        "setsid env -i /bin/bash -c 'echo $$; exec /bin/sleep 1000 >/dev/null 2>&1' & wait",
    ),
    ("one that ignores SIGTERM", "(trap '' TERM; echo $BASHPID; exec sleep 1000) & wait"),
    ("an orphan session that ignores SIGTERM", "(trap '' TERM; setsid bash -c 'echo $$; exec sleep 1000' &)"),
    ("one that is stopped", "(echo $BASHPID; kill -STOP $BASHPID; sleep 1000) & wait"),
];

/// Runs one of these, and returns when what it started is there and, where that is an orphan, its
/// parent is gone. The parent waits for us: output is not waited for long once it has ended.
async fn escaped(place: &Place, script: &str) -> (Process, String) {
    let mut command = CommandSpec::shell(format!("{script}\nread _ || true"));
    command.stdin = Stdin::Open;
    let mut process = place.env.spawn(command).await.unwrap();
    let pid = line(&mut process).await;
    process.close_stdin().await.unwrap();
    if script.starts_with('(') && script.ends_with(')') {
        process.wait().await.unwrap();
    }
    (process, pid)
}

#[test]
fn dropping_kills_what_escaped() {
    check(async |_| {
        for (what, script) in ESCAPES {
            let place = Place::new();
            let (process, pid) = escaped(&place, script).await;
            assert!(is_alive(&pid), "{what} is not there");
            let root = process.id().to_string();
            drop(process);
            wait_until(what, || !is_alive(&pid));
            wait_until("the child is reaped", || !Path::new("/proc").join(&root).exists());
            place.assert_no_survivors();
        }
    });
}

#[test]
fn closing_ends_what_escaped_before_it_returns() {
    check(async |_| {
        for (what, script) in ESCAPES {
            let place = Place::new();
            let (process, pid) = escaped(&place, script).await;
            let root = process.id().to_string();
            process.close(Duration::from_millis(50)).await.unwrap();
            assert!(!is_alive(&pid), "{what}");
            assert!(!Path::new("/proc").join(&root).exists(), "the child of {what} is not reaped");
            assert_eq!(place.env.survivors(), [], "{what}");
        }
    });
}

#[test]
fn a_handle_can_be_dropped_without_a_runtime() {
    let place = Place::new();
    for (what, script) in ESCAPES {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (process, pid) = runtime.block_on(escaped(&place, script));
        drop(runtime);
        assert!(is_alive(&pid), "{what} ended with the runtime");
        let root = process.id().to_string();
        drop(process);
        wait_until(what, || !is_alive(&pid));
        wait_until("the child is reaped", || !Path::new("/proc").join(&root).exists());
    }
    place.assert_no_survivors();
}

#[test]
fn a_runtime_takes_its_processes_with_it() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (said, heard) = std::sync::mpsc::sync_channel(1);
    let mut process = runtime.block_on(place.shell("setsid sleep 1000 & echo ready; sleep 1000"));
    runtime.spawn(async move {
        said.send(line(&mut process).await).unwrap();
        process.wait().await
    });
    assert_eq!(heard.recv_timeout(HANG).unwrap(), "ready");
    assert!(!place.env.survivors().is_empty());
    drop(runtime);
    place.assert_no_survivors();
}

#[test]
fn a_spawn_that_nobody_waits_for_leaves_nothing() {
    check(async |place| {
        for _ in 0..20 {
            let mut spawn = place.env.spawn(CommandSpec::shell("sleep 1000"));
            let began = std::future::poll_fn(|cx| std::task::Poll::Ready(spawn.as_mut().poll(cx))).await;
            // Nothing is left to happen later, when nobody may be there to end it.
            assert!(began.is_ready());
        }
    });
}

#[test]
fn a_close_that_is_dropped_kills() {
    check(async |place| {
        let mut process = place.shell("trap '' TERM; echo ready; while :; do sleep 1; done").await;
        line(&mut process).await;
        let closing = process.close(HANG * 10);
        assert!(tokio::time::timeout(Duration::from_millis(50), closing).await.is_err());
        place.assert_no_survivors();
    });
}

#[test]
fn a_polite_process_has_its_grace() {
    check(async |place| {
        let mut process = place
            .shell("trap 'echo bye > said; exit 5' TERM; echo ready; while :; do sleep 0.01; done")
            .await;
        line(&mut process).await;
        assert_eq!(process.close(HANG).await.unwrap(), Exit { code: Some(5), signal: None });
        assert_eq!(std::fs::read_to_string(place.at("said")).unwrap(), "bye\n");
    });
}

#[test]
fn closing_what_has_ended_tells_how_it_did() {
    check(async |place| {
        let mut process = place.shell("exit 3").await;
        let exit = Exit { code: Some(3), signal: None };
        assert_eq!(process.wait().await.unwrap(), exit);
        assert_eq!(process.wait().await.unwrap(), exit);
        assert_eq!(process.close(HANG).await.unwrap(), exit);
    });
}

#[test]
fn closing_reads_what_would_hold_up_the_end() {
    check(async |place| {
        // Has more to say before it ends than the pipe holds.
        let script =
            "trap 'head -c 1000000 /dev/zero; exit 6' TERM; echo ready; while :; do sleep 0.01; done";
        let mut process = place.shell(script).await;
        line(&mut process).await;
        assert_eq!(process.close(HANG).await.unwrap().code, Some(6));
    });
}

#[test]
fn an_interrupt_is_heard() {
    check(async |place| {
        let mut process =
            place.shell("trap 'echo heard; exit 9' INT; echo ready; while :; do sleep 0.01; done").await;
        line(&mut process).await;
        process.interrupt().unwrap();
        assert_eq!(line(&mut process).await, "heard");
        assert_eq!(process.wait().await.unwrap().code, Some(9));
        // To one that has ended it means nothing.
        process.interrupt().unwrap();
    });
}

#[test]
fn a_flood_costs_no_memory_and_loses_nothing() {
    check(async |place| {
        let mut process = place.shell("head -c 200000000 /dev/zero").await;
        let before = peak_memory();
        let mut total = 0;
        while let Some(piece) = process.output().await.unwrap() {
            total += piece.bytes.len();
        }
        assert_eq!(total, 200_000_000);
        assert!(peak_memory() - before < 32 << 20, "{} bytes more", peak_memory() - before);
        assert!(process.wait().await.unwrap().success());
    });
}

#[test]
fn a_process_whose_output_nobody_reads_waits() {
    check(async |place| {
        let mut process = place.shell("yes | head -c 10000000; echo done > done").await;
        assert!(tokio::time::timeout(Duration::from_millis(200), process.wait()).await.is_err());
        assert!(!place.at("done").exists());
        let (stdout, _) = everything(&mut process).await;
        assert_eq!(stdout.len(), 10_000_000);
        assert!(process.wait().await.unwrap().success());
        assert!(place.at("done").exists());
    });
}

#[test]
fn output_ends_when_the_process_closes_it() {
    check(async |place| {
        let mut process = place.shell("echo last; exec >&- 2>&-; sleep 1000").await;
        assert_eq!(everything(&mut process).await, ("last\n".to_owned(), String::new()));
        assert!(is_alive(&process.id().to_string()));
    });
}

#[test]
fn output_ends_with_the_process_whoever_holds_the_pipe() {
    check(async |place| {
        for holder in [
            "sleep 1000 &",
            "setsid sleep 1000 &",
            // One that never stops writing.
            "(yes y &);",
        ] {
            let mut process = place.shell(&format!("printf x; {holder} exit 0")).await;
            let (stdout, _) = everything(&mut process).await;
            assert!(stdout.starts_with('x'), "{holder}");
            assert!(process.wait().await.unwrap().success());
            assert!(!place.env.survivors().is_empty(), "{holder} was to outlive the process");
        }
    });
}

#[test]
fn what_was_written_before_the_end_is_read_however_late() {
    check(async |place| {
        let mut process =
            place.shell("head -c 60000 /dev/zero; head -c 50000 /dev/zero >&2; sleep 1000 &").await;
        assert!(process.wait().await.unwrap().success());
        // The first call starts the clock of the drain; the others come after it has run out.
        let mut total = process.output().await.unwrap().unwrap().bytes.len();
        tokio::time::sleep(Duration::from_millis(200)).await;
        while let Some(piece) = process.output().await.unwrap() {
            total += piece.bytes.len();
        }
        assert_eq!(total, 110_000);
    });
}

#[test]
fn both_streams_come_in_the_order_they_were_read() {
    check(async |place| {
        let mut command =
            CommandSpec::shell("while read -r x; do echo out $x; read -r x; echo err $x >&2; done");
        command.stdin = Stdin::Open;
        let mut process = place.env.spawn(command).await.unwrap();
        for round in 0..20 {
            for (stream, name) in [(OutputStream::Stdout, "out"), (OutputStream::Stderr, "err")] {
                process.write(format!("{round}\n").as_bytes()).await.unwrap();
                let piece = process.output().await.unwrap().unwrap();
                assert_eq!((piece.stream, &*piece.bytes), (stream, format!("{name} {round}\n").as_bytes()));
            }
        }
        process.close_stdin().await.unwrap();
        assert_eq!(process.output().await.unwrap(), None);
        assert!(process.wait().await.unwrap().success());
    });
}

#[test]
fn input_and_output_do_not_wait_for_each_other() {
    check(async |place| {
        let mut command = CommandSpec::argv(["cat"]);
        command.stdin = Stdin::Open;
        let mut process = place.env.spawn(command).await.unwrap();
        // Eight times what a pipe holds: cat answers before it has read all.
        let data = vec![b'x'; 512 << 10];
        process.write(&data).await.unwrap();
        process.close_stdin().await.unwrap();
        assert_eq!(everything(&mut process).await.0.len(), data.len());
    });
}

#[test]
fn input_that_is_not_open_is_an_error() {
    check(async |place| {
        let mut process = place.shell("sleep 1000").await;
        assert_eq!(process.write(b"x").await.unwrap_err().kind(), ErrorKind::Unsupported);
        process.close_stdin().await.unwrap();
        let mut command = CommandSpec::shell("exec <&-; echo ready; sleep 1000");
        command.stdin = Stdin::Open;
        let mut process = place.env.spawn(command).await.unwrap();
        line(&mut process).await;
        assert_eq!(process.write(b"x").await.unwrap_err().kind(), ErrorKind::Io);
    });
}

#[test]
fn what_keeps_forking_is_caught() {
    check(async |place| {
        for bomb in [
            // Sixty-four processes, each with one more, while we kill.
            "f() { if [ $1 -gt 0 ]; then f $(($1 - 1)) & f $(($1 - 1)) & fi; echo; sleep 1000; }; f 5",
            // Each ends as soon as it has a successor.
            "hop() { hop & }; echo; hop",
            // The same in sessions of their own.
            "f() { if [ $1 -gt 0 ]; then setsid bash -c \"$(declare -f f); f $(($1 - 1))\" & fi; echo; sleep 1000; }; f 8",
        ] {
            let mut process = place.shell(bomb).await;
            line(&mut process).await;
            drop(process);
            place.assert_no_survivors();
        }
    });
}

#[test]
fn what_is_just_being_started_does_not_slip_through() {
    check(async |place| {
        // A program that is being started has no variables for a moment; this one is always just
        // being started, and its variables are all there is to know it by.
        std::fs::write(place.at("again"), "exec bash again").unwrap();
        for round in 0..40 {
            let script = "(setsid bash -c 'echo $$; exec bash again >/dev/null 2>&1' &)";
            let (mut process, pid) = escaped(place, script).await;
            assert!(process.wait().await.unwrap().success());
            if round % 2 == 0 {
                process.close(HANG).await.unwrap();
                assert!(!is_alive(&pid));
            } else {
                drop(process);
                wait_until("it ends", || !is_alive(&pid));
            }
        }
    });
}

#[test]
fn only_our_own_are_signalled() {
    check(async |place| {
        let other = Place::new();
        let mut theirs = other.shell("echo ready; exec sleep 1000").await;
        line(&mut theirs).await;
        let mut sibling = place.shell("echo ready; exec sleep 1000").await;
        line(&mut sibling).await;
        let mut ours = place.shell("setsid sleep 1000 & echo ready; sleep 1000").await;
        line(&mut ours).await;
        ours.close(HANG).await.unwrap();
        assert!(is_alive(&theirs.id().to_string()));
        assert!(is_alive(&sibling.id().to_string()));
        drop(theirs);
        other.assert_no_survivors();
    });
}

#[test]
fn a_worker_that_another_daemon_runs_for_us_does_not_take_the_daemon_along() {
    check(async |place| {
        let daemon = Place::new();
        let mut command = CommandSpec::shell(
            "read -r mark; JUNTO_TREE=$mark bash -c 'echo $$; exec sleep 1000' & sleep 1000",
        );
        command.stdin = Stdin::Open;
        let mut daemon_process = daemon.env.spawn(command).await.unwrap();
        let mut ours = place.shell("echo $JUNTO_TREE; exec sleep 1000").await;
        let mark = line(&mut ours).await;
        daemon_process.write(format!("{mark}\n").as_bytes()).await.unwrap();
        let worker = line(&mut daemon_process).await;
        drop(ours);
        wait_until("the worker ends", || !is_alive(&worker));
        assert!(is_alive(&daemon_process.id().to_string()));
        drop(daemon_process);
        daemon.assert_no_survivors();
    });
}

#[test]
fn an_outer_owner_finds_what_an_inner_one_started() {
    let outer =
        Place::with(|builder| builder.variables([("PATH", "/usr/bin:/bin"), ("JUNTO_TREE", "outermost.0")]));
    check_in(outer, async |place| {
        let mut process = place.shell("echo $JUNTO_TREE; exec sleep 1000").await;
        let marks = line(&mut process).await;
        assert!(marks.starts_with("outermost.0:"), "{marks}");
        // As a host would that we run: a session of its own, and its own mark behind ours.
        let inner = place.shell(
            "(JUNTO_TREE=$JUNTO_TREE:inner.0 setsid bash -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &)",
        );
        let mut inner = inner.await;
        let pid = line(&mut inner).await;
        inner.close(HANG).await.unwrap();
        assert!(!is_alive(&pid));
    });
}

#[test]
fn many_at_once() {
    check(async |place| {
        let mut processes = Vec::new();
        for number in 0..24 {
            processes.push((number, place.shell(&format!("sleep 1000 & echo {number}; wait")).await));
        }
        for (number, process) in &mut processes {
            assert_eq!(line(process).await, number.to_string());
        }
    });
}
