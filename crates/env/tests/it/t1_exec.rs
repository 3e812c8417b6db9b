//! Commands run to their end.

use std::time::Duration;

use junto_env::variables::Inherit;
use junto_env::{
    CommandSpec, ErrorKind, ExecResult, ExecutionEnvironment, Exit, Output, OutputStream, Stdin,
    TerminalSize, exec,
};
use tokio_util::sync::CancellationToken;

use crate::support::{HANG, Place, check, check_in};

async fn run(place: &Place, command: CommandSpec) -> junto_env::Result<ExecResult> {
    exec(&place.env, command, HANG, &CancellationToken::new(), &mut |_| {}).await
}

fn text(result: &ExecResult) -> (String, String) {
    (result.stdout.text(|n| format!("<{n}>")), result.stderr.text(|n| format!("<{n}>")))
}

#[test]
fn commands_and_what_they_say() {
    check(async |place| {
        std::fs::create_dir(place.at("sub")).unwrap();
        for (line, code, stdout, stderr) in [
            ("true", 0, "", ""),
            ("echo out; echo err >&2; exit 3", 3, "out\n", "err\n"),
            ("printf 'a\\r\\nb'", 0, "a\r\nb", ""),
            ("cat", 0, "", ""),
            ("echo ${BASH_VERSION:+bash}", 0, "bash\n", ""),
            ("printf %s \"$(basename \"$PWD\")\" | wc -l", 0, "0\n", ""),
            ("exec >&- 2>&-; exit 4", 4, "", ""),
            ("no_such_command_here 2>/dev/null", 127, "", ""),
        ] {
            let result = run(place, CommandSpec::shell(line)).await.unwrap();
            assert_eq!(result.exit, Exit { code: Some(code), signal: None }, "{line}");
            assert_eq!(text(&result), (stdout.to_owned(), stderr.to_owned()), "{line}");
            assert!(!result.timed_out && !result.cancelled, "{line}");
        }
        let killed = run(place, CommandSpec::shell("kill -9 $$")).await.unwrap();
        assert_eq!(killed.exit, Exit { code: None, signal: Some(9) });
        // Real-time signals have no name, and are told all the same.
        let killed = run(place, CommandSpec::shell("kill -40 $$")).await.unwrap();
        assert_eq!(killed.exit, Exit { code: None, signal: Some(40) });
    });
}

#[test]
fn arguments_reach_the_program_as_they_are() {
    check(async |place| {
        let arguments = ["printf", "%s|", "a b", "$HOME", "*", "", "'\"", "ü\n🦀"];
        let result = run(place, CommandSpec::argv(arguments)).await.unwrap();
        assert_eq!(text(&result).0, "a b|$HOME|*||'\"|ü\n🦀|");
    });
}

#[test]
fn commands_that_cannot_start() {
    check(async |place| {
        let mut elsewhere = CommandSpec::shell("pwd");
        elsewhere.cwd = Some(place.resolve("nothing").await);
        let mut overloaded = CommandSpec::argv(["true"]);
        overloaded.variables.insert("HUGE".into(), "x".repeat(4 << 20));
        let mut variable_with_nul = CommandSpec::argv(["true"]);
        variable_with_nul.variables.insert("A".into(), "b\0c".into());
        let here = place.at("").to_str().unwrap().to_owned();
        for (mut command, kind, about, says) in [
            (CommandSpec::argv(["no_such_program"]), ErrorKind::NotFound, "no_such_program", "No such file"),
            (CommandSpec::argv([] as [String; 0]), ErrorKind::NotFound, "empty", "a program is needed"),
            (CommandSpec::argv([&here]), ErrorKind::Denied, &here, "denied"),
            (CommandSpec::argv(["true", "a\0b"]), ErrorKind::Io, "true", "NUL"),
            (CommandSpec::argv(["tr\0ue"]), ErrorKind::Io, "tr", "NUL"),
            (CommandSpec::shell("a\0b"), ErrorKind::Io, "bash", "NUL"),
            (variable_with_nul, ErrorKind::Io, "true", "NUL"),
            (
                CommandSpec::shell("x".repeat(4 << 20)),
                ErrorKind::TooLarge,
                "bash",
                "put what is long into a file",
            ),
            (overloaded, ErrorKind::TooLarge, "true", "put what is long into a file"),
            (elsewhere, ErrorKind::NotFound, "nothing", "No such file"),
        ] {
            for terminal in [None, Some(TerminalSize::default())] {
                command.terminal = terminal;
                let error = run(place, command.clone()).await.unwrap_err();
                assert_eq!(error.kind(), kind, "{error}");
                assert!(error.subject().contains(about), "{error}");
                assert!(error.to_string().contains(says), "{error}");
            }
        }
    });
}

