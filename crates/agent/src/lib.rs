//! The loop: our own agent over any model.
//!
//! A [`Session`] is a [`junto_core::Agent`] whose mind is a [`junto_llm::Provider`]: a model, a
//! council of models, a command-line agent asked for answers; it does not care. It takes commands,
//! lets the model call [`tools`] in an execution environment, and writes everything it does to an
//! event log.
//!
//! Where to read: `turn.rs` is the loop, from top to bottom. Around it, `call.rs` is one model call,
//! `round.rs` one round of tools, `toolbox.rs` the way of one tool call (look up, validate, judge,
//! run, tell), `truncate.rs` what the model sees of its output, `desk.rs` what was said and waits for its
//! moment, `loops.rs` notices a model that goes in circles and `context.rs` a window that gets full,
//! `compact.rs` makes room in it, and `task.rs` is the one task that owns all of it. `frame.rs` puts a session
//! together; `resume.rs` and `restore/` bring one back from its events. `ear.rs` is how an input is heard: with what
//! the commands (`slash.rs`) and files (`references.rs`) in it stand for; `skills.rs` is what the model can load, and
//! `hooks.rs` what watches over all of it.
//!
//! What this crate does not do: it starts no process and opens no file but through the environment,
//! it runs no tool but through the gate, and it knows no model by name.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod alias;
mod books;
mod call;
mod caller;
mod compact;
mod config;
mod configure;
mod context;
mod desk;
mod ear;
mod family;
mod fault;
mod frame;
mod front_matter;
mod function;
mod history;
mod hooks;
mod host;
mod kit;
mod late;
mod loops;
mod output;
mod panics;
mod paths;
mod prefix;
pub mod profile;
pub mod prompt;
mod reach;
mod references;
mod refusals;
mod registry;
mod restore;
mod resume;
mod round;
mod said;
mod session;
mod skills;
mod slash;
mod state;
mod status;
mod task;
mod toolbox;
pub mod tools;
mod totals;
mod truncate;
mod turn;
mod wallet;

pub use compact::Compaction;
pub use config::{Environments, Overflow, SessionConfig};
pub use family::{Subagent, SubagentStatus};
pub use fault::Fault;
pub use function::{FunctionTool, tool};
pub use hooks::{Hook, HookEvent, HookFile, Hooks, Transcripts};
pub use profile::Profile;
pub use reach::{Reach, References};
pub use registry::ToolRegistry;
pub use resume::{OnOpen, Past};
pub use session::Session;
pub use skills::{Skill, Skills};
pub use slash::{SlashCommand, SlashCommands};
pub use truncate::{Keep, OutputLimit, truncate};

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
