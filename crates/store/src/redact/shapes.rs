//! Keys that are told by how they look: a vendor's prefix, or the name of a header before them.
//!
//! Every one of them is, or has in it, a long run of letters, digits, `-` and `_`; only those are looked at.

use std::ops::Range;

use super::runs::{Runs, is_word};
use super::{End, Needle, mask_bytes};

/// How much of a text before a run is looked at.
pub(super) const CONTEXT: usize = 96;
/// A run that is longer is no key.
const LONGEST: usize = 4096;

/// How long a key is, with its prefix, and of what it is made after that.
struct Shape {
    prefix: &'static [u8],
    length: Range<usize>,
    rest: Rest,
}

enum Rest {
    /// Letters, digits, `-` and `_`.
    Any,
    /// Letters and digits.
    Alphanumeric,
    /// Capitals and digits.
    Capitals,
    /// Words, and then at least sixteen letters and digits in a row, with a digit among them.
    Random,
}

const fn shape(prefix: &'static str, length: Range<usize>, rest: Rest) -> Shape {
    Shape { prefix: prefix.as_bytes(), length, rest }
}

const SHAPES: &[Shape] = &[
    // OpenAI, Anthropic, OpenRouter and those who do as they do.
    shape("sk-", 20..LONGEST, Rest::Random),
    // Google.
    shape("AIza", 39..40, Rest::Any),
    // GitHub.
    shape("ghp_", 40..256, Rest::Alphanumeric),
    shape("gho_", 40..256, Rest::Alphanumeric),
    shape("ghu_", 40..256, Rest::Alphanumeric),
    shape("ghs_", 40..256, Rest::Alphanumeric),
    shape("ghr_", 40..256, Rest::Alphanumeric),
    shape("github_pat_", 40..256, Rest::Random),
    // GitLab.
    shape("glpat-", 26..256, Rest::Any),
    // AWS.
    shape("AKIA", 20..21, Rest::Capitals),
    shape("ASIA", 20..21, Rest::Capitals),
    // Stripe.
    shape("sk_live_", 24..256, Rest::Random),
    shape("sk_test_", 24..256, Rest::Random),
    shape("rk_live_", 24..256, Rest::Random),
    // Slack.
    shape("xoxb-", 24..256, Rest::Random),
    shape("xoxp-", 24..256, Rest::Random),
    // Hugging Face, npm, Groq, xAI.
    shape("hf_", 37..64, Rest::Alphanumeric),
    shape("npm_", 40..41, Rest::Alphanumeric),
    shape("gsk_", 40..128, Rest::Alphanumeric),
    shape("xai-", 40..128, Rest::Random),
];

/// Names after which a key stands, whatever it looks like, if it has a digit in it. They end in `r` or `y`.
const NAMES: &[&[u8]] = &[b"bearer", b"secret_access_key", b"secretaccesskey"];
/// How much may stand between such a name and the key.
const MOST_BETWEEN: usize = 8;

/// Masks the keys in a text, and the known secrets that are within long words. If more may follow, a key
/// at the end is left for later. Returns up to where the text need not be looked at again then.
pub(super) fn mask(text: &mut [u8], known: &[Needle], before: Option<u8>, end: End) -> usize {
    let tail = if end == End::Open { tail_start(text) } else { text.len() };
    // What comes before may be the beginning of the first run.
    let first = usize::from(before.is_some_and(is_word));
    let mut keys: Vec<Range<usize>> = Vec::new();
    let mut last_end = 0;
    for run in Runs::new(text) {
        if run.end > tail {
            continue;
        }
        let last_key = keys.last().map_or(first, |key| key.end);
        let key = if run.start < last_key { None } else { key_in(text, &run, last_end, last_key) };
        match key {
            Some(key) => keys.push(key),
            None => keys.extend(known_in(text, &run, known)),
        }
        last_end = run.end;
    }
    for key in keys {
        mask_bytes(text, key);
    }
    tail.saturating_sub(CONTEXT)
}

