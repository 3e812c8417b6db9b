//! A host: it starts an agent, prints what the agent says as it comes, and decides about what it does.
//!
//! `cargo run -p junto --example host`
#![allow(clippy::disallowed_macros, reason = "an example prints")]

mod support;

use std::error::Error;
use std::sync::Arc;

use junto::core::{Action, OnReject};
use junto::prelude::*;
use junto::twin::{Call, Play, Step};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let shell = |line: &str| Call::new("shell", json!({"command": line}));
    let steps = [
        Step::calls([shell("echo hello > note.txt"), shell("rm -f /etc/hostname")]),
        Step::text("The note is written. The other thing I was not allowed to do."),
    ];
    let model = support::model(Play::of(steps))?;
    let folder = tempfile::tempdir()?;
    let workshop = Workshop::builder(folder.path(), |dir| Ok(Arc::new(LocalEnvironment::new(dir)?)))
        .kind("native", Kind::Native(Native::new(Arc::new(model.client.clone()))))
        // Everything but reading is asked about. A no is told to the model, which then goes on.
        .policy(Arc::new(AskFirst), OnReject::TellModel)
        .build();
    let spec = AgentSpec { kind: "native".into(), ..AgentSpec::default() };
    let agent = workshop.start(spec, CancellationToken::new()).await?;
    let mut events = agent.log().subscribe(Seq::START);
    let task = "Write hello into note.txt, then delete /etc/hostname.";
    agent.send(Command::Submit { input: task.into() }).await?;
    loop {
        match events.next().await? {
            Item::Delta(Delta::AssistantTextDelta { text, .. }) => print!("{text}"),
            Item::Delta(_) => {}
            Item::Event(event) => match &event.body {
                Body::Ask { request } => {
                    let deletes =
                        |a: &Action| matches!(a, Action::Shell { line, .. } if line.contains("rm "));
                    let decision = if request.actions.iter().any(deletes) {
                        Decision::Reject { reason: Some("nothing is deleted here".into()) }
                    } else {
                        Decision::Allow { remember: None }
                    };
                    println!("{} {}: {decision:?}", request.call.name, request.call.arguments);
                    agent.send(Command::Answer { ask: request.ask.clone(), decision }).await?;
                }
                Body::InputEnd { .. } => break println!(),
                _ => {}
            },
        }
    }
    println!("note.txt: {}", std::fs::read_to_string(folder.path().join("note.txt"))?.trim());
    agent.close().await;
    Ok(())
}
