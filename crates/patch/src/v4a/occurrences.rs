//! Where sequences of lines occur in a file, in time linear in the file for all of them together.
//!
//! All sequences go into one automaton (Aho and Corasick's), through which the file goes once. That
//! says of each how often it occurs and where last. A search forward is then made only if there is
//! something to find, so that all searches of a cursor that never goes back cost one pass over the
//! file, however often its lines repeat.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use crate::lines::Lines;
use crate::sequence::{Dictionary, UNKNOWN, find};
use crate::stage::Stage;

/// The sequences of a patch in a file, as they are seen at one stage.
pub(super) struct Occurrences {
    /// The lines of the file as numbers.
    file: Vec<u32>,
    sequences: Vec<Sequence>,
    /// For each line of which all places are wanted, its number.
    singles: Vec<u32>,
    /// Where the lines with these numbers are, in order.
    places: HashMap<u32, Vec<usize>>,
}

struct Sequence {
    ids: Vec<u32>,
    count: usize,
    last: Option<usize>,
}

impl Occurrences {
    /// Looks for sequences of lines, and for single lines of which every place is wanted.
    pub(super) fn new(stage: Stage, lines: &Lines<'_>, sequences: &[Vec<&str>], singles: &[&str]) -> Self {
        let mut known: Dictionary<Cow<'_, str>> = Dictionary::new();
        let singles: Vec<u32> = singles.iter().map(|line| known.enter(stage.view(line))).collect();
        let ids: Vec<Vec<u32>> = sequences
            .iter()
            .map(|lines| lines.iter().map(|line| known.enter(stage.view(line))).collect())
            .collect();
        let file: Vec<u32> = lines.iter().map(|line| known.look_up(&stage.view(line))).collect();
        let mut places: HashMap<u32, Vec<usize>> = singles.iter().map(|id| (*id, Vec::new())).collect();
        for (at, id) in file.iter().enumerate() {
            if let Some(places) = places.get_mut(id) {
                places.push(at);
            }
        }
        let found = Automaton::new(&ids).run(&file);
        let sequences =
            ids.into_iter().zip(found).map(|(ids, (count, last))| Sequence { ids, count, last }).collect();
        Self { file, sequences, singles, places }
    }

    /// How often a sequence occurs.
    pub(super) fn count(&self, sequence: usize) -> usize {
        self.sequences.get(sequence).map_or(0, |found| found.count)
    }

    /// Where a sequence occurs last.
    pub(super) fn last(&self, sequence: usize) -> Option<usize> {
        self.sequences.get(sequence).and_then(|found| found.last)
    }

    /// Where a sequence occurs first from a line on.
    pub(super) fn next(&self, sequence: usize, from: usize) -> Option<usize> {
        let found = self.sequences.get(sequence)?;
        found.last.filter(|last| *last >= from)?;
        find(self.file.get(from..)?, &found.ids).map(|at| from + at)
    }

    /// Whether a sequence is at this line.
    pub(super) fn is_at(&self, sequence: usize, line: usize) -> bool {
        self.sequences.get(sequence).is_some_and(|found| {
            self.file.get(line..line + found.ids.len()).is_some_and(|window| window == found.ids)
        })
    }

    /// All places of a single line.
    pub(super) fn places(&self, single: usize) -> &[usize] {
        self.singles.get(single).and_then(|id| self.places.get(id)).map_or(&[], Vec::as_slice)
    }
}

/// A tree of sequences. Its nodes are numbers, and the root is 0.
struct Automaton {
    next: HashMap<(usize, u32), usize>,
    /// The node of the longest proper end of a node's sequence that is in the tree too.
    fallback: Vec<usize>,
    /// The nodes but the root, from the root outwards.
    outwards: Vec<usize>,
    /// The node and the length of each sequence.
    ends: Vec<(usize, usize)>,
}

impl Automaton {
    fn new(sequences: &[Vec<u32>]) -> Self {
        let mut next = HashMap::new();
        let mut children: Vec<Vec<(u32, usize)>> = vec![Vec::new()];
        let mut ends = Vec::new();
        for sequence in sequences {
            let mut node = 0;
            for id in sequence {
                node = *next.entry((node, *id)).or_insert_with(|| {
                    let new = children.len();
                    if let Some(list) = children.get_mut(node) {
                        list.push((*id, new));
                    }
                    children.push(Vec::new());
                    new
                });
            }
            ends.push((node, sequence.len()));
        }
        let mut tree = Self { next, fallback: vec![0; children.len()], outwards: Vec::new(), ends };
        let mut queue = VecDeque::from([0]);
        while let Some(node) = queue.pop_front() {
            for (id, child) in children.get(node).into_iter().flatten() {
                let fallback = if node == 0 { 0 } else { tree.step(tree.back(node), *id) };
                if let Some(slot) = tree.fallback.get_mut(*child) {
                    *slot = fallback;
                }
                tree.outwards.push(*child);
                queue.push_back(*child);
            }
        }
        tree
    }

    fn back(&self, node: usize) -> usize {
        self.fallback.get(node).copied().unwrap_or(0)
    }

    fn step(&self, mut node: usize, id: u32) -> usize {
        if id == UNKNOWN {
            return 0;
        }
        loop {
            match self.next.get(&(node, id)) {
                Some(next) => return *next,
                None if node == 0 => return 0,
                None => node = self.back(node),
            }
        }
    }

    /// How often each sequence occurs, and where last.
    fn run(&self, file: &[u32]) -> Vec<(usize, Option<usize>)> {
        let mut seen: Vec<(usize, Option<usize>)> = vec![(0, None); self.fallback.len()];
        let mut node = 0;
        for (at, id) in file.iter().enumerate() {
            node = self.step(node, *id);
            if let Some((count, last)) = seen.get_mut(node) {
                *count += 1;
                *last = Some(at);
            }
        }
        // Where a sequence ends, its own ends do too.
        for node in self.outwards.iter().rev() {
            let (count, last) = seen.get(*node).copied().unwrap_or_default();
            if let Some(shorter) = seen.get_mut(self.back(*node)) {
                shorter.0 += count;
                shorter.1 = shorter.1.max(last);
            }
        }
        let found = self.ends.iter().map(|(node, length)| match seen.get(*node) {
            Some((count, Some(last))) if *length > 0 => (*count, Some(last + 1 - length)),
            _ => (0, None),
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_what_comparing_every_window_counts(
            file in prop::collection::vec(0..4_u32, 0..40),
            sequences in prop::collection::vec(prop::collection::vec(1..4_u32, 1..5), 0..6),
        ) {
            let found = Automaton::new(&sequences).run(&file);
            let expected: Vec<_> = sequences.iter().map(|sequence| {
                let windows = || file.windows(sequence.len()).map(|window| window == sequence);
                (windows().filter(|same| *same).count(), windows().rposition(|same| same))
            }).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_sequence_of_nothing_is_nowhere() {
        assert_eq!(Automaton::new(&[vec![], vec![1]]).run(&[2, 1]), [(0, None), (1, Some(1))]);
    }
}
