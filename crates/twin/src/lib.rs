//! Model twins: strict stand-ins for the model providers.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod cache;
pub mod sign;
pub mod strict;
pub mod tokens;
