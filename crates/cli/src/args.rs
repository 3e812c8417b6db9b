//! The command line.

mod agent;
mod contest;
mod demo;
mod eval;
mod gateway;
mod mcp;
mod policy;
mod profile;
mod reach;
mod run;
mod sandbox;
mod sessions;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::config::FlagValue;

pub(crate) use self::agent::{
    AbortArgs, AddArgs, AgentArgs, AgentCommand, BackgroundArgs, NameArgs, SendArgs, SetArgs, SetupArgs,
    StatusArgs, Unset,
};
pub(crate) use self::contest::{ApplyArgs, ContestArgs, CouncilArgs};
pub(crate) use self::demo::{DemoArgs, DemoProfile};
pub(crate) use self::eval::EvalArgs;
pub(crate) use self::gateway::{
    ClientName, GatewayArgs, GatewayCommand, InstallArgs, ServeArgs, SetupClientArgs, StatusOfGatewayArgs,
};
pub(crate) use self::mcp::{AddServerArgs, McpArgs, McpCommand};
pub(crate) use self::policy::{PolicyArgs, PolicyCommand, TrustArgs};
pub(crate) use self::profile::{CaptureArgs, CapturedAgent, DialectName, ProfileArgs, ProfileCommand};
pub(crate) use self::reach::ListArgs;
pub(crate) use self::run::{AgentKind, InputForm, RunArgs, WorkArgs};
pub(crate) use self::sandbox::{DoctorArgs, DoorArgs, SandboxArgs};
pub(crate) use self::sessions::{
    CostArgs, CostBy, ExportArgs, ExportFormat, ForkArgs, LATEST, ReplayArgs, ResumeArgs, RewindArgs,
    SessionsArgs, UndoArgs,
};

/// Models, command-line agents and councils of them behind one interface.
#[derive(Debug, Parser)]
#[command(name = "junto", version, propagate_version = false, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  junto demo                               see agents mend a program, without any key
  junto run \"Fix the failing test.\"        let an agent work in this folder
  junto council \"Fix the failing test.\"    let several work, and the tests decide
  junto sessions                           the sessions of this folder
  junto resume                             go on with the latest of them
  junto agent add nex                      give a command-line agent a name and a memory
  junto cost                               what model calls have cost, day by day
  junto gateway                            answer clients of the model APIs
  junto gateway setup claude --write       point Claude Code at it
  junto mcp add time -- uvx mcp-server-time   let agents use an MCP server
  junto ask \"What is a junto?\"             ask the default model
  git diff | junto ask \"Review this.\"      ask about what is piped in
  junto models                             what is known, and which keys are there
  junto eval --with claude --with codex    who does better on the same tasks, and for how much
  junto profile list                       the tools and prompts that models work with
  junto config show                        what is set, and where it came from
  junto policy explain \"git push\"          what would become of a command, and why
  junto skills                             the skills that agents can load here
  junto trust                              let this project's own configuration count
  junto sandbox -- make test               run a command that cannot leave this folder
  junto doctor                             what this machine can enforce";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask a model; the answer goes to standard output as it comes
    Ask(AskArgs),
    /// List the known models, their prices, and which providers have keys
    Models(ModelsArgs),
    /// Show and check the configuration
    Config(ConfigArgs),
    /// Let an agent work on a task in this folder
    Run(RunArgs),
    /// Let several agents work on a task, each in a checkout of its own; the tests decide
    Council(CouncilArgs),
    /// Put what a candidate of a council changed on a branch
    Apply(ApplyArgs),
    /// List the sessions of this folder, newest first
    Sessions(SessionsArgs),
    /// Go on with a session
    Resume(ResumeArgs),
    /// Begin a new session with the first turns of another
    Fork(ForkArgs),
    /// Take a session back to the end of an earlier turn, with its files if they were kept
    Rewind(RewindArgs),
    /// Take back what the last turn of a session did to the files
    Undo(UndoArgs),
    /// Write a session as Markdown, JSON or a web page
    Export(ExportArgs),
    /// Run a session again against its own recorded answers, and tell where it goes another way
    Replay(ReplayArgs),
    /// Agents that have a name, a workspace, a memory and a queue
    Agent(AgentArgs),
    /// Tell what model calls have used and cost, and why caches were missed
    Cost(CostArgs),
    /// Answer clients of the Anthropic, OpenAI and Gemini APIs from the configured providers
    Gateway(GatewayArgs),
    /// Serve agents to MCP hosts, and see to the MCP servers that agents use
    Mcp(McpArgs),
    /// Watch agents mend a program, one for each profile; their models are scripted, so this needs no key
    Demo(DemoArgs),
    /// Let models, agents and councils work on a folder of tasks, and tell which of them pays
    Eval(EvalArgs),
    /// List, show and capture profiles: what a model is told and which tools it has
    Profile(ProfileArgs),
    /// List the skills that agents can load here
    Skills(ListArgs),
    /// List the slash commands that can be called here, as in `junto run "/review src"`
    Commands(ListArgs),
    /// List the hooks that watch over agents here
    Hooks(ListArgs),
    /// Explain, check and show what agents may do
    Policy(PolicyArgs),
    /// Let what a project brings count: settings, hooks, commands, skills, servers; after showing it
    Trust(TrustArgs),
    /// Run a command that cannot leave this folder, read secrets or reach the network
    Sandbox(SandboxArgs),
    /// Tell what this machine can enforce, and what is missing
    Doctor(DoctorArgs),
    /// Open the door of a sandbox
    #[command(name = crate::commands::DOOR, hide = true)]
    SandboxDoor(DoorArgs),
}

