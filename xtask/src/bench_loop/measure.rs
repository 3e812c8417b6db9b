//! What one run of a program costs, as the kernel counted it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::Outcome;

/// Runs a program and prints, as the kernel counted them: CPU seconds and wall seconds of the program
/// and all it waited for, the peak of its resident memory in KiB, and its status. One that hangs is
/// ended, and its status is that of `timeout`. The wait has no limit of its own: Python would look
/// whether the program has ended at 31.5, 63.5, 113.5 ms and so on, and the wall time would be one of those.
const MEASURE: &str = "
import json, os, resource, signal, subprocess, sys, time
start = time.perf_counter()
quiet = subprocess.DEVNULL
child = subprocess.Popen(sys.argv[1:], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
hung = []
def end(*_):
    hung.append(True)
    os.killpg(child.pid, signal.SIGKILL)
signal.signal(signal.SIGALRM, end)
signal.alarm(60)
status = child.wait()
signal.alarm(0)
if hung:
    status = 124
wall = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({'cpu': used.ru_utime + used.ru_stime, 'wall': wall, 'peak': used.ru_maxrss, 'status': status}))
";

/// A smaller witness of the peak, where it is installed: a process keeps the peak of the one that
/// started it, and Python's is that of a small program.
const TIME: &str = "/usr/bin/time";

/// What a run cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Of the program and everything it started.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
    /// The most memory that one of its processes had, in bytes.
    pub(crate) peak: u64,
}

/// Runs a command under a small program that reads the kernel's counts. `notes` is a file to use.
pub(crate) fn measure(command: &Command, notes: &Path) -> Outcome<Cost> {
    let mut outer = Command::new("python3");
    outer.args(["-c", MEASURE]);
    let timed = Path::new(TIME).exists();
    if timed {
        outer.args([TIME, "-f", "%M", "-o"]).arg(notes);
    }
    outer.arg(command.get_program()).args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        outer.current_dir(dir);
    }
    // A candidate that names its variables shall see no others.
    if command.get_envs().next().is_some() {
        outer.env_clear();
    }
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            outer.env(name, value);
        }
    }
    let output = outer
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("could not start python3: {e}"))?;
    let cost = read(&String::from_utf8_lossy(&output.stdout))?;
    if !timed {
        return Ok(cost);
    }
    let noted = fs::read_to_string(notes).map_err(|e| format!("no peak from {TIME}: {e}"))?;
    Ok(Cost { peak: peak(&noted)?, ..cost })
}

/// Reads what `time -f %M` noted: a number of KiB, in the last line.
fn peak(noted: &str) -> Outcome<u64> {
    let number = noted.lines().last().and_then(|line| line.trim().parse::<u64>().ok());
    number.map(|kib| kib.saturating_mul(1024)).ok_or(format!("no peak in {noted:?}"))
}

/// Reads what the small program printed.
fn read(text: &str) -> Outcome<Cost> {
    let value: Value = serde_json::from_str(text.trim()).map_err(|e| format!("no measurement: {e}"))?;
    let status = value["status"].as_i64();
    if status != Some(0) {
        return Err(format!("it ended with status {}", value["status"]));
    }
    let time = |field: &str| {
        let seconds = value[field].as_f64().ok_or(format!("no `{field}` in the measurement"))?;
        Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
    };
    let peak = value["peak"].as_u64().ok_or("no `peak` in the measurement")?;
    Ok(Cost { cpu: time("cpu")?, wall: time("wall")?, peak: peak.saturating_mul(1024) })
}

/// The middle of each figure: a busy moment of the machine moves it little.
pub(crate) fn middle(costs: &[Cost]) -> Option<Cost> {
    Some(Cost {
        cpu: median(costs.iter().map(|cost| cost.cpu))?,
        wall: median(costs.iter().map(|cost| cost.wall))?,
        peak: median(costs.iter().map(|cost| cost.peak))?,
    })
}

fn median<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    let middle = values.len() / 2;
    values.into_iter().nth(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(cpu: u64, wall: u64, peak: u64) -> Cost {
        Cost { cpu: Duration::from_millis(cpu), wall: Duration::from_millis(wall), peak }
    }

    #[test]
    fn each_figure_has_a_middle_of_its_own() {
        let costs = [cost(1, 30, 7), cost(2, 10, 9), cost(900, 20, 8)];
        assert_eq!(middle(&costs), Some(cost(2, 20, 8)));
        assert_eq!(middle(&[cost(1, 2, 3)]), Some(cost(1, 2, 3)));
        assert_eq!(middle(&[]), None);
    }

    #[test]
    fn measurements_are_read_and_failed_runs_are_none() {
        let text = r#"{"cpu": 0.25, "wall": 1.5, "peak": 2048, "status": 0}"#;
        assert_eq!(read(text), Ok(cost(250, 1500, 2048 * 1024)));
        assert!(read(&text.replace("\"status\": 0", "\"status\": 3")).unwrap_err().contains("status 3"));
        assert!(read("").unwrap_err().contains("no measurement"));
        assert!(read(r#"{"status": 0, "cpu": 1}"#).is_err());
        assert_eq!(peak("3\n"), Ok(3072));
        assert_eq!(peak("Command exited with non-zero status 1\n5\n"), Ok(5120));
        assert!(peak("").is_err());
    }
}
