//! What many sessions cost, and a long one: `crates/agent/examples/sessions.rs`, run and judged.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::verdict::Verdict;
use crate::Outcome;
use crate::command::capture;

/// How many sessions wait side by side.
const IDLE: u64 = 1000;
/// The most memory they may take together, in bytes.
const MOST_MEMORY: u64 = 200 << 20;
/// How many turns the long session has; the one beside it has half of them.
const TURNS: u64 = 2000;
/// Twice the turns take at most so many times as long, in hundredths; linear would be 200.
const MOST_RATIO: u128 = 250;
/// How often the judged ones are run; the best counts, because what disturbs a run only ever slows it down.
const RUNS: usize = 15;

/// What was measured.
pub(super) struct Figures {
    /// The peak of a process with all the idle sessions, in bytes.
    idle_peak: u64,
    /// With a model in memory: half the turns, and all.
    memory: [Duration; 2],
    /// Through HTTP and a strict twin.
    twin: [Twin; 2],
}

/// A session through a twin.
#[derive(Clone, Copy)]
struct Twin {
    time: Duration,
    /// Requests for all turns.
    requests: u64,
    /// The conversation in the last request.
    bytes: u64,
}

/// Runs the program.
pub(super) fn measure(program: &Path) -> Outcome<Figures> {
    let run = |what: &str, count: u64| -> Outcome<Value> {
        let line = capture(Command::new(program).args([what, &count.to_string()]))?;
        serde_json::from_str(&line).map_err(|e| format!("`sessions {what}` printed no JSON: {e}"))
    };
    let number = |value: &Value, field: &str| value[field].as_u64().ok_or(format!("no `{field}` in {value}"));
    let time = |value: &Value| {
        let seconds = value["seconds"].as_f64().ok_or(format!("no `seconds` in {value}"))?;
        Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
    };
    let idle_peak = number(&run("idle", IDLE)?, "peak_kib")?.saturating_mul(1024);
    let sizes = [TURNS / 2, TURNS];
    let mut memory = [Duration::MAX; 2];
    let mut twin = [Twin { time: Duration::MAX, requests: 0, bytes: 0 }; 2];
    for _ in 0..RUNS {
        for (turns, memory) in sizes.iter().zip(&mut memory) {
            *memory = (*memory).min(time(&run("memory", *turns)?)?);
        }
    }
    for (turns, twin) in sizes.iter().zip(&mut twin) {
        let seen = run("twin", *turns)?;
        *twin = Twin {
            time: time(&seen)?,
            requests: number(&seen, "requests")?,
            bytes: number(&seen, "last_conversation_bytes")?,
        };
    }
    Ok(Figures { idle_peak, memory, twin })
}

/// Judges the figures. How long the turns take through the twin is told and not judged: every request
/// carries the whole conversation, and the twin reads all of it.
pub(super) fn judge(figures: &Figures, verdict: &mut Verdict) {
    let Figures { idle_peak, memory: [half, all], twin: [half_twin, all_twin] } = figures;
    verdict.judge(
        *idle_peak < MOST_MEMORY,
        format!("{IDLE} idle sessions in {} KiB of {} KiB", idle_peak >> 10, MOST_MEMORY >> 10),
    );
    verdict.judge(
        all.as_nanos() * 100 <= half.as_nanos() * MOST_RATIO,
        format!("{TURNS} turns in {all:?}, at most 2.5 times as long as half of them ({half:?})"),
    );
    verdict.judge(
        all_twin.requests == TURNS && all_twin.bytes * 10 <= half_twin.bytes * 21,
        format!(
            "one request for each of {TURNS} turns ({} requests), the last with {} bytes of conversation, which \
             is twice that after half of them ({} bytes)",
            all_twin.requests, all_twin.bytes, half_twin.bytes
        ),
    );
}

/// What is told without being judged.
pub(super) fn note(figures: &Figures) -> String {
    let [half, all] = &figures.twin;
    format!(
        "through HTTP and a strict twin: {} turns in {:?}, {TURNS} in {:?}",
        TURNS / 2,
        half.time,
        all.time
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The peak in MiB, the times in ms, the requests, the bytes: how many promises are kept.
    fn check(peak: u64, times: [u64; 2], requests: u64, bytes: [u64; 2], kept: usize) {
        let twin = |bytes| Twin { time: Duration::ZERO, requests, bytes };
        let figures = Figures {
            idle_peak: peak << 20,
            memory: times.map(Duration::from_millis),
            twin: bytes.map(twin),
        };
        let mut verdict = Verdict::default();
        judge(&figures, &mut verdict);
        assert_eq!((verdict.kept.len(), verdict.broken.len()), (kept, 3 - kept), "{verdict:?}");
    }

    #[test]
    fn promises() {
        check(199, [100, 250], 2000, [1000, 2100], 3);
        check(200, [100, 250], 2000, [1000, 2100], 2);
        check(199, [100, 251], 2000, [1000, 2100], 2);
        check(199, [100, 250], 2001, [1000, 2100], 2);
        check(199, [100, 250], 2000, [1000, 2101], 2);
    }
}
