//! The beginning and the end of something long.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::characters::{is_continuation, text, whole};

/// From this size on a piece is kept as it is; smaller ones are put together. To copy what is forgotten
/// a moment later is most of what a flood costs.
const LARGE: usize = 16 << 10;

/// Keeps the first and the last bytes of what is pushed into it, and counts the rest.
///
/// It never holds more than it was made for and a piece besides, however much is pushed.
#[derive(Clone, Debug)]
pub struct HeadTail {
    head: Vec<u8>,
    /// Pieces, of which the first may reach back beyond the limit.
    tail: VecDeque<Bytes>,
    /// The small ones after them.
    latest: BytesMut,
    /// How many bytes are in the two.
    kept: usize,
    head_limit: usize,
    tail_limit: usize,
    total: u64,
}

impl HeadTail {
    /// Keeps so many bytes of the beginning and of the end.
    pub fn new(head: usize, tail: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            latest: BytesMut::new(),
            kept: 0,
            head_limit: head,
            tail_limit: tail,
            total: 0,
        }
    }

    /// Adds bytes at the end.
    pub fn push(&mut self, bytes: &[u8]) {
        let rest = self.begin(bytes);
        let mut rest = &bytes[rest.max(bytes.len().saturating_sub(self.tail_limit))..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(LARGE));
            self.append(now);
            rest = later;
        }
        self.forget();
    }

    /// The same for bytes that can be shared: many are not copied.
    pub fn push_shared(&mut self, bytes: &Bytes) {
        if bytes.len() < LARGE {
            return self.push(bytes);
        }
        let rest = self.begin(bytes);
        let rest = bytes.slice(rest.max(bytes.len().saturating_sub(self.tail_limit))..);
        if !rest.is_empty() {
            self.close_latest();
            self.kept += rest.len();
            self.tail.push_back(rest);
        }
        self.forget();
    }

    /// Counts bytes and fills the head with them; says how many are in it.
    fn begin(&mut self, bytes: &[u8]) -> usize {
        self.total += bytes.len() as u64;
        let taken = bytes.len().min(self.head_limit - self.head.len());
        self.head.extend_from_slice(&bytes[..taken]);
        taken
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.latest.len() + bytes.len() > LARGE {
            self.close_latest();
        }
        self.latest.extend_from_slice(bytes);
        self.kept += bytes.len();
    }

    fn close_latest(&mut self) {
        if !self.latest.is_empty() {
            self.tail.push_back(self.latest.split().freeze());
        }
    }

    /// Lets go of the pieces that are wholly beyond the limit.
    fn forget(&mut self) {
        while let Some(first) = self.tail.front()
            && self.kept - first.len() >= self.tail_limit
        {
            self.kept -= first.len();
            self.tail.pop_front();
        }
    }

    /// How many bytes were pushed.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many of them, in the middle, were not kept.
    pub fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.kept.min(self.tail_limit)) as u64
    }

    /// The first bytes.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The last bytes that are not in the head.
    pub fn tail(&self) -> Vec<u8> {
        let mut excess = self.kept.saturating_sub(self.tail_limit);
        let mut tail = Vec::with_capacity(self.kept - excess);
        for piece in self.tail.iter().map(|piece| &**piece).chain([&*self.latest]) {
            let skipped = excess.min(piece.len());
            excess -= skipped;
            tail.extend_from_slice(&piece[skipped..]);
        }
        tail
    }

    /// What was kept as text. If some was not, `gap` of the number of bytes left out stands between
    /// the two parts. A character that was cut in two is left out with them; bytes that are no text
    /// become replacement characters.
    pub fn text(&self, gap: impl FnOnce(u64) -> String) -> String {
        let mut bytes = self.head.clone();
        if self.omitted() == 0 {
            bytes.extend_from_slice(&self.tail());
            return text(bytes);
        }
        bytes.truncate(whole(&bytes));
        let mut tail = self.tail();
        tail.drain(..tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count());
        let shown = bytes.len() + tail.len();
        text(bytes) + &gap(self.total - shown as u64) + &text(tail)
    }
}

