//! What `junto sandbox` and `junto doctor` take.

use std::path::PathBuf;

use clap::Args;

/// What `junto sandbox` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SandboxArgs {
    /// Let it change no files at all, not even in this folder
    #[arg(long, conflicts_with = "writable")]
    pub(crate) read_only: bool,
    /// Whom it reaches: off, on, or hosts such as crates.io,*.crates.io,localhost:8080
    #[arg(long, value_name = "off|on|HOST,…", default_value = "off")]
    pub(crate) network: String,
    /// A folder that it may change beside this one; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) writable: Vec<PathBuf>,
    /// A file or folder that it does not read, beside known secrets; may be given several times
    #[arg(long, value_name = "PATH")]
    pub(crate) hide: Vec<PathBuf>,
    /// How many processes it may have
    #[arg(long, value_name = "N")]
    pub(crate) max_processes: Option<u64>,
    /// How much memory each of its processes may take, in MiB
    #[arg(long, value_name = "MIB")]
    pub(crate) max_memory: Option<u64>,
    /// How large each file may become that it writes, in MiB
    #[arg(long, value_name = "MIB")]
    pub(crate) max_file: Option<u64>,
    /// Run it also if this machine cannot enforce everything; what is missing is said
    #[arg(long)]
    pub(crate) weaker: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  junto sandbox -- make test                      change this folder only, reach nobody
  junto sandbox --read-only -- rg TODO            change nothing
  junto sandbox --network '*.crates.io' -- cargo fetch

It ends as the command ends: with its exit code, or 128 and the number of the signal that ended it.
`junto doctor` tells what this machine can enforce.";

/// What `junto doctor` takes.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What the door of a sandbox takes; it is started by the sandbox, and by nobody else.
#[derive(Debug, Args)]
pub(crate) struct DoorArgs {
    /// The descriptor, the command and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<std::ffi::OsString>,
}
