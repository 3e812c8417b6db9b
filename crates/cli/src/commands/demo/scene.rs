//! One profile at work: a folder with the broken project, a scripted model on the profile's own wire,
//! and an agent between the two.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use junto::agent::profile::{Family, Profile};
use junto::core::{Agent, AgentSpec, Body, Command, Input, Item, Seq};
use junto::env::{CommandSpec, ExecutionEnvironment, LocalEnvironment, exec};
use junto::llm::{Client, Endpoint, HttpProvider, Wire};
use junto::twin::{Options, Play, Twin};
use junto::{Kind, Native, Workshop};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::tally::Tally;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// What the agent is told.
pub(super) const TASK: &str =
    "The tests of this project fail. Find the bug, fix it, and run the tests again.";
/// What the scripted model is called.
const MODEL: &str = "scripted";
/// How the project is tested.
const TEST: &str = "sh test.sh";
/// How long that may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// The project, as it is before it was mended.
const PROJECT: &[(&str, &str)] =
    &[("sum.sh", include_str!("project/sum.sh")), ("test.sh", include_str!("project/test.sh"))];

/// A profile, and what the scripted model does with its tools.
#[derive(Clone, Copy)]
pub(super) struct Scene {
    pub(super) family: Family,
    pub(super) wire: Wire,
    pub(super) play: &'static str,
}

/// How a scene ended.
pub(super) struct Ended {
    /// As a row of the table.
    pub(super) row: Vec<String>,
    /// What the tests said in the end, if they do not pass.
    pub(super) fault: Option<String>,
}

impl Scene {
    /// Plays the scene to its end, tells of it line by line, and leaves nothing behind. Cancelling ends
    /// it early.
    ///
    /// # Errors
    /// If there is no folder, no scripted model or no agent for it. That the tests do not pass in the
    /// end is a result.
    pub(super) async fn play(
        self,
        environment: &Environment,
        output: &Output,
        cancel: &CancellationToken,
    ) -> Result<Ended, Failure> {
        let folder = tempfile::Builder::new().prefix("junto-demo-").tempdir().map_err(|e| no_folder(&e))?;
        let directory = folder.path().canonicalize().map_err(|e| no_folder(&e))?;
        for (name, text) in PROJECT {
            fs::write(directory.join(name), text).map_err(|e| no_folder(&e))?;
        }
        let began = Instant::now();
        let worked = self.work(&directory, environment, output, cancel).await;
        let time = began.elapsed();
        let fault = test(&directory, environment, cancel).await.err();
        folder.close().map_err(|e| no_folder(&e))?;
        let row = worked?.row(self.family.name(), fault.is_none(), time);
        Ok(Ended { row, fault })
    }

    /// Lets the agent work on the project.
    async fn work(
        self,
        directory: &Path,
        environment: &Environment,
        output: &Output,
        cancel: &CancellationToken,
    ) -> Result<Tally, Failure> {
        let twin = self.model()?;
        let name = self.family.name();
        let endpoint = Endpoint::new(name, self.wire, twin.base_url(self.wire)).key(twin.key());
        let client = Client::builder().provider(name, Arc::new(HttpProvider::new(endpoint)?)).build()?;
        let native = Native {
            model: Some(MODEL.to_owned()),
            profile: Some(Profile::of(self.family)),
            ..Native::new(Arc::new(client))
        };
        let workshop = workshop(directory, environment).kind(name, Kind::Native(native)).build();
        let spec = AgentSpec { kind: name.to_owned(), ..AgentSpec::default() };
        let agent = workshop.start(spec, cancel.child_token()).await.map_err(|e| no_agent(&e.to_string()))?;
        let tally = self.follow(&*agent, output).await;
        agent.close().await;
        twin.close().await;
        tally
    }

    /// Gives the agent its task, and tells what it does until it is done.
    async fn follow(self, agent: &dyn Agent, output: &Output) -> Result<Tally, Failure> {
        let mut events = agent.log().subscribe(Seq::START);
        let task = Command::Submit { input: Input::text(TASK) };
        agent.send(task).await.map_err(|e| no_agent(&e.to_string()))?;
        let mut tally = Tally::default();
        loop {
            let item = events.next().await.map_err(|e| no_agent(&e.to_string()))?;
            let Item::Event(event) = item else { continue };
            if let Some(line) = tally.take(&event) {
                output.note(&format!("{:<10} {line}", self.family.name()));
            }
            if matches!(event.body, Body::InputEnd { .. } | Body::SessionEnd { .. }) {
                return Ok(tally);
            }
        }
    }

    fn model(self) -> Result<Twin, Failure> {
        let fault = |what: String| {
            Failure::new(
                Exit::Failed,
                format!("cannot start the scripted model: {what}"),
                "check that programs may listen on 127.0.0.1",
            )
        };
        let play = Play::from_toml(self.play).map_err(|error| fault(error.to_string()))?;
        Twin::start(play, Options::default()).map_err(|error| fault(error.to_string()))
    }
}

/// A workshop whose agents work in this directory, with the process's variables to choose from.
fn workshop(directory: &Path, environment: &Environment) -> junto::WorkshopBuilder {
    let variables: Vec<(OsString, OsString)> =
        environment.all().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Workshop::builder(directory, move |directory| {
        let local = LocalEnvironment::builder(directory).variables(variables.clone()).build()?;
        Ok(Arc::new(local) as Arc<dyn ExecutionEnvironment>)
    })
}

/// Runs the tests, without any agent. What they say if they do not pass is the error.
async fn test(directory: &Path, environment: &Environment, cancel: &CancellationToken) -> Result<(), String> {
    let local = LocalEnvironment::builder(directory).variables(environment.all()).build();
    let local = local.map_err(|error| error.to_string())?;
    let result = exec(&local, CommandSpec::shell(TEST), PATIENCE, cancel, &mut |_| {}).await;
    let result = result.map_err(|error| error.to_string())?;
    if result.exit.success() && !result.timed_out && !result.cancelled {
        return Ok(());
    }
    Err(result.both.text(|omitted| format!("[… {omitted} bytes …]")).trim().to_owned())
}

fn no_folder(error: &io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        format!("cannot use a temporary folder: {error}"),
        "check TMPDIR, and whether the disk is full",
    )
}

fn no_agent(what: &str) -> Failure {
    let message = format!("the agent cannot work: {what}");
    Failure::new(Exit::Failed, message, "this needs nothing of yours; report it")
}
