//! Texts, as they stand between the quotes of JSON.

use wide::u8x16;

use crate::bits::{BLOCK, bits, block, is, is_in};

/// A text that is shorter is looked at byte by byte.
const SHORT: usize = 16;
/// A text that is longer is written piece by piece.
const LONG: usize = 8 * PIECE;
const PIECE: usize = 1024;
/// Room for a piece in which every other byte is escaped.
const PLACE: usize = 2 * PIECE;
/// What is copied without asking how much of it is needed.
const STEP: usize = 32;

/// Adds a text, or a part of one that begins and ends with whole characters.
pub(super) fn escape(text: &[u8], to: &mut Vec<u8>) {
    if text.len() < SHORT {
        return text.iter().for_each(|byte| push(*byte, to));
    }
    to.reserve(text.len() + text.len() / 8);
    if text.len() < LONG {
        return escape_piece(text, to);
    }
    // What is written into a place of a known size needs no asking, byte for byte, whether there is room.
    let mut place = [0; PLACE];
    for piece in text.chunks(PIECE) {
        match escape_into(piece, &mut place) {
            Some(escaped) => to.extend_from_slice(escaped),
            None => escape_piece(piece, to),
        }
    }
}

fn escape_piece(text: &[u8], to: &mut Vec<u8>) {
    let (blocks, end) = text.as_chunks::<BLOCK>();
    let mut rest = text;
    for (n, block) in blocks.iter().enumerate() {
        rest = escape_some(text, rest, n * BLOCK, specials(block), to);
    }
    let specials = specials(&block(end, 0)) & !(u64::MAX << end.len());
    rest = escape_some(text, rest, text.len() - end.len(), specials, to);
    to.extend_from_slice(rest);
}

/// The piece as it stands in JSON, written into a place; none if there is not enough room, or it is not of whole
/// blocks.
fn escape_into<'a>(piece: &[u8], place: &'a mut [u8; PLACE]) -> Option<&'a [u8]> {
    let (blocks, []) = piece.as_chunks::<BLOCK>() else { return None };
    // From where the piece was not written yet, and how much is written.
    let (mut from, mut len) = (0, 0);
    for (n, block) in blocks.iter().enumerate() {
        let mut specials = specials(block);
        while specials != 0 {
            let at = n * BLOCK + specials.trailing_zeros() as usize;
            specials &= specials - 1;
            let count = at - from;
            match piece.get(from..).and_then(<[u8]>::first_chunk::<STEP>) {
                Some(step) if count <= STEP => place.get_mut(len..)?.first_chunk_mut()?.clone_from(step),
                _ => place.get_mut(len..len + count)?.copy_from_slice(piece.get(from..at)?),
            }
            len += count;
            let byte = *piece.get(at)?;
            let letter = LETTERS[usize::from(byte)];
            place.get_mut(len..)?.first_chunk_mut()?.clone_from(&[b'\\', letter]);
            len += 2;
            if letter == b'u' {
                place.get_mut(len..)?.first_chunk_mut()?.clone_from(&number(byte));
                len += 4;
            }
            from = at + 1;
        }
    }
    let rest = piece.get(from..)?;
    place.get_mut(len..len + rest.len())?.copy_from_slice(rest);
    place.get(..len + rest.len())
}

/// The bytes of a block that cannot stand in JSON as they are.
fn specials(block: &[u8; BLOCK]) -> u64 {
    let are_special = |bytes: u8x16| is_in(bytes, 0, 0x1f) | is(bytes, b'"') | is(bytes, b'\\');
    bits(block, are_special)
}

/// Adds what was not added of a text up to the last of the special bytes in the block at this place; returns what
/// is left then.
#[inline]
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
    to.extend_from_slice(b"\\u");
    to.extend_from_slice(&number(byte));
}

/// What stands after `\u`.
fn number(byte: u8) -> [u8; 4] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |n: u8| DIGITS[usize::from(n & 15)];
    [b'0', b'0', digit(byte >> 4), digit(byte)]
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
