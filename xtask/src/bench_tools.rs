//! `cargo xtask bench tools`: what the tools cost beside the programs that do the same.
//!
//! A row is one piece of work, done by us and by a peer, both as processes of their own, so that the
//! start is on both sides. Their runs take turns, and the middle of each is compared: a busy moment
//! of the machine hits both alike. A row that takes longer than its bound allows makes the command
//! fail.

mod search;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::command::{cargo, root, run};

/// How often each side of a row runs.
const TURNS: usize = 15;

/// One comparison.
pub(crate) struct Row {
    /// What is done.
    pub(crate) name: &'static str,
    pub(crate) ours: Box<dyn Fn() -> Command>,
    /// The name of the other program, and how it does it.
    pub(crate) peer: &'static str,
    pub(crate) theirs: Box<dyn Fn() -> Command>,
    /// We take at most so many times as long, where that is judged.
    pub(crate) bound: Option<f64>,
}

/// Builds what a group of rows needs, in a folder that is kept between runs, and gives the rows.
type Group = fn(&Path) -> Outcome<Vec<Row>>;

const GROUPS: &[Group] = &[search::rows];

/// Measurements that compare within one process, each with bounds of its own.
const OTHERS: &[(&str, &[&str])] = &[
    ("patches and replacements", &["bench", "--workspace", "--bench", "patch"]),
    ("a flood of output", &["run", "--release", "--package", "junto-env", "--example", "flood"]),
];

/// Builds, measures, prints, and fails if a bound is broken.
pub(crate) fn run_all() -> Outcome {
    let scratch = root().join("target/bench-tools");
    fs::create_dir_all(&scratch).map_err(|e| format!("cannot make {}: {e}", scratch.display()))?;
    let mut rows = Vec::new();
    for group in GROUPS {
        rows.extend(group(&scratch)?);
    }
    println!("\n{:<44} {:>10} {:>18} {:>7} {:>7}", "", "ours ms", "peer ms", "ratio", "bound");
    let mut broken = Vec::new();
    for row in &rows {
        let (ours, theirs) = measure(row)?;
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        println!(
            "{:<44} {:>10.1} {:>18} {ratio:>7.2} {:>7}",
            row.name,
            ours.as_secs_f64() * 1e3,
            format!("{} {:.1}", row.peer, theirs.as_secs_f64() * 1e3),
            row.bound.map_or_else(|| "none".to_owned(), |bound| format!("{bound:.2}")),
        );
        if let Some(bound) = row.bound.filter(|bound| ratio > *bound) {
            broken.push(format!("{}: {ratio:.2} times {}, and not {bound:.2}", row.name, row.peer));
        }
    }
    for (what, args) in OTHERS {
        println!("\n{what}");
        if run(cargo().args(*args)).is_err() {
            broken.push(format!("{what}: see above"));
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(format!("too slow\n{}", broken.join("\n"))) }
}

/// The middle of the times of both sides.
fn measure(row: &Row) -> Outcome<(Duration, Duration)> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // The first turn brings the files into memory and is not counted.
    for turn in 0..=TURNS {
        let times = (time((row.ours)())?, time((row.theirs)())?);
        if turn > 0 {
            ours.push(times.0);
            theirs.push(times.1);
        }
    }
    Ok((median(ours), median(theirs)))
}

fn time(mut command: Command) -> Outcome<Duration> {
    let program = PathBuf::from(command.get_program());
    let start = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(|e| format!("could not start {}: {e}", program.display()))?;
    let time = start.elapsed();
    if status.success() { Ok(time) } else { Err(format!("{} failed: {status}", program.display())) }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_taken() {
        let times = [9, 1, 5].map(Duration::from_millis).to_vec();
        assert_eq!(median(times), Duration::from_millis(5));
    }

    #[test]
    fn a_failed_run_is_no_time() {
        assert!(time(Command::new("true")).is_ok());
        assert!(time(Command::new("false")).unwrap_err().contains("false failed"));
    }
}
