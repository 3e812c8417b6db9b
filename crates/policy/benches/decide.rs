//! What a verdict costs. A session asks for one before every call, so a typical line is to take less than 50 µs; and twice
//! the line may take a little more than twice the time. Fails if a bound is broken.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark reads clocks and prints"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use junto_policy::{Confined, Judge, Mode, Origin, Place, Rules};

const BOUND: Duration = Duration::from_micros(50);
/// Twice the work may take a little more than twice the time: caches are finite.
const RATIO: f64 = 2.5;
const ROUNDS: usize = 400;
const CALLS: u32 = 25;

const LINES: [(&str, &str); 8] = [
    ("one word", "ls"),
    ("a look at the repository", "git -C crates status --short && git log --oneline -n 20 | head -n 5"),
    ("a test run", "cargo test -p junto-policy --all-targets -- --nocapture 2>&1 | tail -n 40"),
    ("a search", "rg -n --glob '*.rs' 'fn (main|run)' crates | sort -u | head -100"),
    ("a substitution", "ls $(rm -rf z)"),
    (
        "a here-document",
        "cat > notes.md <<'EOF'\n# Notes\n\nSome text with $(nothing) in it.\nEOF\nwc -l notes.md",
    ),
    ("a loop", "for f in src/*.rs; do if grep -q TODO \"$f\"; then echo \"$f\"; wc -l \"$f\"; fi; done"),
    (
        "a shell in a shell",
        "timeout 60 bash -lc 'cd crates/policy && env RUST_LOG=debug cargo build && ls -la target'",
    ),
];

fn judge(confined: Confined) -> Judge {
    let place = Place {
        workdir: "/home/ada/project".into(),
        temp: vec!["/tmp".into()],
        home: Some("/home/ada".into()),
        confined,
        ..Place::default()
    };
    let mut rules = String::new();
    for n in 0..20 {
        let _ = write!(rules, "[[policy.rule]]\ncommand = \"tool{n} deploy *\"\ndecision = \"deny\"\n");
        let _ = write!(rules, "[[policy.rule]]\nwrite = \"~/folder{n}/**\"\ndecision = \"allow\"\n");
    }
    Judge::new(Mode::Workspace, place, vec![Rules::parse(&rules, Origin::User, None).unwrap()])
}

fn main() {
    let mut broken = Vec::new();
    println!("| a verdict on | without a sandbox | with one | bound |\n|---|---|---|---|");
    for (what, line) in LINES {
        let mut times = Vec::new();
        for confined in [Confined::default(), Confined { files: true, network: true }] {
            let judge = judge(confined);
            times.push(lower_quartile(|| drop(black_box(judge.explain_line(black_box(line))))));
        }
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        println!(
            "| {what} | {:.1} µs | {:.1} µs | {} µs |",
            micros(times[0]),
            micros(times[1]),
            BOUND.as_micros()
        );
        if times.iter().any(|time| *time > BOUND) {
            broken.push(what.to_owned());
        }
    }
    println!("\n| twice the line against the line | ratio | bound |\n|---|---|---|");
    for (what, line) in [
        ("commands", "ls -la src; "),
        ("nested", "echo \"$(ls \"$HOME\" 'a b')\" && "),
        ("a document", "cat <<E\n$x `ls`\nE\n"),
    ] {
        let judge = judge(Confined::default());
        let (single, double) = (format!("{}ls", line.repeat(100)), format!("{}ls", line.repeat(200)));
        let mut ratios: Vec<f64> = (0..60)
            .map(|_| {
                let one = time(1, || drop(black_box(judge.explain_line(&single))));
                let two = time(1, || drop(black_box(judge.explain_line(&double))));
                two.as_secs_f64() / one.as_secs_f64()
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios[ratios.len() / 2];
        println!("| {what} | {ratio:.2} | {RATIO} |");
        if ratio > RATIO {
            broken.push(format!("twice the {what}"));
        }
    }
    assert!(broken.is_empty(), "over the bound: {}", broken.join(", "));
}

fn time(calls: u32, mut call: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    start.elapsed() / calls
}

/// A busy machine makes some rounds slow, but none fast.
fn lower_quartile(mut call: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| time(CALLS, &mut call)).collect();
    times.sort_unstable();
    times[ROUNDS / 4]
}
