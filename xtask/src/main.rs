//! The developer's commands: `cargo xtask setup|test|lint|bench|compositions|conformance|fuzz|live|mutants|sample|soak|support|tiers`.
//!
//! The tests need more than a compiler: Python packages, real servers to talk to, and a network that
//! reaches nothing but this machine. This program makes all of it, so that `cargo xtask test` is the
//! one command a newcomer needs.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a developer's tool: it starts programs, reads the environment and prints"
)]

mod bench_council;
mod bench_gateway;
mod bench_kernel;
mod bench_loop;
mod bench_runner;
mod bench_tools;
mod cache;
mod chores;
mod clis;
mod command;
mod compositions;
mod conformance;
mod isolate;
mod junit;
mod lint;
mod mutants;
mod packaged;
mod peers;
mod sample;
mod setup;
mod soak;
mod support;
mod test;
mod tiers;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::tiers::Tier;

/// The developer's commands of Junto.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make what the tests need, in a cache folder (JUNTO_DEV_CACHE). Instant when it is there.
    Setup,
    /// Run the tests, tier by tier, with no network but loopback.
    Test {
        /// Only this tier; may be repeated.
        #[arg(long = "tier", value_name = "T0..T3", ignore_case = true)]
        tiers: Vec<Tier>,
        /// Only tests whose name contains this.
        filter: Option<String>,
    },
    /// Check formatting, clippy and the documentation.
    Lint,
    /// Run the benchmarks and print their tables.
    Bench {
        /// Which.
        #[arg(default_value = "llm")]
        suite: chores::Suite,
    },
    /// Compose every kind of mind with every host, and print the table.
    Compositions,
    /// Write docs/conformance.md: which test proves which line of the Definition of Done.
    Conformance {
        /// Only check that the page is current.
        #[arg(long)]
        check: bool,
    },
    /// Run the fuzz targets on the nightly toolchain.
    Fuzz {
        /// Only this target.
        target: Option<String>,
        /// For how long, each.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Run the provider matrix and the agent's script against the real providers whose keys are set.
    Live,
    /// Break the code in small ways, and list in docs/mutants.md what no test notices.
    Mutants {
        /// Only this group of files, as `mutants.rs` names them; may be repeated.
        #[arg(long = "group", value_name = "NAME")]
        groups: Vec<String>,
        /// Only every Nth mutant, from the Kth on: 0/8 to 7/8, one after another, add up to all of them.
        #[arg(long, value_name = "K/N")]
        part: Option<String>,
        /// Only those that no test noticed, where nothing but tests has changed since.
        #[arg(long, conflicts_with = "part")]
        again: bool,
    },
    /// Make a sample of the journals that this version writes, for later ones to open.
    Sample {
        /// Its name, such as v1-2026-11.
        name: String,
    },
    /// Do something hundreds of times that must go well each time.
    Soak {
        #[command(subcommand)]
        soak: soak::Soak,
    },
    /// Write docs/support.md: which command-line agents the tests drive, and through what.
    Support {
        /// Only check that the page is current.
        #[arg(long)]
        check: bool,
    },
    /// Check that the lists of tests per tier are those of the code.
    Tiers {
        /// Write the lists instead.
        #[arg(long)]
        bless: bool,
    },
}

/// What a command gives: nothing, or a sentence that says what went wrong.
type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Setup => setup::ensure().map(|_| ()),
        Command::Test { tiers, filter } => return test::run(&test::Selection::new(tiers, filter)),
        Command::Lint => lint::run_all(),
        Command::Bench { suite } => chores::bench(suite),
        Command::Compositions => compositions::print(),
        Command::Conformance { check } => conformance::run(check),
        Command::Fuzz { target, seconds } => chores::fuzz(target.as_deref(), seconds),
        Command::Live => chores::live(),
        Command::Mutants { groups, part, again } => mutants::run_all(&groups, part.as_deref(), again),
        Command::Sample { name } => sample::make(&name),
        Command::Soak { soak } => soak::run_all(soak),
        Command::Support { check } => support::run(check),
        Command::Tiers { bless: true } => tiers::bless(),
        Command::Tiers { bless: false } => tiers::check_lists(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
