//! Bytes that come in pieces and are meant as text.

use bytes::{Bytes, BytesMut};

use crate::{Output, OutputStream};

/// Text without a copy where the bytes are text, which is the rule. Others become replacement
/// characters.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Whether a byte goes on with a character that another began.
pub(crate) fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// How many bytes there are before a character that is cut off at the end.
pub(crate) fn whole(bytes: &[u8]) -> usize {
    let back = bytes.iter().rev().take(3).take_while(|byte| is_continuation(**byte)).count();
    let start = (bytes.len() - back).saturating_sub(1);
    match std::str::from_utf8(&bytes[start..]) {
        // An error without a length is text that could go on.
        Err(e) if e.error_len().is_none() => start + e.valid_up_to(),
        _ => bytes.len(),
    }
}

/// Puts the pieces of two streams after one another, in the order they came, so that neither cuts a
/// character of the other in two.
#[derive(Default)]
pub(crate) struct Interleave {
    /// The beginning of a character, of each stream; a few bytes.
    stdout: BytesMut,
    stderr: BytesMut,
}

impl Interleave {
    /// Hands on what is whole of a piece, and of the one before it.
    pub(crate) fn push(&mut self, piece: &Output, mut into: impl FnMut(&Bytes)) {
        let begun = match piece.stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        let mut now = piece.bytes.clone();
        while !begun.is_empty() {
            if now.is_empty() {
                return;
            }
            begun.extend_from_slice(&now.split_to(1));
            if whole(begun) > 0 {
                into(&begun.split().freeze());
            }
        }
        begun.extend_from_slice(&now.split_off(whole(&now)));
        if !now.is_empty() {
            into(&now);
        }
    }

    /// Hands on what never became a character.
    pub(crate) fn finish(&mut self, mut into: impl FnMut(&Bytes)) {
        for begun in [&mut self.stdout, &mut self.stderr] {
            if !begun.is_empty() {
                into(&begun.split().freeze());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces are given as `o…` and `e…`; what is handed on is joined by bars.
    fn check(pieces: &[&[u8]], expected: &[u8]) {
        let mut interleave = Interleave::default();
        let mut seen = Vec::new();
        let mut see = |bytes: &Bytes| {
            seen.extend_from_slice(bytes);
            seen.push(b'|');
        };
        for piece in pieces {
            let (stream, bytes) = piece.split_first().unwrap();
            let stream = if *stream == b'o' { OutputStream::Stdout } else { OutputStream::Stderr };
            let bytes = Bytes::copy_from_slice(bytes);
            interleave.push(&Output { stream, bytes }, &mut see);
        }
        interleave.finish(&mut see);
        assert_eq!(seen.escape_ascii().to_string(), expected.escape_ascii().to_string(), "{pieces:?}");
    }

    #[test]
    fn pieces_come_in_order_and_whole() {
        check(&[], b"");
        check(&[b"oab", b"ecd", b"oef"], b"ab|cd|ef|");
        check(&[b"o"], b"");
        // A character in two pieces, with the other stream between.
        check(&[b"oa\xc3", b"ex", b"o\xa9b"], b"a|x|\xc3\xa9|b|");
        check(&[b"o\xf0", b"o\x9f\xa6", b"o\x80!"], b"\xf0\x9f\xa6\x80|!|");
        // Both streams in the middle of one.
        check(&[b"o\xc3", b"e\xe2\x80", b"o\xa9", b"e\xa6"], b"\xc3\xa9|\xe2\x80\xa6|");
        // What only looked like one.
        check(&[b"o\xc3", b"oab"], b"\xc3a|b|");
        check(&[b"o\xff\xfe", b"o\xc3"], b"\xff\xfe|\xc3|");
    }

    #[test]
    fn whole_characters() {
        for (bytes, expected) in [
            (&b""[..], 0),
            (b"abc", 3),
            ("é".as_bytes(), 2),
            (b"a\xc3", 1),
            (b"a\xe2\x80", 1),
            (b"a\xf0\x9f\xa6", 1),
            ("a🦀".as_bytes(), 5),
            // No text at all, and no beginning of any.
            (b"\x80\x80\x80\x80", 4),
            (b"\xff", 1),
            (b"\xff\xc3", 1),
        ] {
            assert_eq!(whole(bytes), expected, "{}", bytes.escape_ascii());
        }
    }
}
