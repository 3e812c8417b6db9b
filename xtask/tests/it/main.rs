//! Tests of the repository as a whole.
#![allow(clippy::disallowed_methods, reason = "tests start programs and read what xtask tells them")]

mod t0_arrows;
