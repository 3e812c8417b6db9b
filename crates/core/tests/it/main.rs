//! The vocabulary's promises, through the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "a test reads one variable to rewrite the checked-in schema")]

mod t0_gate;
mod t0_grammar;
mod t0_question;
mod t0_schema;
mod t3_budget;
