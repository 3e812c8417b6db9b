//! `cargo xtask soak`: what is true once must be true hundreds of times.

use clap::Subcommand;

use crate::Outcome;
use crate::command::{cargo, run};

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
}

/// Builds what is killed and who kills it, and lets them.
pub(crate) fn run_all(soak: Soak) -> Outcome {
    let Soak::Sessions { kills, seed, on } = soak;
    run(cargo().args(["build", "-p", "junto-cli"]))?;
    let mut sessions = cargo();
    sessions.args(["run", "--quiet", "-p", "junto-testkit", "--example", "soak", "--"]);
    sessions.args(["--kills".to_owned(), kills.to_string(), "--seed".to_owned(), seed.to_string()]);
    if let Some(on) = on {
        sessions.args(["--on".to_owned(), on]);
    }
    run(&mut sessions)
}
