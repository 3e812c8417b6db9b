//! Where the process is killed.

use std::collections::BTreeMap;
use std::time::Duration;

/// Numbers that follow from a seed: `SplitMix64`.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below this one; 0 if there is none.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }

    /// One of these.
    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let place = self.below(of.len() as u64);
        of.get(usize::try_from(place).unwrap_or(0))
    }

    fn micros(&mut self, end: u64) -> Duration {
        Duration::from_micros(self.below(end))
    }
}

/// When a process is killed: a while after something happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Aim {
    pub(super) at: Trigger,
    pub(super) then: Duration,
    /// Whether what is asked then is left without an answer.
    pub(super) mute: bool,
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// Nothing but time, from the start of the process.
    Start,
    /// It prints the line of this type that has this number, from 0.
    Line { kind: String, number: u64 },
    /// Its journal has this many bytes more than at its start.
    Journal(u64),
    /// It makes the request of this number, from 1.
    Request(u64),
}

/// What a process that nobody killed did, to choose moments of.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// How many lines of each type it printed.
    pub(super) lines: BTreeMap<String, u64>,
    /// How long its journal is.
    pub(super) bytes: u64,
    /// How many requests it made.
    pub(super) requests: u64,
    /// Which of them asked for a hand-over, from 1: they are few.
    pub(super) chores: Vec<u64>,
    /// How long it took.
    pub(super) took: Duration,
}

impl Aim {
    /// A moment in the course of a run. Of a process that goes on with one the moment may never come.
    pub(super) fn choose(course: &Course, chance: &mut Chance) -> Self {
        let kinds: Vec<&String> = course.lines.keys().collect();
        let mute = chance.below(2) == 0;
        let (at, then) = match chance.below(10) {
            // Rare moments are as likely as frequent ones.
            0..=4 => {
                let kind = chance.pick(&kinds).map(|kind| (*kind).clone()).unwrap_or_default();
                let number = chance.below(course.lines.get(&kind).copied().unwrap_or(1));
                // The next thing is done at once, or takes its time.
                let most = if chance.below(2) == 0 { 300 } else { 20_000 };
                (Trigger::Line { kind, number }, chance.micros(most))
            }
            5 | 6 => (Trigger::Journal(chance.below(course.bytes)), chance.micros(200)),
            7 | 8 => {
                let any = 1 + chance.below(course.requests);
                let chore = if chance.below(2) == 0 { chance.pick(&course.chores).copied() } else { None };
                let number = chore.unwrap_or(any);
                (Trigger::Request(number), chance.micros(40_000))
            }
            _ => {
                let most = u64::try_from(course.took.as_micros()).unwrap_or(u64::MAX);
                (Trigger::Start, chance.micros(most))
            }
        };
        Self { at, then, mute }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_where() {
        let lines = [("call", 3), ("ask", 1)].map(|(kind, count)| (kind.to_owned(), count));
        let course = Course {
            lines: BTreeMap::from(lines),
            bytes: 1000,
            requests: 4,
            chores: vec![2],
            took: Duration::from_millis(300),
        };
        let aims = |seed| {
            let mut chance = Chance::new(seed);
            (0..200).map(|_| Aim::choose(&course, &mut chance)).collect::<Vec<_>>()
        };
        assert_eq!(aims(1), aims(1));
        assert_ne!(aims(1), aims(2));
        let kinds = aims(3).iter().fold([0; 4], |mut seen, aim| {
            let (place, fits) = match &aim.at {
                Trigger::Start => (0, aim.then < course.took),
                Trigger::Line { kind, number } => (1, *number < course.lines[kind]),
                Trigger::Journal(bytes) => (2, *bytes < 1000),
                Trigger::Request(number) => (3, (1..=4).contains(number)),
            };
            assert!(fits, "{aim:?}");
            seen[place] += 1;
            seen
        });
        assert!(kinds.iter().all(|count| *count > 5), "{kinds:?}");
    }

    #[test]
    fn nothing_to_choose_from_is_no_mistake() {
        let mut chance = Chance::new(7);
        for _ in 0..100 {
            Aim::choose(&Course::default(), &mut chance);
        }
    }
}
