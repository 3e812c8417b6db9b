//! Long words in a text, found 64 bytes at a time.
//!
//! Whether a byte belongs to a word is told for all bytes of a block at once, as one bit each; sixteen such bits
//! in a row are found with four shifts. In prose and code nearly every block is done with that.

use std::ops::Range;

use wide::u8x16;

use crate::bits::{BLOCK, bits, block, is, is_in};

/// The shortest run that is found.
pub(super) const RUN: u32 = 16;

/// Runs of at least [`RUN`] letters, digits, `-` and `_` in a text.
pub(super) struct Runs<'a> {
    text: &'a [u8],
    /// Where the block begins whose starts are handed out.
    at: usize,
    /// The starts in this block that were not handed out.
    starts: u64,
    /// The bytes of this block and of the next that belong to words.
    words: u128,
}

impl<'a> Runs<'a> {
    /// The runs of a text, before which stands nothing that belongs to them.
    pub(super) fn new(text: &'a [u8]) -> Self {
        let mut runs = Self { text, at: 0, starts: 0, words: u128::from(words(text, 0)) << 64 };
        runs.step(0);
        runs
    }

    /// Goes to the block at this place.
    fn step(&mut self, at: usize) {
        let before = self.words >> 63 & 1;
        self.at = at;
        self.words = self.words >> 64 | u128::from(words(self.text, at + BLOCK)) << 64;
        if !has_full_byte(self.words) {
            self.starts = 0;
            return;
        }
        let begins = !(self.words << 1 | before);
        #[expect(clippy::cast_possible_truncation, reason = "the starts in this block are wanted")]
        let starts = (in_a_row(self.words) & begins) as u64;
        self.starts = starts;
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

/// Whether eight bits that belong together are all set, among those that a run which begins in the first half could
/// have. Every run has such eight, and most blocks have none.
fn has_full_byte(bits: u128) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    #[expect(clippy::cast_possible_truncation, reason = "the halves are wanted")]
    let (first, second) = (bits as u64, (bits >> 64) as u64);
    // The usual way to look for a zero byte, of which there is one where a byte was full.
    let has_zero = |x: u64| x.wrapping_sub(ONES) & !x & (ONES << 7) != 0;
    has_zero(!first) || second & 0xff == 0xff || second & 0xff00 == 0xff00
}

/// The bits that begin [`RUN`] bits in a row.
fn in_a_row(mut bits: u128) -> u128 {
    let mut shift = 1;
    while shift < RUN {
        bits &= bits >> shift;
        shift *= 2;
    }
    bits
}

/// The bytes of the block at this place that belong to words.
fn words(text: &[u8], at: usize) -> u64 {
    let are_words = |bytes: u8x16| {
        let letters = is_in(bytes | u8x16::splat(0x20), b'a', b'z');
        letters | is_in(bytes, b'0', b'9') | is(bytes, b'-') | is(bytes, b'_')
    };
    match text.get(at..).and_then(<[u8]>::first_chunk) {
        Some(block) => bits(block, are_words),
        None => bits(&block(text, at), are_words),
    }
}

/// What a run is made of.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_same_one_by_one_and_together() {
        for byte in 0..=u8::MAX {
            let expected = if is_word(byte) { u64::MAX } else { 0 };
            assert_eq!(words(&[byte; 200], 70), expected, "{byte}");
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
        }
    }
}
