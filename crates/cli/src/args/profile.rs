//! What `junto profile` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::config;

/// What `junto profile` takes.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct ProfileArgs {
    /// What to do with profiles.
    #[command(subcommand)]
    pub(crate) command: ProfileCommand,
}

/// The commands below `junto profile`.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the profiles: ours, and those you have captured
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a profile: its tools and its base instructions
    Show {
        /// openai, anthropic, gemini, compatible, one you have captured, or a profile file
        name: String,
        /// Whose names the tools of a built-in profile have [default: spec]
        #[arg(long, value_enum, value_name = "DIALECT")]
        dialect: Option<DialectName>,
        /// Print JSON, with the schemas of the tools
        #[arg(long)]
        json: bool,
    },
    /// Save what an installed agent tells its model, as a profile of your own
    Capture(CaptureArgs),
}

/// Whose names the tools have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// The names that all profiles share
    Spec,
    /// The names and parameters of the vendor's own agent
    Native,
}

/// What `junto profile capture` takes.
#[derive(Debug, Args)]
#[command(after_help = CAPTURE_HELP)]
pub(crate) struct CaptureArgs {
    /// The agent, which must be installed
    #[arg(value_enum)]
    pub(crate) agent: CapturedAgent,
    /// Where to save the profile [default: in the folder profiles beside your configuration]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The model that the agent believes to talk to; what it says may depend on it
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How long to wait for its request
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration)]
    pub(crate) timeout: Duration,
}

/// The agents whose requests can be captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CapturedAgent {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
}

impl CapturedAgent {
    /// As it is written, which is also its program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }
}

const CAPTURE_HELP: &str = "\
The agent is started in an empty folder, with a home of its own and a made-up key, and talks to this
program instead of its vendor: nothing leaves this machine, and nothing is paid for. What it sends is
its vendor's text. It is saved for your own use, and nowhere else.

Examples:
  junto profile capture claude
  junto profile capture codex --out codex.toml
  junto run --profile codex.toml \"Fix the failing test.\"";

fn duration(text: &str) -> Result<Duration, String> {
    let duration = config::duration(text).filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| "a duration is written as 30s, 2m or 1m30s".to_owned())
}
