//! `cargo xtask bench council`: what a council costs where its members agree, and whether one pays on the tasks that
//! are shipped.
//!
//! The model is a twin that answers at once. The same turns are asked of one model and of councils of it, all of whose
//! members say the same; the runs take turns, and the middle one counts. What a council adds is the CPU time of its
//! process less that of one member, so the other members' calls are counted against it. Then `junto eval` runs over
//! the shipped tasks with models whose success is known.

mod shipped;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::Outcome;
use crate::bench_loop::{Address, LONG, Twin};
use crate::command::{capture, cargo, root, run};

/// How often each way is measured, and how many calls that has: the kernel counts CPU time in hundredths of a
/// second.
const TURNS: usize = 5;
const CALLS: u32 = 100;

/// What a council may add to one member's call.
const MOST: Duration = Duration::from_millis(5);

/// What is asked for, and the word that makes the model answer so.
const ROWS: [(&str, &str); 2] = [("an answer", "hello"), ("a tool call", LONG)];
/// How many members sit in the councils.
const SIZES: [usize; 2] = [2, 3];

/// Builds, measures, prints, and fails if a council adds more than it may or an evaluation is wrong.
pub(crate) fn run_all() -> Outcome {
    // In one go, as the other benchmarks do, so that nothing is built twice.
    run(cargo().args(["build", "--release", "--workspace", "--bins", "--example", "agree"]))?;
    let release = root().join("target/release");
    let scratch = root().join("target/bench-council");
    let _ = fs::remove_dir_all(&scratch);
    let twin = Twin::start(&release.join("junto-twin"), &scratch)?;
    let agree = release.join("examples/agree");
    println!(
        "\n{:<14} {:>8} {:>13} {:>11} {:>9} {:>9}",
        "members agree", "members", "alone CPU ms", "council ms", "added ms", "bound ms"
    );
    let mut broken = Vec::new();
    for (what, word) in ROWS {
        let [alone, two, three] = compare(&agree, twin.address(), word)?;
        for (size, council) in SIZES.into_iter().zip([two, three]) {
            let added = council.saturating_sub(alone);
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            println!(
                "{what:<14} {size:>8} {:>13.2} {:>11.2} {:>9.2} {:>9.2}",
                ms(alone),
                ms(council),
                ms(added),
                ms(MOST)
            );
            if added >= MOST {
                broken.push(format!("{what}: a council of {size} adds {added:?} to one member"));
            }
        }
    }
    drop(twin);
    println!();
    if let Err(message) = shipped::evaluate(&release, &scratch) {
        broken.push(message);
    }
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

/// The CPU time of one call: of one model, of a council of two, of three.
fn compare(agree: &Path, twin: &Address, word: &str) -> Outcome<[Duration; 3]> {
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..TURNS {
        for (members, times) in [0].into_iter().chain(SIZES).zip(&mut times) {
            let mut command = Command::new(agree);
            command.args([twin.url("claude"), twin.key(), word, &members.to_string(), &CALLS.to_string()]);
            let told: Value = serde_json::from_str(&capture(&mut command)?).map_err(|e| e.to_string())?;
            times.push(told["cpu_us"].as_u64().ok_or("no `cpu_us` in the measurement")?);
        }
    }
    Ok(times.map(|mut times| {
        times.sort_unstable();
        Duration::from_micros(times.get(times.len() / 2).copied().unwrap_or_default())
    }))
}
