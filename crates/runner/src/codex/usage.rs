//! What codex counts.

use junto_llm::{Usage, Usd};
use serde_json::Value;

use crate::Used;

/// Tokens in our words. The input has everything cached in it already, and the output the reasoning; a
/// reasoning that is larger than the output cannot be a part of it, and is added.
pub(crate) fn usage(raw: &Value) -> Option<Usage> {
    let input = raw["input_tokens"].as_u64()?;
    let output = raw["output_tokens"].as_u64()?;
    let reasoning = raw["reasoning_output_tokens"].as_u64();
    let apart = reasoning.filter(|reasoning| *reasoning > output).unwrap_or(0);
    Some(Usage {
        reasoning,
        cache_read: raw["cached_input_tokens"].as_u64(),
        // Its vendor does not tell what was written, and it counts that as nothing.
        cache_write: raw["cache_write_input_tokens"].as_u64().filter(|tokens| *tokens > 0),
        raw: Some(raw.clone()),
        ..Usage::new(input, output.saturating_add(apart))
    })
}

/// The total of the thread, where it is told.
pub(super) fn session_total(raw: &Value) -> Used {
    let cost = raw["cost_usd"].as_f64().filter(|dollars| dollars.is_finite() && *dollars >= 0.0);
    match usage(raw) {
        Some(usage) => Used::SessionTotal { usage, cost: cost.map(Usd::from_dollars) },
        None => Used::Untold,
    }
}

/// How large a call was: the prompt and the output, else what is told of it as a total alone. Nothing is no
/// call.
pub(crate) fn context(last: &Value) -> Option<u64> {
    let parts = usage(last).map(|usage| usage.total).filter(|total| *total > 0);
    parts.or_else(|| last["total_tokens"].as_u64()).filter(|total| *total > 0)
}

/// How large the last call was that a count tells. When the window is full there was none, and what is told is
/// the total: of the last call what was still free, and of the thread the whole window.
pub(crate) fn counted(info: &Value) -> Option<u64> {
    let (last, all) = (&info["last_token_usage"], &info["total_token_usage"]);
    let has_parts = |raw| usage(raw).is_some_and(|usage| usage.total > 0);
    let window = if has_parts(last) || has_parts(all) { None } else { context(all) };
    context(last).max(window)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_in_our_words() {
        let all = usage(
            &json!({"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 5, "reasoning_output_tokens": 2}),
        );
        let all = all.unwrap();
        assert_eq!((all.input, all.output, all.total), (10, 5, 15));
        assert_eq!((all.cache_read, all.cache_write, all.reasoning), (Some(4), None, Some(2)));
        let written = |tokens: u64| {
            usage(&json!({"input_tokens": 10, "cache_write_input_tokens": tokens, "output_tokens": 5}))
                .unwrap()
        };
        assert_eq!((written(0).cache_write, written(3).cache_write), (None, Some(3)));
        let apart =
            usage(&json!({"input_tokens": 10, "output_tokens": 5, "reasoning_output_tokens": 7})).unwrap();
        assert_eq!((apart.output, apart.total), (12, 22));
        assert_eq!(usage(&json!({"input_tokens": 10})), None);
        assert_eq!(usage(&json!({"input_tokens": -1, "output_tokens": 1})), None);
    }

    #[test]
    fn a_call_that_is_told_by_its_total_has_a_size() {
        let told = |input: u64, output: u64, total: u64| {
            context(&json!({"input_tokens": input, "output_tokens": output, "total_tokens": total}))
        };
        assert_eq!(told(10, 5, 99), Some(15));
        assert_eq!(told(0, 0, 99), Some(99));
        assert_eq!(told(0, 0, 0), None);
        assert_eq!(context(&json!({"total_tokens": 7})), Some(7));
        assert_eq!(context(&json!(null)), None);
    }

    #[test]
    fn a_full_window_is_all_of_it() {
        let tokens = |input: u64, total: u64| json!({"input_tokens": input, "output_tokens": 0, "total_tokens": total});
        let counted = |last, all| counted(&json!({"last_token_usage": last, "total_token_usage": all}));
        assert_eq!(counted(tokens(0, 70), tokens(0, 100)), Some(100));
        assert_eq!(counted(tokens(0, 70), tokens(30, 100)), Some(70));
        assert_eq!(counted(tokens(10, 10), tokens(500, 500)), Some(10));
        assert_eq!(counted(tokens(0, 0), tokens(500, 500)), None);
    }
}
