//! Behaviour of the store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;
mod t0_blobs;
mod t0_journal;
mod t0_sessions;
mod t3_damage;
mod t3_faults;
