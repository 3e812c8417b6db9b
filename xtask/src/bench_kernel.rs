//! `cargo xtask bench kernel`: what cells and tool calls from code cost, beside ipybox.
//!
//! Two programs each keep a kernel of the same ipykernel and do what they are told, line by line: an example of our
//! crate, and a script over ipybox. They take turns, so that a busy moment of the machine hits both alike. Behind both
//! is the same MCP server. A bound that is not held makes the command fail.

mod driver;

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::Outcome;
use crate::command::{cargo, root, run};
use crate::setup;
use driver::Driver;

/// How often each starts a kernel.
const STARTS: usize = 5;
/// How many cells each runs, and what lies between them: an agent thinks before it sends the next, and ipybox takes
/// several times as long for one that comes at once.
const CELLS: usize = 30;
const PAUSE: Duration = Duration::from_millis(500);
/// How often the clock and the death of a kernel are tried.
const TRIALS: usize = 3;
/// How many kernels there are side by side.
const MANY: u32 = 20;

/// What must hold of a figure.
#[derive(Clone, Copy)]
enum Bound {
    /// At most so much of what ipybox takes.
    Part(f64),
    /// At most so many seconds.
    Seconds(f64),
}

/// One line of the table, in seconds.
struct Row {
    what: &'static str,
    ours: f64,
    theirs: Option<f64>,
    bound: Option<Bound>,
}

impl Row {
    /// How many times ipybox's time is ours.
    fn ratio(&self) -> Option<f64> {
        self.theirs.map(|theirs| self.ours / theirs)
    }

    /// What is not as it must be.
    fn complaint(&self) -> Option<String> {
        match self.bound? {
            Bound::Part(most) => {
                let ratio = self.ratio().unwrap_or(f64::INFINITY);
                (ratio > most).then(|| format!("{}: {ratio:.3} of ipybox's, and not {most:.3}", self.what))
            }
            Bound::Seconds(most) => (self.ours > most)
                .then(|| format!("{}: {:.1} ms, and not {:.1}", self.what, self.ours * 1e3, most * 1e3)),
        }
    }

    fn print(&self) {
        let ms = |seconds: f64| format!("{:.2}", seconds * 1e3);
        let bound = match self.bound {
            Some(Bound::Part(most)) => format!("{most:.2}"),
            Some(Bound::Seconds(most)) => format!("{} ms", most * 1e3),
            None => "none".to_owned(),
        };
        println!(
            "{:<44} {:>10} {:>12} {:>7} {bound:>8}",
            self.what,
            ms(self.ours),
            self.theirs.map_or_else(|| "-".to_owned(), ms),
            self.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}")),
        );
    }
}

/// Builds, measures, prints, and fails if a bound is broken.
pub(crate) fn run_all() -> Outcome {
    // In one go and of the whole workspace, as the other benchmarks do, so that nothing is built twice.
    run(cargo().args(["build", "--release", "--workspace", "--bins", "--example", "drive"]))?;
    let scratch = root().join("target/bench-kernel");
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).map_err(|e| format!("cannot make {}: {e}", scratch.display()))?;
    let server = ["python3".into(), root().join("crates/mcp/tests/it/faulty.py")];
    let mut ours = Command::new(root().join("target/release/examples/drive"));
    ours.arg(setup::kernel()?).args(&server);
    let mut theirs = Command::new(setup::ipybox()?);
    theirs.arg(root().join("tests/peers/ipybox_kernel.py")).arg(&scratch).args(&server);
    let mut ours = Driver::start("junto", &mut ours, &scratch)?;
    let mut theirs = Driver::start("ipybox", &mut theirs, &scratch)?;
    let rows = measure(&mut ours, &mut theirs)?;
    ours.end()?;
    theirs.end()?;
    println!("\n{:<44} {:>10} {:>12} {:>7} {:>8}", "", "ours ms", "ipybox ms", "ratio", "bound");
    rows.iter().for_each(Row::print);
    let broken: Vec<String> = rows.iter().filter_map(Row::complaint).collect();
    if broken.is_empty() { Ok(()) } else { Err(format!("not as it must be\n{}", broken.join("\n"))) }
}

