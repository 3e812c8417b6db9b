//! Councils of twins, through the public interface. The tier of a module is in its name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "tests call git as a user does")]

mod actor;
mod eval_stand;
mod rivals;
mod stand;
mod t0_properties;
mod t1_cancel;
mod t1_choice;
mod t1_contest;
mod t1_eval;
mod t1_eval_contest;
mod t1_faults;
mod t1_origin;
mod t1_request;
mod t1_stream;
mod t1_worktrees;
