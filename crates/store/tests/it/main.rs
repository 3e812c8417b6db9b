//! Behaviour of the store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "tests make folders, clocks and processes of their own")]

mod life;
mod support;
mod t0_agents;
mod t0_beside;
mod t0_blobs;
mod t0_export;
mod t0_index;
mod t0_journal;
mod t0_sessions;
mod t1_snapshots;
mod t1_undo;
mod t3_damage;
mod t3_faults;
mod t3_index;
mod workspace;
