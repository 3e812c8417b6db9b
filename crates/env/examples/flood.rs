//! What a flood costs: a gigabyte from `cat` through `exec`, against the same `cat` into a bare pipe
//! that somebody empties. Prints both and their ratio, and fails if it is above the limit.
//!
//! `cargo run --release -p junto-env --example flood`; a number of MiB as the argument changes the size.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a measurement starts its own process, reads the clock and prints"
)]

use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use junto_env::{CommandSpec, LocalEnvironment, exec};
use tokio_util::sync::CancellationToken;

/// How many times as long it may take.
const LIMIT: f64 = 2.0;
/// Measured in turns; the best of each counts, because whatever disturbs only ever adds.
const ROUNDS: usize = 15;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome<ExitCode> {
    let mebibytes = std::env::args().nth(1).map_or(Ok(1024), |size| size.parse::<u64>())?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("zeros");
    std::fs::File::create(&path)?.set_len(mebibytes << 20)?;
    let env = LocalEnvironment::builder(dir.path()).variables([("PATH", "/usr/bin:/bin")]).build()?;

    // The first of each is to warm up.
    through_pipe(&path)?;
    through_exec(&env, &path).await?;
    let mut best = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        let pipe = through_pipe(&path)?;
        let exec = through_exec(&env, &path).await?;
        best = [best[0].min(pipe), best[1].min(exec)];
    }
    let [pipe, exec] = best;
    let ratio = exec.as_secs_f64() / pipe.as_secs_f64();
    println!("flood {mebibytes} MiB: pipe {pipe:.1?}, exec {exec:.1?}, ratio {ratio:.2} (at most {LIMIT})");
    Ok(if ratio > LIMIT { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn through_pipe(path: &Path) -> Outcome<Duration> {
    let started = Instant::now();
    let mut child = Command::new("cat").arg(path).stdout(Stdio::piped()).spawn()?;
    let mut pipe = child.stdout.take().ok_or("no pipe")?;
    let mut buffer = vec![0; 64 << 10];
    let mut total = 0;
    loop {
        match pipe.read(&mut buffer)? {
            0 => break,
            read => total += read as u64,
        }
    }
    child.wait()?;
    check(total, path)?;
    Ok(started.elapsed())
}

async fn through_exec(env: &LocalEnvironment, path: &Path) -> Outcome<Duration> {
    let command = CommandSpec::argv(["cat", path.to_str().ok_or("a strange path")?]);
    let started = Instant::now();
    let mut total = 0;
    let mut sink = |piece: &junto_env::Output| total += piece.bytes.len() as u64;
    exec(env, command, Duration::from_mins(10), &CancellationToken::new(), &mut sink).await?;
    check(total, path)?;
    Ok(started.elapsed())
}

fn check(total: u64, path: &Path) -> Outcome<()> {
    let size = path.metadata()?.len();
    if total == size { Ok(()) } else { Err(format!("{total} bytes of {size}").into()) }
}
