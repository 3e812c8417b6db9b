//! Sessions on disk: the journal, the index, the ledger, snapshots of the workspace.
//!
//! A [`Store`] is a folder. Each session in it has a folder of its own with one append-only file of JSON
//! lines, the journal, and beside it the texts that are too large for a line. [`DiskJournal`] writes it for
//! a [`junto_core::EventLog`]: an event is in the kernel's hands before anybody is shown it, and on the
//! disk before a tool acts on it. What a crash leaves behind is read up to the last whole record, and
//! what was lost is told in a [`Recovery`].
//!
//! [`Agents`] are those that have a name: how they are set up, a queue of what they were told that no crash
//! empties, and what came of each run.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod agents;
mod bits;
mod error;
mod export;
#[doc(hidden)]
pub mod files;
mod index;
mod journal;
mod json;
mod ledger;
mod redact;
mod snapshot;
mod store;

pub use agents::{
    AgentInput, AgentRun, AgentSession, AgentSetup, Agents, Begin, DailyTime, Finish, Held, InputFate,
    InputId, InputState, MAX_ATTEMPTS, NAMED, NamedAgent, Refresh, RunId, RunResult, RunStatus,
    SessionChange, Suppression, is_agent_name,
};
pub use error::{Error, ErrorKind, Result};
pub use export::Format;
pub use index::{CallFilter, Filter, Index, Refreshed, Renewed, RunRow, SessionRow, Standing, TurnRow};
pub use journal::{Cut, Damage, DiskJournal, Header, LostText, Recovery, Watch};
pub use ledger::{
    Book, Booking, By, CacheVerdict, CallRow, CostRow, DeliberationRow, PrefixPart, explain, table, verdict,
};
pub use redact::Redactor;
pub use snapshot::{Extent, FileChange, Kind as ChangeKind, Snapshots, Tree, Undone};
pub use store::{Events, Opened, Options, Recorded, Store, Sync};
