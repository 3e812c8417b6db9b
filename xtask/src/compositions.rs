//! `cargo xtask compositions`: every kind of mind in every host, as a table.

use std::fs;

use crate::Outcome;
use crate::command::{root, run};
use crate::setup;

/// Where the tests write the table.
const TABLE: &str = "target/compositions.md";

/// Runs every cell, and prints the table if all of them hold.
pub(crate) fn print() -> Outcome {
    // The command is among the hosts: its own package is named so that it is built.
    run(setup::cargo_nextest()?.args([
        "nextest",
        "run",
        "-p",
        "junto-testkit",
        "-p",
        "junto-cli",
        "-E",
        "test(/^t1_compositions/)",
    ]))?;
    let path = root().join(TABLE);
    let table = fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    println!("{table}");
    Ok(())
}
