//! `cargo xtask soak`: what is true once must be true hundreds of times.

use clap::Subcommand;

use crate::Outcome;
use crate::clis;
use crate::command::{cargo, run};
use crate::setup;

/// What is tried again and again.
#[derive(Subcommand)]
pub(crate) enum Soak {
    /// Kill the command with SIGKILL at random points, and bring its sessions back. The report is
    /// target/soak-sessions.md.
    Sessions {
        /// How often.
        #[arg(long, default_value_t = 300)]
        kills: u32,
        /// Where the kills fall follows from this.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Only this scenario on this wire, such as rounds/anthropic.
        #[arg(long, value_name = "SCENARIO/WIRE")]
        on: Option<String>,
    },
    /// Let providers fail and clients leave in every way, again and again, and see that the gateway keeps nothing.
    Gateway {
        /// How often each fault meets each way to leave.
        #[arg(long, default_value_t = 50)]
        times: u32,
        /// Order and cuts follow from this.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Put the real command-line agents into every host of the table of compositions, and through every event.
    Compositions {
        /// How often.
        #[arg(long, default_value_t = 1)]
        times: u32,
    },
}

/// Tries it again and again.
pub(crate) fn run_all(soak: Soak) -> Outcome {
    match soak {
        Soak::Sessions { kills, seed, on } => sessions(kills, seed, on),
        Soak::Gateway { times, seed } => gateway(times, seed),
        Soak::Compositions { times } => compositions(times),
    }
}

/// The tests of the fixed dozen, with all pairs and all events; each turn takes some minutes.
fn compositions(times: u32) -> Outcome {
    let clis = clis::ensure()?;
    // One of the hosts is the command.
    run(cargo().args(["build", "-p", "junto-cli", "-p", "junto-testkit", "--bins", "--examples"]))?;
    for _ in 0..times {
        let mut nextest = setup::cargo_nextest()?;
        nextest.args(["nextest", "run", "-p", "junto-testkit", "-E", "test(/^t2_compositions/)"]);
        nextest.env("JUNTO_COMPOSITIONS", "all").envs(clis.environment());
        run(&mut nextest)?;
    }
    Ok(())
}

/// The tests of faults, with as many runs as are asked for.
fn gateway(times: u32, seed: u64) -> Outcome {
    let mut nextest = setup::cargo_nextest()?;
    nextest.args(["nextest", "run", "-p", "junto-gateway", "--no-capture", "-E", "test(/^t3_soak/)"]);
    nextest.env("JUNTO_SOAK", times.max(1).to_string()).env("JUNTO_SOAK_SEED", seed.to_string());
    run(&mut nextest)
}

/// Builds what is killed and who kills it, and lets them.
fn sessions(kills: u32, seed: u64, on: Option<String>) -> Outcome {
    run(cargo().args(["build", "-p", "junto-cli"]))?;
    let mut sessions = cargo();
    sessions.args(["run", "--quiet", "-p", "junto-testkit", "--example", "soak", "--"]);
    sessions.args(["--kills".to_owned(), kills.to_string(), "--seed".to_owned(), seed.to_string()]);
    if let Some(on) = on {
        sessions.args(["--on".to_owned(), on]);
    }
    run(&mut sessions)
}
