//! Behaviour of the store.
#![allow(clippy::disallowed_methods, reason = "tests start other processes and look at clocks")]

mod life;
mod t0_index;
mod t3_index;
