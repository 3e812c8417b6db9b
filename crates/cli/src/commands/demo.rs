//! `junto demo`: an agent whose model is a script mends a small program, for real.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use junto::core::{AgentSpec, Input};
use junto::env::{CommandSpec, LocalEnvironment, exec};
use junto::llm::{Client, Endpoint, HttpProvider, Wire};
use junto::twin::{Options, Play, Twin};
use junto::{Kind, Native};
use tokio_util::sync::CancellationToken;

use super::run::{self, Form, Presence};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;

/// The wire that the demonstration speaks; any would do.
const WIRE: Wire = Wire::Anthropic;
/// What the agent is told.
const TASK: &str = "The tests of this project fail. Find the bug, fix it, and run the tests again.";
/// How the project is tested.
const TEST: &str = "sh test.sh";
/// How long that may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// The project, as it is before it was mended.
const PROJECT: &[(&str, &str)] =
    &[("sum.sh", include_str!("demo/sum.sh")), ("test.sh", include_str!("demo/test.sh"))];

/// Runs the command.
pub(crate) async fn run(environment: &Environment, output: &Output) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    let folder = tempfile::Builder::new().prefix("junto-demo-").tempdir().map_err(|e| no_project(&e))?;
    let directory = folder.path().canonicalize().map_err(|e| no_project(&e))?;
    for (name, text) in PROJECT {
        fs::write(directory.join(name), text).map_err(|e| no_project(&e))?;
    }
    output.note(
        "This is a demonstration. The model is scripted and runs inside this program; nothing leaves this \
         machine. The agent, its tools and the project are real.",
    );
    output
        .note(&format!("A small project whose tests fail is in {}.\n\nTask: {TASK}\n", directory.display()));
    let worked = work(&directory, environment, output, &mut interrupts).await;
    let tested = test(&directory, environment).await;
    folder.close().map_err(|e| no_project(&e))?;
    worked?;
    tested?;
    output.note(
        "\nThe tests were run once more, without the agent: they pass. The folder is removed.\n\
         To let a real model work, set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY and run \
         `junto run \"…\"` in a folder of yours.",
    );
    Ok(Exit::Done)
}

/// Lets the agent work on the project.
async fn work(
    directory: &Path,
    environment: &Environment,
    output: &Output,
    interrupts: &mut Interrupts,
) -> Result<Exit, Failure> {
    let twin = start()?;
    let endpoint = Endpoint::new("twin", WIRE, twin.base_url(WIRE)).key(twin.key());
    let client = Client::builder().provider("twin", Arc::new(HttpProvider::new(endpoint)?)).build()?;
    let native = Native {
        model: Some("scripted".to_owned()),
        system: run::system(directory),
        ..Native::new(Arc::new(client))
    };
    let workshop = run::workshop(directory, environment).kind("native", Kind::Native(native)).build();
    let spec = AgentSpec { kind: "native".to_owned(), ..AgentSpec::default() };
    let agent = workshop.start(spec, CancellationToken::new()).await.map_err(|e| run::refused(&e))?;
    let host = run::Host::new(Presence::Nobody, output.clone());
    let end = run::follow(agent, Input::text(TASK), Form::Text, host, output, interrupts).await;
    twin.close().await;
    end
}

/// Runs the tests, without any agent.
async fn test(directory: &Path, environment: &Environment) -> Result<(), Failure> {
    let fault = |what: String| {
        let message = format!("the tests do not pass: {what}");
        Failure::new(Exit::Failed, message, "the demonstration needs `sh`; report this if it is there")
    };
    let local = LocalEnvironment::builder(directory).variables(environment.all()).build();
    let local = local.map_err(|error| fault(error.to_string()))?;
    let mut said = Vec::new();
    let mut hear = |piece: &junto::env::Output| said.extend_from_slice(&piece.bytes);
    let command = CommandSpec::shell(TEST);
    let result = exec(&local, command, PATIENCE, &CancellationToken::new(), &mut hear).await;
    let result = result.map_err(|error| fault(error.to_string()))?;
    if result.exit.success() && !result.timed_out {
        return Ok(());
    }
    Err(fault(String::from_utf8_lossy(&said).trim().to_owned()))
}

fn start() -> Result<Twin, Failure> {
    let fault = |what: String| {
        Failure::new(
            Exit::Failed,
            format!("cannot start the scripted model: {what}"),
            "check that programs may listen on 127.0.0.1",
        )
    };
    let play = Play::from_toml(include_str!("demo/play.toml")).map_err(|error| fault(error.to_string()))?;
    Twin::start(play, Options::default()).map_err(|error| fault(error.to_string()))
}

fn no_project(error: &io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        format!("cannot use a temporary folder: {error}"),
        "check TMPDIR, and whether the disk is full",
    )
}
