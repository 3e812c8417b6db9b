//! Behaviour tests through the public interface. The tier of a module is in its name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "the tests of tier 1 start bash")]

mod support;
mod t0_fuzz;
mod t0_lines;
mod t0_proposals;
mod t0_rules;
mod t0_siblings;
mod t0_unseen_code;
mod t0_within;
mod t1_bash;
mod t1_sh;
mod t1_unseen_code;
mod t1_words;