#[test]
fn a_working_directory_that_vanished() {
    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    let gone = outside.path().canonicalize().unwrap();
    check_in(place, async |place| {
        let mut command = CommandSpec::shell("pwd");
        command.cwd = Some(place.env.resolve(gone.to_str().unwrap()).await.unwrap());
        assert!(run(place, command.clone()).await.unwrap().exit.success());
        drop(outside);
        let error = run(place, command).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.subject(), gone.to_str().unwrap());
    });
}

#[test]
fn a_command_runs_where_and_with_what_it_is_told() {
    let place = Place::with(|builder| {
        builder
            .variables([
                ("PATH", "/usr/bin:/bin"),
                ("EDITOR", "vi"),
                ("X_API_KEY", "secret"),
                ("PWD", "/wrong"),
            ])
            .inherit(Inherit::All)
            .variable("EXTRA_TOKEN", "wanted")
    });
    check_in(place, async |place| {
        std::fs::create_dir(place.at("sub")).unwrap();
        let mut command = CommandSpec::argv(["env"]);
        command.cwd = Some(place.resolve("sub").await);
        command.variables.insert("EDITOR".into(), "emacs".into());
        command.variables.insert("JUNTO_TREE".into(), "forged".into());
        let result = run(place, command).await.unwrap();
        let mut lines: Vec<String> = text(&result).0.lines().map(str::to_owned).collect();
        lines.retain(|line| !line.starts_with("JUNTO_TREE=") || line.contains("forged"));
        lines.sort();
        let pwd = format!("PWD={}", place.at("sub").display());
        assert_eq!(lines, ["EDITOR=emacs", "EXTRA_TOKEN=wanted", "PATH=/usr/bin:/bin", &pwd]);
    });
}

#[test]
fn input_is_given_whole_while_output_is_read() {
    check(async |place| {
        // More than the pipes hold in both directions at once.
        let input = "0123456789abcde\n".repeat(1 << 16);
        let mut command = CommandSpec::shell("tee /dev/stderr | wc -c; cat");
        command.stdin = Stdin::Bytes(input.clone().into());
        let mut seen = Vec::new();
        let mut sink = |piece: &Output| {
            if piece.stream == OutputStream::Stderr {
                seen.extend_from_slice(&piece.bytes);
            }
        };
        let token = CancellationToken::new();
        let result = exec(&place.env, command, HANG, &token, &mut sink).await.unwrap();
        assert_eq!(text(&result).0.trim(), input.len().to_string());
        assert_eq!(seen, input.as_bytes());
        assert_eq!(result.stderr.total(), input.len() as u64);
        // A command that does not read its input is not in error.
        let mut command = CommandSpec::shell("exec <&-; echo done");
        command.stdin = Stdin::Bytes(input.into());
        assert_eq!(text(&run(place, command).await.unwrap()).0, "done\n");
    });
}

