//! Junto: a runtime for coding agents.
//!
//! Two traits hold it together, and everything composes. A [`Provider`](llm::Provider) answers: a
//! model's API, a command-line agent asked for an answer only, a council of providers. An
//! [`Agent`](core::Agent) acts: the native loop, `claude` run as a program, and whatever comes next.
//! A session whose model is a council, a subagent that is a command-line program, a gateway in front
//! of both: all are just compositions, and this crate is where they are put together.
//!
//! - [`prelude`]: what most programs need;
//! - [`Workshop`]: makes agents of every kind by name, and brings those back whose sessions were kept;
//! - [`Guard`]: what they may do, and what the kernel keeps them from; [`Approval`]: answers what is asked;
//! - [`code_action`]: an agent that acts by writing code, as a stream of events in which every call is asked about;
//! - [`named`]: agents that have a name, remember, and have a queue;
//! - the crates themselves, under their own names.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod answers;
mod approval;
mod ask;
mod code;
pub mod code_action;
mod embeddings;
mod fork;
mod guard;
mod history;
mod kept;
mod kind;
pub mod named;
mod relay;
mod replay;
mod sandbox_file;
mod turns;
mod workshop;

pub use answers::Answers;
pub use approval::Approval;
pub use ask::AskFirst;
pub use code::{Code, KernelState};
pub use embeddings::Embeddings;
pub use fork::fork;
pub use guard::{Enforcement, Guard, Held};
pub use history::{PastCall, Then, past_calls};
pub use junto_agent as agent;
pub use junto_core as core;
pub use junto_council as council;
pub use junto_env as env;
pub use junto_gateway as gateway;
pub use junto_kernel as kernel;
pub use junto_llm as llm;
pub use junto_mcp as mcp;
pub use junto_patch as patch;
pub use junto_policy as policy;
pub use junto_runner as runner;
pub use junto_store as store;
pub use junto_twin as twin;
pub use kept::Kept;
pub use kind::{Adjust, AdjustContest, Cli, Kind, Native, Rivals};
pub use relay::{LastResort, Relay, Runner};
pub use replay::{Divergence, Replayed, replay};
pub use sandbox_file::sandbox_from_file;
pub use turns::{Doing, SnapshotPolicy, Turns};
pub use workshop::{Workshop, WorkshopBuilder};

/// What most programs need.
pub mod prelude {
    pub use crate::{Approval, AskFirst, Cli, Guard, Kept, Kind, Native, Workshop};
    pub use junto_core::{
        Agent, AgentSpec, Body, Command, Decision, Delta, EndReason, Event, Input, Item, Mode, Seq, Workdir,
    };
    pub use junto_env::LocalEnvironment;
    pub use junto_llm::{CallCx, Client, Endpoint, HttpProvider, Message, Provider, Request, Wire};
    pub use junto_store::Store;
    pub use tokio_util::sync::CancellationToken;
}

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
