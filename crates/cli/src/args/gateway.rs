//! What `junto gateway` takes.

use clap::{Args, Subcommand, ValueEnum};

use super::ModelArgs;
use crate::config::FlagValue;

/// What `junto gateway` takes: without a command, it serves.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct GatewayArgs {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub(crate) command: Option<GatewayCommand>,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

const EXAMPLES: &str = "\
Examples:
  junto gateway --model openai/gpt-6.1-sol       Claude Code on a GPT
  junto gateway --council anthropic/claude-opus-5-5,openai/gpt-6.1-sol
  junto gateway --route 'claude-haiku-*=gemini/gemini-2.5-flash' --route 'gpt-*=cli:claude'
  junto gateway setup claude --write             point Claude Code here
  junto gateway install --now                    keep it running

A request for PROVIDER/MODEL goes to that provider, whatever else is chosen. A request for
junto-council goes to the council. Everything here, and more, can be set in [gateway] of the
configuration.";

/// The commands below `junto gateway`.
#[derive(Debug, Subcommand)]
pub(crate) enum GatewayCommand {
    /// Print what points a client at the gateway, or write it into the client's own configuration
    Setup(SetupClientArgs),
    /// Make the gateway a service of this user, which is there after each login
    Install(InstallArgs),
    /// Stop that service and remove it
    Uninstall,
    /// Tell whether the service is installed, and whether the gateway answers
    Status(StatusOfGatewayArgs),
    /// Print the key that clients must show, for clients that ask a command for it
    Token,
}

/// How the gateway serves, as far as flags say.
#[derive(Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<String>,
    /// The port to listen on; 0 for any that is free [default: 6767]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// The provider to ask
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The model to ask, whatever clients name: an id, an alias, or PROVIDER/MODEL
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Answer with a council of these, each PROVIDER/MODEL or a command-line agent, separated by commas
    #[arg(long, value_name = "MEMBERS", conflicts_with_all = ["provider", "model"])]
    pub(crate) council: Option<String>,
    /// Who answers for a model's name, in which * stands for anything: PROVIDER/MODEL, PROVIDER/*, cli:NAME,
    /// council, or members of a council of its own, separated by commas; may be given several times
    #[arg(long, value_name = "NAME=WHO")]
    pub(crate) route: Vec<String>,
    /// The variable that holds the key which clients must show [default: JUNTO_GATEWAY_TOKEN, if it is set]
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) key_env: Option<String>,
    /// Leave out what providers say about their progress
    #[arg(long)]
    pub(crate) no_progress: bool,
}

impl ServeArgs {
    /// The flags that were given, as a layer of configuration; routes are no part of it.
    pub(crate) fn values(&self) -> Vec<FlagValue> {
        let model = ModelArgs { provider: self.provider.clone(), model: self.model.clone(), effort: None };
        let own = [
            ("gateway.host", "--host", self.host.clone()),
            ("gateway.port", "--port", self.port.map(|port| port.to_string())),
            ("gateway.council", "--council", self.council.clone()),
            ("gateway.key_env", "--key-env", self.key_env.clone()),
            ("gateway.progress", "--no-progress", self.no_progress.then(|| "false".to_owned())),
        ];
        let own = own.into_iter().filter_map(|(key, flag, text)| Some(FlagValue { key, flag, text: text? }));
        model.values().into_iter().chain(own).collect()
    }
}

/// The clients that can be pointed at the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientName {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
}

/// What `junto gateway setup` takes.
#[derive(Debug, Args)]
#[command(after_help = SETUP_EXAMPLES)]
pub(crate) struct SetupClientArgs {
    /// The client
    #[arg(value_enum)]
    pub(crate) client: ClientName,
    /// Write it into the client's configuration; what was there is kept beside it
    #[arg(long)]
    pub(crate) write: bool,
    /// Where the gateway is [default: where it would listen]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The model that the client names, such as junto-council [default: the client's own choice]
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
}

const SETUP_EXAMPLES: &str = "\
Examples:
  junto gateway setup claude                     print it
  junto gateway setup codex --write              write it, and say how to take it back
  junto gateway setup gemini --write --model gemini-2.5-pro

The files are ~/.claude/settings.json (CLAUDE_CONFIG_DIR), ~/.codex/config.toml (CODEX_HOME),
~/.gemini/settings.json and ~/.gemini/.env (GEMINI_CLI_HOME). Everything else in them stays. Nothing is
written that is there already.";

/// What `junto gateway install` takes.
#[derive(Debug, Args)]
#[command(after_help = INSTALL_HELP)]
pub(crate) struct InstallArgs {
    /// Start it as well, now and after each login
    #[arg(long)]
    pub(crate) now: bool,
    /// Copy the keys that are in the environment now to the service's own file, which only you can read
    #[arg(long)]
    pub(crate) with_keys: bool,
}

const INSTALL_HELP: &str = "\
The service is a user unit of systemd, or of launchd on macOS. It runs `junto gateway` as the
configuration says. It holds no keys: they are in ~/.config/junto/gateway.env, one VARIABLE=VALUE
in a line, which only you can read.";

/// What `junto gateway status` takes.
#[derive(Debug, Args)]
pub(crate) struct StatusOfGatewayArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
