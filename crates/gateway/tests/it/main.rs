//! Behaviour tests through the public interface. The tier of a module is in its name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests start peers, read their addresses from the environment and say what they measured"
)]

mod clients;
mod load;
mod peer;
mod scripted;
mod support;
mod t0_fuzz;
mod t1_bad_input;
mod t1_caches;
mod t1_cancel;
mod t1_circles;
mod t1_clients;
mod t1_council;
mod t1_count;
mod t1_differential;
mod t1_errors;
mod t1_golden;
mod t1_guard;
mod t1_limits;
mod t1_matrix;
mod t1_metrics;
mod t1_models;
mod t1_passthrough;
mod t1_plain;
mod t1_reports;
mod t1_sealed;
mod t1_sessions;
mod t1_stream;
mod t2_clients;
mod t2_council;
mod t2_differential;
mod t2_model;
mod t2_schema;
mod t2_sdks;
mod t2_terminal;
mod t2_types;
mod t3_soak;
