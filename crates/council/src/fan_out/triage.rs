//! The question whether a request is worth several minds, and its answer.

use junto_llm::{Message, Request};

use crate::view::cut;
use crate::{Decision, Why};

const INSTRUCTION: &str = include_str!("triage.md");
/// The most bytes of a request that are looked at.
const SHOWN: usize = 8 * 1024;

/// Asks about what a user wrote.
pub(crate) fn question(text: &str) -> Request {
    Request::of([Message::system(INSTRUCTION), Message::user(cut(text, SHOWN))])
}

/// What a reply says. One that says neither means that one is enough.
pub(crate) fn verdict(reply: &str) -> Decision {
    let word =
        reply.trim_start_matches(|c: char| c.is_whitespace() || "\"'`*".contains(c)).to_ascii_lowercase();
    if ["fan-out", "fan out", "fanout"].iter().any(|yes| word.starts_with(yes)) {
        Decision::FanOut(Why::Triage)
    } else if word.starts_with("single") {
        Decision::Single(Why::Triage)
    } else {
        Decision::Single(Why::TriageFailed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_word_counts() {
        let check = |reply: &str, expected| assert_eq!(verdict(reply), expected, "{reply}");
        check("fan-out", Decision::FanOut(Why::Triage));
        check(" **Fan-out**.", Decision::FanOut(Why::Triage));
        check("`fan out`", Decision::FanOut(Why::Triage));
        check("single", Decision::Single(Why::Triage));
        check("\"Single\"", Decision::Single(Why::Triage));
        check("I would say fan-out", Decision::Single(Why::TriageFailed));
        check("", Decision::Single(Why::TriageFailed));
        check("yes", Decision::Single(Why::TriageFailed));
    }
}
