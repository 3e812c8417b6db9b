//! Agents that run below a process of ours and must not ask it.

use http::HeaderMap;

/// Headers that only such an agent sends, whatever they hold: the token of its run, and that it is a child.
const MARKS: [&str; 2] = ["x-junto-run", "x-junto-child"];
/// Headers that say how many agents are above the one that asks; ours and what others call it.
const DEPTHS: [&str; 2] = ["x-junto-depth", "x-frites-depth"];

/// What such an agent is told.
pub(super) const REFUSAL: &str = "a command-line agent that Junto has started does not ask Junto's own gateway; \
                                  does its endpoint, or a setting of its own, lead here?";

/// Whether these headers are those of a command-line agent that runs below a process of ours. Somebody has
/// pointed it here, by a setting of its own that its parent does not see; to answer would be to start its
/// parent's work again, without an end.
pub(super) fn is_marked(headers: &HeaderMap) -> bool {
    // In one pass: there are few headers, and to look for a name takes longer than to compare it.
    headers.iter().any(|(name, value)| {
        let is_one = |of: &[&str]| of.contains(&name.as_str());
        is_one(&MARKS) || (is_one(&DEPTHS) && value.as_bytes() != b"0")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    #[test]
    fn a_child_is_known_by_its_marks() {
        let check = |name: &'static str, value: &'static str, expected: bool| {
            let headers = [(HeaderName::from_static(name), HeaderValue::from_static(value))];
            assert_eq!(is_marked(&HeaderMap::from_iter(headers)), expected, "{name}: {value}");
        };
        check("x-junto-run", "t-1", true);
        check("x-junto-run", "", true);
        check("x-junto-child", "1", true);
        check("x-junto-depth", "1", true);
        check("x-junto-depth", "many", true);
        check("x-junto-depth", "0", false);
        check("x-frites-depth", "2", true);
        check("x-api-key", "t-1", false);
        assert!(!is_marked(&HeaderMap::new()));
    }
}
