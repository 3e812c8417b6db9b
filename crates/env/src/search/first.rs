//! The first few of many, in bounded memory.

/// The smallest of all values it has seen, at most so many; and how many it has seen.
#[derive(Debug)]
pub(crate) struct First<T> {
    most: usize,
    /// The smallest are among them. Now and then the others are dropped, which is cheaper than to drop
    /// each as it comes.
    values: Vec<T>,
    seen: usize,
}

impl<T: Ord> First<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, values: Vec::new(), seen: 0 }
    }

    pub(crate) fn add(&mut self, value: T) {
        self.seen += 1;
        self.values.push(value);
        if self.values.len() / 2 > self.most {
            self.drop_others();
        }
    }

    /// Takes over what another has seen.
    pub(crate) fn merge(&mut self, other: Self) {
        self.seen += other.seen;
        self.values.extend(other.values);
        self.drop_others();
    }

    fn drop_others(&mut self) {
        if self.values.len() > self.most {
            self.values.select_nth_unstable(self.most);
            self.values.truncate(self.most);
        }
    }

    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    /// Whether some of what was seen is not kept.
    pub(crate) fn is_truncated(&self) -> bool {
        self.seen > self.most
    }

    pub(crate) fn into_sorted(mut self) -> Vec<T> {
        self.drop_others();
        self.values.sort_unstable();
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_are_kept_whatever_the_order() {
        for values in [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [3, 1, 5, 2, 4]] {
            let mut first = First::new(3);
            for value in values {
                first.add(value);
            }
            assert_eq!((first.seen(), first.is_truncated()), (5, true));
            assert_eq!(first.into_sorted(), [1, 2, 3]);
        }
    }

    #[test]
    fn merging_is_adding() {
        let mut one = First::new(2);
        one.add(3);
        let mut other = First::new(2);
        for value in [4, 1, 2] {
            other.add(value);
        }
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
