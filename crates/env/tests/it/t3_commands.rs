//! Commands that misbehave: in bounded memory, with a result, and nothing left running.

use std::time::Duration;

use junto_env::{
    Background, CommandSpec, ErrorKind, ExecResult, ExecutionEnvironment, Exit, GRACE, State, Stdin,
    TerminalSize, exec,
};
use tokio_util::sync::CancellationToken;

use crate::support::{HANG, Place, check, everything, is_alive, peak_memory};

/// What all of this process may ever hold. Each test has a process of its own.
const MEMORY: usize = 50 << 20;

async fn run(place: &Place, command: CommandSpec, limit: Duration) -> ExecResult {
    exec(&place.env, command, limit, &CancellationToken::new(), &mut |_| {}).await.unwrap()
}

#[track_caller]
fn assert_little_memory() {
    let peak = peak_memory();
    assert!(peak < MEMORY, "{peak} bytes");
}

#[test]
fn two_gigabytes_are_run_through() {
    check(async |place| {
        let result = run(place, CommandSpec::shell("head -c 2G /dev/zero"), HANG).await;
        assert!(result.exit.success());
        assert_eq!(result.stdout.total(), 2 << 30);
        assert_eq!(result.both.total(), 2 << 30);
        assert_eq!(result.stdout.omitted() + (512 << 10), 2 << 30);
        assert_little_memory();
    });
}

#[test]
fn floods_of_all_kinds() {
    check(async |place| {
        let size = 64 << 20;
        let terminal = Some(TerminalSize::default());
        for (line, terminal, total) in [
            (format!("head -c {size} /dev/zero >&2"), None, size),
            // Both at once, and neither is starved.
            (format!("head -c {size} /dev/zero & head -c {size} /dev/zero >&2; wait"), None, 2 * size),
            // One line, and as many as can be.
            (format!("head -c {size} /dev/zero | tr '\\0' x"), None, size),
            (format!("yes '' | head -c {size}"), None, size),
            // In the smallest of pieces.
            ("for ((i = 0; i < 30000; i++)); do echo; done".to_owned(), None, 30_000),
            (format!("head -c {size} /dev/zero"), terminal, size),
        ] {
            let command = CommandSpec { terminal, ..CommandSpec::shell(line.clone()) };
            let result = run(place, command, HANG).await;
            assert_eq!(result.both.total(), total, "{line}");
            assert_eq!(result.stdout.total() + result.stderr.total(), total, "{line}");
        }
        assert_little_memory();
    });
}

#[test]
fn a_flood_in_the_background_waits_for_nobody() {
    check(async |place| {
        let size = 256 << 20;
        let process = place.shell(&format!("head -c {size} /dev/zero; echo end")).await;
        let job = Background::new(process);
        // Nobody asks before it is done.
        let end = job.wait_for_end(0, HANG).await;
        assert!(matches!(end.state, State::Ended(exit) if exit.success()), "{:?}", end.state);
        assert_eq!(end.next, size + 4);
        assert_eq!(end.dropped + end.text.len() as u64, end.next);
        assert!(end.text.ends_with("\0end\n"));
        assert_little_memory();
    });
}

#[test]
fn a_command_that_talks_and_does_not_listen() {
    check(async |place| {
        let mut command = CommandSpec::shell("yes");
        command.stdin = Stdin::Open;
        let input = vec![b'x'; 1 << 20];
        let mut process = place.env.spawn(command.clone()).await.unwrap();
        assert_eq!(process.write(&input).await.unwrap_err().kind(), ErrorKind::TooLarge);
        drop(process);
        // In the background it is read on, and the write is left to whoever waits for it.
        let job = Background::new(place.env.spawn(command).await.unwrap());
        let heard = async {
            let mut position = 0;
            while position < 4 << 20 {
                position = job.wait_for_output(position, HANG).await.next;
            }
        };
        tokio::select! {
            written = job.write(input) => panic!("{written:?}"),
            () = heard => {}
        }
        job.end(GRACE).await.unwrap();
        assert_little_memory();
    });
}

#[test]
fn a_command_that_ignores_being_asked_has_its_grace_and_no_more() {
    check(async |place| {
        let limit = Duration::from_millis(200);
        let line = "trap '' TERM INT HUP; echo before; while :; do sleep 1; done";
        for terminal in [None, Some(TerminalSize::default())] {
            let command = CommandSpec { terminal, ..CommandSpec::shell(line) };
            let result = run(place, command, limit).await;
            assert_eq!(result.exit, Exit { code: None, signal: Some(9) });
            assert!(result.timed_out);
            assert!(result.duration >= limit + GRACE, "{:?}", result.duration);
            assert!(result.both.text(|_| String::new()).starts_with("before"));
            assert_eq!(place.env.survivors(), []);
        }
    });
}

#[test]
fn a_command_that_detaches_is_not_let_go() {
    check(async |place| {
        // Forked twice, in a session of its own, in another directory, without any of our descriptors.
        let line = "trap '' HUP; (setsid bash -c '(echo $BASHPID; exec </dev/null >/dev/null 2>&1; \
                    for fd in {3..9}; do eval \"exec $fd>&-\"; done; echo > up; cd /; exec sleep 1000) &' &); \
                    until [ -e up ]; do sleep 0.01; done; rm up";
        for terminal in [None, Some(TerminalSize::default())] {
            let command = CommandSpec { terminal, ..CommandSpec::shell(line) };
            let result = run(place, command, HANG).await;
            assert!(result.exit.success());
            let pid = result.both.text(|_| String::new());
            assert!(pid.trim().parse::<u32>().is_ok(), "{pid:?}");
            assert!(!is_alive(pid.trim()));
            assert_eq!(place.env.survivors(), []);
        }
    });
}

#[test]
fn small_pieces_that_are_kept_hold_little() {
    check(async |place| {
        let mut process = place.shell("for ((i = 0; i < 20000; i++)); do echo; done").await;
        let mut pieces = Vec::new();
        while let Some(piece) = process.output().await.unwrap() {
            pieces.push(piece);
        }
        assert_eq!(pieces.iter().map(|piece| piece.bytes.len()).sum::<usize>(), 20_000);
        assert_little_memory();
        assert_eq!(everything(&mut process).await.0, "");
    });
}
