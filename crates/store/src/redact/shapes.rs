//! Keys that are told by how they look: a vendor's prefix, or the name of a header before them.
//!
//! Every one of them is, or has in it, a run of at least [`RUN`] letters, digits, `-` and `_`. So a text
//! is looked at only every so many bytes, and in prose and code hardly anything else is read of it.

use std::ops::Range;

use super::{End, mask_bytes};

/// The shortest run that is looked at.
const RUN: usize = 16;
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

/// Names after which a key stands, whatever it looks like, if it has a digit in it.
const NAMES: &[&[u8]] = &[b"bearer", b"secret_access_key", b"secretaccesskey"];
/// What may stand between such a name and the key, and how much of it.
const BETWEEN: &[u8] = b" \t\"'\\:=";
const MOST_BETWEEN: usize = 8;

/// Masks the keys in a text. If more may follow, a key at the end is left for later; returns where that
/// begins that has to be looked at again.
pub(super) fn mask(text: &mut [u8], before: Option<u8>, end: End) -> usize {
    let tail = if end == End::Open { tail_start(text) } else { text.len() };
    // What comes before may be the beginning of the first run.
    let mut from = if before.is_some_and(is_word) { words_end(text, 0) } else { 0 };
    let mut last_end = 0;
    while let Some(run) = next_run(text, from)
        && run.end <= tail
    {
        from = run.end;
        if let Some(key) = key_in(text, &run, last_end) {
            from = from.max(key.end);
            mask_bytes(text, key);
        }
        last_end = run.end;
    }
    tail.saturating_sub(CONTEXT)
}

/// Where that begins at the end of a text which may be the beginning of a key.
fn tail_start(text: &[u8]) -> usize {
    let start = text.iter().rposition(|byte| !is_wide(*byte)).map_or(0, |at| at + 1);
    if text.len() - start < LONGEST { start } else { text.len() }
}

/// The next run from a place on, which is the beginning of the text or the end of a run.
fn next_run(text: &[u8], from: usize) -> Option<Range<usize>> {
    let mut start = from;
    loop {
        let window = text.get(start..start + RUN)?;
        match window.iter().rposition(|byte| !is_word(*byte)) {
            Some(break_at) => start += break_at + 1,
            None => return Some(start..words_end(text, start + RUN)),
        }
    }
}

/// The key that a run is, or is part of.
fn key_in(text: &[u8], run: &Range<usize>, last_end: usize) -> Option<Range<usize>> {
    let word = text.get(run.clone())?;
    // In JSON what is before it may be an escape, whose letter looks like a part of it.
    let escape = match (run.start.checked_sub(1).and_then(|at| text.get(at)), word.first()) {
        (Some(b'\\'), Some(b'u')) => 5,
        (Some(b'\\'), _) => 1,
        _ => 0,
    };
    for skipped in [0, escape] {
        if SHAPES.iter().any(|shape| word.get(skipped..).is_some_and(|word| shape.fits(word))) {
            return Some(run.start + skipped..run.end);
        }
    }
    named_key(text, run, last_end)
}

/// The key that stands after a name which tells it.
fn named_key(text: &[u8], run: &Range<usize>, last_end: usize) -> Option<Range<usize>> {
    let earliest = run.start.saturating_sub(CONTEXT).max(last_end);
    let before = text.get(earliest..run.start)?;
    // Without such a byte it goes on from the run before, which was looked at, or has no name before it.
    let start = earliest + before.iter().rposition(|byte| !is_wide(*byte) || *byte == b'=')? + 1;
    let before = text.get(start.saturating_sub(CONTEXT)..start)?;
    let between = before.iter().rev().take_while(|byte| BETWEEN.contains(byte)).count();
    let name = before.get(..before.len() - between)?;
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

const fn table(wide: bool) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256; no other way in a constant")]
        let char = byte as u8;
        table[byte] = char.is_ascii_alphanumeric()
            || matches!(char, b'-' | b'_')
            || wide && matches!(char, b'.' | b'~' | b'+' | b'/' | b'=');
        byte += 1;
    }
    table
}

const WORD: [bool; 256] = table(false);
const WIDE: [bool; 256] = table(true);

/// What a run is made of.
fn is_word(byte: u8) -> bool {
    WORD[usize::from(byte)]
}

/// What a key after a name may be made of.
fn is_wide(byte: u8) -> bool {
    WIDE[usize::from(byte)]
}

fn words_end(text: &[u8], from: usize) -> usize {
    from + text.get(from..).unwrap_or_default().iter().take_while(|byte| is_word(**byte)).count()
}

fn wide_end(text: &[u8], from: usize) -> usize {
    from + text.get(from..).unwrap_or_default().iter().take_while(|byte| is_wide(**byte)).count()
}
