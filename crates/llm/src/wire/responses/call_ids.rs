//! Call ids that this wire takes, whichever wire they came from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::{Content, Message, Origin, ToolCallKind};

/// The longest id the wire takes.
const MAX: usize = 64;

/// How much of an odd id stays readable; the rest is its hash.
const READABLE: usize = 40;

/// What the results of a conversation must know of the calls they answer.
pub(super) struct CallIds<'a>(HashMap<&'a str, Call>);

struct Call {
    /// Whether the call goes back verbatim, so that its id must stay as it is.
    verbatim: bool,
    kind: ToolCallKind,
}

impl<'a> CallIds<'a> {
    pub(super) fn of(messages: &'a [Message], target: &Origin) -> Self {
        let mut calls = HashMap::new();
        for part in messages.iter().flat_map(|m| &m.content) {
            if let Content::ToolCall(call) = part.content() {
                let verbatim = part.raw_for(target).is_some();
                calls.entry(call.id.as_str()).or_insert(Call { verbatim, kind: call.kind });
            }
        }
        Self(calls)
    }

    /// The id on the wire: the same for a call and its result.
    pub(super) fn on_wire<'b>(&self, id: &'b str) -> Cow<'b, str> {
        if self.0.get(id).is_some_and(|call| call.verbatim) { Cow::Borrowed(id) } else { fit(id) }
    }

    /// The kind of the call with this id; a result without a call answers a function.
    pub(super) fn kind(&self, id: &str) -> ToolCallKind {
        self.0.get(id).map(|call| call.kind).unwrap_or_default()
    }
}

/// An id as the wire takes it. It depends on the id alone, so that it stays the same from turn to
/// turn whatever is said later.
pub(super) fn fit(id: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= MAX && id.chars().all(plain) {
        return Cow::Borrowed(id);
    }
    let mut fitted: String = id.chars().map(|c| if plain(c) { c } else { '_' }).take(READABLE).collect();
    fitted.push('_');
    for byte in Sha256::digest(id.as_bytes()).iter().take(8) {
        // Writing to a string cannot fail.
        let _ = write!(fitted, "{byte:02x}");
    }
    Cow::Owned(fitted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_ids_are_fitted_and_stay_apart() {
        for id in ["call_1", "toolu-9", &"x".repeat(64)] {
            assert_eq!(fit(id), id);
        }
        let long = "x".repeat(65);
        let odd = ["", "a.b", "a:b", "a b", "ü", &long];
        let mut seen: Vec<String> = odd.iter().map(|id| fit(id).into_owned()).collect();
        for id in &seen {
            assert!(id.len() <= MAX && fit(id) == id.as_str(), "{id}");
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), odd.len());
    }
}
