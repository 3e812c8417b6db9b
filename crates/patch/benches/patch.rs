//! What patches and edits cost, as ratios: twice the file and twice the hunks against the single ones,
//! measured side by side in one run, turn by turn, so that a busy machine slows both. Fails if a bound is
//! broken.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark reads clocks and prints"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use junto_patch::{Patch, Which, apply, replace};

/// How much of a file there is for each hunk, in bytes: 5 MB for 1,000.
const FOR_ONE_HUNK: usize = 5_000;
/// Twice the work may take a little more than twice the time: caches are finite.
const BOUND: f64 = 2.5;

fn main() {
    let cases: [Case; 6] = [
        ("hunks that fit exactly", code, hunks),
        ("hunks with other indentation", code, unindented),
        ("hunks in reverse order", code, reversed),
        ("hunks in a file of few different lines", repetitive, braces),
        ("hunks that fit only loosely, after near misses", near_misses, loose),
        ("read the patch alone", |_| String::new(), hunks),
    ];
    println!("| 1,000 hunks on 5 MB against 500 on 2.5 MB | measured | ratio | bound |\n|---|---|---|---|");
    let mut broken = Vec::new();
    let mut row = |what: &str, (double, single, ratio): (Duration, Duration, f64)| {
        let (a, b) = (double.as_secs_f64() * 1e3, single.as_secs_f64() * 1e3);
        println!("| {what} | {a:.1} ms; {b:.1} ms | {ratio:.2} | {BOUND} |");
        if ratio > BOUND {
            broken.push(format!("{what}: {ratio:.2}"));
        }
    };
    for (what, file, patch) in cases {
        let job = |hunks: usize| {
            let (file, patch) = (file(hunks * FOR_ONE_HUNK), patch(hunks));
            move || {
                let patch = Patch::parse(&patch).unwrap();
                if file.is_empty() {
                    black_box(patch);
                } else {
                    assert_eq!(black_box(apply(&patch, |_| Some(file.as_str())).unwrap()).hunks.len(), hunks);
                }
            }
        };
        row(what, side_by_side(job(1000), job(500)));
    }
    for (what, old) in edits() {
        let job = |functions: usize| {
            let file = code(functions * FOR_ONE_HUNK);
            move || drop(black_box(replace(&file, old, "x", Which::TheOne)))
        };
        row(&format!("replace: {what}"), side_by_side(job(1000), job(500)));
    }
    assert!(broken.is_empty(), "over the bound: {broken:#?}");
}

type Case = (&'static str, fn(usize) -> String, fn(usize) -> String);

/// The best times of both, and the middle one of the ratios of runs next to each other: other work on
/// the machine that lasts for longer than two runs slows both of them.
fn side_by_side(mut double: impl FnMut(), mut single: impl FnMut()) -> (Duration, Duration, f64) {
    let time = |work: &mut dyn FnMut()| {
        let begin = Instant::now();
        work();
        begin.elapsed()
    };
    let begin = Instant::now();
    let mut rounds: Vec<(Duration, Duration)> = Vec::new();
    // Enough of the slow ones: they are the steady ones.
    while rounds.len() < 21 || rounds.len() < 101 && begin.elapsed() < Duration::from_secs(3) {
        rounds.push((time(&mut double), time(&mut single)));
    }
    let mut ratios: Vec<f64> = rounds.iter().map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect();
    ratios.sort_by(f64::total_cmp);
    let best = rounds.iter().copied().reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))).unwrap();
    (best.0, best.1, ratios[ratios.len() / 2])
}

/// Functions, one for each hunk.
fn code(size: usize) -> String {
    let mut text = String::with_capacity(size);
    for n in 0..size / FOR_ONE_HUNK {
        let begin = text.len();
        writeln!(text, "fn function_{n}() {{\n    let first = {n};").unwrap();
        while text.len() < begin + FOR_ONE_HUNK - 50 {
            text.push_str("    call_something(first, \"a text\");\n");
        }
        writeln!(text, "    last({n});\n}}\n").unwrap();
    }
    text
}

fn patch(hunks: impl Iterator<Item = String>) -> String {
    let body: String = hunks.collect();
    format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n")
}

fn hunk(n: usize) -> String {
    format!(
        "@@ fn function_{n}() {{\n     call_something(first, \"a text\");\n-    last({n});\n+    end({n});\n }}\n"
    )
}

fn hunks(count: usize) -> String {
    patch((0..count).map(hunk))
}

fn reversed(count: usize) -> String {
    patch((0..count).rev().map(hunk))
}

fn unindented(count: usize) -> String {
    let hunk = |n| {
        format!("@@ fn function_{n}() {{\n call_something(first, \"a text\");\n-last({n});\n+end({n});\n")
    };
    patch((0..count).map(hunk))
}

fn repetitive(size: usize) -> String {
    "{\n}\n".repeat(size / 4)
}

fn braces(count: usize) -> String {
    patch((0..count).map(|n| format!("@@\n{}-{{\n+{n}\n", " {\n }\n".repeat(20))))
}

/// Many lines that are in every hunk, and at the end the places that fit.
fn near_misses(size: usize) -> String {
    let mut text = "a line\nb line\n".repeat(size / 14);
    for n in 0..size / FOR_ONE_HUNK {
        writeln!(text, "a line\na line\n\u{2019}{n}").unwrap();
    }
    text
}

fn loose(count: usize) -> String {
    patch((0..count).map(|n| format!("@@\n a line\n a line\n-'{n}\n+x\n")))
}

/// A text for each way of finding it, and one that is not there.
fn edits() -> [(&'static str, &'static str); 5] {
    [
        ("exact", "    let first = 499;\n"),
        ("line-trimmed", "let first = 499;\ncall_something(first, \"a text\");"),
        ("whitespace-tolerant", "let first=499;"),
        ("fuzzy", "    let frist = 499;\n    call_somethin(first, \"a text\");"),
        ("not found", "    nothing_of_this_kind(anywhere);\n"),
    ]
}
