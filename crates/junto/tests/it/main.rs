//! The examples, run as a user runs them, and what the facade puts together.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "tests start the examples")]

mod coder;
mod t0_relay;
mod t0_samples;
mod t1_answers;
mod t1_approval;
mod t1_code_action;
mod t1_code_action_cells;
mod t1_code_action_sessions;
mod t1_contest;
mod t1_examples;
mod t1_guard;
mod t1_named;
mod t1_turns;
mod t1_workshop;
