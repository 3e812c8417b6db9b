//! What is promised of the gateway, and whether the figures keep it.

use std::time::Duration;

use super::clients::{Shots, Streams};
use super::server::Memory;

/// What the gateway adds, in hundredths of what a proxy adds that only forwards requests.
const MOST_ADDED: u64 = 150;
/// The aim for what it adds at most.
const AIM_P99: u64 = 1000;
/// What a translation costs, in hundredths of what a call by bytes costs.
const MOST_TRANSLATION: u128 = 200;
/// How many times the answers of litellm.
const TIMES_LITELLM: u64 = 20;
/// What memory may grow while nothing changes: so many hundredths, and what the allocator rounds up.
const MOST_GROWTH: u64 = 105;
const ROUNDING: u64 = 2 << 20;
/// What more a stream may take in one wave than in another: all of them begin at once, and what their requests need for a
/// moment stays with the process until it is quiet. In some waves most are answered before the last are read.
const BEGINNING: u64 = 8 << 10;

/// Which promises are kept and which are broken, each in words.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) kept: Vec<String>,
    pub(super) broken: Vec<String>,
}

/// What something in between adds to the time of an answer, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) p50: u64,
    pub(super) p99: u64,
}

/// What a server does if it is asked as fast as it can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Speed {
    /// In a second.
    pub(super) answers: u64,
    /// Of the server, for one answer.
    pub(super) cpu: Duration,
    pub(super) p50: u64,
    pub(super) p99: u64,
}

/// The memory with all streams under way, at the beginning and at the end, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) begin: u64,
    pub(super) end: u64,
}

impl Verdict {
    fn judge(&mut self, keeps: bool, words: String) {
        if keeps { self.kept.push(words) } else { self.broken.push(words) }
    }

    /// Against a proxy that forwards requests, and beside one that forwards bytes.
    pub(super) fn latency(&mut self, ours: Added, requests: Added, bytes: Added) {
        for (what, ours, theirs, bare) in
            [("p50", ours.p50, requests.p50, bytes.p50), ("p99", ours.p99, requests.p99, bytes.p99)]
        {
            self.judge(
                ours * 100 <= theirs * MOST_ADDED,
                format!(
                    "by bytes {ours} µs are added at {what}, at most {MOST_ADDED} % of the {theirs} µs of a proxy \
                     that forwards requests (connections: {bare} µs)"
                ),
            );
        }
        self.judge(ours.p99 < AIM_P99, format!("added at p99: {} µs, under {AIM_P99}", ours.p99));
    }

    pub(super) fn translation(&mut self, what: &str, by_bytes: Duration, translated: Duration) {
        self.judge(
            translated.as_nanos() * 100 <= by_bytes.as_nanos() * MOST_TRANSLATION,
            format!(
                "translated, {what} takes {translated:?} of CPU, at most twice the {by_bytes:?} by bytes"
            ),
        );
    }

    /// Against the gateway of somebody else; only of litellm something is promised.
    pub(super) fn against(&mut self, name: &str, ours: u64, theirs: u64) {
        let times = ours / theirs.max(1);
        if name.starts_with("litellm") {
            self.judge(
                ours >= theirs * TIMES_LITELLM,
                format!("{ours} answers a second are {times} times the {theirs} of {name}, at least {TIMES_LITELLM}"),
            );
        }
    }

    pub(super) fn whole(&mut self, name: &str, count: u32, heard: &Streams) {
        let count = u64::from(count);
        let why = heard.why.as_deref().unwrap_or("all pieces in their places");
        self.judge(
            heard.whole == count && heard.together == count,
            format!("{name}: {} of {count} streams whole, {} at a time: {why}", heard.whole, heard.together),
        );
    }

    /// Memory does not grow while so many streams go on, and the most of one wave not to the next but for how they begin. It
    /// may shrink, when what many begins at a time took is given back.
    pub(super) fn flat(&mut self, name: &str, count: u32, flows: &[Flow]) {
        let grows = |from: u64, to: u64| to * 100 > from * MOST_GROWTH + ROUNDING * 100;
        let (Some(first), Some(last)) = (flows.first(), flows.last()) else { return };
        let flat = flows.iter().all(|flow| flow.begin > 0 && !grows(flow.begin, flow.end));
        let first_most = first.most() + BEGINNING * u64::from(count);
        let kib = |bytes: u64| bytes >> 10;
        self.judge(
            flat && !grows(first_most, last.most()),
            format!(
                "{name}: {} KiB when all streams had begun, {} KiB before their end, {} and {} KiB the last time",
                kib(first.begin),
                kib(first.end),
                kib(last.begin),
                kib(last.end)
            ),
        );
    }
}

impl Added {
    /// What is added to turns of one kind by what is in between in turns of another: the middle of what it is in each
    /// turn.
    pub(super) fn between(direct: &[Shots], through: &[Shots]) -> Self {
        let added = |time: fn(&Shots) -> u64| {
            let turns = direct.iter().zip(through);
            middle(turns.map(|(direct, through)| time(through).saturating_sub(time(direct)))).unwrap_or(0)
        };
        Self { p50: added(|shots| shots.p50_us), p99: added(|shots| shots.p99_us) }
    }
}

