//! `cargo xtask bench runner`: what our layer adds to a command-line agent that is run bare.
//!
//! The agents are the real programs over a twin that answers at once. Each turn lets one answer some times
//! through the layer, and then the same command as often without it. The layer's own time and memory are those
//! of the one process that it is; the times of both ways are shown beside it, and hold all that was started.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::Outcome;
use crate::bench_loop::measure::{Cost, measure, middle};
use crate::bench_loop::{Address, Twin};
use crate::clis;
use crate::command::{capture, cargo, root, run};

/// How often both ways take turns, and how many answers a turn has: the kernel counts CPU time in hundredths
/// of a second, and one answer takes less.
const TURNS: usize = 4;
const ANSWERS: u32 = 8;

/// What the layer may take for one answer.
const MOST_CPU: Duration = Duration::from_millis(10);
const MOST_MEMORY: u64 = 15 << 20;

/// What the layer took.
struct Own {
    cpu: Duration,
    peak: u64,
}

/// The agents that are measured.
const KINDS: [&str; 3] = ["claude", "codex", "gemini"];

/// Builds, measures, prints, and fails if the layer costs more than it may.
pub(crate) fn run_all() -> Outcome {
    // In one go, as the other benchmarks do, so that nothing is built twice.
    run(cargo().args(["build", "--release", "--workspace", "--bins", "--example", "layer"]))?;
    let release = root().join("target/release");
    let scratch = root().join("target/bench-runner");
    let _ = fs::remove_dir_all(&scratch);
    let twin = Twin::start(&release.join("junto-twin"), &scratch)?;
    let layer = release.join("examples/layer");
    println!(
        "\n{:<8} {:>12} {:>14} {:>12} {:>12} {:>14}",
        "", "bare CPU ms", "layered CPU ms", "own CPU ms", "own peak MiB", "bare peak MiB"
    );
    let mut broken = Vec::new();
    for (variable, program) in clis::ensure()?.environment() {
        let kind = variable.trim_start_matches("JUNTO_PEER_").to_lowercase();
        // Servers are installed in the same way.
        if !KINDS.contains(&kind.as_str()) {
            continue;
        }
        let (bare, layered, own) = compare(&kind, program, &layer, twin.address(), &scratch)?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let mib = |bytes: u64| Duration::from_nanos(bytes).as_secs_f64() * 1e9 / f64::from(1 << 20);
        println!(
            "{kind:<8} {:>12.1} {:>14.1} {:>12.2} {:>12.1} {:>14.1}",
            ms(bare.cpu),
            ms(layered),
            ms(own.cpu),
            mib(own.peak),
            mib(bare.peak),
        );
        if own.cpu >= MOST_CPU {
            broken.push(format!(
                "{kind}: the layer takes {:?} of CPU for an answer, not {MOST_CPU:?}",
                own.cpu
            ));
        }
        if own.peak >= MOST_MEMORY {
            broken.push(format!("{kind}: the layer has {} KiB, not {}", own.peak >> 10, MOST_MEMORY >> 10));
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

/// One bare answer, the CPU time of one through the layer with everything, and the layer's own part of it.
fn compare(
    kind: &str,
    program: &Path,
    layer: &Path,
    address: &Address,
    scratch: &Path,
) -> Outcome<(Cost, Duration, Own)> {
    let folder = scratch.join(kind);
    let cannot = |e: std::io::Error| format!("cannot prepare the runs of {kind}: {e}");
    for name in ["work", "home"] {
        fs::create_dir_all(folder.join(name)).map_err(cannot)?;
    }
    let prompt = folder.join("prompt");
    fs::write(&prompt, "hello").map_err(cannot)?;
    let arguments = || {
        let mut command = Command::new(layer);
        command.arg(kind).arg(program).args([address.url(kind), address.key(), model(kind)]);
        command.arg(folder.join("own"));
        command.current_dir(folder.join("work")).env_clear().env("HOME", folder.join("home"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    };
    let told: Value =
        serde_json::from_str(&capture(&mut arguments())?).map_err(|e| format!("{kind}: {e}"))?;
    let bare = bare(&told, &prompt, &folder.join("work"));
    let notes = folder.join("peak");
    let (mut bares, mut layered, mut own) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let report = folder.join("report");
        let mut many = Command::new("sh");
        many.args(["-c", "report=$1; shift; exec \"$@\" > \"$report\"", "sh"]).arg(&report);
        let inner = arguments();
        many.arg(inner.get_program()).args(inner.get_args()).arg(ANSWERS.to_string());
        many.current_dir(folder.join("work"));
        many.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        layered.push(measure(&many, &notes).map_err(|e| format!("{kind} through the layer: {e}"))?);
        own.push(fs::read_to_string(&report).map_err(cannot)?);
        for _ in 0..ANSWERS {
            bares.push(measure(&bare, &notes).map_err(|e| format!("{kind} by itself: {e}"))?);
        }
    }
    let nothing = || format!("nothing was measured of {kind}");
    let layered = middle(&layered).ok_or_else(nothing)?.cpu / ANSWERS;
    Ok((middle(&bares).ok_or_else(nothing)?, layered, own_part(&own)?))
}

/// The model that an agent asks. One that may choose asks a model first which to take, and tries again as long as the
/// answer makes no sense to it.
fn model(kind: &str) -> &'static str {
    match kind {
        "claude" => "claude-opus-5-5",
        "codex" => "gpt-5.5",
        _ => "gemini-2.5-pro",
    }
}

/// The command that the layer would run, by itself, with its prompt.
fn bare(told: &Value, prompt: &Path, work: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "prompt=$1; shift; exec \"$@\" < \"$prompt\"", "sh"]).arg(prompt).current_dir(work);
    command.args(told["argv"].as_array().into_iter().flatten().filter_map(Value::as_str));
    for (name, value) in told["variables"].as_object().into_iter().flatten() {
        command.env(name, value.as_str().unwrap_or_default());
    }
    command
}

/// The layer's own time for one answer over all turns, and the most memory of any.
fn own_part(reports: &[String]) -> Outcome<Own> {
    let mut own = Own { cpu: Duration::ZERO, peak: 0 };
    for report in reports {
        let report: Value =
            serde_json::from_str(report).map_err(|e| format!("no report of the layer: {e}"))?;
        let number = |field: &str| report[field].as_u64().ok_or(format!("no `{field}` in the report"));
        own.cpu += Duration::from_millis(number("cpu_ms")?);
        own.peak = own.peak.max(number("peak_kib")? << 10);
    }
    let answers = u32::try_from(reports.len()).unwrap_or(u32::MAX).saturating_mul(ANSWERS);
    own.cpu /= answers.max(1);
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layers_part_is_that_of_one_answer() {
        let reports = [r#"{"cpu_ms": 40, "peak_kib": 9000}"#, r#"{"cpu_ms": 40, "peak_kib": 8000}"#];
        let own = own_part(&reports.map(str::to_owned)).unwrap();
        assert_eq!((own.cpu, own.peak), (Duration::from_millis(80) / 16, 9000 << 10));
        assert!(own_part(&["{}".to_owned()]).is_err());
    }
}
