//! OpenAI's vocabulary `o200k_base`: how many tokens a piece of text is.
//!
//! A byte-pair vocabulary is a list of merges: two tokens that stand side by side become one, the merge that
//! was learned first before those that came later. So the file holds nothing but the pairs, in that order,
//! and the tokens are numbered by it: 0 to 255 are the bytes, 256 is the first pair. The numbers are written
//! in columns (the low bytes of all left sides, the middle, the high ones; then those of the right sides),
//! which is what a compressor likes. `NOTICE.md` says where the vocabulary comes from.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read as _;
use std::sync::LazyLock;

static MERGES: &[u8] = include_bytes!("o200k.merges.zst");

/// How many numbers there are in one column of the file.
const PAIRS: usize = 199_742;
/// The tokens that are bytes.
const BYTES: u32 = 256;
/// No such merge.
const NONE: u32 = u32::MAX;
/// Up to this many parts, looking through all of them for the next merge is quicker than keeping a queue.
const SHORT: usize = 48;
/// Longer pieces are counted in parts, so that the room to work in stays small. A cut costs a token at most.
const LONG: usize = 64 * 1024;

/// The vocabulary, read when first asked for: it takes some milliseconds.
pub(super) static O200K: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::load);

/// Which pairs of tokens become which token.
pub(super) struct Vocabulary {
    pairs: Vec<(u32, u32)>,
    /// Places in `pairs`, found by hash; a power of two, at most half full.
    slots: Vec<u32>,
}

impl Vocabulary {
    fn load() -> Self {
        let mut columns = Vec::with_capacity(PAIRS * 6);
        if let Ok(mut decoder) = ruzstd::decoding::StreamingDecoder::new(MERGES) {
            // What is compiled in can be read, which a test sees to; else there are bytes only.
            let _ = decoder.read_to_end(&mut columns);
        }
        let at = |column: usize, row: usize| columns.get(column * PAIRS + row).copied().map(u32::from);
        let number =
            |side: usize, row| Some(at(side, row)? | at(side + 1, row)? << 8 | at(side + 2, row)? << 16);
        let pairs: Vec<(u32, u32)> =
            (0..PAIRS).map_while(|row| Some((number(0, row)?, number(3, row)?))).collect();
        let mut vocabulary = Self { slots: vec![NONE; (pairs.len() * 2 + 1).next_power_of_two()], pairs };
        for (row, pair) in (0u32..).zip(&vocabulary.pairs) {
            let mut place = hash(*pair);
            loop {
                place &= vocabulary.slots.len() - 1;
                match vocabulary.slots.get_mut(place) {
                    Some(slot) if *slot == NONE => {
                        *slot = row;
                        break;
                    }
                    _ => place += 1,
                }
            }
        }
        vocabulary
    }

    /// The token that two tokens become.
    fn merged(&self, left: u32, right: u32) -> u32 {
        let mut place = hash((left, right));
        loop {
            place &= self.slots.len() - 1;
            let row = self.slots.get(place).copied().unwrap_or(NONE);
            match self.pairs.get(row as usize) {
                None => return NONE,
                Some(pair) if *pair == (left, right) => return row + BYTES,
                Some(_) => place += 1,
            }
        }
    }

    /// How many tokens a piece is, which is what one step of the splitter gave.
    pub(super) fn count(&self, piece: &[u8], scratch: &mut Scratch) -> u64 {
        match piece.len() {
            0 | 1 => piece.len() as u64,
            length if length <= SHORT => scratch.short(self, piece),
            _ => piece.chunks(LONG).map(|part| scratch.long(self, part)).sum(),
        }
    }
}

fn hash((left, right): (u32, u32)) -> usize {
    let mixed = (u64::from(left) << 32 | u64::from(right)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) as usize
}

