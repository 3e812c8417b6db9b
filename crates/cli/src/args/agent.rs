//! What `junto agent` takes.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::WorkArgs;

/// What a command-line agent may do, as names of the policy's modes. It cannot ask anybody.
const POLICIES: &[&str] = &["read-only", "workspace", "full"];

/// What `junto agent` takes.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct AgentArgs {
    /// What to do with agents.
    #[command(subcommand)]
    pub(crate) command: AgentCommand,
}

const EXAMPLES: &str = "\
Examples:
  junto agent add nex --provider claude --workspace ~/project --fallback codex
  junto agent set nex --max-context 150000 --daily-reset 04:00 --idle-timeout 8h
  junto agent send nex \"Look through the open issues.\"
  junto agent status nex
  junto run --agent nex \"What did you find?\"

An agent that has a name remembers: each input goes on where the last one ended. It does one thing at a
time; what it is told meanwhile waits on the disk.";

/// The commands below `junto agent`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Give a command-line agent a name, a workspace and a memory
    Add(AddArgs),
    /// Change how an agent is set up
    Set(SetArgs),
    /// List the agents, what they do and what waits for them
    List(JsonArgs),
    /// Tell how an agent is set up, what it does, what waits and what came of its last runs
    Status(StatusArgs),
    /// Tell an agent something: it works on it now, or after what it is doing
    Send(SendArgs),
    /// Let an agent forget: its next run begins a new conversation
    New(NameArgs),
    /// Stop what an agent is doing
    Abort(AbortArgs),
    /// Remove an agent with its queue and its runs; its folder and its sessions stay
    Remove(NameArgs),
    /// Give tasks to agents without names, some at once, and print their final answers only
    Background(BackgroundArgs),
}

/// What `junto agent background` takes.
#[derive(Debug, Args)]
#[command(after_help = BACKGROUND_HELP)]
pub(crate) struct BackgroundArgs {
    /// The tasks, each for an agent of its own; if none is given, what is piped in is one
    pub(crate) tasks: Vec<String>,
    /// Who works: claude, codex, gemini
    #[arg(long, value_name = "KIND", default_value = "claude")]
    pub(crate) agent: String,
    /// How many work at once; the others wait in line
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) at_once: NonZeroUsize,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

const BACKGROUND_HELP: &str = "\
Examples:
  junto agent background --policy read-only \"Review crates/llm.\" \"Review crates/env.\" > reviews.md &
  junto agent background --agent codex --json \"Write the change log.\" | jq -r .text

Nobody follows these runs: there are no events, and what is printed is what each agent itself calls its
answer, in the order of the tasks. Each is kept as a session (`junto sessions`). It ends when all have
ended; an interrupt (Ctrl-C, `kill`) ends those that run, and none of the others begins.

With --json each task is one line: task, state (success, failed, cancelled), session, text, error.

Exit codes: as `junto run`; of several tasks, that of the first that came to no answer.";

/// What `junto agent add` takes.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Its name: words of letters and digits with dashes between them
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `junto agent set` takes.
#[derive(Debug, Args)]
#[command(after_help = SET_HELP)]
pub(crate) struct SetArgs {
    /// The agent
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    /// Take back what was set, so that the default holds again; separated by commas
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    pub(crate) unset: Vec<Unset>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const SET_HELP: &str = "\
Another provider has other models: the model and the effort are taken back with it, unless they are given
too. Another provider or workspace begins a new conversation. A run that is under way ends as it began.";

/// What can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unset {
    Model,
    Effort,
    Instructions,
    AddDir,
    Policy,
    Fallback,
    MaxContext,
    DailyReset,
    IdleTimeout,
}

/// How an agent is set up, as far as it is said.
#[derive(Debug, Default, Args)]
pub(crate) struct SetupArgs {
    /// Whose program does the work: claude, codex, gemini [default: claude]
    #[arg(long, value_name = "KIND")]
    pub(crate) provider: Option<String>,
    /// The model to ask [default: the provider's]
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How hard the model thinks [default: as the provider does]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) effort: Option<String>,
    /// The folder it works in [default: this one]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// What it is told whatever the input is
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
    /// A folder beside its workspace that it may work in; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// What it may do by its own rules [default: as the configuration says]
    #[arg(long, value_name = "MODE", value_parser = POLICIES.to_vec())]
    pub(crate) policy: Option<String>,
    /// Who takes over when its provider cannot work, in this order, separated by commas; none: nobody
    /// [default: as the configuration says]
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub(crate) fallback: Option<Vec<String>>,
    /// Begin a new conversation after a run whose last model call was longer than so many tokens
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_context: Option<u64>,
    /// Begin a new conversation each day at this time, in UTC or as 04:00+02:00
    #[arg(long, value_name = "HH:MM")]
    pub(crate) daily_reset: Option<String>,
    /// Begin a new conversation when nothing was done for this time, as 30m, 8h or 2d
    #[arg(long, value_name = "DURATION")]
    pub(crate) idle_timeout: Option<String>,
}

/// What `junto agent list` takes.
#[derive(Debug, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What takes an agent's name and nothing else.
#[derive(Debug, Args)]
pub(crate) struct NameArgs {
    /// The agent
    pub(crate) name: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `junto agent status` takes.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The agent
    pub(crate) name: String,
    /// The most runs to list
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) runs: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `junto agent abort` takes.
#[derive(Debug, Args)]
pub(crate) struct AbortArgs {
    /// The agent
    pub(crate) name: String,
    /// Take back everything that waits, too
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `junto agent send` takes.
#[derive(Debug, Args)]
#[command(after_help = SEND_HELP)]
pub(crate) struct SendArgs {
    /// The agent
    pub(crate) name: String,
    /// What it shall do; what is piped in is added below it. If nothing is given, it works on what waits
    pub(crate) text: Option<String>,
    /// Only queue it: another command works on it
    #[arg(long, conflicts_with = "again")]
    pub(crate) later: bool,
    /// Try again what was given up
    #[arg(long)]
    pub(crate) again: bool,
    /// Tell in the log which run it was and what it used
    #[arg(long)]
    pub(crate) debug: bool,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

const SEND_HELP: &str = "\
Examples:
  junto agent send nex \"Look through the open issues.\"
  git diff | junto agent send nex \"Review this.\"
  junto agent send nex                     work on what waits, also on what failed a moment ago
  junto agent send nex --again             and on what was given up

An input that fails is kept: it is tried again after a minute, then after ten, by whichever command comes
next, and given up after the third time. While another process is at work with the agent this command only
queues, and that process goes on with it.

Exit codes: as `junto run`; 0 also if it was only queued.";
