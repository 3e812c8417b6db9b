//! Behaviour of the twins through their public interface: plain HTTP and the built program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_methods, reason = "tests start programs and read what xtask tells them")]

mod client;
mod t1_answers;
mod t1_faults;
mod t1_program;
mod t1_server;
mod t2_sdks;
