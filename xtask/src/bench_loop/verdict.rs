//! What is promised of the loop, and whether the figures keep it.

use std::time::Duration;

use super::measure::Cost;

/// The most memory of a run with one answer, in bytes.
const MOST_MEMORY: u64 = 20 << 20;
/// A run with one answer takes at most this part of the fastest peer's time.
const PART_OF_PEER: u32 = 5;
/// A round of a shell command costs at most so many bare shells.
const BARE_SHELLS: u32 = 2;
/// To keep a session takes at most so many hundredths of the time of one that is not kept.
const KEPT: u128 = 110;

/// What was measured.
pub(super) struct Figures {
    /// One answer.
    pub(super) one_shot: Cost,
    /// So many rounds of tools and then an answer.
    pub(super) rounds: Cost,
    /// The same number of bare shells.
    pub(super) bare: Cost,
    pub(super) count: u32,
    /// The answer and the rounds again, of sessions that are kept.
    pub(super) kept_one_shot: Cost,
    pub(super) kept_rounds: Cost,
    /// Absent if none is installed.
    pub(super) fastest: Option<Peer>,
}

/// An agent of others with one answer.
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) wall: Duration,
}

/// Which promises are kept and which are broken, each in words.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) kept: Vec<String>,
    pub(super) broken: Vec<String>,
}

impl Verdict {
    pub(super) fn judge(&mut self, keeps: bool, words: String) {
        if keeps { self.kept.push(words) } else { self.broken.push(words) }
    }
}

/// Judges the figures.
pub(super) fn verdict(figures: &Figures) -> Verdict {
    let Figures { one_shot, rounds, bare, count, kept_one_shot, kept_rounds, fastest } = figures;
    let mut verdict = Verdict::default();
    verdict.judge(
        one_shot.peak < MOST_MEMORY,
        format!("one answer in {} KiB of {} KiB", one_shot.peak >> 10, MOST_MEMORY >> 10),
    );
    if let Some(Peer { name, wall }) = fastest {
        let limit = *wall / PART_OF_PEER;
        verdict.judge(
            one_shot.wall < limit,
            format!("one answer in {:?}, under a fifth of {name} ({limit:?})", one_shot.wall),
        );
    }
    // What a run costs apart from its rounds is what a run with one answer costs.
    let round = rounds.wall.saturating_sub(one_shot.wall) / (*count).max(1);
    let limit = bare.wall / (*count).max(1) * BARE_SHELLS;
    verdict
        .judge(round < limit, format!("a shell round in {round:?}, under twice the bare shell ({limit:?})"));
    for (what, kept, loose) in [("one answer", kept_one_shot, one_shot), ("the rounds", kept_rounds, rounds)]
    {
        let (kept, loose) = (kept.wall, loose.wall);
        verdict.judge(
            kept.as_nanos() * 100 <= loose.as_nanos() * KEPT,
            format!("{what} in {kept:?} if the session is kept, at most a tenth over {loose:?}"),
        );
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(wall: u64, peak: u64) -> Cost {
        Cost { cpu: Duration::ZERO, wall: Duration::from_millis(wall), peak }
    }

    /// One answer, its memory in MiB, twenty rounds, twenty shells, the fastest peer: all in ms.
    fn check(one: u64, memory: u64, rounds: u64, bare: u64, peer: Option<u64>, expected: (usize, usize)) {
        let (kept, broken) = judged(one, memory, rounds, bare, peer, [one, rounds]);
        // What is kept costs nothing here.
        assert_eq!((kept - 2, broken), expected, "{one} {memory} {rounds} {bare} {peer:?}");
    }

    /// How many promises are kept and broken; beside the others the times of sessions that are kept.
    fn judged(
        one: u64,
        memory: u64,
        rounds: u64,
        bare: u64,
        peer: Option<u64>,
        [kept_one, kept_rounds]: [u64; 2],
    ) -> (usize, usize) {
        let figures = Figures {
            one_shot: cost(one, memory << 20),
            rounds: cost(rounds, 0),
            bare: cost(bare, 0),
            count: 20,
            kept_one_shot: cost(kept_one, 0),
            kept_rounds: cost(kept_rounds, 0),
            fastest: peer.map(|wall| Peer { name: "codex".into(), wall: Duration::from_millis(wall) }),
        };
        let Verdict { kept, broken } = verdict(&figures);
        (kept.len(), broken.len())
    }

    #[test]
    fn promises() {
        check(10, 19, 50, 40, None, (2, 0));
        check(10, 19, 50, 40, Some(51), (3, 0));
        // As large, as slow and as dear as is just not allowed.
        check(10, 20, 50, 40, None, (1, 1));
        check(10, 19, 50, 40, Some(50), (2, 1));
        check(10, 19, 90, 40, None, (1, 1));
        check(10, 19, 89, 40, None, (2, 0));
        check(100, 30, 1000, 40, Some(50), (0, 3));
    }

    #[test]
    fn keeping_a_session_costs_little() {
        let judged = |kept| judged(10, 19, 50, 40, None, kept);
        assert_eq!(judged([11, 55]), (4, 0));
        assert_eq!(judged([12, 55]), (3, 1));
        assert_eq!(judged([11, 56]), (3, 1));
    }
}
