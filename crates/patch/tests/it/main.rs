//! Behaviour tests through the public interface. The tier of a module is in its name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;
mod t0_apply;
mod t0_cost;
mod t0_diff;
mod t0_faults_of_others;
mod t0_fuzz;
mod t0_parse;
mod t0_properties;
mod t0_replace;
