//! A batch: the same task in many folders, a few at a time, each with an agent of its own.
//!
//! `cargo run -p junto --example batch`
#![allow(clippy::disallowed_macros, reason = "an example prints")]

mod support;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use junto::core::{Limits, Outcome};
use junto::prelude::*;
use junto::twin::{self, Play, Step};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

const TASK: &str = "Write the number of lines of data.txt into count.txt.";

async fn work(workshop: Workshop, folder: PathBuf) -> Result<Outcome, Box<dyn Error + Send + Sync>> {
    let limits = Limits { max_turns: 20, ..Limits::default() };
    let workdir = Workdir::Path(folder);
    let spec = AgentSpec { kind: "native".into(), workdir, limits, ..AgentSpec::default() };
    let agent = workshop.start(spec, CancellationToken::new()).await?;
    let mut events = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: TASK.into() }).await?;
    while !matches!(events.next().await?, Item::Event(event) if matches!(event.body, Body::InputEnd { .. })) {
    }
    Ok(agent.close().await)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let first = twin::When { round: Some(0), ..Default::default() };
    let count = Step::call("shell", json!({"command": "grep -c '' data.txt > count.txt"})).when(first);
    let model = support::model(Play::of([count, Step::text("Counted.")]))?;
    let root = tempfile::tempdir()?;
    let workshop = Workshop::builder(root.path(), |dir| Ok(Arc::new(LocalEnvironment::new(dir)?)))
        .kind("native", Kind::Native(Native::new(Arc::new(model.client.clone()))))
        .build();
    let (mut jobs, permits) = (JoinSet::new(), Arc::new(Semaphore::new(4)));
    for lines in 1..=10 {
        let folder = root.path().join(format!("project-{lines:02}"));
        std::fs::create_dir(&folder)?;
        std::fs::write(folder.join("data.txt"), "line\n".repeat(lines))?;
        let (workshop, permits) = (workshop.clone(), Arc::clone(&permits));
        jobs.spawn(async move {
            let _permit = permits.acquire().await?;
            let outcome = work(workshop, folder.clone()).await?;
            Ok::<_, Box<dyn Error + Send + Sync>>((outcome, folder.join("count.txt")))
        });
    }
    for done in jobs.join_all().await {
        let (outcome, count) = done.map_err(|error| error as Box<dyn Error>)?;
        println!("{}: {} {}", count.display(), outcome.text, std::fs::read_to_string(&count)?.trim());
    }
    Ok(())
}
