//! `junto demo`: an `ask` against a twin that runs inside this program.

use std::sync::Arc;

use junto::llm::retry::Policy;
use junto::llm::{Client, Endpoint, HttpProvider, Request, Wire};
use junto::twin::{Options, Play, Twin};
use tokio::time::Instant;

use super::ask::{Delivery, Exchange, closing_line, cost, ending};
use crate::args::DemoArgs;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// The wire that the demonstration speaks; any would do.
const WIRE: Wire = Wire::Anthropic;

/// Runs the command.
pub(crate) async fn run(args: &DemoArgs, output: &Output) -> Result<Exit, Failure> {
    let started = Instant::now();
    let twin = start()?;
    output.note(
        "This is a demonstration: the model is scripted and runs inside this program; \
         nothing leaves this machine.",
    );
    output.note(&format!("\n> {}\n", args.prompt));
    let endpoint = Endpoint::new("twin", WIRE, twin.base_url(WIRE)).key(twin.key());
    let client = Client::builder().provider("twin", Arc::new(HttpProvider::new(endpoint)?)).build()?;
    let exchange = Exchange { client: &client, retry: Policy::default(), keys: &[], output };
    let request = Request::prompt(&args.prompt).model("scripted");
    let response = exchange.run(request, Delivery::Live).await?;
    let cost = cost(client.catalog(), &response);
    output.note(&format!("\n{}", closing_line(&response, cost, started.elapsed())));
    output.note(
        "To ask a real model, set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY and run `junto ask`.",
    );
    twin.close().await;
    ending(&response)
}

fn start() -> Result<Twin, Failure> {
    let fault = |what: String| {
        Failure::new(
            Exit::Failed,
            format!("cannot start the scripted model: {what}"),
            "check that programs may listen on 127.0.0.1",
        )
    };
    let play = Play::from_toml(include_str!("demo.toml")).map_err(|error| fault(error.to_string()))?;
    Twin::start(play, Options::default()).map_err(|error| fault(error.to_string()))
}
