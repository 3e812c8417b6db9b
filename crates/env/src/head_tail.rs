//! The beginning and the end of something long.

use std::collections::VecDeque;

use crate::characters::{is_continuation, text, whole};

/// Keeps the first and the last bytes of what is pushed into it, and counts the rest.
///
/// It never holds more than it was made for, however much is pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    total: u64,
}

impl HeadTail {
    /// Keeps so many bytes of the beginning and of the end.
    pub fn new(head: usize, tail: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), head_limit: head, tail_limit: tail, total: 0 }
    }

    /// Adds bytes at the end.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.head_limit - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// How many bytes were pushed.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many of them, in the middle, were not kept.
    pub fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// The first bytes.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The last bytes that are not in the head.
    pub fn tail(&self) -> Vec<u8> {
        self.tail.iter().copied().collect()
    }

    /// What was kept as text. If some was not, `gap` of the number of bytes left out stands between
    /// the two parts. A character that was cut in two is left out with them; bytes that are no text
    /// become replacement characters.
    pub fn text(&self, gap: impl FnOnce(u64) -> String) -> String {
        let mut bytes = self.head.clone();
        if self.omitted() == 0 {
            bytes.extend(&self.tail);
            return text(bytes);
        }
        bytes.truncate(whole(&bytes));
        let mut tail = self.tail();
        tail.drain(..tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count());
        let shown = bytes.len() + tail.len();
        text(bytes) + &gap(self.total - shown as u64) + &text(tail)
    }
}

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
}
