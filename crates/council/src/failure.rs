//! One error out of many.

use junto_llm::{Error, ErrorKind};

use crate::view::cut;

/// The most bytes of each member's message.
const EACH: usize = 1000;

/// The error of a council in which every member failed: it tells of each, and is otherwise the most
/// telling of theirs.
pub(crate) fn of_all(council: &str, failures: &[(&str, Error)]) -> Error {
    let Some((_, telling)) = failures.iter().min_by_key(|(_, error)| rank(error.kind())) else {
        return Error::configuration("the council has no members").with_provider(council);
    };
    let each: Vec<String> =
        failures.iter().map(|(name, error)| format!("{name}: {}", cut(&error.to_string(), EACH))).collect();
    let message = format!("no member of the council answered: {}", each.join("; "));
    let mut error = Error::new(telling.kind(), message)
        .with_provider(council)
        .with_retry_after(telling.retry_after())
        .with_source(telling.clone());
    if let Some(status) = telling.status() {
        error = error.with_status(status);
    }
    if let Some(code) = telling.code() {
        error = error.with_code(code);
    }
    if let Some(hint) = telling.hint() {
        error = error.with_hint(hint);
    }
    error
}

/// Lower is more telling. What trying again may cure comes first, since one member that recovers is
/// enough; then what the caller can mend, in the order in which it would have to be mended.
fn rank(kind: ErrorKind) -> u8 {
    // By the kind alone: that a member broke off half-way matters to nobody who saw nothing of it.
    if Error::new(kind, "").is_retryable() {
        return 0;
    }
    match kind {
        ErrorKind::ContextLength => 1,
        ErrorKind::Quota => 2,
        ErrorKind::Authentication => 3,
        ErrorKind::AccessDenied => 4,
        ErrorKind::NotFound => 5,
        ErrorKind::InvalidRequest | ErrorKind::UnsupportedToolChoice => 6,
        ErrorKind::Configuration => 7,
        ErrorKind::ContentFilter => 8,
        ErrorKind::InvalidToolCall | ErrorKind::NoObject => 9,
        ErrorKind::Timeout => 10,
        _ => 11,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn check(kinds: &[ErrorKind], expected: ErrorKind) {
        let failures: Vec<_> = kinds.iter().map(|kind| ("m", Error::new(*kind, "x"))).collect();
        assert_eq!(of_all("council", &failures).kind(), expected, "{kinds:?}");
    }

    #[test]
    fn the_most_telling_failure_gives_the_kind() {
        use ErrorKind as K;
        check(&[K::Authentication, K::RateLimit], K::RateLimit);
        check(&[K::Timeout, K::Authentication], K::Authentication);
        check(&[K::InvalidToolCall, K::ContextLength, K::Quota], K::ContextLength);
        check(&[K::InvalidToolCall], K::InvalidToolCall);
        check(&[K::Server, K::Network], K::Server);
    }

    #[test]
    fn every_member_is_told_of_and_a_retry_knows_how_long_to_wait() {
        let wait = Some(Duration::from_secs(3));
        let limited = Error::new(ErrorKind::RateLimit, "slow down").with_status(429).with_retry_after(wait);
        let broken = Error::stream("cut off").after_content();
        let error = of_all("council", &[("a", broken), ("b", limited.clone())]);
        assert!(error.message().contains("a: cut off; b: slow down"), "{error}");
        assert!(error.is_retryable(), "nothing was handed on");
        let error = of_all("council", &[("b", limited)]);
        assert_eq!((error.status(), error.retry_after()), (Some(429), wait));
    }
}
