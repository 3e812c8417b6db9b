//! Steering: a message reaches the model while it works, and a follow-up waits until it is done.
//!
//! `cargo run -p junto --example steering`
#![allow(clippy::disallowed_macros, reason = "an example prints")]

mod support;

use std::error::Error;
use std::sync::Arc;

use junto::core::When;
use junto::prelude::*;
use junto::twin::{self, Play, Step};
use serde_json::json;

/// What the script says once a message contains this.
fn told(text: &str, answer: &str) -> Step {
    Step::text(answer).when(twin::When { contains: Some(text.into()), ..Default::default() })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = support::model(Play::of([
        told("in French", "Le dossier est vide."),
        told("How many", "One: ls."),
        Step::call("shell", json!({"command": "ls"})),
        Step::text("The folder is empty."),
    ]))?;
    let folder = tempfile::tempdir()?;
    let workshop = Workshop::builder(folder.path(), |dir| Ok(Arc::new(LocalEnvironment::new(dir)?)))
        .kind("native", Kind::Native(Native::new(Arc::new(model.client.clone()))))
        .build();
    let spec = AgentSpec { kind: "native".into(), ..AgentSpec::default() };
    let agent = workshop.start(spec, CancellationToken::new()).await?;
    let mut events = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "Run ls and say what is there.".into() }).await?;
    agent.send(Command::FollowUp { input: "How many commands did you run?".into() }).await?;
    let mut open = 2;
    while open > 0 {
        let Item::Event(event) = events.next().await? else { continue };
        match &event.body {
            Body::ToolCallStart { .. } => {
                // After the current round; `When::Now` would cut it short.
                let input = "Answer in French, please.".into();
                agent.send(Command::Steer { input, when: When::Round }).await?;
            }
            Body::SteeringInjected { input, .. } => println!("told: {}", input.text),
            Body::AssistantTextEnd { text, .. } => println!("said: {}", text.preview()),
            Body::InputEnd { .. } => open -= 1,
            _ => {}
        }
    }
    agent.close().await;
    Ok(())
}
