//! Call ids: what this wire takes, and how foreign ones are fitted to it.

use std::borrow::Cow;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The id as this wire takes it (`[a-zA-Z0-9_-]+`). Foreign ids keep their readable part and get a
/// digest of the whole, so that a call and its result always agree and two ids never become one.
pub(super) fn on_wire(id: &str) -> Cow<'_, str> {
    if !id.is_empty() && id.chars().all(allowed) {
        return Cow::Borrowed(id);
    }
    let mut out: String = id.chars().map(|c| if allowed(c) { c } else { '_' }).take(40).collect();
    out.push('_');
    for byte in Sha256::digest(id.as_bytes()).iter().take(6) {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    Cow::Owned(out)
}

fn allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_ids_stay_and_others_become_valid_and_distinct() {
        for id in ["toolu_01Ab", "call-1_x", "0"] {
            assert_eq!(on_wire(id), id);
        }
        let foreign = ["call|fc", "call:fc", "call/fc", "", "é", "日本", &"x.".repeat(200)];
        let fitted: std::collections::BTreeSet<_> =
            foreign.iter().map(|id| on_wire(id).into_owned()).collect();
        assert_eq!(fitted.len(), foreign.len());
        for id in &fitted {
            assert!(!id.is_empty() && id.len() <= 64 && id.chars().all(allowed), "{id}");
        }
        assert_eq!(on_wire("call|fc"), on_wire("call|fc"));
    }
}
