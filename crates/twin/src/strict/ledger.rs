//! What a checker has handed out and will recognise.

use super::recent::Recent;
use crate::sign::digest;

/// How many things of each kind are remembered at least.
const CAPACITY: usize = 4096;

/// An item of a Responses answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// `function_call`, `message`, …
    pub kind: &'static str,
    /// The call it is, where it is one.
    pub call_id: Option<String>,
    /// The reasoning item it followed.
    pub reasoning: Option<String>,
    /// Whether the answer was stored, so that its items can be named by id alone.
    pub stored: bool,
}

/// The memory of what was issued. Bounded.
#[derive(Debug)]
pub(super) struct Ledger {
    /// Anthropic: calls in answers that began with thinking, and the model that made them.
    thought_calls: Recent<String, String>,
    /// Anthropic: redacted thinking, by its hash.
    redacted: Recent<[u8; 32], ()>,
    /// Responses: items by id.
    items: Recent<String, Item>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            thought_calls: Recent::new(CAPACITY),
            redacted: Recent::new(CAPACITY),
            items: Recent::new(CAPACITY),
        }
    }
}

impl Ledger {
    pub(super) fn thought_before(&mut self, call_id: &str, model: &str) {
        self.thought_calls.insert(call_id.to_owned(), model.to_owned());
    }

    /// Whether this model made this call after thinking.
    pub(super) fn was_thought(&mut self, call_id: &str, model: &str) -> bool {
        self.thought_calls.get(call_id).as_deref() == Some(model)
    }

    pub(super) fn redacted(&mut self, model: &str, data: &str) {
        self.redacted.insert(digest(&[model.as_bytes(), data.as_bytes()]), ());
    }

    /// Whether this redacted thinking was issued for this model.
    pub(super) fn was_redacted(&mut self, model: &str, data: &str) -> bool {
        self.redacted.get(&digest(&[model.as_bytes(), data.as_bytes()])).is_some()
    }

    pub(super) fn item(&mut self, id: &str, item: Item) {
        self.items.insert(id.to_owned(), item);
    }

    /// The issued item with this id.
    pub(super) fn issued(&mut self, id: &str) -> Option<Item> {
        self.items.get(id)
    }
}
