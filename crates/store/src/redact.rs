//! Secrets, taken out of what goes to disk.

use std::cmp::Reverse;
use std::sync::Arc;

use junto_llm::Secret;

mod pem;
mod runs;
mod shapes;
mod stream;

pub(crate) use stream::Stream;

/// A known secret that is shorter could be any word, and is left alone.
const SHORTEST: usize = 8;
/// Of a known secret that is longer only so much is looked for.
const LONGEST: usize = 4096;
/// The standard library finds what is at most so long with vector instructions.
const PROBE: usize = 32;
/// What stands in the place of a secret, as far as there is room.
const MASK: &[u8] = b"[redacted]";

/// Takes secrets out of texts on the way to disk: those the host knows, and whatever has the shape of a
/// well-known kind of key. A secret is replaced by a mask of the same length, so that places and sizes
/// stay what they were.
///
/// The shapes are narrow, since a false alarm changes what a session that is brought back says to its
/// model: a key begins where a word begins, has its vendor's prefix and the length of a key. A signature
/// or a picture in base64 is not touched.
#[derive(Clone, Debug)]
pub struct Redactor {
    /// None: everything is left as it is.
    known: Option<Arc<Known>>,
}

/// The secrets that are known.
#[derive(Debug, Default)]
struct Known {
    /// Those that can only be within a long word, which most keys are. They are looked for in those alone.
    words: Vec<Secret>,
    /// All others.
    others: Vec<Secret>,
    /// The length of the longest.
    longest: usize,
}

/// Whether more may follow on a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Closed,
}

impl Redactor {
    /// Knows the shapes of keys, and these secrets. Those of fewer than eight bytes are left alone: the
    /// key of a local server may be any word.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let mut known = Known::default();
        for secret in secrets {
            // As it stands in a text, in JSON, and in JSON that stands in JSON as a text.
            let mut form = secret.expose().to_owned();
            for _ in 0..3 {
                let end = form.floor_char_boundary(LONGEST);
                known.add(Secret::new(form.get(..end).unwrap_or_default()));
                form = escaped(&form);
            }
        }
        Self { known: Some(Arc::new(known)) }
    }

    /// Leaves everything as it is.
    pub fn off() -> Self {
        Self { known: None }
    }

    /// Takes the secrets out of a text, be it plain or JSON.
    pub(crate) fn mask(&self, text: &mut [u8]) {
        self.mask_part(text, None, End::Closed);
    }

    /// Takes the secrets out of a part of a text. Returns up to where that is done whatever follows, if
    /// more may follow.
    fn mask_part(&self, text: &mut [u8], before: Option<u8>, end: End) -> usize {
        let Some(known) = &self.known else { return text.len() };
        for secret in hits(text, &known.others) {
            mask_all(text, secret.expose().as_bytes());
        }
        let seen = shapes::mask(text, &known.words, before, end);
        let pem = if seen.has_dashes { pem::mask(text, before, end) } else { text.len() };
        text.len().saturating_sub(known.longest).min(seen.done).min(pem)
    }
}

impl Known {
    fn add(&mut self, secret: Secret) {
        let text = secret.expose();
        self.longest = self.longest.max(text.len());
        let is_word = text.len() >= runs::RUN as usize && text.bytes().all(runs::is_word);
        let known = if is_word { &mut self.words } else { &mut self.others };
        if text.len() >= SHORTEST && !known.contains(&secret) {
            known.push(secret);
            // One may be the beginning of another.
            known.sort_by_key(|secret| Reverse(secret.expose().len()));
        }
    }
}

impl Default for Redactor {
    /// Knows the shapes of keys, and no secrets.
    fn default() -> Self {
        Self::new([])
    }
}

/// Which of the secrets may be in a text. Nearly always none, so this is what has to be quick.
fn hits<'a>(text: &[u8], known: &'a [Secret]) -> Vec<&'a Secret> {
    let mut hits = Vec::new();
    let mut rest = if known.is_empty() { None } else { Some(text) };
    while let Some(text) = rest {
        let part;
        (part, rest) = match std::str::from_utf8(text) {
            Ok(part) => (part, None),
            Err(error) => {
                let valid = text.get(..error.valid_up_to()).unwrap_or_default();
                let skipped = error.valid_up_to() + error.error_len().unwrap_or(text.len());
                (std::str::from_utf8(valid).unwrap_or_default(), text.get(skipped..))
            }
        };
        hits.extend(known.iter().filter(|secret| {
            let secret = secret.expose();
            part.contains(secret.get(..secret.floor_char_boundary(PROBE)).unwrap_or(secret))
        }));
    }
    hits
}

/// Masks every occurrence of a secret.
fn mask_all(text: &mut [u8], secret: &[u8]) {
    let mut from = 0;
    while let Some(at) = find(text, secret, from) {
        from = at + secret.len();
        mask_bytes(text, at..from);
    }
}

/// The first occurrence of something from a place on.
fn find(text: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    rest.windows(wanted.len()).position(|window| window == wanted).map(|at| from + at)
}

/// Puts a mask over a part of a text.
fn mask_bytes(text: &mut [u8], part: std::ops::Range<usize>) {
    let Some(part) = text.get_mut(part) else { return };
    part.fill(b'*');
    if let Some(place) = part.get_mut(..MASK.len()) {
        place.copy_from_slice(MASK);
    }
}

/// A text as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests;
