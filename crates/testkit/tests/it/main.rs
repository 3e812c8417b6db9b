//! The fakes, driven as a runner drives them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "tests start the program")]

mod t1_fake_claude;
