//! The first few of many, in bounded memory.

use std::collections::BinaryHeap;

/// The smallest of all values it has seen, at most so many; and how many it has seen.
#[derive(Clone, Debug)]
pub(crate) struct First<T> {
    most: usize,
    /// The largest on top, because that is the one to go.
    heap: BinaryHeap<T>,
    seen: usize,
}

impl<T: Ord> First<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, heap: BinaryHeap::new(), seen: 0 }
    }

    pub(crate) fn add(&mut self, value: T) {
        self.seen += 1;
        self.keep(value);
    }

    /// Takes over what another has seen.
    pub(crate) fn merge(&mut self, other: Self) {
        self.seen += other.seen;
        for value in other.heap {
            self.keep(value);
        }
    }

    fn keep(&mut self, value: T) {
        if self.heap.len() < self.most {
            self.heap.push(value);
        } else if let Some(mut last) = self.heap.peek_mut()
            && value < *last
        {
            *last = value;
        }
    }

    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    /// Whether some of what was seen is not kept.
    pub(crate) fn is_truncated(&self) -> bool {
        self.seen > self.most
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.heap.iter()
    }

    pub(crate) fn into_sorted(self) -> Vec<T> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_are_kept_whatever_the_order() {
        for values in [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [3, 1, 5, 2, 4]] {
            let mut first = First::new(3);
            values.into_iter().for_each(|value| first.add(value));
            assert_eq!((first.seen(), first.is_truncated()), (5, true));
            assert_eq!(first.into_sorted(), [1, 2, 3]);
        }
    }

    #[test]
    fn merging_is_adding() {
        let mut one = First::new(2);
        one.add(3);
        let mut other = First::new(2);
        [4, 1, 2].into_iter().for_each(|value| other.add(value));
        one.merge(other);
        assert_eq!((one.seen(), one.into_sorted()), (4, vec![1, 2]));
    }

    #[test]
    fn of_none_nothing_is_kept() {
        let mut first = First::new(0);
        assert!(!first.is_truncated());
        first.add(1);
        assert!(first.is_truncated());
        assert_eq!(first.into_sorted(), []);
    }
}
