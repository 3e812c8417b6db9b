//! What `junto run` takes, and every command that lets an agent work.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ModelArgs;
use crate::config::{DIALECTS, ENV_POLICIES, FlagValue, KERNEL_STATES, MODES, OVERFLOWS, SANDBOXES};
use crate::output::paint::Color;

/// What `junto run` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// The task; if it is not given, what is piped in
    pub(crate) task: Option<String>,
    /// Who works: native, a command-line agent (claude, codex, gemini), a council of agents (council:NAME), or an
    /// agent of yours by its name
    /// [default: native]
    #[arg(long, visible_alias = "kind", value_name = "KIND|NAME")]
    pub(crate) agent: Option<String>,
    /// Go on with a session: its id or the beginning of it [default: the latest of this folder, and with --agent
    /// the latest of that kind]
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = super::LATEST)]
    pub(crate) resume: Option<String>,
    /// Do not keep the session
    #[arg(long, conflicts_with = "resume")]
    pub(crate) no_save: bool,
    /// Tell in the log of a named agent which run it was and what it used
    #[arg(long)]
    pub(crate) debug: bool,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// How an agent works, whatever it is started for.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The most tokens one answer may have
    #[arg(long, value_name = "N")]
    pub(crate) max_answer_tokens: Option<u64>,
    /// The most that all model calls together may cost, in dollars; a model of unknown price is not asked
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<String>,
    /// The most tokens that all model calls together may use, in and out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// How the model is treated: openai, anthropic, gemini, compatible, one you have captured, or a
    /// profile file [default: as its provider asks for]
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) profile: Option<String>,
    /// Whose names the tools have: ours, or those of the vendor's own agent
    #[arg(long, value_name = "DIALECT", value_parser = DIALECTS.to_vec())]
    pub(crate) dialect: Option<String>,
    /// What you want of the agent whatever the task is, over everything else it is told
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
    /// Ask a council of these instead of one model, each PROVIDER/MODEL or a command-line agent, separated by
    /// commas; --model council:NAME asks one that is configured
    #[arg(long, value_name = "MEMBERS", value_delimiter = ',')]
    pub(crate) council: Vec<String>,
    /// What is done when the conversation gets too long for the model: its older part is summed up, the
    /// task fails, or the session ends [default: compact]
    #[arg(long, value_name = "WHAT", value_parser = OVERFLOWS.to_vec())]
    pub(crate) on_overflow: Option<String>,
    /// The most turns: inputs, answers of the model, and results of rounds of tools
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// The most rounds of tools for one input
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_rounds: Option<u32>,
    /// The most time in all, as 30s or 1h30m
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
    /// How long a command may take if the model does not say
    #[arg(long, value_name = "DURATION")]
    pub(crate) command_timeout: Option<String>,
    /// Work in this folder
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Which variables commands inherit: all but secrets, what programs need, or none [default: core]
    #[arg(long, value_name = "POLICY", value_parser = ENV_POLICIES.to_vec())]
    pub(crate) env_policy: Option<String>,
    /// Offer this tool besides; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Vec<String>,
    /// Do not offer this tool; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) no_tool: Vec<String>,
    /// Let it read pages of the web, and search where its provider can
    #[arg(long)]
    pub(crate) web: bool,
    /// What it may do without being asked: look, nothing but that, work in this folder, anything; what nobody
    /// can be asked about is refused [default: workspace]
    #[arg(long, value_name = "MODE", value_parser = MODES.to_vec())]
    pub(crate) policy: Option<String>,
    /// The same as --policy ask
    #[arg(long, conflicts_with = "policy")]
    pub(crate) ask: bool,
    /// Whether the kernel holds its commands: as well as it can, without any gap, or not at all [default: auto]
    #[arg(long, value_name = "HOW", value_parser = SANDBOXES.to_vec())]
    pub(crate) sandbox: Option<String>,
    /// A file that says more of the sandbox: whom it reaches, what else it may change, what it does not read
    #[arg(long, value_name = "FILE")]
    pub(crate) sandbox_config: Option<String>,
    /// Let it act by code: cells of Python in a kernel that calls its tools
    #[arg(long)]
    pub(crate) code: bool,
    /// What becomes of the kernel's variables when the session is resumed: they are gone, the cells are run
    /// again, or those that can be are kept [default: fresh]
    #[arg(long, value_name = "HOW", value_parser = KERNEL_STATES.to_vec())]
    pub(crate) code_resume: Option<String>,
    /// How long it waits for your leave, as 30s or 5m; then it goes on without [default: for ever]
    #[arg(long, value_name = "DURATION")]
    pub(crate) approval_timeout: Option<String>,
    /// Print every event as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// What standard input holds: the task, or commands, each one line of JSON
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub(crate) input: InputForm,
    /// Nothing on standard error but errors and questions
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: Color,
}

