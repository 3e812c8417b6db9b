//! Placeholder.

/// Placeholder: four characters are a token.
pub fn count(text: &str) -> u64 {
    text.chars().count().div_ceil(4) as u64
}
