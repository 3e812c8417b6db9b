//! One conversation, two providers: what was said to the first is known to the second.
//!
//! `cargo run -p junto --example switch_provider`; with real models it wants the keys of two providers.
#![allow(clippy::disallowed_macros, reason = "an example prints")]

mod support;

use std::error::Error;
use std::sync::Arc;

use junto::core::Change;
use junto::prelude::*;
use junto::twin::{self, Play, Step};

fn on_turn(turn: u32, answer: &str) -> Step {
    Step::text(answer).when(twin::When { turn: Some(turn), ..Default::default() })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let play = [on_turn(1, "I keep it in mind."), on_turn(2, "It was heron.")];
    let model = support::model(Play::of(play))?;
    let providers: Vec<String> = model.client.provider_names().map(str::to_owned).collect();
    let latest = |name: &str| model.client.catalog().latest(name, None).map(|model| model.id.clone());
    let folder = tempfile::tempdir()?;
    let workshop = Workshop::builder(folder.path(), |dir| Ok(Arc::new(LocalEnvironment::new(dir)?)))
        .kind("native", Kind::Native(Native::new(Arc::new(model.client.clone()))))
        .build();
    let spec = AgentSpec { kind: "native".into(), ..AgentSpec::default() };
    let agent = workshop.start(spec, CancellationToken::new()).await?;
    let mut events = agent.log().subscribe(Seq::START);
    let inputs = ["Remember this word: heron.", "Which word was it?"];
    for (input, provider) in inputs.into_iter().zip(providers.iter().cycle()) {
        let change =
            Change { model: latest(provider), provider: Some(provider.clone()), ..Change::default() };
        agent.send(Command::Configure { change }).await?;
        agent.send(Command::Submit { input: input.into() }).await?;
        loop {
            let Item::Event(event) = events.next().await? else { continue };
            match &event.body {
                Body::UserInput { input, .. } => println!("you: {}", input.text),
                Body::Call { provider, model, .. } => print!("{provider}/{model}: "),
                Body::InputEnd { text, .. } => break println!("{}", text.preview()),
                _ => {}
            }
        }
    }
    agent.close().await;
    Ok(())
}
