//! The texts in what Python has pickled.

/// What follows on an operation of a pickle.
enum Operand {
    /// So many bytes.
    Fixed(usize),
    /// A text, with its length before it in so many bytes.
    Counted(usize),
    /// So many lines.
    Lines(usize),
}

fn operand(operation: u8) -> Operand {
    match operation {
        b'K' | b'h' | b'q' | 0x80 | 0x82 => Operand::Fixed(1),
        b'M' | 0x83 => Operand::Fixed(2),
        b'J' | b'r' | b'j' | 0x84 => Operand::Fixed(4),
        b'G' | 0x95 => Operand::Fixed(8),
        b'U' | b'C' | 0x8a | 0x8c => Operand::Counted(1),
        b'T' | b'B' | b'X' | 0x8b => Operand::Counted(4),
        0x8d | 0x8e | 0x96 => Operand::Counted(8),
        b'F' | b'I' | b'L' | b'S' | b'V' | b'g' | b'p' | b'P' => Operand::Lines(1),
        b'c' | b'i' => Operand::Lines(2),
        _ => Operand::Fixed(0),
    }
}

/// Everything in a pickle that is a text, or bytes, each without what stands before it: a length may look like a letter.
pub(super) fn texts(pickle: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = pickle;
    std::iter::from_fn(move || {
        loop {
            let (operation, after) = rest.split_first()?;
            let (text, after) = match operand(*operation) {
                Operand::Fixed(bytes) => (None, after.get(bytes..)),
                Operand::Counted(width) => match counted(after, width) {
                    Some((text, after)) => (Some(text), Some(after)),
                    None => (None, None),
                },
                Operand::Lines(lines) => {
                    let end = after.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(lines - 1);
                    let end = end.map(|(end, _)| end + 1);
                    (end.and_then(|end| after.get(..end)), end.and_then(|end| after.get(end..)))
                }
            };
            // Of what is no pickle everything is one text.
            let Some(after) = after else { return Some(std::mem::take(&mut rest)) };
            rest = after;
            if text.is_some() {
                return text;
            }
        }
    })
}

/// A text whose length is before it, and what comes after.
fn counted(bytes: &[u8], width: usize) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(width)?;
    let length = length.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    rest.split_at_checked(usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_without_their_lengths() {
        // `pickle.dumps({"key": "a" * 97, "n": [1, 70000, 2.5], "b": b"bytes"})`, the length of the first text a letter.
        let mut pickle = b"\x80\x04\x95\xa0\0\0\0\0\0\0\0}\x94(\x8c\x03key\x94\x8ca".to_vec();
        let long = [b'a'; 97];
        pickle.extend(long);
        pickle.extend(b"\x94\x8c\x01n\x94]\x94(K\x01Jp\x11\x01\0G@\x04\0\0\0\0\0\0e");
        pickle.extend(b"X\x01\0\0\0b\x94C\x05bytes\x94u.");
        let found: Vec<&[u8]> = texts(&pickle).collect();
        let expected: [&[u8]; 5] = [b"key", &long, b"n", b"b", b"bytes"];
        assert_eq!(found, expected);
        // What is cut, or none, is a text as far as it is not known.
        assert_eq!(texts(b"K\x01\x8c\x09short").collect::<Vec<_>>(), [b"\x8c\x09short"]);
        assert_eq!(texts(b"").count(), 0);
        assert_eq!(texts(b"cos\nsystem\n.").collect::<Vec<_>>(), [b"os\nsystem\n"]);
    }
}
