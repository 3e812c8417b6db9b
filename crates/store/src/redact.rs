//! Secrets, taken out of what goes to disk.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use junto_llm::Secret;
use memchr::memmem::{self, Finder};

mod pem;
mod runs;
mod shapes;
mod stream;

pub(crate) use stream::Stream;

/// A known secret that is shorter could be any word, and is left alone.
const SHORTEST: usize = 8;
/// Of a known secret that is longer only so much is looked for.
const LONGEST: usize = 4096;
/// What stands in the place of a secret, as far as there is room.
const MASK: &[u8] = b"[redacted]";
/// Stand before and after a key in PEM.
static DASHES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"-----"));

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
    words: Vec<Needle>,
    /// All others.
    others: Vec<Needle>,
    /// The length of the longest.
    longest: usize,
}

/// A known secret, ready to be looked for.
struct Needle(Finder<'static>);

impl Needle {
    fn new(secret: &str) -> Self {
        Self(Finder::new(secret).into_owned())
    }

    fn bytes(&self) -> &[u8] {
        self.0.needle()
    }

    /// Where it is in a text from a place on.
    fn find(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        let at = from + self.0.find(text.get(from..)?)?;
        Some(at..at + self.bytes().len())
    }
}

impl fmt::Debug for Needle {
    /// Nothing of the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Needle(…)")
    }
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
                known.add(form.get(..end).unwrap_or_default());
                form = escaped(&form);
            }
        }
        Self { known: Some(Arc::new(known)) }
    }

    /// Leaves everything as it is.
    pub fn off() -> Self {
        Self { known: None }
    }

    /// Whether there is a secret in a text.
    pub(crate) fn finds(&self, text: &[u8]) -> bool {
        let mut masked = text.to_vec();
        self.mask(&mut masked);
        masked != text
    }

    /// Takes the secrets out of a text, be it plain or JSON.
    pub(crate) fn mask(&self, text: &mut [u8]) {
        self.mask_part(text, None, End::Closed);
    }

    /// Takes the secrets out of a part of a text. Returns up to where that is done whatever follows, if
    /// more may follow.
    fn mask_part(&self, text: &mut [u8], before: Option<u8>, end: End) -> usize {
        let Some(known) = &self.known else { return text.len() };
        for needle in &known.others {
            let mut from = 0;
            while let Some(found) = needle.find(text, from) {
                from = found.end;
                mask_bytes(text, found);
            }
        }
        let done = shapes::mask(text, &known.words, before, end);
        let pem = if DASHES.find(text).is_some() { pem::mask(text, before, end) } else { text.len() };
        text.len().saturating_sub(known.longest).min(done).min(pem)
    }
}

impl Known {
    fn add(&mut self, secret: &str) {
        self.longest = self.longest.max(secret.len());
        let is_word = secret.len() >= runs::RUN as usize && secret.bytes().all(runs::is_word);
        let known = if is_word { &mut self.words } else { &mut self.others };
        let is_new = known.iter().all(|needle| needle.bytes() != secret.as_bytes());
        if secret.len() >= SHORTEST && is_new {
            known.push(Needle::new(secret));
            // One may be the beginning of another.
            known.sort_by_key(|needle| Reverse(needle.bytes().len()));
        }
    }
}

impl Default for Redactor {
    /// Knows the shapes of keys, and no secrets.
    fn default() -> Self {
        Self::new([])
    }
}

/// The first occurrence of something from a place on.
fn find(text: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    memmem::find(text.get(from..)?, wanted).map(|at| from + at)
}

/// Puts a mask over a part of a text.
fn mask_bytes(text: &mut [u8], part: Range<usize>) {
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
