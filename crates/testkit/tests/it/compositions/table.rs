//! The table as data: which cells run, and why the others cannot.

use std::fmt::Write as _;

use junto::core::{Abilities, Approve, Steer};
use junto::runner::CliAgent;

/// A kind of mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mind {
    /// Our own loop over Anthropic Messages.
    NativeAnthropic,
    /// Our own loop over OpenAI Responses.
    NativeResponses,
    /// A command-line agent.
    Cli,
    /// A council of two models, as the model of our loop.
    Council,
    /// A council of a model and a command-line agent, as the model of our loop.
    CouncilWithCli,
    /// Our loop with a child of its own kind, which does the work.
    NativeChild,
    /// Our loop with a command-line agent as a child, which does the work.
    CliChild,
}

/// Who drives the mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// A program that uses the library.
    Library,
    /// The mind answers behind the gateway, for a session in front of it.
    Gateway,
    /// Another process calls the mind's tools.
    ToolSocket,
    /// `junto run --json`.
    Program,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// An answer.
    Plain,
    /// Rounds of tools, then an answer.
    Tools,
    /// A message while it works.
    Steer,
    /// It asks for approval and is refused.
    Reject,
    /// It is stopped while it works.
    Cancel,
    /// What it depends on reports an error.
    Failure,
    /// What it depends on breaks off in the middle.
    Crash,
}

impl Mind {
    pub(crate) const ALL: [Self; 7] = [
        Self::NativeAnthropic,
        Self::NativeResponses,
        Self::Cli,
        Self::Council,
        Self::CouncilWithCli,
        Self::NativeChild,
        Self::CliChild,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::NativeAnthropic => "native loop, Anthropic Messages",
            Self::NativeResponses => "native loop, OpenAI Responses",
            Self::Cli => "command-line agent",
            Self::Council => "native loop, council as model",
            Self::CouncilWithCli => "native loop, council with a command-line member",
            Self::NativeChild => "native loop with a native subagent",
            Self::CliChild => "native loop with a command-line subagent",
        }
    }

    /// Whether the work is done by a child.
    pub(crate) fn delegates(self) -> bool {
        matches!(self, Self::NativeChild | Self::CliChild)
    }
}

impl Host {
    pub(crate) const ALL: [Self; 4] = [Self::Library, Self::Gateway, Self::ToolSocket, Self::Program];

    fn title(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Gateway => "gateway",
            Self::ToolSocket => "tool socket",
            Self::Program => "run --json",
        }
    }
}

impl Event {
    pub(crate) const ALL: [Self; 7] =
        [Self::Plain, Self::Tools, Self::Steer, Self::Reject, Self::Cancel, Self::Failure, Self::Crash];

    fn title(self) -> &'static str {
        match self {
            Self::Plain => "answer",
            Self::Tools => "tools",
            Self::Steer => "steer",
            Self::Reject => "rejected",
            Self::Cancel => "cancel",
            Self::Failure => "failure",
            Self::Crash => "crash",
        }
    }
}

/// What becomes of a cell.
#[derive(Clone, Copy)]
pub(crate) enum Cell {
    Runs,
    /// It cannot apply.
    No(Why),
}

/// Why a cell cannot apply: a sentence, and the fact that it rests on.
#[derive(Clone, Copy)]
pub(crate) struct Why {
    pub(crate) text: &'static str,
    pub(crate) fact: Fact,
}

#[derive(Clone, Copy)]
pub(crate) enum Fact {
    /// The mind's own abilities say so.
    Abilities(fn(&Abilities) -> bool),
    /// The mind is an agent and no provider, so it cannot stand behind the gateway.
    NoProvider,
    /// The mind has tools of its own and no tool host.
    NoToolHost,
    /// A tool host takes calls, and no commands.
    NoCommands,
}

const NOT_STEERED: Why = Why {
    text: "abilities.steer is `no`: it reads its prompt once",
    fact: Fact::Abilities(|can| can.steer == Steer::No),
};
const NOT_ASKED: Why = Why {
    text: "abilities.approve is `preset`: what it may do is set before it starts",
    fact: Fact::Abilities(|can| can.approve == Approve::Preset),
};
const NO_PROVIDER: Why =
    Why { text: "a gateway answers from providers, and this mind is an agent only", fact: Fact::NoProvider };
const NO_TOOL_HOST: Why = Why {
    text: "it works with its own tools: only native sessions have a tool host",
    fact: Fact::NoToolHost,
};
const NO_COMMANDS: Why = Why {
    text: "a tool host takes calls and no commands: steering is the library's",
    fact: Fact::NoCommands,
};

/// One cell of the table.
pub(crate) fn cell(mind: Mind, host: Host, event: Event) -> Cell {
    match (mind, host, event) {
        (Mind::Cli, Host::Library | Host::Program, Event::Steer) => Cell::No(NOT_STEERED),
        // Behind the gateway it is asked for answers only, so there is nothing to approve either.
        (Mind::Cli, Host::Library | Host::Gateway | Host::Program, Event::Reject) => Cell::No(NOT_ASKED),
        (Mind::Cli, Host::ToolSocket, _) => Cell::No(NO_TOOL_HOST),
        (Mind::NativeChild | Mind::CliChild, Host::Gateway, _) => Cell::No(NO_PROVIDER),
        (_, Host::ToolSocket, Event::Steer) => Cell::No(NO_COMMANDS),
        _ => Cell::Runs,
    }
}

/// The table for people, with every reason once.
pub(crate) fn printed() -> String {
    let mut reasons: Vec<&str> = Vec::new();
    let mut text = String::from("| mind | host |");
    for event in Event::ALL {
        let _ = write!(text, " {} |", event.title());
    }
    text.push('\n');
    text.push_str(&"|---".repeat(2 + Event::ALL.len()));
    text.push_str("|\n");
    for mind in Mind::ALL {
        for host in Host::ALL {
            let _ = write!(text, "| {} | {} |", mind.title(), host.title());
            for event in Event::ALL {
                match cell(mind, host, event) {
                    Cell::Runs => text.push_str(" ok |"),
                    Cell::No(why) => {
                        let known = reasons.iter().position(|reason| *reason == why.text);
                        let number = known.unwrap_or_else(|| {
                            reasons.push(why.text);
                            reasons.len() - 1
                        });
                        let _ = write!(text, " ({}) |", number + 1);
                    }
                }
            }
            text.push('\n');
        }
    }
    text.push('\n');
    for (index, reason) in reasons.iter().enumerate() {
        let _ = writeln!(text, "{}. {reason}", index + 1);
    }
    text
}

/// The abilities of command-line agents, which are the same for all of them.
pub(crate) const CLI: Abilities = CliAgent::ABILITIES;
