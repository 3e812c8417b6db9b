//! Answers of a real command-line agent through this crate, for `cargo xtask bench runner`.
//!
//! `layer KIND PROGRAM URL KEY MODEL HOME` prints, as JSON, the command and the variables with which the agent runs.
//! With a number after that it lets the agent answer so often, each time in a process of its own, and prints
//! what this process itself took: CPU time in milliseconds, and the most memory it had in KiB.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a measurement reads its arguments and the clock, and prints"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use junto_core::{Agent, AgentSpec, Body, Command, EndReason, EventLog, Item, Mode, Parent, Seq};
use junto_env::LocalEnvironment;
use junto_llm::{Secret, Unlimited};
use junto_runner::{CliAgent, Definition, Detail, Endpoint, Home, Host, Invocation, Purpose};
use serde_json::json;
use tokio_util::sync::CancellationToken;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, program, url, key, model, home, count @ ..] = &arguments[..] else {
        return Err("layer KIND PROGRAM URL KEY MODEL HOME [COUNT]".into());
    };
    let mut definition = Definition::shipped(kind).ok_or("no such kind")?;
    definition.command.splice(..1, [program.clone()]);
    let home = PathBuf::from(home);
    definition.home.furnish(&home)?;
    let given = ["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default()));
    let work = std::env::current_dir()?;
    let host = Host {
        variables: given.iter().map(|(name, value)| (name.clone(), Secret::new(value.clone()))).collect(),
        home: Home::Isolated(home.clone()),
        endpoint: Some(Endpoint::new(url.as_str()).with_key(key.as_str())),
        ..Host::new(Arc::new(LocalEnvironment::builder(work).variables(given.clone()).build()?))
    };
    let Some(count) = count.first() else {
        let run = host.invocation(Purpose::Work(Mode::ReadOnly), Detail::Deltas);
        let line = definition.command_line(&Invocation { model: Some(model), ..run })?;
        let mut variables: BTreeMap<String, String> = given.into();
        variables.extend(definition.variables.set.clone());
        variables.extend(line.variables);
        variables.extend(definition.home.variable.clone().map(|name| (name, home.display().to_string())));
        println!("{}", json!({"argv": line.argv, "variables": variables}));
        return Ok(());
    };
    for _ in 0..count.parse::<u32>()? {
        answer(&definition, &host, model).await?;
    }
    println!("{}", json!({"cpu_ms": own_cpu_ms()?, "peak_kib": peak_kib()?}));
    Ok(())
}

/// Lets the agent answer once.
async fn answer(definition: &Definition, host: &Host, model: &str) -> Outcome {
    let log = EventLog::in_memory(Arc::new(Timestamp::now));
    let parent = Parent {
        log: None,
        env: None,
        depth: 0,
        cancel: CancellationToken::new(),
        budget: Arc::new(Unlimited),
    };
    let spec = AgentSpec { mode: Mode::ReadOnly, model: Some(model.to_owned()), ..AgentSpec::default() };
    let agent = CliAgent::start(definition.clone(), host.clone(), spec, parent, log).await?;
    let mut reader = agent.log().subscribe(Seq::START);
    agent.send(Command::Submit { input: "hello".into() }).await?;
    loop {
        let Item::Event(event) = reader.next().await? else { continue };
        if let Body::InputEnd { reason, .. } = &event.body {
            if *reason != EndReason::Done {
                return Err(format!("{reason:?}").into());
            }
            break;
        }
    }
    agent.close().await;
    Ok(())
}

/// What this process took of the CPU, in user and kernel, without its children. The kernel counts in
/// hundredths of a second.
fn own_cpu_ms() -> Outcome<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name before it may have spaces.
    let rest = stat.rsplit_once(')').ok_or("no name")?.1;
    let ticks = rest.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    Ok(ticks.sum::<Result<u64, _>>()? * 10)
}

fn peak_kib() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}
