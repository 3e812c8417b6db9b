//! What keeping sessions costs: each figure that is judged stands beside a yardstick that is measured in the
//! same run, turn by turn, so that a busy machine slows both. Run with `cargo xtask bench store`; fails if a
//! bound is broken. The tables of some runs are in `docs/performance.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![allow(clippy::cast_precision_loss)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark reads clocks, starts itself and prints"
)]

mod append;
mod index;
mod open;
mod past;
mod rounds;
mod table;

use junto_llm::Secret;
use junto_store::{Options, Redactor, Sync};

use crate::table::Table;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).filter(|arg| *arg != "--bench").collect();
    if let [open::ALONE, root, session] = args.as_slice() {
        return open::alone(root, session);
    }
    let is_wanted = |what: &str| args.is_empty() || args.contains(&what);
    // On a disk, as sessions are: the folder for temporary files may be in memory.
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut table = Table::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        if is_wanted("open") {
            open::measure(scratch.path(), &mut table).await;
        }
        if is_wanted("append") {
            append::measure(scratch.path(), &mut table).await;
        }
        if is_wanted("rounds") {
            rounds::measure(scratch.path(), &mut table).await;
        }
        if is_wanted("index") {
            index::measure(scratch.path(), &mut table).await;
        }
    });
    table.print_and_check();
}

/// What a host chooses that knows the keys of two vendors and a password.
fn options(sync: Sync) -> Options {
    let secrets = [
        "sk-ant-api03-0123456789abcdefghijklmnop",
        "AIzaSy-abcdefghijklmnopqrstuvwxyz012345",
        "correct horse battery staple",
    ];
    Options { sync, redact: Redactor::new(secrets.map(Secret::from)), ..Options::default() }
}
