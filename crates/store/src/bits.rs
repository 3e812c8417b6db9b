//! A bit for each of 64 bytes: what texts are looked through with.

use wide::u8x16;

/// How many bytes are looked at together.
pub(crate) const BLOCK: usize = 64;

/// A bit for each byte of a block, the first byte's lowest. `tell` gives all ones for the bytes that are meant,
/// else zero.
pub(crate) fn bits(block: &[u8; BLOCK], tell: impl Fn(u8x16) -> u8x16) -> u64 {
    let (parts, _) = block.as_chunks::<16>();
    let mut bits = 0;
    for (n, part) in parts.iter().enumerate() {
        bits |= u64::from(tell(u8x16::new(*part)).to_bitmask()) << (16 * n);
    }
    bits
}

/// Which bytes are this one.
pub(crate) fn is(bytes: u8x16, byte: u8) -> u8x16 {
    bytes.simd_eq(u8x16::splat(byte))
}

/// Which bytes are in this range, both ends included.
pub(crate) fn is_in(bytes: u8x16, first: u8, last: u8) -> u8x16 {
    let from_first = bytes - u8x16::splat(first);
    from_first.min(u8x16::splat(last.saturating_sub(first))).simd_eq(from_first)
}

/// The block at this place of a text, with zeros where that ends.
pub(crate) fn block(text: &[u8], at: usize) -> [u8; BLOCK] {
    let rest = text.get(at..).unwrap_or_default();
    if let Some(block) = rest.first_chunk() {
        return *block;
    }
    let mut block = [0; BLOCK];
    if let Some(part) = block.get_mut(..rest.len()) {
        part.copy_from_slice(rest);
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_bit() {
        for byte in 0..=u8::MAX {
            for at in 0..BLOCK {
                let mut block = [b'.'; BLOCK];
                block[at] = byte;
                let (digit, dot) = (byte.is_ascii_digit(), byte == b'.');
                assert_eq!(
                    bits(&block, |bytes| is_in(bytes, b'0', b'9')),
                    u64::from(digit) << at,
                    "{byte} {at}"
                );
                assert_eq!(bits(&block, |bytes| is(bytes, b'.')), !(u64::from(!dot) << at), "{byte} {at}");
            }
        }
    }

    #[test]
    fn a_text_ends_with_zeros() {
        let text: Vec<u8> = (1..=100).collect();
        assert_eq!(block(&text, 10)[..], text[10..74]);
        let end = block(&text, 90);
        assert_eq!((&end[..10], &end[10..]), (&text[90..], &[0; BLOCK - 10][..]));
        assert_eq!(block(&text, 200), [0; BLOCK]);
    }
}
