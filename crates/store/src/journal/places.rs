//! Where in the file some of the records are, so that one can be found without reading the whole.

use junto_core::Seq;

/// How far the remembered records are apart at first.
const APART: u64 = 64 * 1024;
/// How many are remembered at most. When there are more, every other one is forgotten.
const MOST: usize = 4096;

/// The places of some records.
#[derive(Debug)]
pub(crate) struct Places {
    /// Positions and places, both ascending.
    known: Vec<(Seq, u64)>,
    apart: u64,
}

impl Default for Places {
    fn default() -> Self {
        Self { known: Vec::new(), apart: APART }
    }
}

impl Places {
    /// Takes note of a record that comes after all others.
    pub(crate) fn note(&mut self, seq: Seq, at: u64) {
        if self.known.last().is_some_and(|(_, last)| at < last + self.apart) {
            return;
        }
        if self.known.len() == MOST {
            let mut keep = false;
            self.known.retain(|_| {
                keep = !keep;
                keep
            });
            self.apart *= 2;
        }
        self.known.push((seq, at));
    }

    /// Forgets what is from this place on.
    pub(crate) fn cut(&mut self, at: u64) {
        let kept = self.known.partition_point(|(_, place)| *place < at);
        self.known.truncate(kept);
    }

    /// The last known record at or before a position; none if that is before all of them.
    pub(crate) fn find(&self, seq: Seq) -> Option<(Seq, u64)> {
        let after = self.known.partition_point(|(known, _)| *known <= seq);
        self.known.get(after.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_place_before_is_found_and_memory_is_bounded() {
        let mut places = Places::default();
        assert_eq!(places.find(Seq(1)), None);
        let step = 1000;
        for n in 1..=1_000_000_u64 {
            places.note(Seq(n), n * step);
        }
        assert!(places.known.len() <= MOST);
        for n in [1, 2, 77, 65_000, 999_999, 1_000_000, 2_000_000] {
            let (seq, at) = places.find(Seq(n)).unwrap();
            assert!(seq.0 <= n && at == seq.0 * step);
            assert!(n.min(1_000_000) * step - at <= places.apart + step, "{n} {at}");
        }
        assert_eq!(places.find(Seq(0)), None);
        places.cut(500_000 * step);
        assert!(places.find(Seq(2_000_000)).unwrap().0 < Seq(500_000));
        places.cut(0);
        assert_eq!(places.find(Seq(9)), None);
    }
}
