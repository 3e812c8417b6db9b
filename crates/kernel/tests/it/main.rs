//! Tools called from elsewhere, through the public interface. The tier of a module is in its name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "tests start Python as the other process and read the clock")]

mod host;
mod kernels;
mod library;
mod t1_bounds;
mod t1_break;
mod t1_calls;
mod t1_cells;
mod t1_door;
mod t1_ends;
mod t1_environments;
mod t1_gate;
mod t1_imports;
mod t1_leave;
mod t1_limits;
mod t1_oddities;
mod t1_python;
mod t1_sandboxed;
mod t1_stuck;
mod t2_pydantic;

mod t3_random_cells;
