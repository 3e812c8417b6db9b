//! What a sandbox costs: `true` in a sandbox against `true` without one, in turns. Prints both for every
//! profile and means, and fails if a sandbox adds more than it may.
//!
//! `cargo run --release -p junto-env --example sandbox`; the variable `JUNTO_PEER_BWRAP` names a `bwrap`
//! that is not on the search path.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a measurement reads the environment and the clock, and prints"
)]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use junto_env::{
    CommandSpec, ExecutionEnvironment, LocalEnvironment, Means, Sandbox, SandboxedEnvironment, exec,
};
use tokio_util::sync::CancellationToken;

/// What a sandbox may add to a command.
const LIMIT: Duration = Duration::from_millis(5);
/// Not more: each command in a workspace makes a dozen directories and takes them away, and ext4 without a journal looks
/// at all that were taken away in the last minutes whenever it makes another.
const ROUNDS: usize = 60;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome<ExitCode> {
    // Not among temporary files, of which there may be thousands: without bubblewrap whatever is beside something hidden
    // needs a rule of its own.
    let beside = std::env::current_exe()?.parent().ok_or("no parent")?.to_owned();
    let dir = tempfile::tempdir_in(beside)?;
    // As a project has it: a repository, something secret, a home with keys.
    for (path, content) in [
        ("work/.git/HEAD", "ref: refs/heads/main\n"),
        ("work/.git/refs/x", ""),
        ("work/.git/objects/x", ""),
        ("work/.env", "A=b"),
        (".ssh/id_rsa", "key"),
    ] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().ok_or("no parent")?)?;
        std::fs::write(path, content)?;
    }
    let home = dir.path().to_str().ok_or("a strange path")?.to_owned();
    let variables = [("PATH", "/usr/bin:/bin".to_owned()), ("HOME", home)];
    let local = || LocalEnvironment::builder(dir.path().join("work")).variables(variables.clone());
    let given = std::env::var("JUNTO_PEER_BWRAP").unwrap_or_default();
    let folder = Path::new(&given).parent().unwrap_or(Path::new("/usr/bin")).display();
    let means = Means::find(Some(format!("{folder}:/usr/bin:/bin").as_ref()));
    println!(
        "{means:?}\n\n{:<36} {:>9} {:>9} {:>9} {:>9}",
        "", "plain q1", "adds q1", "plain med", "adds med"
    );
    let mut slow = false;
    for (name, means) in [("bubblewrap", means.clone()), ("the kernel alone", means.without_bwrap())] {
        if name == "bubblewrap" && means.bwrap.is_none() {
            println!("there is no bubblewrap to measure");
            continue;
        }
        for (profile, sandbox) in [("read-only", Sandbox::read_only()), ("workspace", Sandbox::workspace())] {
            let sandbox = Sandbox { accept_weaker: true, ..sandbox };
            let plain = local().build()?;
            let sandboxed = SandboxedEnvironment::with_means(local(), sandbox, &means)?;
            let (plain, sandboxed) = measure(&plain, &sandboxed).await?;
            let adds = |part: usize| at(&sandboxed, part).saturating_sub(at(&plain, part));
            println!(
                "{:<36} {:>9.2} {:>9.2} {:>9.2} {:>9.2}  ms",
                format!("{profile}, {name}"),
                millis(at(&plain, 1)),
                millis(adds(1)),
                millis(at(&plain, 2)),
                millis(adds(2)),
            );
            // A busy machine moves the middle; the lower quarter is what the work takes.
            slow |= adds(1) > LIMIT;
        }
    }
    println!("a sandbox may add {:.0} ms (lower quarter)", millis(LIMIT));
    Ok(if slow { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The times of both, in order.
async fn measure(
    plain: &dyn ExecutionEnvironment,
    sandboxed: &dyn ExecutionEnvironment,
) -> Outcome<(Vec<Duration>, Vec<Duration>)> {
    let mut times = (Vec::new(), Vec::new());
    // The first of each is to warm up.
    for round in 0..=ROUNDS {
        let (one, other) = (time(plain).await?, time(sandboxed).await?);
        if round > 0 {
            times.0.push(one);
            times.1.push(other);
        }
    }
    times.0.sort_unstable();
    times.1.sort_unstable();
    Ok(times)
}

async fn time(env: &dyn ExecutionEnvironment) -> Outcome<Duration> {
    let never = CancellationToken::new();
    let started = Instant::now();
    let ended = exec(env, CommandSpec::argv(["true"]), Duration::from_mins(1), &never, &mut |_| {}).await?;
    if ended.exit.success() { Ok(started.elapsed()) } else { Err("`true` failed".into()) }
}

/// The time after so many quarters.
fn at(times: &[Duration], quarters: usize) -> Duration {
    times.get(times.len() * quarters / 4).copied().unwrap_or_default()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