fn measure(ours: &mut Driver, theirs: &mut Driver) -> Outcome<Vec<Row>> {
    let (mut starts, mut firsts, mut calls) = <(Pairs, Pairs, Pairs)>::default();
    for _ in 0..STARTS {
        starts.turn(ours, theirs, "start", "seconds")?;
        let (mine, other) = (ours.ask("calls")?, theirs.ask("calls")?);
        firsts.add(&mine, &other, "first")?;
        calls.add(&mine, &other, "seconds")?;
    }
    let mut cells = Pairs::default();
    for _ in 0..CELLS {
        thread::sleep(PAUSE);
        cells.turn(ours, theirs, "cell", "seconds")?;
    }
    let (mut timeouts, mut deaths) = <(Vec<f64>, Vec<f64>)>::default();
    for _ in 0..TRIALS {
        // Neither includes a start: the one before has killed the kernel, or may have.
        ours.ask("start")?;
        timeouts.push(ours.seconds("timeout")?);
        ours.ask("start")?;
        deaths.push(ours.seconds("die")?);
    }
    theirs.ask("start")?;
    let their_timeout = theirs.seconds("timeout")?;
    theirs.ask("start")?;
    let their_death = theirs.seconds("die")?;
    let many = ours.seconds(&format!("many {MANY}"))?;
    Ok(vec![
        starts.row("start to the first cell, done", Bound::Part(0.2)),
        cells.row("x += 1, half a second apart", Bound::Part(1.0 / 3.0)),
        calls.row("a tool call from code", Bound::Part(0.5)),
        Row { bound: None, ..firsts.row("the first tool call of a kernel", Bound::Part(0.5)) },
        Row {
            what: "a cell with a second to run, given back",
            ours: worst(&timeouts),
            theirs: Some(their_timeout),
            bound: Some(Bound::Seconds(1.2)),
        },
        Row {
            what: "a kernel's death, noticed",
            ours: worst(&deaths),
            theirs: Some(their_death),
            bound: Some(Bound::Seconds(0.05)),
        },
        Row { what: "20 kernels side by side, all cells right", ours: many, theirs: None, bound: None },
    ])
}

/// Times of both, taken in turns.
#[derive(Default)]
struct Pairs {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Pairs {
    fn turn(&mut self, ours: &mut Driver, theirs: &mut Driver, word: &str, field: &str) -> Outcome {
        let (mine, other) = (ours.ask(word)?, theirs.ask(word)?);
        self.add(&mine, &other, field)
    }

    fn add(&mut self, ours: &serde_json::Value, theirs: &serde_json::Value, field: &str) -> Outcome {
        self.ours.push(driver::number(ours, field)?);
        self.theirs.push(driver::number(theirs, field)?);
        Ok(())
    }

    fn row(self, what: &'static str, bound: Bound) -> Row {
        Row { what, ours: median(self.ours), theirs: Some(median(self.theirs)), bound: Some(bound) }
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn worst(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_is_not_held_is_named() {
        let row = |ours, theirs, bound| Row { what: "it", ours, theirs, bound: Some(bound) };
        let part = |ours| row(ours, Some(10.0), Bound::Part(0.2)).complaint();
        assert_eq!(part(1.9), None);
        assert_eq!(part(2.5), Some("it: 0.250 of ipybox's, and not 0.200".to_owned()));
        assert!(row(1.0, None, Bound::Part(0.2)).complaint().is_some(), "nothing to compare with");
        assert_eq!(row(0.04, None, Bound::Seconds(0.05)).complaint(), None);
        assert_eq!(
            row(0.06, None, Bound::Seconds(0.05)).complaint(),
            Some("it: 60.0 ms, and not 50.0".to_owned())
        );
    }

    #[test]
    fn the_middle_and_the_worst() {
        assert_eq!(median(vec![9.0, 1.0, 5.0]).to_bits(), 5.0_f64.to_bits());
        assert_eq!(worst(&[2.0, 7.0, 3.0]).to_bits(), 7.0_f64.to_bits());
    }
}
