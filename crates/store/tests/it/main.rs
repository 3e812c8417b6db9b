//! Behaviour of the store.
#![allow(clippy::disallowed_methods, reason = "tests make their own folders and clocks")]

mod support;
mod t0_blobs;
mod t0_journal;
mod t0_sessions;
mod t3_damage;
mod t3_faults;