impl PartialEq for HeadTail {
    /// Whether the same was kept of as much.
    fn eq(&self, other: &Self) -> bool {
        (self.total, &self.head, self.tail()) == (other.total, &other.head, other.tail())
    }
}

impl Eq for HeadTail {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limits: (usize, usize), pushes: &[&str], expected: &str) {
        let mut kept = HeadTail::new(limits.0, limits.1);
        for push in pushes {
            kept.push(push.as_bytes());
        }
        assert_eq!(kept.text(|n| format!("<{n}>")), expected, "{limits:?} {pushes:?}");
        assert_eq!(kept.total(), pushes.iter().map(|push| push.len() as u64).sum::<u64>());
        assert!(kept.head().len() <= limits.0 && kept.tail().len() <= limits.1);
    }

    #[test]
    fn keeps_both_ends() {
        check((4, 4), &[], "");
        check((4, 4), &["abc"], "abc");
        check((4, 4), &["abcdefgh"], "abcdefgh");
        check((4, 4), &["abcdefghi"], "abcd<1>fghi");
        check((4, 4), &["ab", "cd", "ef", "gh", "ij"], "abcd<2>ghij");
        check((4, 4), &["abcdef", "ghijklmnopqrst"], "abcd<12>qrst");
        check((0, 3), &["abcdef"], "<3>def");
        check((3, 0), &["abcdef"], "abc<3>");
        check((0, 0), &["abc"], "<3>");
    }

    #[test]
    fn never_shows_half_a_character() {
        check((4, 4), &["ab…xxxx…yz"], "ab<10>yz");
        check((3, 3), &["ééééé"], "é<6>é");
        check((5, 6), &["🦀🦀🦀"], "🦀<4>🦀");
        check((8, 4), &["🦀é🦀é"], "🦀é🦀é");
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let mut kept = HeadTail::new(8, 8);
        kept.push(b"a\xffb");
        assert_eq!(kept.text(|_| String::new()), "a\u{fffd}b");
        let mut kept = HeadTail::new(4, 2);
        kept.push(b"\xffab\xc3\xa9cd");
        assert_eq!(kept.text(|n| format!("<{n}>")), "\u{fffd}ab<2>cd");
    }

    #[test]
    fn pieces_of_any_size_shared_or_not() {
        let all: Vec<u8> = (0..400_000_u32).map(|n| n.to_le_bytes()[n as usize % 3]).collect();
        // Pieces of some bytes, of exactly the size that is kept as it is, and of more than is kept.
        for sizes in [&[1, 700, 3][..], &[LARGE - 1, LARGE, LARGE + 1], &[5, 100_000, 7, 30_000], &[400_000]]
        {
            for limits in [(0, 50_000), (10, LARGE), (70_000, 40_000), (0, 0), (5, 1), (500_000, 5)] {
                let mut kept = HeadTail::new(limits.0, limits.1);
                let mut copied = kept.clone();
                let (mut rest, mut sizes) = (&all[..], sizes.iter().cycle());
                while !rest.is_empty() {
                    let (now, later) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
                    kept.push_shared(&Bytes::copy_from_slice(now));
                    copied.push(now);
                    rest = later;
                    assert!(kept.kept <= limits.1 + 100_000, "{} bytes for {limits:?}", kept.kept);
                }
                let head = limits.0.min(all.len());
                let tail = limits.1.min(all.len() - head);
                assert_eq!(kept.head(), &all[..head], "{limits:?}");
                assert!(kept.tail() == all[all.len() - tail..], "{limits:?}");
                assert_eq!(kept.omitted(), (all.len() - head - tail) as u64);
                assert!(kept == copied, "{limits:?}");
            }
        }
    }
}