#[test]
fn both_streams_are_kept_apart_and_in_order() {
    check(async |place| {
        // Each waits until the other was heard: the order is the sink's, and not an accident.
        let script = "for i in 1 2 3; do echo out $i; until [ -e o$i ]; do :; done; \
                      echo err $i >&2; until [ -e e$i ]; do :; done; done";
        let mut turn = 0;
        let mut seen = String::new();
        let root = place.at("");
        let mut sink = |piece: &Output| {
            seen += std::str::from_utf8(&piece.bytes).unwrap();
            let name = if piece.stream == OutputStream::Stdout { "o" } else { "e" };
            std::fs::write(root.join(format!("{name}{}", turn / 2 + 1)), "").unwrap();
            turn += 1;
        };
        let token = CancellationToken::new();
        let result = exec(&place.env, CommandSpec::shell(script), HANG, &token, &mut sink).await.unwrap();
        assert_eq!(text(&result), ("out 1\nout 2\nout 3\n".to_owned(), "err 1\nerr 2\nerr 3\n".to_owned()));
        assert_eq!(result.both.text(|_| String::new()), seen);
        assert_eq!(seen, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
    });
}

#[test]
fn a_command_takes_as_long_as_it_takes() {
    check(async |place| {
        let result = run(place, CommandSpec::shell("sleep 0.2")).await.unwrap();
        assert!(result.duration >= Duration::from_millis(200), "{:?}", result.duration);
        assert!(result.duration < HANG);
    });
}

#[test]
fn time_runs_out() {
    check(async |place| {
        let limit = Duration::from_millis(300);
        for (line, exit, said) in [
            ("echo before; sleep 1000", Exit { code: None, signal: Some(15) }, "before\n"),
            (
                "trap 'exit 7' TERM; echo before; while :; do sleep 0.01; done",
                Exit { code: Some(7), signal: None },
                "before\n",
            ),
            (
                "trap '' TERM; echo before; while :; do sleep 1; done",
                Exit { code: None, signal: Some(9) },
                "before\n",
            ),
            ("echo before; exec >&- 2>&-; sleep 1000", Exit { code: None, signal: Some(15) }, "before\n"),
        ] {
            let token = CancellationToken::new();
            let result =
                exec(&place.env, CommandSpec::shell(line), limit, &token, &mut |_| {}).await.unwrap();
            assert_eq!(result.exit, exit, "{line}");
            assert_eq!(text(&result).0, said, "{line}");
            assert!(result.timed_out && !result.cancelled, "{line}");
            assert!(result.duration >= limit, "{line}");
        }
    });
}

#[test]
fn a_command_that_never_stops_talking_is_stopped_in_time() {
    check(async |place| {
        let token = CancellationToken::new();
        let limit = Duration::from_millis(100);
        let result = exec(&place.env, CommandSpec::shell("yes"), limit, &token, &mut |_| {}).await.unwrap();
        assert!(result.timed_out);
        assert!(result.stdout.omitted() > 0);
    });
}

#[test]
fn a_command_is_cancelled() {
    check(async |place| {
        let token = CancellationToken::new();
        let command = CommandSpec::shell("echo ready; sleep 1000");
        let result = exec(&place.env, command.clone(), HANG, &token, &mut |_| token.cancel()).await.unwrap();
        assert!(result.cancelled && !result.timed_out);
        assert_eq!(text(&result).0, "ready\n");
        // Also if it was cancelled before it began.
        let result = exec(&place.env, command, HANG, &token, &mut |_| {}).await.unwrap();
        assert!(result.cancelled);
    });
}

#[test]
fn what_a_command_leaves_behind_ends_with_it() {
    check(async |place| {
        for line in ["sleep 1000 & echo $!", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"] {
            let result = run(place, CommandSpec::shell(line)).await.unwrap();
            assert!(result.exit.success(), "{line}");
            assert!(!crate::support::is_alive(text(&result).0.trim()), "{line}");
        }
    });
}

#[test]
fn a_dropped_run_kills_its_tree() {
    check(async |place| {
        let token = CancellationToken::new();
        let (said, mut heard) = tokio::sync::mpsc::channel(1);
        let mut sink = |_: &_| {
            let _ = said.try_send(());
        };
        let command = CommandSpec::shell("setsid sleep 1000 & echo; sleep 1000");
        tokio::select! {
            result = exec(&place.env, command, HANG, &token, &mut sink) => panic!("ended: {result:?}"),
            heard = heard.recv() => assert!(heard.is_some()),
        }
        place.assert_no_survivors();
    });
}
