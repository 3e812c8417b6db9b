//! Token counts, in both directions.

use serde_json::{Value, json};

use crate::Usage;

/// Reads a usage object. Servers differ in where they put cached and reasoning tokens.
pub(super) fn read(raw: Value) -> Usage {
    let first = |paths: &[&str]| paths.iter().find_map(|path| count(raw.pointer(path)?));
    let input = first(&["/prompt_tokens"]).unwrap_or(0);
    let mut output = first(&["/completion_tokens"]).unwrap_or(0);
    let reasoning = first(&["/completion_tokens_details/reasoning_tokens", "/reasoning_tokens"]);
    // Some servers leave reasoning out of the completion and only their total shows it.
    if let (Some(reasoning), Some(total)) = (reasoning, first(&["/total_tokens"]))
        && total == input.saturating_add(output).saturating_add(reasoning)
    {
        output = output.saturating_add(reasoning);
    }
    Usage {
        reasoning,
        cache_read: first(&[
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cached_tokens",
            "/cache_read_input_tokens",
        ]),
        cache_write: first(&[
            "/prompt_tokens_details/cache_write_tokens",
            "/prompt_tokens_details/cache_creation_tokens",
            "/cache_creation_input_tokens",
        ]),
        raw: Some(raw),
        ..Usage::new(input, output)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float-to-int cast saturates")]
fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().map(|n| n as u64))
}

/// Writes a usage object.
pub(super) fn write(usage: &Usage) -> Value {
    let mut object = json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
    });
    let mut details = |name: &str, counts: &[(&str, Option<u64>)]| {
        let known: serde_json::Map<_, _> =
            counts.iter().filter_map(|(key, n)| Some(((*key).to_owned(), (*n)?.into()))).collect();
        if !known.is_empty() {
            object[name] = known.into();
        }
    };
    details(
        "prompt_tokens_details",
        &[("cached_tokens", usage.cache_read), ("cache_write_tokens", usage.cache_write)],
    );
    details("completion_tokens_details", &[("reasoning_tokens", usage.reasoning)]);
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialects_of_usage() {
        let check = |raw: Value, expected: Usage| {
            assert_eq!(read(raw.clone()), Usage { raw: Some(raw), ..expected });
        };
        check(json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}), Usage::new(10, 5));
        check(
            json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
                "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 1},
                "completion_tokens_details": {"reasoning_tokens": 3}}),
            Usage { cache_read: Some(8), cache_write: Some(1), reasoning: Some(3), ..Usage::new(10, 5) },
        );
        check(
            json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4,
                "prompt_cache_miss_tokens": 6, "prompt_tokens_details": null}),
            Usage { cache_read: Some(4), ..Usage::new(10, 5) },
        );
        check(
            json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 22,
                "completion_tokens_details": {"reasoning_tokens": 7}}),
            Usage { reasoning: Some(7), ..Usage::new(10, 12) },
        );
        check(json!({"prompt_tokens": 3.0, "completion_tokens": "x"}), Usage::new(3, 0));
        check(json!("?"), Usage::default());
    }

    #[test]
    fn what_is_written_is_read_back() {
        for usage in [
            Usage::new(3, 4),
            Usage { cache_read: Some(2), reasoning: Some(1), ..Usage::new(3, 4) },
            Usage { cache_write: Some(0), ..Usage::new(3, 4) },
        ] {
            assert_eq!(Usage { raw: None, ..read(write(&usage)) }, usage);
        }
    }
}
