//! An environment of one's own: every command runs behind another one, here `nice`; `docker exec` or
//! `ssh` would go in its place. What a layer does not mention is what the environment inside does.
//!
//! `cargo run -p junto --example custom_environment`
#![allow(clippy::disallowed_macros, reason = "an example prints")]

mod support;

use std::error::Error;
use std::sync::Arc;

use junto::env::{CommandSpec, ExecutionEnvironment, Fut, Process, Program, Result as EnvResult, wrappers};
use junto::prelude::*;
use junto::twin::{Play, Step};
use serde_json::json;

struct Nice(LocalEnvironment);

impl wrappers::Layer for Nice {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.0
    }

    fn spawn(&self, command: CommandSpec) -> Fut<'_, EnvResult<Process>> {
        let argv = match command.program {
            Program::Shell(line) => vec!["sh".into(), "-c".into(), line],
            Program::Argv(argv) => argv,
        };
        let before = ["nice", "-n", "7"].map(str::to_owned);
        self.0.spawn(CommandSpec { program: Program::Argv([&before[..], &argv].concat()), ..command })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let call = Step::call("shell", json!({"command": "echo my niceness is $(nice)"}));
    let model = support::model(Play::of([call, Step::text("The command said: {{last_result}}")]))?;
    let folder = tempfile::tempdir()?;
    let workshop = Workshop::builder(folder.path(), |dir| {
        let local = LocalEnvironment::builder(dir).variable("PATH", "/usr/bin:/bin").build()?;
        Ok(Arc::new(Nice(local)))
    })
    .kind("native", Kind::Native(Native::new(Arc::new(model.client.clone()))))
    .build();
    let spec = AgentSpec { kind: "native".into(), ..AgentSpec::default() };
    let agent = workshop.start(spec, CancellationToken::new()).await?;
    let mut events = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "Run `nice` in the shell: how nice are we?".into() }).await?;
    support::follow(&mut events).await?;
    agent.close().await;
    Ok(())
}
