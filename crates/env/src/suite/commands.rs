//! What is promised of commands. The checks use nothing that is not in every POSIX system.

use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::{HANG, at, get, put};
use crate::{
    CommandSpec, ErrorKind, ExecutionEnvironment, Exit, OutputStream, Process, RealPath, Stdin, exec,
};

async fn start(env: &dyn ExecutionEnvironment, command: CommandSpec) -> Process {
    env.spawn(command).await.unwrap()
}

/// What a process says until its streams end, and how it ends.
async fn finish(mut process: Process) -> (String, String, Exit) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    while let Some(piece) = process.output().await.unwrap() {
        match piece.stream {
            OutputStream::Stdout => stdout.extend_from_slice(&piece.bytes),
            OutputStream::Stderr => stderr.extend_from_slice(&piece.bytes),
        }
    }
    let exit = process.wait().await.unwrap();
    (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap(), exit)
}

/// What a command says that ends well.
async fn said(env: &dyn ExecutionEnvironment, command: CommandSpec) -> String {
    let (stdout, stderr, exit) = finish(start(env, command).await).await;
    assert_eq!((stderr.as_str(), exit.code), ("", Some(0)), "{stdout}");
    stdout
}

/// Waits for the line that says it is under way.
async fn ready(process: &mut Process) {
    let piece = process.output().await.unwrap().expect("it ended");
    assert_eq!(piece.bytes, "ready\n");
}

/// Both streams by themselves, and the code.
pub async fn output_and_exit_are_given(env: &dyn ExecutionEnvironment) {
    let process = start(env, CommandSpec::shell("echo out; echo err >&2; exit 3")).await;
    let exit = Exit { code: Some(3), signal: None };
    assert_eq!(finish(process).await, ("out\n".to_owned(), "err\n".to_owned(), exit));
}

/// Without a shell between.
pub async fn arguments_are_taken_literally(env: &dyn ExecutionEnvironment) {
    let argv = ["printf", "%s|", "a b", "$HOME", "*", "'", "🦀", ""];
    assert_eq!(said(env, CommandSpec::argv(argv)).await, "a b|$HOME|*|'|🦀||");
}

/// None, all at once, or piece by piece; each ends.
pub async fn input_is_given(env: &dyn ExecutionEnvironment) {
    let cat = |stdin| CommandSpec { stdin, ..CommandSpec::shell("cat") };
    assert_eq!(said(env, cat(Stdin::Empty)).await, "");
    assert_eq!(said(env, cat(Stdin::Bytes(Bytes::from_static(b"all of it")))).await, "all of it");
    let mut process = start(env, cat(Stdin::Open)).await;
    process.write(b"one ").await.unwrap();
    process.write(b"two").await.unwrap();
    process.close_stdin().await.unwrap();
    assert_eq!(finish(process).await.0, "one two");
}

/// The working directory unless another is named.
pub async fn variables_and_directory_are_given(env: &dyn ExecutionEnvironment) {
    put(env, "dir/f", b"").await;
    let mut command = CommandSpec::shell("echo \"$GREETING\"; pwd -P");
    command.variables.insert("GREETING".to_owned(), "a b".to_owned());
    let cwd = env.facts().cwd.clone();
    assert_eq!(said(env, command.clone()).await, format!("a b\n{cwd}\n"));
    command.cwd = Some(at(env, "dir").await);
    assert_eq!(said(env, command).await, format!("a b\n{cwd}/dir\n"));
}

/// What the one writes the other reads.
pub async fn files_and_commands_see_the_same(env: &dyn ExecutionEnvironment) {
    put(env, "ours", b"for the command").await;
    assert_eq!(said(env, CommandSpec::shell("cat ours; printf theirs > theirs")).await, "for the command");
    assert_eq!(get(env, &at(env, "theirs").await).await, b"theirs");
}

