//! The shared vocabulary of Junto.
//!
//! An [`Agent`] takes [`Command`]s and speaks in [`Event`]s. The events stand in an [`EventLog`]: an
//! append-only record that any number of subscribers read by position and that loses nothing, since
//! every event is in its [`Journal`] before anyone sees it. Whatever an agent does to the world passes
//! the [`Gate`], which alone makes [`Permit`]s, and goes through a [`Tool`].
//!
//! This crate has types, the log and the gate, and otherwise only small pure functions. It runs no
//! model, starts no process, and opens no file but the nameless temporary one in which the journal in
//! memory keeps what is too large for that.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod action;
mod agent;
mod budget;
mod caller;
mod command;
mod compacted;
mod companion;
mod delta;
mod error;
mod event;
mod gate;
pub mod grammar;
mod id;
mod journal;
mod live;
mod log;
mod memory;
mod minutes;
mod output;
mod payload;
mod permit;
mod plan;
mod policy;
mod prefix;
mod question;
mod record;
mod spool;
mod subscription;
mod tool;
mod waiting;

pub use action::{Action, ApprovalRequest, Rule, Via};
pub use agent::{
    Abilities, Agent, AgentKind, AgentSpec, Approve, Limits, Mode, Outcome, Parent, ResumeHandle,
    SessionState, Spawner, Steer, Workdir,
};
pub use budget::{Amount, Purse};
pub use caller::{Alone, Caller};
pub use command::{Ack, Addressed, Change, Command, Decision, Input, When};
pub use compacted::{CompactMethod, CompactReason, Dropped};
pub use companion::Companion;
pub use delta::Delta;
pub use error::{AgentError, AgentErrorKind};
pub use event::{Body, EndReason, Event, EventError, VERSION, event_schema};
pub use gate::{Advice, Gate};
pub use id::{AgentId, AskId, BlobId, Seq};
pub use journal::{Durability, Journal, JournalError};
pub use log::{Clock, Committed, EventLog, Item};
pub use memory::MemoryJournal;
pub use minutes::Minutes;
pub use output::{Spooled, ToolOutput};
pub use payload::Payload;
pub use permit::{Permit, Rejected};
pub use plan::{Plan, PlanStep, StepStatus};
pub use policy::{Leash, OnReject, Open, Policy, Verdict};
pub use prefix::{Fingerprint, Prefix};
pub use question::{Choice, Question, Questions, Reply};
pub use record::{CallEnd, CallPurpose, CutOff, Seen, Setup};
pub use spool::Spool;
pub use subscription::Subscription;
pub use tool::{
    Listed, Listing, Offer, Origin, Tool, ToolCx, ToolError, ToolHost, ToolOutcome, ToolSource, Unread,
};

/// What is sensitive on anybody's machine, for those who judge and know no environment.
pub use junto_env::sensitive;
/// A boxed future, as traits used as objects return it.
pub use junto_llm::Fut;
/// The name that was probably meant, for messages about unknown ones.
pub use junto_llm::names::nearest;
/// How large a picture is, for those who pass some on.
pub use junto_llm::tokens::picture_size;
/// What the contracts of tools speak of, for the crates that know this one and no model.
pub use junto_llm::{CallId, Media, ToolCall, ToolCallKind, ToolKind, ToolSpec};
