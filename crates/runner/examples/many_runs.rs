//! A host for tests: runs many commands in the background that never end, until somebody kills it.
//!
//! Arguments: its folder, the program, how many runs there are, how many of them at once.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a program of a test")]

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use junto_core::{EventLog, Mode, Parent};
use junto_env::LocalEnvironment;
use junto_llm::{Secret, Unlimited};
use junto_runner::background::{Background, Errand};
use junto_runner::sweep::Roster;
use junto_runner::{Definition, Host};
use junto_testkit::fake_claude::{Behaviour, Fault, Ignored};
use tokio_util::sync::CancellationToken;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, program, count, at_once] = &arguments[..] else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run(folder.as_ref(), program, count.parse().unwrap(), at_once.parse().unwrap()));
}

async fn run(folder: &Path, program: &str, count: usize, at_once: NonZeroUsize) {
    let behaviour = Behaviour {
        record: Some(folder.join("runs.jsonl")),
        ignore: vec![Ignored::Interrupt, Ignored::Terminate],
        escape: true,
        ..Behaviour::default().then(0, Fault::Hang)
    };
    let mut definition = Definition::shipped("claude").unwrap();
    definition.command.splice(..1, [program.to_owned()]);
    definition.variables.allow.push(Behaviour::VARIABLE.to_owned());
    let variables = behaviour.variables().into_iter().map(|(name, value)| (name, Secret::new(value)));
    let (roster, _) = Roster::open(&folder.join("children")).unwrap();
    let host = Host {
        variables: variables.collect(),
        roster: Some(Arc::new(roster)),
        ..Host::new(Arc::new(LocalEnvironment::new(folder).unwrap()))
    };
    let line = Background::new(at_once, NonZeroUsize::new(count).unwrap());
    let mut jobs = Vec::new();
    for number in 0..count {
        let errand = Errand {
            definition: definition.clone(),
            host: host.clone(),
            mode: Mode::ReadOnly,
            model: None,
            workdir: None,
            prompt: format!("run {number}"),
        };
        let parent = Parent {
            log: None,
            env: None,
            depth: 0,
            cancel: CancellationToken::new(),
            budget: Arc::new(Unlimited),
        };
        let log = EventLog::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
        jobs.push(line.submit(errand, parent, log).await.unwrap());
    }
    for job in jobs {
        job.outcome().await;
    }
}