/// What `junto ask` takes.
#[derive(Debug, Args)]
#[command(after_help = ASK_EXAMPLES)]
pub(crate) struct AskArgs {
    /// The question; what is piped in is added below it
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// A picture to look at, as a file or a URL; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<String>,
    /// Instructions that come before the question
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Print one JSON object with text, model, usage and cost when the answer is complete
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask for JSON that fits the JSON Schema in FILE, and check it
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Wait for the whole answer instead of streaming it
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Nothing on standard error but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

const ASK_EXAMPLES: &str = "\
Examples:
  junto ask \"Why is the sky blue?\"
  junto ask --model anthropic/claude-opus-5-5 --effort high \"Prove it.\"
  junto ask --image chart.png \"What does this show?\"
  junto ask --schema person.json \"Invent a person.\" | jq .name
  cargo test 2>&1 | junto ask \"What broke?\"

Exit codes: 0 answered, 1 failed, 2 wrong usage or configuration, 3 the provider failed,
4 the answer was cut at its limit, 130 interrupted.";

/// Flags that are also settings.
#[derive(Debug, Default, Args)]
pub(crate) struct SettingArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The most tokens the answer may have
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
}

impl SettingArgs {
    /// The flags that were given, as a layer of configuration.
    pub(crate) fn values(&self) -> Vec<FlagValue> {
        let mut values = self.model.values();
        let text = self.max_tokens.map(|n| n.to_string());
        values.extend(text.map(|text| FlagValue { key: "max_tokens", flag: "--max-tokens", text }));
        values
    }
}

/// Which model, and how it thinks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ModelArgs {
    /// The provider to ask
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The model to ask: an id, an alias, or PROVIDER/MODEL
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How hard the model thinks: low, medium, high, or a level of the provider's
    #[arg(long, value_name = "LEVEL")]
    pub(crate) effort: Option<String>,
}

impl ModelArgs {
    /// The flags that were given, as a layer of configuration.
    pub(crate) fn values(&self) -> Vec<FlagValue> {
        [
            ("provider", "--provider", self.provider.clone()),
            ("model", "--model", self.model.clone()),
            ("effort", "--effort", self.effort.clone()),
        ]
        .into_iter()
        .filter_map(|(key, flag, text)| Some(FlagValue { key, flag, text: text? }))
        .collect()
    }
}

/// What `junto models` takes.
#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Only this provider's
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `junto config` takes.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct ConfigArgs {
    /// What to do with the configuration.
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// The commands below `junto config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting and where it came from
    Show {
        #[command(flatten)]
        settings: SettingArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print which files are considered, and whether they exist and are trusted
    Path,
    /// Check the configuration, or one file of it, and list everything that is wrong
    Validate {
        /// The file to check instead of all that are in force
        file: Option<PathBuf>,
    },
    /// The same as `junto trust --yes`
    Trust {
        /// A folder of the project [default: the working directory]
        path: Option<PathBuf>,
    },
    /// The same as `junto trust --revoke`
    Untrust {
        /// A folder of the project [default: the working directory]
        path: Option<PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::Cli::command().debug_assert();
    }
}
