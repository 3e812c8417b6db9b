//! What kind of failure a command tells.

use junto_llm::{Error, ErrorKind};

/// What vendors call a failure, and what it is. The first that is found counts.
const WORDS: &[(&str, ErrorKind)] = &[
    ("prompt_too_long", ErrorKind::ContextLength),
    ("prompt is too long", ErrorKind::ContextLength),
    ("context window", ErrorKind::ContextLength),
    ("context_length", ErrorKind::ContextLength),
    ("refus", ErrorKind::ContentFilter),
    ("quota", ErrorKind::Quota),
    ("usage limit", ErrorKind::Quota),
    ("rate limit", ErrorKind::RateLimit),
    ("high demand", ErrorKind::Server),
    ("overloaded", ErrorKind::Server),
    ("disconnected", ErrorKind::Network),
    ("api key", ErrorKind::Authentication),
    ("unauthenticated", ErrorKind::Authentication),
];

/// The error for what a command says: the vendor's word for it, else the HTTP status, else the message.
pub(crate) fn classify(kind: &str, message: &str, status: Option<u16>) -> Error {
    let named = |words: &str| {
        let words = words.to_lowercase();
        WORDS.iter().find(|(word, _)| words.contains(word)).map(|(_, kind)| *kind)
    };
    let kind = named(kind).or_else(|| status.map(ErrorKind::from_status)).or_else(|| named(message));
    let error = Error::new(kind.unwrap_or(ErrorKind::Unknown), message);
    match status {
        Some(status) => error.with_status(status),
        None => error,
    }
}
