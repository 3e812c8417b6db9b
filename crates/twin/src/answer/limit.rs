//! Keeps an answer within the request's limit of tokens.

use super::{Draft, call_tokens};
use crate::tokens;

/// Cuts the answer to this many tokens, and says whether anything was cut. Reasoning counts, seen or
/// not; a call that does not fit is left out with all that follow.
pub(super) fn apply(draft: &mut Draft, max: u64) -> bool {
    let mut left = max;
    let mut is_cut = false;
    if let Some(reasoning) = &mut draft.reasoning {
        if reasoning.tokens > left {
            reasoning.tokens = left;
            if let Some(shown) = reasoning.shown.as_mut().filter(|shown| !shown.is_empty()) {
                cut(shown, left);
            }
            is_cut = true;
        }
        left -= reasoning.tokens;
    }
    let text = tokens::count(&draft.text);
    if text > left {
        cut(&mut draft.text, left);
        is_cut = true;
    }
    left = left.saturating_sub(text);
    let fitting = draft.calls.iter().take_while(|call| {
        let cost = call_tokens(call);
        let fits = !is_cut && cost <= left;
        left = left.saturating_sub(cost);
        fits
    });
    let fitting = fitting.count();
    is_cut |= fitting < draft.calls.len();
    draft.calls.truncate(fitting);
    is_cut
}

/// Cuts a text that has more than this many tokens to the longest beginning that has not.
fn cut(text: &mut String, max: u64) {
    let (mut fits, mut exceeds) = (0, text.len());
    while fits + 1 < exceeds {
        let middle = fits.midpoint(exceeds);
        if tokens::count(&text[..text.floor_char_boundary(middle)]) <= max {
            fits = middle;
        } else {
            exceeds = middle;
        }
    }
    text.truncate(text.floor_char_boundary(fits));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reasoning::Reasoning;
    use junto_llm::ToolCall;

    fn draft(thought: &str, text: &str, calls: usize) -> Draft {
        Draft {
            reasoning: Some(Reasoning { shown: Some(thought.into()), tokens: tokens::count(thought) }),
            text: text.into(),
            calls: (0..calls).map(|n| ToolCall::function(n.to_string(), "f", "{}")).collect(),
        }
    }

    fn total(draft: &Draft) -> u64 {
        let thought = draft.reasoning.as_ref().map_or(0, |r| r.tokens);
        thought + tokens::count(&draft.text) + draft.calls.iter().map(call_tokens).sum::<u64>()
    }

    #[test]
    fn an_answer_never_has_more_tokens_than_asked_for() {
        let whole = || draft("a thought or two", "an answer — of several words", 2);
        let most = total(&whole());
        for max in 0..most {
            let mut cut = whole();
            assert!(apply(&mut cut, max), "{max}");
            assert!(total(&cut) <= max, "{max}");
            assert!(whole().text.starts_with(&cut.text));
            assert!(cut.calls.is_empty() || cut.text == whole().text, "calls come last");
        }
        let mut fits = whole();
        assert!(!apply(&mut fits, most));
        assert_eq!((total(&fits), fits.calls.len()), (most, 2));
    }

    #[test]
    fn a_cut_text_is_as_long_as_may_be() {
        let mut answer = Draft { reasoning: None, ..draft("", "one two three four five six", 0) };
        assert!(apply(&mut answer, 3));
        assert_eq!(tokens::count(&answer.text), 3);
    }
}
