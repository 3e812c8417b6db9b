//! What `junto council` and `junto apply` take.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use junto::council::contest::MOST_CANDIDATES;

use super::WorkArgs;
use crate::config::duration;

/// What `junto council` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CouncilArgs {
    /// The task; if it is not given, what is piped in
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) contest: ContestArgs,
    /// Put the winner on a branch, if one passes without having touched the tests
    #[arg(long)]
    pub(crate) apply: bool,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// Who works, and who judges.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ContestArgs {
    /// The council of this name in the configuration; other flags count more
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Who works, separated by commas: claude, codex, native, native:MODEL, claude:MODEL [default: every command-line
    /// agent that is installed, and native if a provider can be asked]
    #[arg(long, value_name = "AGENTS", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// How many candidates there are; the agents take turns [default: one for each agent]
    #[arg(long, short = 'n', value_name = "N", value_parser = candidates)]
    pub(crate) candidates: Option<usize>,
    /// The checks that decide, as a line for the shell [default: what the project's files say]
    #[arg(long, value_name = "CMD")]
    pub(crate) oracle: Option<String>,
    /// Who makes one of several that pass; it counts only if it passes too and stays small
    #[arg(long, value_name = "AGENT")]
    pub(crate) synthesis: Option<String>,
    /// Let the agents begin with the changes that are in no commit
    #[arg(long)]
    pub(crate) with_changes: bool,
    /// Copy this ignored folder into each checkout, such as node_modules; may be given several times
    #[arg(long, value_name = "PATH")]
    pub(crate) bring: Vec<PathBuf>,
    /// How long each agent may work, as 30s or 1h [default: 30m]
    #[arg(long, value_name = "DURATION", value_parser = time)]
    pub(crate) agent_timeout: Option<Duration>,
    /// How long each step of the checks may take [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = time)]
    pub(crate) oracle_timeout: Option<Duration>,
}

/// What `junto apply` takes.
#[derive(Debug, Args)]
#[command(after_help = "The tree must be clean. Nothing is changed if the candidate does not fit.")]
pub(crate) struct ApplyArgs {
    /// The run, as `junto council` names it: its id or the beginning of it, or latest: the latest in this repository
    pub(crate) run: String,
    /// The candidate's number [default: the winner]
    pub(crate) candidate: Option<u32>,
    /// Print what the candidate changes instead of applying it
    #[arg(long)]
    pub(crate) show: bool,
    /// Apply it to the repository that this folder is in [default: the current one]
    #[arg(short = 'C', long = "cwd", value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

fn candidates(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "expected a number".to_owned())?;
    if (1..=MOST_CANDIDATES).contains(&number) {
        return Ok(number);
    }
    Err(format!("there may be 1 to {MOST_CANDIDATES}: each is an agent with a checkout of its own"))
}

fn time(text: &str) -> Result<Duration, String> {
    let time = duration(text).ok_or_else(|| "expected a duration such as 30s or 1h".to_owned())?;
    if time.is_zero() { Err("expected more than no time".to_owned()) } else { Ok(time) }
}

const EXAMPLES: &str = "\
Examples:
  junto council \"Fix the failing test.\" --agents claude,codex -n 4
  junto council \"Make it faster.\" --agents native:anthropic/claude-opus-5-5,codex --oracle \"make check\"
  junto council \"Fix it.\" --agents claude --candidates 3 --synthesis claude --apply
  junto apply latest          put the winner of the last run on a branch
  junto apply 019a8c 2        put candidate 2 of a run there

Each agent works in a checkout of its own; your tree and your branches stay as they are until you apply one.
Exit codes: 0 somebody won, 1 nobody did, 2 wrong usage or configuration, 130 interrupted.";
