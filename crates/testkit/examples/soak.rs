//! Kills sessions until it has done so often enough, and writes a page about it. `cargo xtask soak sessions` builds
//! what it needs and starts it.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a developer's tool: it takes time and prints"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use junto_llm::Wire;
use junto_testkit::kills::{Ground, Outcome, Scenario, built_junto, report};

/// How often the progress is told, in kills.
const STEP: usize = 25;

struct Arguments {
    kills: usize,
    seed: u64,
    /// Only this scenario on this wire, as `rounds/anthropic`.
    on: Option<String>,
    folder: PathBuf,
    report: PathBuf,
}

impl Arguments {
    fn read() -> Result<Self, String> {
        let mut read = Self {
            kills: 300,
            seed: 1,
            on: None,
            folder: "target/soak-sessions".into(),
            report: "target/soak-sessions.md".into(),
        };
        let mut given = std::env::args().skip(1);
        while let Some(name) = given.next() {
            let value = given.next().ok_or_else(|| format!("{name} has no value"))?;
            let number = || value.parse::<u64>().map_err(|error| format!("{name} {value}: {error}"));
            match name.as_str() {
                "--kills" => read.kills = usize::try_from(number()?).unwrap_or(usize::MAX),
                "--seed" => read.seed = number()?,
                "--on" => read.on = Some(value),
                "--folder" => read.folder = value.into(),
                "--report" => read.report = value.into(),
                _ => return Err(format!("there is no {name}")),
            }
        }
        Ok(read)
    }

    /// What is worked on.
    fn grounds(&self) -> Result<Vec<(Scenario, Wire)>, String> {
        let all = Scenario::ALL.into_iter().flat_map(|scenario| Wire::ALL.map(|wire| (scenario, wire)));
        let name = |(scenario, wire): &(Scenario, Wire)| format!("{}/{}", scenario.name(), wire.name());
        let wanted: Vec<_> =
            all.filter(|ground| self.on.as_ref().is_none_or(|on| name(ground) == *on)).collect();
        if wanted.is_empty() {
            Err("--on takes a scenario and a wire, as rounds/anthropic".to_owned())
        } else {
            Ok(wanted)
        }
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool, String> {
    let arguments = Arguments::read()?;
    let started = Instant::now();
    let work = Work {
        grounds: arguments.grounds()?,
        seed: AtomicU64::new(arguments.seed),
        kills: AtomicUsize::new(0),
        outcomes: Mutex::default(),
        arguments: &arguments,
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(work.grounds.len());
    let failed: Vec<String> = std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..workers).map(|n| scope.spawn(move || work.worker(n, workers))).collect();
        let ends = workers.into_iter().map(|worker| worker.join().unwrap_or(Err("a worker panicked".into())));
        ends.filter_map(Result::err).collect()
    });
    let mut outcomes = work.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|outcome| outcome.seed);
    let page = report(&outcomes, started.elapsed());
    std::fs::write(&arguments.report, &page)
        .map_err(|error| format!("{}: {error}", arguments.report.display()))?;
    print!("{page}");
    println!("\nThis is in {}.", arguments.report.display());
    if !failed.is_empty() {
        return Err(failed.join("\n"));
    }
    Ok(outcomes.iter().all(|outcome| outcome.faults.is_empty()))
}

/// What the workers share.
struct Work<'a> {
    grounds: Vec<(Scenario, Wire)>,
    /// The next one.
    seed: AtomicU64,
    kills: AtomicUsize,
    outcomes: Mutex<Vec<Outcome>>,
    arguments: &'a Arguments,
}

impl Work<'_> {
    /// Works on every ground that is its own, one after another and again, until all have killed enough.
    fn worker(&self, number: usize, of: usize) -> Result<(), String> {
        let mut grounds = Vec::new();
        for (scenario, wire) in self.grounds.iter().skip(number).step_by(of) {
            let name = format!("{}-{}", scenario.name(), wire.name());
            let folder = self.arguments.folder.join(&name);
            let ground = Ground::new(&built_junto(), &folder, *scenario, *wire);
            grounds.push(ground.map_err(|error| format!("{name}: {error}"))?);
        }
        loop {
            for ground in &mut grounds {
                if self.kills.load(Ordering::Relaxed) >= self.arguments.kills {
                    return Ok(());
                }
                let outcome = ground.case(self.seed.fetch_add(1, Ordering::Relaxed));
                if !outcome.faults.is_empty() {
                    eprintln!("not as it should be: {}\n{}", outcome.again(), outcome.faults.join("\n"));
                    let kept = self.arguments.folder.join(format!("failed-{}", outcome.seed));
                    ground.put_aside(Path::new(&kept))?;
                }
                self.count(outcome.kills.len());
                self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
            }
        }
    }

    fn count(&self, kills: usize) {
        let before = self.kills.fetch_add(kills, Ordering::Relaxed);
        if before / STEP != (before + kills) / STEP {
            eprintln!("{} of {} kills", before + kills, self.arguments.kills);
        }
    }
}
