//! Another process calls the tools of a session.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use junto::core::Agent;
use junto::kernel::ToolSocket;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::checks::{End, count};
use super::drive::{Run, spec};
use super::plays::{self, BUSY, PROOF, shell};
use super::stage::{Stage, WORKER};
use super::table::{Event, Host, Mind};

/// Runs one cell of the tool socket's column. For a mind that delegates, the call starts its child.
pub(crate) async fn run(mind: Mind, event: Event) {
    play(Stage::new(mind, Host::ToolSocket, event).await).await;
}

pub(crate) async fn play(stage: Stage) {
    let Stage { mind, event, .. } = stage;
    let session = stage.workshop.start_session(spec(), CancellationToken::new()).await.unwrap();
    let socket = ToolSocket::serve(session.tool_host(), stage.dir()).unwrap();
    let mut run = Run::new(Arc::new(session) as Arc<dyn Agent>, stage);
    let (tool, arguments) =
        if mind.delegates() { ("spawn_agent", plays::spawn(WORKER)) } else { call(event) };
    match event {
        Event::Plain => {
            let said = outcome(caller(&socket, tool, &arguments)).await;
            assert_eq!(said["is_error"], false, "{said}");
        }
        Event::Tools => {
            let callers = [0; 3].map(|_| caller(&socket, tool, &arguments));
            for child in callers {
                let said = outcome(child).await;
                assert_eq!(said["is_error"], false, "{said}");
            }
        }
        Event::Steer => unreachable!("a tool host takes no commands"),
        Event::Reject => {
            let child = caller(&socket, tool, &arguments);
            run.answer_questions().await;
            let said = outcome(child).await;
            assert_eq!(said["is_error"], true, "{said}");
            assert!(!run.stage.path(PROOF).exists());
        }
        Event::Cancel => {
            let child = caller(&socket, tool, &arguments);
            wait_for_work(&mut run).await;
            run.agent.close().await;
            let said = outcome(child).await;
            assert_eq!(said["is_error"], true, "{said}");
        }
        Event::Failure => {
            let said = outcome(caller(&socket, tool, &arguments)).await;
            assert_eq!(said["is_error"], true, "{said}");
        }
        Event::Crash => crash(&mut run, &socket, tool, &arguments).await,
    }
    if event != Event::Cancel {
        let (end, text) = run.ask("Work").await;
        assert_eq!(end, End::Done, "{text}");
    }
    socket.close().await;
    let events = run.finish().await;
    let calls = if event == Event::Tools { 3 } else { 1 };
    let own = events.iter().filter(|event| event.parent.is_none()).cloned().collect::<Vec<_>>();
    assert_eq!(count(&own, "tool_call_end"), calls);
}

/// What is called, where it is no child.
fn call(event: Event) -> (&'static str, Value) {
    match event {
        Event::Plain | Event::Tools | Event::Steer => ("shell", shell("echo hello")),
        Event::Reject => ("shell", shell(&format!("echo ran > {PROOF}"))),
        Event::Cancel | Event::Crash => ("shell", shell(BUSY)),
        Event::Failure => ("read_file", json!({"file_path": "no-such-file"})),
    }
}

/// Waits until the call is in the middle of its work.
async fn wait_for_work(run: &mut Run) {
    match run.stage.mind {
        Mind::CliChild if run.stage.program.is_some() => run.stage.program_is_at_work().await,
        Mind::CliChild => run.talking().await,
        _ => run.command_runs().await,
    }
}

/// The caller dies in the middle of its call, or what the call depends on does.
async fn crash(run: &mut Run, socket: &ToolSocket, tool: &str, arguments: &Value) {
    if run.stage.mind == Mind::CliChild && run.stage.program.is_some() {
        let child = caller(socket, tool, arguments);
        run.stage.program_is_at_work().await;
        run.kill_program();
        let said = outcome(child).await;
        assert_eq!(said["is_error"], true, "{said}");
        return;
    }
    if run.stage.mind.delegates() {
        let said = outcome(caller(socket, tool, arguments)).await;
        assert_eq!(said["is_error"], true, "{said}");
        return;
    }
    let mut child = caller(socket, tool, arguments);
    wait_for_work(run).await;
    child.kill().unwrap();
    tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
    run.event(|event| event.body.name() == "tool_call_end").await;
}

/// Starts another process that makes one call.
fn caller(socket: &ToolSocket, tool: &str, arguments: &Value) -> Child {
    Command::new(program())
        .args([tool, &arguments.to_string()])
        .envs(socket.environment())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The program that cargo built beside this test.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.parent().and_then(Path::parent).unwrap().join("examples/call_tool");
    assert!(program.exists(), "`cargo build --examples -p junto-testkit` makes {}", program.display());
    program
}

/// What the other process was answered.
async fn outcome(child: Child) -> Value {
    let waited = tokio::task::spawn_blocking(move || child.wait_with_output());
    let Output { status, stdout, .. } = waited.await.unwrap().unwrap();
    assert!(status.success(), "{status}");
    serde_json::from_slice(&stdout).unwrap()
}