/// A link is resolved to what it leads to; as a path of its own it is no file, and renaming or removing
/// it leaves alone what it leads to.
pub async fn a_link_is_not_what_it_leads_to(env: &dyn ExecutionEnvironment) {
    let (target, _) = put(env, "target", b"data").await;
    said(env, CommandSpec::shell("ln -s target link")).await;
    assert_eq!(at(env, "link").await, target);
    let own = |name: &str| RealPath::resolved(env.facts().cwd.as_path().join(name));
    let (link, renamed) = (own("link"), own("renamed"));
    assert_eq!(env.stamp(&link).await.map_err(|e| e.kind()), Err(ErrorKind::WrongKind));
    env.rename(&link, &renamed).await.unwrap();
    assert_eq!(at(env, "renamed").await, target);
    env.remove(&renamed).await.unwrap();
    assert_eq!(env.stamp(&renamed).await.unwrap(), None);
    assert_eq!(get(env, &target).await, b"data");
}

/// A program or directory that is not there.
pub async fn what_cannot_start_is_an_error(env: &dyn ExecutionEnvironment) {
    let missing = CommandSpec::argv(["no-program-of-this-name"]);
    assert_eq!(env.spawn(missing).await.err().map(|e| e.kind()), Some(ErrorKind::NotFound));
    let mut nowhere = CommandSpec::shell("true");
    nowhere.cwd = Some(RealPath::resolved(env.facts().cwd.as_path().join("nowhere")));
    assert_eq!(env.spawn(nowhere).await.err().map(|e| e.kind()), Some(ErrorKind::NotFound));
}

/// Starts something that holds a pipe open with all it started, and what sees when nobody does.
async fn watched(env: &dyn ExecutionEnvironment, script: &str) -> (Process, Process) {
    let mut watch = start(env, CommandSpec::shell("mkfifo pipe && echo ready && exec cat pipe")).await;
    ready(&mut watch).await;
    let mut process = start(env, CommandSpec::shell(format!("exec 9>pipe; {script}"))).await;
    ready(&mut process).await;
    (process, watch)
}

/// At once, and with everything it started.
pub async fn dropping_a_process_ends_its_tree(env: &dyn ExecutionEnvironment) {
    let script = "trap '' TERM; (trap '' TERM; while :; do sleep 1000; done) & echo ready; wait";
    let (process, watch) = watched(env, script).await;
    drop(process);
    assert!(finish(watch).await.2.success());
}

/// It may end by itself.
pub async fn closing_a_process_asks_it_first(env: &dyn ExecutionEnvironment) {
    let (process, watch) = watched(env, "trap 'exit 7' TERM; echo ready; sleep 1000 & wait").await;
    assert_eq!(process.close(HANG).await.unwrap(), Exit { code: Some(7), signal: None });
    assert!(finish(watch).await.2.success());
}

/// After the grace.
pub async fn closing_ends_what_does_not_listen(env: &dyn ExecutionEnvironment) {
    let (process, watch) = watched(env, "trap '' TERM; echo ready; while :; do sleep 1000; done").await;
    let exit = process.close(Duration::from_millis(50)).await.unwrap();
    assert_eq!(exit, Exit { code: None, signal: Some(9) });
    assert!(finish(watch).await.2.success());
}

/// And what it said until then is given.
pub async fn a_command_has_its_time_and_no_more(env: &dyn ExecutionEnvironment) {
    // Cancelled once it has said that it runs, however long that takes.
    let (cancel, never) = (CancellationToken::new(), CancellationToken::new());
    let mut sink = |_: &crate::Output| cancel.cancel();
    let slow = CommandSpec::shell("echo ready; exec sleep 1000");
    let result = exec(env, slow, HANG, &cancel, &mut sink).await.unwrap();
    assert_eq!((result.cancelled, result.timed_out, result.exit.success()), (true, false, false));
    assert_eq!(result.stdout.head(), b"ready\n");
    let slow = CommandSpec::shell("exec sleep 1000");
    let result = exec(env, slow, Duration::from_millis(50), &never, &mut |_| {}).await.unwrap();
    assert_eq!((result.cancelled, result.timed_out, result.exit.success()), (false, true, false));
}

/// Where there are none.
pub async fn commands_are_unsupported(env: &dyn ExecutionEnvironment) {
    for command in [CommandSpec::shell("true"), CommandSpec::argv(["true"])] {
        assert_eq!(env.spawn(command).await.err().map(|e| e.kind()), Some(ErrorKind::Unsupported));
    }
}
