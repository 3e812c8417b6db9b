//! For tests only: nothing here is part of what is shipped.
//!
//! - [`cast`] has the real command-line agents, and the words in which each of them is played to;
//! - [`fake_claude`] stands in for the `claude` command: it checks its arguments, reads its prompt,
//!   replays a recording or answers by a script, and misbehaves exactly as a test asks;
//! - [`kills`] kills the real `junto` at chosen moments, and judges what becomes of its session;
//! - [`recording`] finds what the real commands once printed;
//! - [`finished`] reads the log of an agent that has ended and checks it by the grammar of events.
//!
//! A test asserts; so this crate panics where a test would.
#![allow(clippy::expect_used, clippy::panic, reason = "a test's helper fails the test")]

pub mod cast;
pub mod fake_claude;
pub mod kills;
mod session;

use std::path::PathBuf;

pub use session::finished;

/// The path of a recording, such as `claude/plain`.
pub fn recording(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/recordings")).join(format!("{name}.jsonl"))
}
