//! `cargo xtask sample NAME`: a sample of the journals that this version writes.

use crate::Outcome;
use crate::command::{cargo, root, run};

/// Makes the sample, and pins what comes of it.
pub(crate) fn make(name: &str) -> Outcome {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    if name.starts_with('.') || !name.chars().all(is_name) {
        return Err(format!("{name} is no name for a folder\nhint: such as v1-2026-11"));
    }
    let folder = root().join("tests/samples/journal").join(name);
    run(cargo().args(["run", "--quiet", "-p", "junto-testkit", "--example", "sample", "--"]).arg(folder))?;
    run(cargo().args(["test", "-p", "junto", "--test", "it", "t0_samples"]).env("JUNTO_BLESS", "1"))
}
