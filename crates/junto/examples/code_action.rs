//! A code-action agent: it answers by writing Python, which runs in a kernel of its own and calls its tools.
//!
//! `cargo run -p junto --example code_action`, or with a Python of your own that has `ipykernel` as its argument;
//! without one an environment is made and kept, which takes the network once.
#![allow(clippy::disallowed_macros, reason = "an example prints")]

mod support;

use std::error::Error;
use std::sync::Arc;

use junto::Native;
use junto::code_action::{Agent, AgentEventKind, Config, Options};
use junto::twin::{Play, Step};
use serde_json::json;

/// Counts the lines of every file, by calling a tool of the agent in a loop.
const COUNT: &str = r#"
from mcptools.junto import read_file

files = ["alder.txt", "birch.txt", "cedar.txt"]
lines = {name: len(read_file(file_path=name).splitlines()) for name in files}
print(lines)
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let cell = |code: &str| Step::call("execute_code", json!({ "code": code }));
    // The second cell finds what the first one has left.
    let model = support::model(Play::of([
        cell(COUNT),
        cell("max(lines, key=lines.get)"),
        Step::text("Birch has the most lines."),
    ]))?;
    let folder = tempfile::tempdir()?;
    for (name, lines) in [("alder.txt", 3), ("birch.txt", 7), ("cedar.txt", 5)] {
        std::fs::write(folder.path().join(name), "leaf\n".repeat(lines))?;
    }
    let native = Native::new(Arc::new(model.client.clone()));
    let sockets = tempfile::tempdir()?;
    let config = Config {
        local: Arc::new(support::local),
        ..Config::new(native, support::code(sockets.path()), folder.path())
    };
    let agent = Agent::new(config, Options::default())?;
    agent.start().await?;
    let mut turn = agent.stream("Which of the text files here has the most lines?", Some(10));
    while let Some(event) = turn.next().await {
        match event?.kind {
            AgentEventKind::ApprovalRequest(request) => {
                // Look before you allow: what code calls is asked about, too.
                let by = if request.ptc() { "the code" } else { "the model" };
                println!("{by} wants {}: {}", request.tool_name(), request.tool_args());
                request.approve(true).await?;
            }
            AgentEventKind::CodeExecutionOutput { text, images, .. } => {
                println!("  {}", text.unwrap_or_default().trim_end());
                for image in images {
                    println!("  a picture: {}", image.display());
                }
            }
            AgentEventKind::Response { content } => println!("{content}"),
            _ => {}
        }
    }
    agent.stop().await;
    Ok(())
}
