//! Subagents: an agent hands out work and waits for what comes of it. Children speak through the log of
//! their parent, so that one reader sees them all.
//!
//! `cargo run -p junto --example subagents`
#![allow(clippy::disallowed_macros, reason = "an example prints")]

mod support;

use std::error::Error;
use std::sync::Arc;

use junto::prelude::*;
use junto::twin::{self, Call, Play, Step};
use serde_json::json;

/// A step for whoever was told this, after so many rounds.
fn on(told: &str, round: u32, step: Step) -> Step {
    step.when(twin::When { contains: Some(told.into()), round: Some(round), ..Default::default() })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let child = |dir: &str| {
        Call::new("spawn_agent", json!({"task": "Count the lines of data.txt.", "working_dir": dir}))
    };
    let model = support::model(Play::of([
        on("Which folder", 0, Step::calls([child("left"), child("right")])),
        on("Which folder", 1, Step::call("wait", json!({}))),
        on("Which folder", 2, Step::text("The right one has more.")),
        on("Count the lines", 0, Step::call("shell", json!({"command": "grep -c '' data.txt"}))),
        on("Count the lines", 1, Step::text("I counted: {{last_result}}")),
    ]))?;
    let folder = tempfile::tempdir()?;
    for (name, lines) in [("left", 3), ("right", 7)] {
        std::fs::create_dir(folder.path().join(name))?;
        std::fs::write(folder.path().join(name).join("data.txt"), "line\n".repeat(lines))?;
    }
    let workshop = Workshop::builder(folder.path(), |dir| Ok(Arc::new(LocalEnvironment::new(dir)?)))
        .kind("native", Kind::Native(Native::new(Arc::new(model.client.clone()))))
        .build();
    let spec = AgentSpec { kind: "native".into(), ..AgentSpec::default() };
    let agent = workshop.start(spec, CancellationToken::new()).await?;
    let mut events = agent.log().subscribe(Seq::START);
    let task = "Which folder has more lines in data.txt, left or right? Let an agent count in each.";
    agent.send(Command::Submit { input: task.into() }).await?;
    loop {
        let Item::Event(event) = events.next().await? else { continue };
        match (&event.body, event.parent.is_some()) {
            (Body::Child { name, task, .. }, _) => println!("{name} was told: {task}"),
            (Body::ToolCallStart { call, .. }, false) => println!("> {} {}", call.name, call.arguments),
            (Body::InputEnd { text, .. }, true) => println!("  a child said: {}", text.preview().trim()),
            (Body::InputEnd { text, .. }, false) => break println!("{}", text.preview()),
            _ => {}
        }
    }
    agent.close().await;
    Ok(())
}
