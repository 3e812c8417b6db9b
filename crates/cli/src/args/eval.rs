//! What `junto eval` takes.

use std::path::PathBuf;

use clap::Args;

/// What `junto eval` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct EvalArgs {
    /// A folder of tasks, or one task [default: the tasks that come with junto]
    pub(crate) tasks: Option<PathBuf>,
    /// Who works: a model as PROVIDER/MODEL, a command-line agent, council:NAME for a council as the model,
    /// agents:A,B for a council of agents, or NAME=FLAGS with flags of `junto run`; may be given several times
    /// [default: native]
    #[arg(long = "with", value_name = "WHO")]
    pub(crate) with: Vec<String>,
    /// How often each does each task
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Only this task; may be given several times
    #[arg(long = "task", value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// How many runs are under way at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) parallel: u16,
    /// How long one run may take, as 90s or 10m
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub(crate) timeout: String,
    /// The most that all runs together may cost, in dollars
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<f64>,
    /// The most that one run may cost, in dollars; whoever needs more has failed
    #[arg(long, value_name = "USD")]
    pub(crate) run_usd: Option<f64>,
    /// Keep the runs in this folder, and go on with those that are there [default: one of your state folder
    /// for each folder of tasks]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Do all runs anew
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Leave the folders in which they worked, and say where they are
    #[arg(long)]
    pub(crate) keep_folders: bool,
    /// Do all the tasks that come with junto without asking first
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Only check the tasks: each must fail as it is, and pass with its solution
    #[arg(long, conflicts_with_all = ["with", "fresh", "max_usd", "run_usd"])]
    pub(crate) check: bool,
    /// Print the report as JSON
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print the report as Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Flags of `junto run` for everybody, after `--`
    #[arg(last = true, value_name = "FLAGS")]
    pub(crate) flags: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  junto eval --with openai/gpt-6.1-sol --with anthropic/claude-opus-5-5 --with council:pair
  junto eval my-tasks --with claude --with codex --with agents:claude,codex --repeat 5 --parallel 2
  junto eval my-tasks --with low='--model openai/gpt-6.1-sol --effort low' --max-usd 5 --run-usd 0.25
  junto eval my-tasks --with claude --markdown > report.md
  junto eval my-tasks --check

Runs ask models, which costs. Without a folder or --task you are asked first, and --yes is the answer where nobody can be.
Runs are kept: what is interrupted goes on when the same command is given again.
Exit codes: 0 all runs are done, 1 failed, 2 wrong usage or configuration, 4 the budget was reached,
5 you said no, 130 interrupted.";
