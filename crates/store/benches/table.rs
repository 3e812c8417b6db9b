//! What was measured, as a table, and the bounds of it.

use std::time::{Duration, Instant};

/// What was measured. Rows without a bound are told and not judged.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

struct Row {
    what: String,
    figures: String,
    /// The figure that is judged, and what it may be at most.
    judged: Option<(f64, f64)>,
}

impl Table {
    /// A figure that must not be larger than its bound.
    pub(crate) fn judge(&mut self, what: &str, figures: String, figure: f64, bound: f64) {
        eprintln!("{what}: {figures}, {figure:.2} (at most {bound})");
        self.rows.push(Row { what: what.to_owned(), figures, judged: Some((figure, bound)) });
    }

    /// A figure for information.
    pub(crate) fn tell(&mut self, what: &str, figures: String) {
        eprintln!("{what}: {figures}");
        self.rows.push(Row { what: what.to_owned(), figures, judged: None });
    }

    /// Prints everything; fails if a bound is broken.
    pub(crate) fn print_and_check(&self) {
        println!("| what | measured | figure | bound |\n|---|---|---|---|");
        for Row { what, figures, judged } in &self.rows {
            match judged {
                Some((figure, bound)) => println!("| {what} | {figures} | {figure:.2} | {bound} |"),
                None => println!("| {what} | {figures} | | |"),
            }
        }
        let is_broken = |row: &&Row| row.judged.is_some_and(|(figure, bound)| figure > bound);
        let broken: Vec<&str> = self.rows.iter().filter(is_broken).map(|row| row.what.as_str()).collect();
        assert!(broken.is_empty(), "over their bounds: {broken:#?}");
    }
}

/// How long something takes.
pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

/// The lower quartile: other work on the machine only ever adds to a time, and the very best one may be luck.
pub(crate) fn typical(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 4]
}

/// How many times as long one thing takes as the other.
pub(crate) fn ratio(ours: Duration, theirs: Duration) -> f64 {
    ours.as_secs_f64() / theirs.as_secs_f64()
}

/// For people.
pub(crate) fn micros(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

/// For people.
pub(crate) fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
