//! Secrets in a text that comes in pieces.

use super::{End, Redactor};

/// The most that is held back. What is longer and has no end is no secret.
const MOST: usize = 32 * 1024;

/// Takes secrets out of a text that comes in pieces, also where one is split over two of them: what may
/// be the beginning of one is held back until it is known.
#[derive(Debug)]
pub(crate) struct Stream {
    redact: Redactor,
    held: Vec<u8>,
    /// The last byte that was let through.
    before: Option<u8>,
}

impl Stream {
    /// The beginning of a text.
    pub(crate) fn new(redact: Redactor) -> Self {
        Self { redact, held: Vec::new(), before: None }
    }

    /// Takes a piece; returns what can be let through.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let done = self.redact.mask_part(&mut self.held, self.before, End::Open);
        let done = done.max(self.held.len().saturating_sub(MOST));
        let rest = self.held.split_off(done);
        self.before = self.held.last().copied().or(self.before);
        std::mem::replace(&mut self.held, rest)
    }

    /// What is held back, as it is if the text ends here.
    pub(crate) fn held(&self) -> Vec<u8> {
        let mut held = self.held.clone();
        self.redact.mask_part(&mut held, self.before, End::Closed);
        held
    }
}
