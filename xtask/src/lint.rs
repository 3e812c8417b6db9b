//! `cargo xtask lint`.

use crate::Outcome;
use crate::command::{cargo, run};

/// Formatting, clippy on everything, documentation; the first complaint ends it.
pub(crate) fn run_all() -> Outcome {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    run(cargo().args(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    run(cargo().args(["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"))
}
