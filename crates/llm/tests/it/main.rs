//! Behaviour tests through the public interface. The tier of a module is in its name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start peers and read their addresses from the environment"
)]

mod support;
mod t0_fuzz;
mod t0_tokens;
mod t1_bad_input;
mod t1_matrix;
mod t1_plain;
mod t1_replay;
mod t1_secrets;
mod t1_switch;
mod t2_litellm;
mod t2_llama;
mod t2_requests;
mod t3_faults;
