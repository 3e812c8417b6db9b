//! `junto demo`: agents whose models are scripts mend a small program, for real, one for each profile.

mod scene;
mod tally;

use std::pin::pin;

use futures_util::future::join_all;
use junto::agent::profile::Family;
use junto::llm::Wire;
use tokio_util::sync::CancellationToken;

use self::scene::{Scene, TASK};
use self::tally::HEADS;
use super::models::columns;
use crate::args::{DemoArgs, DemoProfile};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::output::Output;

const SCENES: [(DemoProfile, Scene); 3] = [
    (
        DemoProfile::Openai,
        Scene { family: Family::OpenAi, wire: Wire::Responses, play: include_str!("demo/plays/openai.toml") },
    ),
    (
        DemoProfile::Anthropic,
        Scene {
            family: Family::Anthropic,
            wire: Wire::Anthropic,
            play: include_str!("demo/plays/anthropic.toml"),
        },
    ),
    (
        DemoProfile::Gemini,
        Scene { family: Family::Gemini, wire: Wire::Gemini, play: include_str!("demo/plays/gemini.toml") },
    ),
];

/// Runs the command: each profile in a folder of its own, all at the same time.
pub(crate) async fn run(
    args: &DemoArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    output.note(&format!(
        "This is a demonstration. The model is scripted and runs inside this program, on the wire of each \
         profile's vendor; nothing leaves this machine. The agents, their tools and the project are real.\n\n\
         A small project whose tests fail. Task: {TASK}\n"
    ));
    let chosen = SCENES.into_iter().filter(|(name, _)| args.profile.is_none_or(|only| only == *name));
    let cancel = CancellationToken::new();
    let mut scenes = pin!(join_all(chosen.map(|(_, scene)| scene.play(environment, output, &cancel))));
    let ended = loop {
        tokio::select! {
            biased;
            () = interrupts.next() => {
                if cancel.is_cancelled() {
                    return Err(Failure::interrupted());
                }
                output.note("interrupted; waiting for the agents to end");
                cancel.cancel();
            }
            ended = &mut scenes => break ended,
        }
    };
    if cancel.is_cancelled() {
        return Err(Failure::interrupted());
    }
    let ended = ended.into_iter().collect::<Result<Vec<_>, _>>()?;
    let rows: Vec<Vec<String>> = [HEADS.map(str::to_owned).to_vec()]
        .into_iter()
        .chain(ended.iter().map(|end| end.row.clone()))
        .collect();
    output.note("");
    output.data(&columns(&rows))?;
    if let Some(fault) = ended.iter().find_map(|end| end.fault.as_deref()) {
        let message = format!("the tests do not pass: {fault}");
        return Err(Failure::new(
            Exit::Failed,
            message,
            "the demonstration needs `sh`; report this if it is there",
        ));
    }
    output.note(
        "\nThe tests were run once more, without the agents: they pass. The folders are removed.\n\
         To let a real model work, set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY and run \
         `junto run \"…\"` in a folder of yours.",
    );
    Ok(Exit::Done)
}
