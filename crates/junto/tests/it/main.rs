//! The examples, run as a user runs them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "tests start the examples")]

mod t1_examples;
