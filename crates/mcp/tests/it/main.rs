//! Servers as sessions meet them: sound ones, faulty ones, and those that others wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "tests read the environment and start programs")]

mod bench;
mod t1_faults;
mod t1_http;
mod t1_hub;
mod t1_search;
mod t2_servers;
mod t3_storm;
mod web;
