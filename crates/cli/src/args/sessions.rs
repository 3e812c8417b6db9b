//! What the commands for kept sessions take.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::WorkArgs;

/// What stands for the latest session of the folder where an id is asked for.
pub(crate) const LATEST: &str = "latest";

/// What `junto sessions` takes.
#[derive(Debug, Args)]
#[command(after_help = SESSIONS_EXAMPLES)]
pub(crate) struct SessionsArgs {
    /// Those of all folders
    #[arg(long)]
    pub(crate) all: bool,
    /// The most to list; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const SESSIONS_EXAMPLES: &str = "\
Examples:
  junto sessions                                     those of this folder
  junto sessions --all --limit 100
  junto sessions --json | jq -r '.sessions[0].id'    the latest

Wherever an id is asked for, its beginning is enough if no other session begins so, and `latest` is the
latest session of this folder.";

/// What `junto resume` takes.
#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub(crate) struct ResumeArgs {
    /// The session: its id, or the beginning of it [default: the latest of this folder]
    pub(crate) id: Option<String>,
    /// What to do next; if it is not given, an input that was cut off goes on
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

const RESUME_EXAMPLES: &str = "\
Examples:
  junto resume                                       go on where the latest session was cut off
  junto resume latest \"Now write the change log.\"
  junto resume 0199f3a2 --model openai/gpt-6.1-sol \"Review that.\"

The session works in its own folder and asks its own model unless you say otherwise. A tool call that was
cut off is not run again: the model is told that it may have run.

Exit codes: as `junto run`.";

/// What `junto fork` takes.
#[derive(Debug, Args)]
#[command(after_help = FORK_EXAMPLES)]
pub(crate) struct ForkArgs {
    /// The session: its id, or the beginning of it
    pub(crate) id: String,
    /// What the new session shall do; if it is not given, it only is made
    pub(crate) prompt: Option<String>,
    /// The last turn that the new session has in common with the old one [default: the last that ended]
    #[arg(long, value_name = "TURN")]
    pub(crate) at: Option<u32>,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

const FORK_EXAMPLES: &str = "\
Examples:
  junto fork 0199f3a2                                prints the id of the new session
  junto fork 0199f3a2 --at 2 \"Try it without the cache.\"

The old session and the files stay as they are.

Exit codes: as `junto run`.";

/// What `junto rewind` takes.
#[derive(Debug, Args)]
#[command(after_help = REWIND_EXAMPLES)]
pub(crate) struct RewindArgs {
    /// The session: its id, or the beginning of it [default: the latest of this folder]
    pub(crate) id: Option<String>,
    /// The last turn that stays; 0 is before the first
    #[arg(long, value_name = "TURN")]
    pub(crate) to: u32,
    /// Bring the files back as well, as they were when that turn had ended
    #[arg(long)]
    pub(crate) files: bool,
}

const REWIND_EXAMPLES: &str = "\
Examples:
  junto rewind --to 3
  junto rewind 0199f3a2 --to 1 --files

What came later stays in the journal, but the model no longer knows of it.";

/// What `junto undo` takes.
#[derive(Debug, Args)]
#[command(after_help = UNDO_EXAMPLES)]
pub(crate) struct UndoArgs {
    /// The session: its id, or the beginning of it [default: the latest of this folder]
    pub(crate) id: Option<String>,
    /// Only tell what would change
    #[arg(long)]
    pub(crate) dry_run: bool,
}

const UNDO_EXAMPLES: &str = "\
Examples:
  junto undo --dry-run
  junto undo

Files that were changed after the turn by somebody else are left alone, and named. Your .git is never
touched.";

/// What `junto export` takes.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportArgs {
    /// The session: its id, or the beginning of it [default: the latest of this folder]
    pub(crate) id: Option<String>,
    /// The form
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: ExportFormat,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// The forms of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Markdown
    #[default]
    Md,
    /// JSON: everything that is known, for programs
    Json,
    /// A web page that needs no other file
    Html,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  junto export > session.md
  junto export 0199f3a2 --format html -o session.html";

/// What `junto replay` takes.
#[derive(Debug, Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// The session: its id, or the beginning of it
    pub(crate) id: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  junto replay 0199f3a2

No model is asked and no tool runs: both answer as they did then.

Exit codes: 0 everything went as it did then, 1 it did not, 2 wrong usage or configuration.";

/// What `junto cost` takes.
#[derive(Debug, Args)]
#[command(after_help = COST_EXAMPLES)]
pub(crate) struct CostArgs {
    /// What the sums are made for
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) by: CostBy,
    /// Only calls since then: a day as 2026-11-01, or a time ago as 24h or 7d
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// List the calls that read less from the cache than they could have, and why
    #[arg(long)]
    pub(crate) cache: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What costs are summed for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostBy {
    /// Each day, in UTC
    #[default]
    Day,
    /// Each session
    Session,
    /// Each model
    Model,
    /// Each agent, by its name if it has one, else by its kind
    Agent,
    /// Each council, and in it each model
    Council,
}

const COST_EXAMPLES: &str = "\
Examples:
  junto cost
  junto cost --by model --since 7d
  junto cost --cache --since 24h
  junto cost --by session --json | jq '.rows[0]'";
