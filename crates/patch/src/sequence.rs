//! Sequences of numbers within longer ones, in time linear in both (Knuth, Morris and Pratt).

use std::collections::HashMap;
use std::hash::Hash;

/// The number of whatever has none in a [`Dictionary`]. It equals nothing that is sought.
pub(crate) const UNKNOWN: u32 = 0;

/// Numbers for the things that are sought, so that comparing is cheap. What is searched gets no
/// numbers of its own, however large it is.
pub(crate) struct Dictionary<T>(HashMap<T, u32>);

impl<T: Hash + Eq> Dictionary<T> {
    pub(crate) fn new() -> Self {
        Self(HashMap::new())
    }

    /// The number of a thing that is sought.
    pub(crate) fn enter(&mut self, thing: T) -> u32 {
        let next = u32::try_from(self.0.len() + 1).unwrap_or(UNKNOWN);
        *self.0.entry(thing).or_insert(next)
    }

    /// The number of a thing that is searched.
    pub(crate) fn look_up(&self, thing: &T) -> u32 {
        self.0.get(thing).copied().unwrap_or(UNKNOWN)
    }
}

/// Recognises a sequence in what is pushed.
pub(crate) struct Matcher<'a> {
    needle: &'a [u32],
    /// For each length, the longest shorter beginning that is also an end of it.
    fallback: Vec<usize>,
    matched: usize,
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(needle: &'a [u32]) -> Self {
        let mut matcher = Self { needle, fallback: vec![0, 0], matched: 0 };
        for id in needle.iter().skip(1) {
            matcher.step(*id);
            matcher.fallback.push(matcher.matched);
        }
        matcher.matched = 0;
        matcher
    }

    /// Takes the next number; true if a sequence ends with it, which may overlap the one before.
    pub(crate) fn push(&mut self, id: u32) -> bool {
        if self.matched == self.needle.len() {
            self.matched = self.back();
        }
        self.step(id);
        self.matched > 0 && self.matched == self.needle.len()
    }

    /// How much of the sequence the last numbers are.
    pub(crate) fn matched(&self) -> usize {
        self.matched
    }

    /// Forgets what was pushed, so that the next sequence does not overlap the last.
    pub(crate) fn reset(&mut self) {
        self.matched = 0;
    }

    fn step(&mut self, id: u32) {
        while self.needle.get(self.matched) != Some(&id) {
            if self.matched == 0 {
                return;
            }
            self.matched = self.back();
        }
        self.matched += usize::from(id != UNKNOWN);
    }

    fn back(&self) -> usize {
        self.fallback.get(self.matched).copied().unwrap_or(0)
    }
}

/// Where the sequence is first; an empty one is nowhere.
pub(crate) fn find(haystack: &[u32], needle: &[u32]) -> Option<usize> {
    let mut matcher = Matcher::new(needle);
    let end = haystack.iter().position(|id| matcher.push(*id))?;
    Some(end + 1 - needle.len())
}

/// All places of the sequence that do not overlap, first come first served.
pub(crate) fn find_all(haystack: impl Iterator<Item = u32>, needle: &[u32]) -> Vec<usize> {
    let mut matcher = Matcher::new(needle);
    let mut places = Vec::new();
    for (at, id) in haystack.enumerate() {
        if matcher.push(id) {
            places.push(at + 1 - needle.len());
            matcher.reset();
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(haystack: &[u32], needle: &[u32]) -> Option<usize> {
        haystack.windows(needle.len()).position(|window| window == needle)
    }

    proptest! {
        #[test]
        fn finds_what_comparing_every_window_finds(
            haystack in prop::collection::vec(1..4_u32, 0..40),
            needle in prop::collection::vec(1..4_u32, 1..6),
        ) {
            prop_assert_eq!(find(&haystack, &needle), naive(&haystack, &needle));
            let mut expected = Vec::new();
            let mut from = 0;
            while let Some(at) = naive(&haystack[from..], &needle) {
                expected.push(from + at);
                from += at + needle.len();
            }
            prop_assert_eq!(find_all(haystack.iter().copied(), &needle), expected);
        }
    }

    #[test]
    fn the_unknown_equals_nothing() {
        assert_eq!(find(&[UNKNOWN, 1], &[UNKNOWN]), None);
        assert_eq!(find(&[1], &[]), None);
        assert_eq!(find(&[], &[1]), None);
    }
}
