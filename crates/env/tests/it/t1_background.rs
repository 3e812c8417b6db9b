//! Commands that run while their owner does something else.

use std::sync::Arc;
use std::time::Duration;

use junto_env::{
    Background, CommandSpec, ErrorKind, ExecutionEnvironment, Exit, Jobs, Snapshot, State, Stdin,
    TerminalSize,
};

use crate::support::{HANG, Place, check, is_alive, wait_until};

/// Short enough for what does not come.
const MOMENT: Duration = Duration::from_millis(50);

async fn start(place: &Place, line: &str) -> Background {
    let mut command = CommandSpec::shell(line);
    command.stdin = Stdin::Open;
    Background::new(place.env.spawn(command).await.unwrap())
}

/// Reads until something was said.
async fn hear(job: &Background, since: u64, what: &str) -> Snapshot {
    let mut text = String::new();
    let mut next = since;
    loop {
        let mut snapshot = job.wait_for_output(next, HANG).await;
        assert!(!snapshot.text.is_empty() || snapshot.state.is_running(), "{text:?} and no {what:?}");
        text += &snapshot.text;
        next = snapshot.next;
        if text.contains(what) {
            snapshot.text = text;
            return snapshot;
        }
    }
}

#[track_caller]
fn ended(snapshot: &Snapshot) -> Exit {
    match snapshot.state {
        State::Ended(exit) => exit,
        ref state => panic!("{state:?}"),
    }
}

const fn code(code: i32) -> Exit {
    Exit { code: Some(code), signal: None }
}

#[test]
fn what_is_new_is_told_from_a_position_on() {
    check(async |place| {
        let job = start(place, "echo one; read x; echo two >&2; read x; exit 3").await;
        let first = hear(&job, 0, "one\n").await;
        assert_eq!((first.text.as_str(), first.dropped, first.next), ("one\n", 0, 4));
        assert!(first.state.is_running());
        // Nothing new is nothing, at once and after a while.
        assert_eq!(job.poll(4).text, "");
        assert_eq!(job.wait_for_output(4, MOMENT).await.text, "");
        job.write("\n").await.unwrap();
        let second = hear(&job, 4, "two\n").await;
        assert_eq!((second.text.as_str(), second.next), ("two\n", 8));
        // The same can be asked for again, from any position.
        assert_eq!(job.poll(0).text, "one\ntwo\n");
        assert_eq!(job.poll(5).text, "wo\n");
        job.write("\n").await.unwrap();
        let last = job.wait_for_end(8, HANG).await;
        assert_eq!((ended(&last), last.text.as_str()), (code(3), ""));
        // What has ended can still be read, and does not age.
        assert_eq!(job.poll(0).text, "one\ntwo\n");
        assert_eq!(job.poll(0).duration, last.duration);
        // A position that is not there yet is none.
        let beyond = job.poll(1000);
        assert_eq!((beyond.text.as_str(), beyond.dropped, beyond.next), ("", 0, 8));
    });
}

#[test]
fn a_wait_ends_with_the_command() {
    check(async |place| {
        let job = start(place, "read x; exec >&- 2>&-; read x").await;
        assert!(job.wait_for_output(0, MOMENT).await.state.is_running());
        job.write("a\n").await.unwrap();
        job.write("b\n").await.unwrap();
        assert_eq!(ended(&job.wait_for_output(0, HANG).await), code(0));
    });
}