impl WorkArgs {
    /// The flags that were given, as a layer of configuration.
    pub(crate) fn values(&self) -> Vec<FlagValue> {
        let number = |number: Option<u32>| number.map(|n| n.to_string());
        let own = [
            ("max_tokens", "--max-answer-tokens", self.max_answer_tokens.map(|n| n.to_string())),
            ("limits.max_usd", "--max-usd", self.max_usd.clone()),
            ("limits.max_tokens", "--max-tokens", self.max_tokens.map(|n| n.to_string())),
            ("profile", "--profile", self.profile.clone()),
            ("dialect", "--dialect", self.dialect.clone()),
            ("instructions", "--instructions", self.instructions.clone()),
            ("limits.max_turns", "--max-turns", number(self.max_turns)),
            ("limits.max_rounds", "--max-rounds", number(self.max_rounds)),
            ("timeouts.run", "--timeout", self.timeout.clone()),
            ("timeouts.command", "--command-timeout", self.command_timeout.clone()),
            ("env_policy", "--env-policy", self.env_policy.clone()),
            ("on_overflow", "--on-overflow", self.on_overflow.clone()),
            ("policy.mode", "--ask", self.ask.then(|| "ask".to_owned())),
            ("policy.mode", "--policy", self.policy.clone()),
            ("policy.sandbox", "--sandbox", self.sandbox.clone()),
            ("policy.sandbox_config", "--sandbox-config", self.sandbox_config.clone()),
            ("code.enabled", "--code", self.code.then(|| "true".to_owned())),
            ("code.resume", "--code-resume", self.code_resume.clone()),
            ("policy.approval_timeout", "--approval-timeout", self.approval_timeout.clone()),
        ];
        let own = own.into_iter().filter_map(|(key, flag, text)| Some(FlagValue { key, flag, text: text? }));
        self.model.values().into_iter().chain(own).collect()
    }
}

/// What standard input holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputForm {
    /// The task, if none is given
    #[default]
    Text,
    /// Commands
    Json,
}

/// The kinds of agents that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AgentKind {
    /// Our own loop over a model.
    Native,
    /// A command-line agent of this kind.
    Cli(String),
    /// A council of agents, by what its kind is called.
    Contest(String),
}

impl AgentKind {
    /// The kind of this name, where these command-line agents are known.
    pub(crate) fn named(name: &str, runners: &[String]) -> Option<Self> {
        match name {
            "native" => Some(Self::Native),
            name => runners.iter().any(|known| known == name).then(|| Self::Cli(name.to_owned())),
        }
    }

    /// As it is written.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Native => "native",
            Self::Cli(name) | Self::Contest(name) => name,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  junto run \"Fix the failing test.\"
  junto run --policy ask --max-turns 20 \"Remove what nobody uses.\"
  junto run --max-usd 2 --timeout 10m --web -C project \"Bring the dependencies up to date.\"
  junto run --council anthropic/claude-opus-5-5,openai/gpt-6.1-sol \"Find the bug.\"
  junto run --code \"Plot how the sizes of the files here are spread.\"
  junto run --json \"Say what this is.\" | jq -r 'select(.type == \"input_end\").text'
  cat task.md | junto run --cwd project
  junto run --resume \"Now write the change log.\"
  junto run --agent claude \"Fix the failing test.\"
  junto run --agent nex \"What did you find?\"

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 the provider failed,
4 stopped at a limit, 5 stopped because an action was refused, 130 interrupted.";
