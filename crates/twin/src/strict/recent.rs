//! A map that remembers only what was used lately.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// A map in two generations: when the young one is full it becomes the old one, and what was old is
/// forgotten. An entry that is looked up becomes young again, so between `capacity` and twice as
/// many of the entries used last are kept.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    capacity: usize,
}

impl<K: Eq + Hash + Clone, V: Clone> Recent<K, V> {
    /// A map that keeps at least the last `capacity` entries.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), capacity }
    }

    /// Remembers an entry.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.capacity {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    /// Looks an entry up and keeps it fresh.
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if let Some(value) = self.young.get(key) {
            return Some(value.clone());
        }
        let (key, value) = self.old.remove_entry(key)?;
        self.insert(key, value.clone());
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_what_is_not_goes() {
        let mut recent = Recent::new(4);
        recent.insert(0, "kept");
        for i in 1..100 {
            recent.insert(i, "x");
            assert_eq!(recent.get(&0), Some("kept"), "after {i}");
        }
        assert_eq!(recent.get(&50), None);
        assert_eq!(recent.get(&99), Some("x"));
        assert!(recent.young.len() + recent.old.len() <= 8);
    }
}
