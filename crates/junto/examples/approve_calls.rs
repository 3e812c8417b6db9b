//! Every call waits for an answer: this program allows reading, refuses to delete with a word to the model, and ends the
//! turn where the model goes on about it.
//!
//! `cargo run -p junto --example approve_calls`, or with a Python of your own that has `ipykernel` as its argument.
#![allow(clippy::disallowed_macros, reason = "an example prints")]

mod support;

use std::error::Error;
use std::sync::Arc;

use junto::Native;
use junto::code_action::{Agent, AgentEventKind, ApprovalRequest, Config, Options};
use junto::core::AgentError;
use junto::twin::{Play, Step};
use serde_json::json;

/// Reads a file, then deletes it in a shell, and does not mind what happens.
const TIDY: &str = r#"
from junto_tools import ToolRejected
from mcptools.junto import read_file

print(read_file(file_path="notes.txt").strip())
try:
    !rm notes.txt
except ToolRejected as rejected:
    print("I may not:", rejected)
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = support::model(Play::of([
        Step::call("execute_code", json!({ "code": TIDY })),
        Step::call("shell", json!({ "command": "rm notes.txt" })),
        Step::text("This is never said: the turn ends with the second no."),
    ]))?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("notes.txt"), "buy milk\n")?;
    let native = Native::new(Arc::new(model.client.clone()));
    let sockets = tempfile::tempdir()?;
    let config = Config {
        local: Arc::new(support::local),
        ..Config::new(native, support::code(sockets.path()), folder.path())
    };
    let agent = Agent::new(config, Options::default())?;
    agent.start().await?;
    let mut turn = agent.stream("Tidy up: read notes.txt, and delete it.", None);
    while let Some(event) = turn.next().await {
        match event?.kind {
            AgentEventKind::ApprovalRequest(request) => decide(&request).await?,
            AgentEventKind::CodeExecutionOutput { text, .. } => {
                println!("the cell said:\n{}", text.unwrap_or_default().trim_end());
            }
            AgentEventKind::Response { content } => println!("{content}"),
            _ => {}
        }
    }
    println!("the turn ended: {:?}", turn.ended());
    println!("notes.txt: {}", std::fs::read_to_string(folder.path().join("notes.txt"))?.trim());
    agent.stop().await;
    Ok(())
}

/// What this program allows.
async fn decide(request: &ApprovalRequest) -> Result<(), AgentError> {
    let deletes = request.tool_args().to_string().contains("rm ");
    match (request.tool_name(), request.ptc()) {
        // The code itself is looked at when it does something.
        ("execute_code", false) | ("read_file", _) => {
            println!("{}: yes", request.tool_name());
            request.approve(true).await
        }
        // From code, a no with a reason: the code hears it, and the model goes on.
        (name, true) if deletes => {
            println!("{name} {}: no, with a word", request.tool_args()["line"]);
            request.reject_with("nothing is deleted here").await
        }
        // Asked again, a plain no: the turn is over.
        (name, _) => {
            println!("{name} {}: no", request.tool_args());
            request.approve(false).await
        }
    }
}
