//! Long words in a text, found 64 bytes at a time.
//!
//! Whether a byte belongs to a word is told without a branch for all bytes of a block, as one bit each;
//! sixteen such bits in a row are found with four shifts. In prose and code nearly every block is done
//! with that.

use std::ops::Range;

/// The shortest run that is found.
pub(super) const RUN: u32 = 16;
const BLOCK: usize = 64;

/// Runs of at least [`RUN`] letters, digits, `-` and `_` in a text.
pub(super) struct Runs<'a> {
    text: &'a [u8],
    /// Where the block begins whose starts are handed out.
    at: usize,
    /// The starts in this block that were not handed out.
    starts: u64,
    this: Bits,
    next: Bits,
    /// The bytes of this block and of the next that belong to words.
    words: u128,
    /// Whether there are five dashes in a row somewhere in what was looked at.
    pub(super) has_dashes: bool,
}

/// A bit for each byte of a block.
#[derive(Clone, Copy, Default)]
struct Bits {
    words: u64,
    dashes: u64,
}

impl<'a> Runs<'a> {
    /// The runs of a text, before which stands nothing that belongs to them.
    pub(super) fn new(text: &'a [u8]) -> Self {
        let next = Bits::at(text, 0);
        let mut runs =
            Self { text, at: 0, starts: 0, this: Bits::default(), next, words: 0, has_dashes: false };
        runs.step(0);
        runs
    }

    /// Goes to the block at this place.
    fn step(&mut self, at: usize) {
        let before = self.this.words >> 63;
        self.at = at;
        self.this = self.next;
        self.next = Bits::at(self.text, at + BLOCK);
        self.words = u128::from(self.this.words) | u128::from(self.next.words) << 64;
        let begins = !(self.words << 1 | u128::from(before));
        #[expect(clippy::cast_possible_truncation, reason = "the starts in this block are wanted")]
        let starts = (in_a_row::<RUN>(self.words) & begins) as u64;
        self.starts = starts;
        let dashes = u128::from(self.this.dashes) | u128::from(self.next.dashes) << 64;
        self.has_dashes |= in_a_row::<4>(dashes) & dashes >> 4 != 0;
    }
}

impl Iterator for Runs<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        while self.starts == 0 {
            let next = self.at + BLOCK;
            if next >= self.text.len() {
                return None;
            }
            self.step(next);
        }
        let start = self.starts.trailing_zeros();
        self.starts &= self.starts - 1;
        let end = start + (self.words >> start).trailing_ones();
        let (start, mut end) = (self.at + start as usize, self.at + end as usize);
        if end == self.at + 2 * BLOCK {
            end += self.text.get(end..).unwrap_or_default().iter().take_while(|byte| is_word(**byte)).count();
        }
        Some(start..end)
    }
}

/// The bits that begin so many bits in a row, which is a power of two.
fn in_a_row<const N: u32>(mut bits: u128) -> u128 {
    let mut shift = 1;
    while shift < N {
        bits &= bits >> shift;
        shift *= 2;
    }
    bits
}

impl Bits {
    fn at(text: &[u8], at: usize) -> Self {
        let rest = text.get(at..).unwrap_or_default();
        if let Some(block) = rest.first_chunk() {
            return Self::of(block);
        }
        let mut block = [0; BLOCK];
        block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        Self::of(&block)
    }

    fn of(block: &[u8; BLOCK]) -> Self {
        Self { words: pack(&block.map(is_word)), dashes: pack(&block.map(|byte| byte == b'-')) }
    }
}

/// One bit for each of the flags.
fn pack(flags: &[bool; BLOCK]) -> u64 {
    let bytes = flags.map(u8::from);
    let (eights, _) = bytes.as_chunks::<8>();
    let mut bits = 0;
    for (n, eight) in eights.iter().enumerate() {
        // Multiplied so, the lowest bits of the eight bytes meet in the highest byte.
        let packed = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= packed << (8 * n);
    }
    bits
}

/// What a run is made of. There is no branch in it: many are told at once.
#[expect(clippy::needless_bitwise_bool, reason = "a branch would keep the compiler from it")]
pub(super) fn is_word(byte: u8) -> bool {
    ((byte | 0x20).wrapping_sub(b'a') < 26) | (byte.wrapping_sub(b'0') < 10) | (byte == b'-') | (byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_they_are_said_to_be() {
        for byte in 0..=u8::MAX {
            let expected = byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            assert_eq!(is_word(byte), expected, "{byte}");
        }
    }

    #[test]
    fn runs_are_found_wherever_they_begin_and_end() {
        for start in 0..200 {
            for length in [1, 15, 16, 17, 63, 64, 65, 130] {
                let mut text = vec![b' '; start];
                text.extend(std::iter::repeat_n(b'x', length));
                text.extend(b" abc ");
                let expected: Vec<_> =
                    (length >= RUN as usize).then_some(start..start + length).into_iter().collect();
                assert_eq!(Runs::new(&text).collect::<Vec<_>>(), expected, "{start} {length}");
            }
            let mut dashes = vec![b' '; start];
            dashes.extend(b"-----");
            let mut runs = Runs::new(&dashes);
            assert_eq!((runs.by_ref().count(), runs.has_dashes), (0, true), "{start}");
            let mut fewer = vec![b' '; start];
            fewer.extend(b"---- ----");
            let mut runs = Runs::new(&fewer);
            assert_eq!((runs.by_ref().count(), runs.has_dashes), (0, false), "{start}");
        }
    }
}
