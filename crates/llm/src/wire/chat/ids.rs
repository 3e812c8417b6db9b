//! Ids of tool calls.

use std::collections::{HashMap, VecDeque};

use sha2::{Digest as _, Sha256};

/// The longest id OpenAI takes.
const MAX: usize = 40;

/// Gives each call of a conversation an id that this wire takes and that no other call has, and
/// finds it again for the call's result.
///
/// Ids that fit stay as they are. Others are replaced by a digest, which depends only on the id and
/// on how often it came before, so that the next request of the session says the same.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    calls: HashMap<String, Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    count: usize,
    unanswered: VecDeque<String>,
    last: String,
}

impl CallIds {
    /// The id of the next call that calls itself `id`.
    pub(super) fn call(&mut self, id: &str) -> String {
        let calls = self.calls.entry(id.to_owned()).or_default();
        let on_wire = fit(id, calls.count);
        calls.count += 1;
        calls.unanswered.push_back(on_wire.clone());
        on_wire
    }

    /// The id of the call that the next result for `id` answers: the first such call without one.
    pub(super) fn result(&mut self, id: &str) -> String {
        let Some(calls) = self.calls.get_mut(id) else { return fit(id, 0) };
        if let Some(on_wire) = calls.unanswered.pop_front() {
            calls.last = on_wire;
        }
        calls.last.clone()
    }
}

fn fit(id: &str, before: usize) -> String {
    let fits = before == 0
        && !id.is_empty()
        && id.len() <= MAX
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if fits { id.to_owned() } else { digest(&[id, &before.to_string()]) }
}

/// An id for a call to which the server gave none, or one it had used before: made from what tells
/// the answer from others and from the call's place in it.
pub(super) fn synthesize(answer: &str, created: u64, place: usize, name: &str) -> String {
    digest(&[answer, &created.to_string(), &place.to_string(), name])
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let mut id = String::from("call_");
    for byte in hash.finalize().iter().take(12) {
        id.push(char::from(b"0123456789abcdef"[usize::from(byte >> 4)]));
        id.push(char::from(b"0123456789abcdef"[usize::from(byte & 15)]));
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_fit_stay_and_others_become_digests_that_stay_the_same() {
        let mut ids = CallIds::default();
        assert_eq!(ids.call("toolu_01-x"), "toolu_01-x");
        for odd in ["", "a b", "fc:1", "é", &"x".repeat(41)] {
            let on_wire = ids.call(odd);
            assert!(on_wire.starts_with("call_") && on_wire.len() <= MAX, "{odd:?} -> {on_wire}");
            assert_eq!(on_wire, CallIds::default().call(odd));
            assert_eq!(ids.result(odd), on_wire);
        }
    }

    #[test]
    fn a_repeated_id_becomes_several_and_results_find_theirs_in_order() {
        let mut ids = CallIds::default();
        let (a, b) = (ids.call("call_0"), ids.call("call_0"));
        assert_ne!(a, b);
        assert_eq!((ids.result("call_0"), ids.result("call_0")), (a, b.clone()));
        assert_eq!(ids.result("call_0"), b, "a result too many goes to the last call");
        let c = ids.call("call_0");
        assert_eq!(ids.result("call_0"), c);
        assert_eq!(ids.result("never-called"), "never-called");
    }
}