/// Where that begins at the end of a text which may be the beginning of a key.
fn tail_start(text: &[u8]) -> usize {
    let start = text.iter().rposition(|byte| !is_wide(*byte)).map_or(0, |at| at + 1);
    if text.len() - start < LONGEST { start } else { text.len() }
}

/// The known secrets in a run.
fn known_in(text: &[u8], run: &Range<usize>, known: &[Needle]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let word = text.get(run.clone()).unwrap_or_default();
    for needle in known.iter().filter(|needle| needle.bytes().len() <= word.len()) {
        let mut from = 0;
        while let Some(part) = needle.find(word, from) {
            from = part.end;
            found.push(run.start + part.start..run.start + part.end);
        }
    }
    found
}

/// The key that a run is, or is part of.
fn key_in(text: &[u8], run: &Range<usize>, last_end: usize, last_key: usize) -> Option<Range<usize>> {
    let word = text.get(run.clone())?;
    // In JSON what is before it may be an escape, whose letter looks like a part of it.
    let escape = match (run.start.checked_sub(1).and_then(|at| text.get(at)), word.first()) {
        (Some(b'\\'), Some(b'u')) => 5,
        (Some(b'\\'), _) => 1,
        _ => 0,
    };
    if fits_any(word) {
        return Some(run.clone());
    }
    if escape > 0 && word.get(escape..).is_some_and(fits_any) {
        return Some(run.start + escape..run.end);
    }
    named_key(text, run, last_end, last_key)
}

/// Whether a word is a key. The first byte tells nearly always that it is none.
fn fits_any(word: &[u8]) -> bool {
    word.first().is_some_and(|first| FIRST[usize::from(*first)])
        && SHAPES.iter().any(|shape| shape.fits(word))
}

/// What the shapes begin with.
const FIRST: [bool; 256] = {
    let mut table = [false; 256];
    let mut n = 0;
    while n < SHAPES.len() {
        table[SHAPES[n].prefix[0] as usize] = true;
        n += 1;
    }
    table
};

/// The key that stands after a name which tells it, and which is no part of another key.
fn named_key(text: &[u8], run: &Range<usize>, last_end: usize, last_key: usize) -> Option<Range<usize>> {
    let earliest = run.start.saturating_sub(CONTEXT).max(last_end);
    let before = text.get(earliest..run.start)?;
    // Without such a byte it goes on from the run before, which was looked at, or has no name before it.
    let start = earliest + before.iter().rposition(|byte| !is_wide(*byte) || *byte == b'=')? + 1;
    let before = text.get(start.saturating_sub(CONTEXT).max(last_key)..start)?;
    let between = before.iter().rev().take_while(|byte| is_between(**byte)).count();
    let name = before.get(..before.len() - between)?;
    if !matches!(name.last(), Some(b'r' | b'R' | b'y' | b'Y')) {
        return None;
    }
    let is_name = |known: &&[u8]| {
        let end = name.len().checked_sub(known.len()).and_then(|at| name.get(at..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(known))
    };
    if !(1..=MOST_BETWEEN).contains(&between) || !NAMES.iter().any(is_name) {
        return None;
    }
    let key = start..wide_end(text, run.end);
    text.get(key.clone())?.iter().any(u8::is_ascii_digit).then_some(key)
}

impl Shape {
    fn fits(&self, word: &[u8]) -> bool {
        let Some(rest) = word.strip_prefix(self.prefix) else { return false };
        self.length.contains(&word.len())
            && match self.rest {
                Rest::Any => true,
                Rest::Alphanumeric => rest.iter().all(u8::is_ascii_alphanumeric),
                Rest::Capitals => rest.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()),
                Rest::Random => rest
                    .split(|byte| !byte.is_ascii_alphanumeric())
                    .any(|part| part.len() >= 16 && part.iter().any(u8::is_ascii_digit)),
            }
    }
}

/// What a key after a name may be made of.
fn is_wide(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

/// What may stand between a name and its key.
fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\' | b':' | b'=')
}

fn wide_end(text: &[u8], from: usize) -> usize {
    from + text.get(from..).unwrap_or_default().iter().take_while(|byte| is_wide(**byte)).count()
}
