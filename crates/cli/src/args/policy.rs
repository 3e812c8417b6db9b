//! What `junto policy` and `junto trust` take.

use std::path::PathBuf;

use clap::builder::UnknownArgumentValueParser;
use clap::{Args, Subcommand};

use crate::config::{FlagValue, MODES};

/// What `junto policy` takes.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct PolicyArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

const EXAMPLES: &str = "\
Examples:
  junto policy explain 'ls $(rm -rf z)'
  junto policy explain --policy read-only 'cargo test'
  junto policy check --history
  junto policy add 'allow command \"cargo test *\"'
  junto policy show";

/// The commands below `junto policy`.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say what would become of a command line, which rule decides, and why; nothing is run
    Explain {
        /// The command line
        line: String,
        #[command(flatten)]
        mode: ModeArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Judge what past sessions did by the rules that are in force now, and tell what would change
    Check {
        /// Take the tool calls from the sessions that were kept
        #[arg(long, required = true)]
        history: bool,
        /// Of all folders, not only of this one
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        mode: ModeArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the mode and the rules in force, where they came from, and what is enforced
    Show {
        #[command(flatten)]
        mode: ModeArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a rule to your own configuration
    Add {
        /// The rule, as in `allow command "cargo test *"`
        rule: String,
    },
}

/// Which mode is judged by.
#[derive(Debug, Args)]
pub(crate) struct ModeArgs {
    /// What agents may do without being asked [default: as it is configured, else workspace]
    #[arg(long, value_name = "MODE", value_parser = MODES.to_vec())]
    pub(crate) policy: Option<String>,
    /// Only says what to write instead.
    #[arg(long, hide = true, value_parser = UnknownArgumentValueParser::suggest_arg("--policy"))]
    mode: Option<String>,
}

impl ModeArgs {
    /// The flags that were given, as a layer of configuration.
    pub(crate) fn values(&self) -> Vec<FlagValue> {
        let text = self.policy.clone();
        text.map(|text| FlagValue { key: "policy.mode", flag: "--policy", text }).into_iter().collect()
    }
}

/// What `junto trust` takes.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// A folder of the project [default: the working directory]
    pub(crate) path: Option<PathBuf>,
    /// Do not ask again after showing what it would change
    #[arg(long, conflicts_with_all = ["revoke", "list"])]
    pub(crate) yes: bool,
    /// Trust it no more
    #[arg(long)]
    pub(crate) revoke: bool,
    /// List the projects that are trusted
    #[arg(long, conflicts_with_all = ["revoke", "path"])]
    pub(crate) list: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
}
