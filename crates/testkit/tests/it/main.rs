//! The fakes, driven as a runner drives them; and every kind of mind in every host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "tests start programs and make pipes")]
#![allow(clippy::disallowed_macros, reason = "a test says which cell it is in")]

mod compositions;
mod t1_budget;
mod t1_compositions;
mod t1_end_to_end;
mod t1_fake_claude;
mod t1_subagents;
mod t2_compositions;
mod t3_kills;