/// Room to work in, kept from piece to piece.
#[derive(Default)]
pub(super) struct Scratch {
    /// Each part: its token, and what it becomes with the next one.
    parts: Vec<(u32, u32)>,
    links: Vec<Link>,
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

/// A part of a long piece, at the place of its first byte.
#[derive(Clone, Copy)]
struct Link {
    token: u32,
    /// What it becomes with the part that follows.
    merged: u32,
    previous: u32,
    next: u32,
}

impl Scratch {
    /// Merges by looking for the earliest merge again and again.
    fn short(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> u64 {
        let parts = &mut self.parts;
        parts.clear();
        parts.extend(piece.windows(2).filter_map(|pair| match pair {
            [left, right] => Some((u32::from(*left), vocabulary.merged(u32::from(*left), u32::from(*right)))),
            _ => None,
        }));
        parts.extend(piece.last().map(|byte| (u32::from(*byte), NONE)));
        while let Some((at, merged)) =
            parts.iter().map(|part| part.1).enumerate().min_by_key(|(_, merged)| *merged)
            && merged != NONE
        {
            parts.remove(at + 1);
            let with = |left: u32, right: Option<&(u32, u32)>| {
                right.map_or(NONE, |(right, _)| vocabulary.merged(left, *right))
            };
            let after = with(merged, parts.get(at + 1));
            if let Some(part) = parts.get_mut(at) {
                *part = (merged, after);
            }
            if let Some(before) = at.checked_sub(1).and_then(|before| parts.get_mut(before)) {
                before.1 = vocabulary.merged(before.0, merged);
            }
        }
        parts.len() as u64
    }

    /// Merges with a queue, so that the time grows little faster than the piece: a piece may be all of a
    /// text without spaces.
    fn long(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> u64 {
        self.queue.clear();
        self.links.clear();
        let bytes = piece.iter().map(|byte| u32::from(*byte));
        for (place, token) in (0u32..).zip(bytes) {
            self.links.push(Link { token, merged: NONE, previous: place.wrapping_sub(1), next: place + 1 });
        }
        for place in 0..u32::try_from(piece.len()).unwrap_or(NONE) {
            self.offer(vocabulary, place);
        }
        let mut left = piece.len() as u64;
        while let Some(Reverse((merged, place))) = self.queue.pop() {
            let Some(link) = self.links.get(place as usize).copied() else { continue };
            // Either side has become part of something else since.
            if link.merged != merged {
                continue;
            }
            let Some(gone) = self.links.get_mut(link.next as usize) else { continue };
            gone.merged = NONE;
            let next = gone.next;
            if let Some(after) = self.links.get_mut(next as usize) {
                after.previous = place;
            }
            if let Some(link) = self.links.get_mut(place as usize) {
                (link.token, link.next) = (merged, next);
            }
            left -= 1;
            self.offer(vocabulary, place);
            self.offer(vocabulary, link.previous);
        }
        left
    }

    /// Puts what the part at this place and the next one become into the queue.
    fn offer(&mut self, vocabulary: &Vocabulary, place: u32) {
        let Some(link) = self.links.get(place as usize) else { return };
        let following = self.links.get(link.next as usize);
        let merged = following.map_or(NONE, |next| vocabulary.merged(link.token, next.token));
        if let Some(link) = self.links.get_mut(place as usize) {
            link.merged = merged;
        }
        if merged != NONE {
            self.queue.push(Reverse((merged, place)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vocabulary_is_whole() {
        assert_eq!(O200K.pairs.len(), PAIRS);
        let made = O200K.pairs.iter().zip(BYTES..).all(|((left, right), row)| *left < row && *right < row);
        assert!(made, "every token is made of earlier ones");
    }

    /// The two ways to merge are one.
    #[test]
    fn short_and_long_agree() {
        let mut scratch = Scratch::default();
        let mut check = |text: &str| {
            let piece = text.as_bytes();
            assert_eq!(scratch.short(&O200K, piece), scratch.long(&O200K, piece), "{text}");
        };
        for length in 2..200 {
            check(&"a".repeat(length));
            check(&"abracadabra".repeat(20)[..length]);
            check(&"不一样的文字組合".chars().cycle().take(length).collect::<String>());
        }
    }

    #[test]
    fn a_piece_without_an_end() {
        let mut scratch = Scratch::default();
        let text = "x".repeat(300_000);
        let whole = scratch.long(&O200K, text.as_bytes());
        let tokens = O200K.count(text.as_bytes(), &mut scratch);
        assert!((whole..=whole + 5).contains(&tokens), "{tokens} {whole}");
    }
}
