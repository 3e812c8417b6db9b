//! Private keys in PEM: a line that says so, base64, and a line that says so.

use super::{End, find, mask_bytes};

/// What tells such a key.
pub(super) const MARK: &str = "PRIVATE KEY-----";
const END: &[u8] = b"-----END ";
/// How long the mark's line is before it, at most: `-----BEGIN ENCRYPTED `.
const BEGIN: usize = 24;
/// The longest key.
const LONGEST: usize = 16 * 1024;
/// What is shorter is none: a text only speaks of keys.
const SHORTEST: usize = 32;

/// Masks what is between the two lines. Returns the place of the first key that has no end yet, if more
/// may follow; else the length of the text.
pub(super) fn mask(text: &mut [u8], before: Option<u8>, end: End) -> usize {
    let mut from = 0;
    while let Some(mark) = find(text, MARK.as_bytes(), from) {
        let start = mark + MARK.len();
        from = start;
        let begin = mark.saturating_sub(BEGIN);
        // So near to what was let through it was looked at before: else it would have been held back.
        let is_old = before.is_some() && mark < BEGIN;
        if is_old || find(text.get(..mark).unwrap_or_default(), END, begin).is_some() {
            continue;
        }
        let body = text.get(start..).unwrap_or_default();
        let length = body.iter().take(LONGEST).take_while(|byte| is_pem(**byte)).count();
        let within = body.get(..length).unwrap_or_default();
        let length = match find(within, END, 0) {
            Some(found) => found,
            None if end == End::Open && length == body.len() && length < LONGEST => return begin,
            None => without_dashes(within),
        };
        if length >= SHORTEST {
            mask_bytes(text, start..start + length);
            from = start + length;
        }
    }
    text.len()
}

/// What such a key is made of, also where it stands in JSON with its line ends as `\n`, or something in
/// it was masked.
fn is_pem(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=:,-\\ \t\r\n[*]".contains(&byte)
}

/// A key that was cut off may end within its last line.
fn without_dashes(body: &[u8]) -> usize {
    body.iter().rposition(|byte| *byte != b'-' && *byte != b'\\').map_or(0, |last| last + 1)
}
