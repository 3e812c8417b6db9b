//! Texts, as they stand between the quotes of JSON.

use wide::u8x16;

use crate::bits::{BLOCK, bits, block, is, is_in};

/// A text that is shorter is looked at byte by byte.
const SHORT: usize = 16;
/// What is copied without asking how much of it is needed.
const STEP: usize = 32;

/// Adds a text, or a part of one that begins and ends with whole characters.
pub(super) fn escape(text: &[u8], to: &mut Vec<u8>) {
    if text.len() < SHORT {
        return text.iter().for_each(|byte| push(*byte, to));
    }
    to.reserve(text.len() + text.len() / 8);
    let (blocks, end) = text.as_chunks::<BLOCK>();
    let mut rest = text;
    for (n, block) in blocks.iter().enumerate() {
        rest = escape_some(text, rest, n * BLOCK, specials(block), to);
    }
    let specials = specials(&block(end, 0)) & !(u64::MAX << end.len());
    rest = escape_some(text, rest, text.len() - end.len(), specials, to);
    to.extend_from_slice(rest);
}

/// The bytes of a block that cannot stand in JSON as they are.
fn specials(block: &[u8; BLOCK]) -> u64 {
    let are_special = |bytes: u8x16| is_in(bytes, 0, 0x1f) | is(bytes, b'"') | is(bytes, b'\\');
    bits(block, are_special)
}

/// Adds what was not added of a text up to the last of the special bytes in the block at this place; returns what
/// is left then.
fn escape_some<'a>(
    text: &'a [u8],
    mut rest: &'a [u8],
    place: usize,
    mut specials: u64,
    to: &mut Vec<u8>,
) -> &'a [u8] {
    while specials != 0 {
        let at = place + specials.trailing_zeros() as usize;
        specials &= specials - 1;
        let Some((special, after)) = text.get(at..).and_then(<[u8]>::split_first) else { break };
        copy(rest, rest.len() - after.len() - 1, to);
        push(*special, to);
        rest = after;
    }
    rest
}

/// Adds the first bytes of a text. Nearly always there are few, and a copy of a fixed size is quicker than one
/// of the right size.
fn copy(text: &[u8], count: usize, to: &mut Vec<u8>) {
    match text.first_chunk::<STEP>() {
        Some(step) if count <= STEP => {
            let end = to.len() + count;
            to.extend_from_slice(step);
            to.truncate(end);
        }
        _ => to.extend_from_slice(text.get(..count).unwrap_or_default()),
    }
}

/// Adds a byte as it stands in JSON.
#[inline]
fn push(byte: u8, to: &mut Vec<u8>) {
    match LETTERS[usize::from(byte)] {
        0 => to.push(byte),
        b'u' => push_number(byte, to),
        letter => to.extend_from_slice(&[b'\\', letter]),
    }
}

#[cold]
fn push_number(byte: u8, to: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |n: u8| DIGITS[usize::from(n & 15)];
    to.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
}

/// What stands after the backslash in the place of a byte; 0 if it stands for itself, `u` if its number does.
const LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        letters[byte] = b'u';
        byte += 1;
    }
    letters[0x08] = b'b';
    letters[b'\t' as usize] = b't';
    letters[b'\n' as usize] = b'n';
    letters[0x0c] = b'f';
    letters[b'\r' as usize] = b'r';
    letters[b'"' as usize] = b'"';
    letters[b'\\' as usize] = b'\\';
    letters
};
