//! What `junto mcp` takes.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::WorkArgs;

/// What `junto mcp` takes: without a command, it serves agents on standard input and output.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct McpArgs {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    #[command(flatten)]
    pub(crate) work: Box<WorkArgs>,
}

const EXAMPLES: &str = "\
Examples:
  junto mcp add time -- uvx mcp-server-time              a server that is a program
  junto mcp add docs --url https://example.com/mcp       one on the network
  junto mcp remove time                                  it is used no more
  junto mcp list                                         what is configured, and where
  junto mcp test                                         start each, and list its tools
  claude mcp add junto -- junto mcp                      our agents as tools of another host

The servers stand in ~/.config/junto/mcp.json, and in .mcp.json of a project that is trusted.";

/// The commands below `junto mcp`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// List the servers that are configured; starts none
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Start the servers, or one of them, and list their tools
    Test {
        /// Only this one
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a server, or put it in the place of the one with its name
    Add(AddServerArgs),
    /// Take a server out of your configuration
    Remove {
        /// What the server is called
        name: String,
        /// Take it out of .mcp.json of this project instead
        #[arg(long)]
        project: bool,
    },
}

/// What `junto mcp add` takes.
#[derive(Debug, Args)]
pub(crate) struct AddServerArgs {
    /// What the server is called; its tools are NAME__TOOL
    pub(crate) name: String,
    /// Where it is, if it is no program
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "env", "cwd", "sandbox"])]
    pub(crate) url: Option<String>,
    /// A header for every request, as NAME=VALUE; ${VARIABLE} in it stands for a variable
    #[arg(long, value_name = "NAME=VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// A variable for the program, as NAME=VALUE; ${VARIABLE} in it stands for a variable of yours
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Where the program runs [default: where the agent works]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Keep the program in the sandbox
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// Use only this tool of it; may be given several times, and `*` stands for anything
    #[arg(long, value_name = "TOOL")]
    pub(crate) allow: Vec<String>,
    /// Do not use this tool of it; may be given several times, and `*` stands for anything
    #[arg(long, value_name = "TOOL")]
    pub(crate) deny: Vec<String>,
    /// Write it into .mcp.json of this project instead of your own configuration
    #[arg(long)]
    pub(crate) project: bool,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "url")]
    pub(crate) command: Vec<String>,
}