#[test]
fn input_is_written_and_closed() {
    check(async |place| {
        let job = start(place, "cat; echo done").await;
        job.write("hello\n").await.unwrap();
        hear(&job, 0, "hello\n").await;
        job.close_stdin().await.unwrap();
        let end = job.wait_for_end(0, HANG).await;
        assert_eq!(end.text, "hello\ndone\n");
        assert_eq!(job.write("x").await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(job.interrupt().await.unwrap_err().kind(), ErrorKind::NotFound);
        // One that was started without an input.
        let job = Background::new(place.shell("sleep 1000").await);
        assert_eq!(job.write("x").await.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(job.resize(TerminalSize::default()).await.unwrap_err().kind(), ErrorKind::Unsupported);
    });
}

#[test]
fn a_command_that_answers_more_than_is_kept_reads_all_the_same() {
    check(async |place| {
        let job = start(place, "cat").await;
        // Several times what pipes and buffers hold, in both directions at once.
        let data = "0123456789abcde\n".repeat(1 << 18);
        job.write(data.clone()).await.unwrap();
        job.close_stdin().await.unwrap();
        let end = job.wait_for_end(0, HANG).await;
        assert_eq!(end.next, data.len() as u64);
        assert_eq!(end.dropped + end.text.len() as u64, data.len() as u64);
        assert_eq!(end.dropped, (3 << 20) as u64);
        assert!(data.ends_with(&end.text));
        // From before what is kept, and from within.
        assert_eq!(job.poll(100).dropped, end.dropped - 100);
        assert_eq!(job.poll(end.next - 4).text, "cde\n");
    });
}

#[test]
fn a_command_that_does_not_read_can_be_interrupted_while_it_is_written_to() {
    check(async |place| {
        let job =
            start(place, "trap 'echo heard; exit 5' INT; echo ready; while :; do sleep 0.01; done").await;
        hear(&job, 0, "ready\n").await;
        let long = "x".repeat(4 << 20);
        let mut writing = Box::pin(job.write(long));
        assert!(tokio::time::timeout(MOMENT, &mut writing).await.is_err());
        job.interrupt().await.unwrap();
        assert!(writing.await.is_err());
        let end = job.wait_for_end(0, HANG).await;
        assert_eq!((ended(&end), end.text.as_str()), (code(5), "ready\nheard\n"));
    });
}

#[test]
fn a_write_that_nobody_waits_for_is_not_gone_on_with() {
    check(async |place| {
        let job = start(place, "echo ready; until [ -e go ]; do sleep 0.01; done; tail -c 3").await;
        hear(&job, 0, "ready\n").await;
        let writing = job.write("x".repeat(4 << 20));
        assert!(tokio::time::timeout(MOMENT, writing).await.is_err());
        std::fs::write(place.at("go"), "").unwrap();
        job.write("end").await.unwrap();
        job.close_stdin().await.unwrap();
        let end = job.wait_for_end(6, HANG).await;
        assert_eq!((ended(&end), end.text.as_str()), (code(0), "end"));
    });
}

#[test]
fn the_end_is_asked_for_and_then_forced() {
    check(async |place| {
        for (line, grace, expected) in [
            ("echo ready; sleep 1000", HANG, Exit { code: None, signal: Some(15) }),
            ("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done", HANG, code(7)),
            (
                "trap '' TERM; echo ready; while :; do sleep 1; done",
                MOMENT,
                Exit { code: None, signal: Some(9) },
            ),
            ("setsid sleep 1000 & echo ready; exec sleep 1000", HANG, Exit { code: None, signal: Some(15) }),
            ("echo ready; yes", HANG, Exit { code: None, signal: Some(15) }),
        ] {
            let job = start(place, line).await;
            hear(&job, 0, "ready\n").await;
            assert_eq!(job.end(grace).await.unwrap(), expected, "{line}");
            assert_eq!(place.env.survivors(), [], "{line}");
            // Once more is nothing, and what was said is there.
            assert_eq!(job.end(grace).await.unwrap(), expected, "{line}");
            assert_eq!(ended(&job.poll(0)), expected, "{line}");
        }
    });
}

#[test]
fn what_a_command_started_ends_with_it() {
    check(async |place| {
        let job = start(place, "setsid sleep 1000 >/dev/null 2>&1 & echo $!").await;
        let end = job.wait_for_end(0, HANG).await;
        assert_eq!(ended(&end), code(0));
        assert!(!is_alive(end.text.trim()));
    });
}

#[test]
fn dropping_kills_the_tree() {
    check(async |place| {
        let job = start(place, "setsid sleep 1000 & echo $!; sleep 1000").await;
        let pid = hear(&job, 0, "\n").await.text.trim().to_owned();
        let root = job.id().to_string();
        assert!(is_alive(&pid) && is_alive(&root));
        drop(job);
        wait_until("both end", || !is_alive(&pid) && !is_alive(&root));
    });
}

#[test]
fn characters_stay_whole() {
    check(async |place| {
        let job = start(place, "printf '\\303'; read x; printf 'e' >&2; read x; printf '\\251\\377'").await;
        job.write("\n").await.unwrap();
        hear(&job, 0, "e").await;
        job.write("\n").await.unwrap();
        assert_eq!(job.wait_for_end(0, HANG).await.text, "eé\u{fffd}");
    });
}

#[test]
fn on_a_terminal() {
    check(async |place| {
        let mut command = CommandSpec::shell("stty size; read x; stty size; echo got $x; sleep 1000");
        command.stdin = Stdin::Open;
        command.terminal = Some(TerminalSize { rows: 30, columns: 100 });
        let job = Background::new(place.env.spawn(command).await.unwrap());
        let first = hear(&job, 0, "30 100\r\n").await;
        job.resize(TerminalSize { rows: 5, columns: 7 }).await.unwrap();
        job.write("hello\n").await.unwrap();
        assert_eq!(hear(&job, first.next, "got").await.text.lines().nth(1), Some("5 7"));
        // Typed, not sent.
        job.write("\x03").await.unwrap();
        assert_eq!(ended(&job.wait_for_end(0, HANG).await).signal, Some(2));
    });
}

#[test]
fn jobs_have_numbers_and_a_limit() {
    check(async |place| {
        let jobs = Jobs::new(2);
        let sleep = || CommandSpec::shell("echo ready; sleep 1000");
        let (first, job) = jobs.start(&place.env, sleep()).await.unwrap();
        let (second, _) = jobs.start(&place.env, CommandSpec::shell("echo done")).await.unwrap();
        assert_eq!((first, second), (1, 2));
        assert_eq!(jobs.get(second).unwrap().wait_for_end(0, HANG).await.text, "done\n");
        // There is room again for one, because the second has ended.
        let (third, _) = jobs.start(&place.env, sleep()).await.unwrap();
        assert_eq!(third, 3);
        assert!(jobs.get(second).is_none());
        let error = jobs.start(&place.env, sleep()).await.map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.to_string().contains("2 run already"), "{error}");
        assert_eq!(jobs.list().iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 3]);
        // One that cannot be started takes no room and no number.
        assert_eq!(jobs.end(first, HANG).await.unwrap().unwrap().signal, Some(15));
        assert!(!job.is_running());
        assert!(jobs.end(first, HANG).await.is_none());
        let missing = CommandSpec::argv(["no_such_program"]);
        assert!(jobs.start(&place.env, missing).await.is_err());
        let (fourth, _) = jobs.start(&place.env, sleep()).await.unwrap();
        assert_eq!(fourth, 4);
        jobs.end_all(HANG).await;
        assert_eq!(place.env.survivors(), []);
        assert!(jobs.list().is_empty());
    });
}

#[test]
fn all_jobs_end_together_and_with_their_owner() {
    check(async |place| {
        let stubborn = "trap '' TERM; echo ready; while :; do sleep 1; done";
        let jobs = Arc::new(Jobs::new(16));
        for _ in 0..8 {
            let (_, job) = jobs.start(&place.env, CommandSpec::shell(stubborn)).await.unwrap();
            hear(&job, 0, "ready\n").await;
        }
        // One after the other they would take eight times the grace, which a test cannot measure; that
        // none is left is what it can.
        jobs.end_all(Duration::from_millis(200)).await;
        assert_eq!(place.env.survivors(), []);
        jobs.start(&place.env, CommandSpec::shell(stubborn)).await.unwrap();
        drop(jobs);
        place.assert_no_survivors();
    });
}