impl Flow {
    pub(super) fn of(heard: &Streams, memory: &Memory) -> Self {
        let moment = heard.all_since_ms.map_or(Duration::MAX, Duration::from_millis);
        let (begin, end) = memory.most_since(moment);
        Self { begin, end }
    }

    fn most(&self) -> u64 {
        self.begin.max(self.end)
    }
}

impl Speed {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts of a few seconds"
    )]
    pub(super) fn of(shots: &Shots, cpu: Duration) -> Self {
        Self {
            answers: (shots.answers as f64 / shots.seconds) as u64,
            cpu: cpu / u32::try_from(shots.answers).unwrap_or(u32::MAX).max(1),
            p50: shots.p50_us,
            p99: shots.p99_us,
        }
    }

    /// The middle of each figure.
    pub(super) fn middle(speeds: &[Self]) -> Option<Self> {
        Some(Self {
            answers: middle(speeds.iter().map(|speed| speed.answers))?,
            cpu: middle(speeds.iter().map(|speed| speed.cpu))?,
            p50: middle(speeds.iter().map(|speed| speed.p50))?,
            p99: middle(speeds.iter().map(|speed| speed.p99))?,
        })
    }
}

/// The middles of p50 and of p99.
pub(super) fn times(shots: &[Shots]) -> (u64, u64) {
    let p50 = middle(shots.iter().map(|shots| shots.p50_us));
    (p50.unwrap_or(0), middle(shots.iter().map(|shots| shots.p99_us)).unwrap_or(0))
}

/// The middle one: a busy moment of the machine moves it little.
pub(super) fn middle<T: Ord>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort_unstable();
    let middle = values.len() / 2;
    values.into_iter().nth(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(by: impl FnOnce(&mut Verdict), kept: usize, broken: usize) {
        let mut verdict = Verdict::default();
        by(&mut verdict);
        assert_eq!((verdict.kept.len(), verdict.broken.len()), (kept, broken), "{verdict:?}");
    }

    #[test]
    fn half_as_much_again_is_the_most() {
        let added = |p50, p99| Added { p50, p99 };
        check(|v| v.latency(added(150, 300), added(100, 200), added(0, 0)), 3, 0);
        check(|v| v.latency(added(151, 300), added(100, 200), added(0, 0)), 2, 1);
        check(|v| v.latency(added(150, 1500), added(100, 1000), added(0, 0)), 2, 1);
    }

    #[test]
    fn what_is_added_is_taken_turn_by_turn() {
        let shots = |times: &[u64]| -> Vec<Shots> {
            let shot = |p50: &u64| Shots {
                answers: 1,
                failed: 0,
                why: None,
                seconds: 1.0,
                p50_us: *p50,
                p99_us: 3 * p50,
            };
            times.iter().map(shot).collect()
        };
        // A turn in which the machine was slow, and one in which only one of them met something.
        let added = Added::between(&shots(&[100, 500, 100]), &shots(&[150, 560, 900]));
        assert_eq!(added, Added { p50: 60, p99: 180 });
    }

    #[test]
    fn translation_and_litellm() {
        let micros = Duration::from_micros;
        check(|v| v.translation("x", micros(10), micros(20)), 1, 0);
        check(|v| v.translation("x", micros(10), micros(21)), 0, 1);
        check(|v| v.against("litellm 1", 2000, 100), 1, 0);
        check(|v| v.against("litellm 1", 1999, 100), 0, 1);
        check(|v| v.against("another", 10, 100), 0, 0);
    }

    #[test]
    fn streams_are_whole_and_memory_is_flat() {
        let heard =
            |whole, together| Streams { whole, why: None, pieces: 1, together, all_since_ms: Some(0) };
        check(|v| v.whole("x", 20, &heard(20, 20)), 1, 0);
        check(|v| v.whole("x", 20, &heard(19, 20)), 0, 1);
        check(|v| v.whole("x", 20, &heard(20, 19)), 0, 1);
        let flow = |begin: u64, end: u64| Flow { begin: begin << 20, end: end << 20 };
        check(|v| v.flat("x", 0, &[flow(100, 107), flow(100, 114)]), 0, 1);
        check(|v| v.flat("x", 0, &[flow(100, 107), flow(110, 114)]), 1, 0);
        check(|v| v.flat("x", 0, &[flow(107, 100), flow(107, 107)]), 1, 0);
        check(|v| v.flat("x", 0, &[flow(107, 100), flow(115, 107)]), 0, 1);
        check(|v| v.flat("x", 128, &[flow(107, 100), flow(115, 107)]), 1, 0);
        check(|v| v.flat("x", 128, &[flow(107, 100), flow(116, 107)]), 0, 1);
        check(|v| v.flat("x", 128, &[flow(100, 108)]), 0, 1);
        check(|v| v.flat("x", 0, &[flow(0, 0)]), 0, 1);
    }

    #[test]
    fn the_middle_of_turns() {
        assert_eq!(middle([3, 900, 2]), Some(3));
        assert_eq!(middle::<u32>([]), None);
    }
}
