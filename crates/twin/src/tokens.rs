//! Counting tokens, the twins' own way.
//!
//! No provider publishes its tokenizer for all its models, and a twin needs none: what matters is
//! that the count is the same every time, grows with the text, and is of the right size (about four
//! characters of English or code to a token).

use serde_json::Value;

/// What a picture, sound or document costs, whatever its size.
const MEDIA: u64 = 258;
/// What a message or block costs beside its text.
const FRAME: u64 = 3;
/// Letters of a word that make one token.
const LETTERS: u64 = 6;
/// Equal signs in a row that make one token.
const SIGNS: u64 = 4;

/// The tokens of a text.
///
/// - a word costs one token for every six letters begun (a letter outside ASCII counts as two);
/// - a sign costs one token, equal signs in a row one for every four begun;
/// - an ideograph, syllable or emoji costs one token;
/// - white space is free.
pub fn count(text: &str) -> u64 {
    let mut tokens = 0;
    let mut letters: u64 = 0;
    let mut last_sign = None;
    let mut signs: u64 = 0;
    for c in text.chars() {
        let wide = c >= '\u{2E80}';
        if c.is_alphanumeric() && !wide {
            if letters.is_multiple_of(LETTERS) || (!c.is_ascii() && letters % LETTERS == LETTERS - 1) {
                tokens += 1;
            }
            letters += if c.is_ascii() { 1 } else { 2 };
            last_sign = None;
            continue;
        }
        letters = 0;
        if c.is_whitespace() {
            last_sign = None;
        } else if wide || last_sign != Some(c) {
            tokens += 1;
            signs = 1;
            last_sign = Some(c);
        } else {
            if signs.is_multiple_of(SIGNS) {
                tokens += 1;
            }
            signs += 1;
        }
    }
    tokens
}

/// Fields that a model never sees: they cost nothing.
const UNSEEN: &[&str] = &[
    "cache_control",
    "call_id",
    "encrypted_content",
    "id",
    "role",
    "signature",
    "status",
    "thoughtSignature",
    "thought_signature",
    "tool_call_id",
    "tool_use_id",
    "type",
];

/// Fields that hold a picture, sound or document, where they hold a string.
const BLOBS: &[&str] = &["data", "file_data", "fileUri", "file_url", "image_url", "url"];

/// The tokens of a piece of a request: its texts, its numbers and the names in it. Media cost a flat
/// price; ids, signatures and the like cost nothing.
pub(crate) fn weigh(piece: &Value) -> u64 {
    FRAME + inner(piece)
}

fn inner(piece: &Value) -> u64 {
    match piece {
        Value::Null => 0,
        Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => count(text),
        Value::Array(items) => items.iter().map(inner).sum(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !UNSEEN.contains(&name.as_str()))
            .map(|(name, value)| match value {
                Value::String(_) if BLOBS.contains(&name.as_str()) => MEDIA,
                _ => 1 + inner(value),
            })
            .sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_cost_what_the_rules_say() {
        for (text, tokens) in [
            ("", 0),
            ("   \n", 0),
            ("a", 1),
            ("hello world", 2),
            ("friend", 1),
            ("friends", 2),
            ("f(x);", 5),
            ("--------", 2),
            ("naïve", 1),
            ("日本", 2),
            ("🙂🙂", 2),
        ] {
            assert_eq!(count(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn prose_costs_about_a_quarter_of_its_characters() {
        let prose = "The quick brown fox jumps over the lazy dog, and then it does so again. ".repeat(50);
        let (tokens, chars) = (count(&prose), prose.len() as u64);
        assert!(tokens * 3 < chars && chars < tokens * 6, "{tokens} for {chars}");
    }

    #[test]
    fn media_are_flat_and_ids_are_free() {
        let picture = json!({"type": "base64", "media_type": "image/png", "data": "A".repeat(100_000)});
        assert!(weigh(&picture) < 300);
        let with = json!({"text": "hi", "id": "abc", "signature": "x".repeat(500)});
        assert_eq!(weigh(&with), weigh(&json!({"text": "hi"})));
    }
}
