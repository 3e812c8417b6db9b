//! `junto replay`: a session, run again against its own recorded answers.

use std::fmt::Write as _;
use std::sync::Arc;

use junto::Replayed;
use junto::env::LocalEnvironment;
use serde_json::json;

use crate::args::ReplayArgs;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::saved;

/// Runs the command.
pub(crate) async fn run(
    args: ReplayArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let config = Config::load(environment, &[])?;
    let store = saved::open(&config, environment)?;
    let id = saved::find(&store, &args.id, environment)?;
    let env = LocalEnvironment::builder(environment.directory()).build().map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot work here: {error}"), "start in a folder that exists")
    })?;
    let replayed = junto::replay(&store, &id, Arc::new(env), Arc::new(Environment::now)).await;
    let replayed = replayed.map_err(|error| saved::failure(&error))?;
    if let Some(fault) = saved::faults(&id, &replayed.recovery) {
        output.warning(&fault);
    }
    output.data(&if args.json { to_json(&replayed) } else { in_words(&replayed) })?;
    Ok(if replayed.divergence.is_none() { Exit::Done } else { Exit::Failed })
}

fn to_json(replayed: &Replayed) -> String {
    let divergence = replayed.divergence.as_ref().map(|divergence| {
        json!({
            "turn": divergence.turn,
            "seq": divergence.seq,
            "then": divergence.then,
            "now": divergence.now,
        })
    });
    let Replayed { turns, calls, taken, stopped, .. } = replayed;
    let report = json!({
        "turns": turns,
        "calls": calls,
        "divergence": divergence,
        "taken": taken,
        "stopped": stopped,
    });
    format!("{report:#}\n")
}

fn in_words(replayed: &Replayed) -> String {
    let Replayed { turns, calls, divergence, taken, stopped, .. } = replayed;
    let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let done = format!("{} and {}", count(u64::from(*turns), "turn"), count(*calls as u64, "model call"));
    let mut text = match divergence {
        None => format!("{done} went as they did then\n"),
        Some(divergence) => format!(
            "{done} were run; turn {} goes another way at event {}\n  then: {}\n  now:  {}\n",
            divergence.turn, divergence.seq, divergence.then, divergence.now
        ),
    };
    for what in taken {
        let _ = writeln!(text, "taken as it was recorded: {what}");
    }
    if let Some(stopped) = stopped {
        let _ = writeln!(text, "what came then was not run: {stopped}");
    }
    text
}
