//! Councils of twins, through the public interface. The tier of a module is in its name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "tests call git as a user does")]

mod rivals;
mod stand;
mod t1_cancel;
mod t1_choice;
mod t1_contest;
mod t1_origin;
mod t1_stream;
mod t1_worktrees;
