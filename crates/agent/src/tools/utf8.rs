//! Text out of bytes that come in pieces.

/// Decodes a stream of bytes. A character that a piece cuts in two is held back until the rest of it
/// comes; what is no UTF-8 becomes replacement characters.
#[derive(Debug, Default)]
pub(super) struct Utf8(Vec<u8>);

impl Utf8 {
    /// The text of the bytes so far that was not given out yet.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        // The rule: text, and nothing held back.
        if self.0.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return text.to_owned();
        }
        self.0.extend_from_slice(bytes);
        let mut text = String::new();
        for chunk in self.0.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        let cut = unfinished(&self.0);
        if cut > 0 {
            text.pop();
        }
        self.0.drain(..self.0.len() - cut);
        text
    }

    /// What is left at the end: half a character that never came whole.
    pub(super) fn finish(&mut self) -> String {
        let left = std::mem::take(&mut self.0);
        String::from_utf8_lossy(&left).into_owned()
    }
}

/// How many bytes at the end begin a character that is not complete.
fn unfinished(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last().map(|chunk| chunk.invalid()) {
        Some(invalid) if std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none()) => {
            invalid.len()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&[u8]], expected: &[&str], rest: &str) {
        let mut utf8 = Utf8::default();
        let texts: Vec<String> = pieces.iter().map(|piece| utf8.push(piece)).collect();
        assert_eq!(
            (texts, utf8.finish()),
            (expected.iter().map(|&t| t.to_owned()).collect(), rest.to_owned())
        );
    }

    #[test]
    fn characters_come_whole() {
        check(&[b"abc", b""], &["abc", ""], "");
        check(&[b"a\xc3", b"\xa9b"], &["a", "\u{e9}b"], "");
        check(&[b"\xf0\x9f", b"\xa6", b"\x80!"], &["", "", "\u{1f980}!"], "");
        check(&[b"a\xff\xfeb"], &["a\u{fffd}\u{fffd}b"], "");
        check(&[b"a\xe2\x82", b"x"], &["a", "\u{fffd}x"], "");
        check(&[b"a\xc3"], &["a"], "\u{fffd}");
    }
}
