//! What a provider says about its limits, told to a client in the headers that its wire has for that.

use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use junto_llm::{RateLimit, Wire};

/// The names of one vendor's headers.
struct Names {
    requests: [&'static str; 2],
    tokens: [&'static str; 2],
    reset: &'static str,
}

const ANTHROPIC: Names = Names {
    requests: ["anthropic-ratelimit-requests-limit", "anthropic-ratelimit-requests-remaining"],
    tokens: ["anthropic-ratelimit-tokens-limit", "anthropic-ratelimit-tokens-remaining"],
    reset: "anthropic-ratelimit-requests-reset",
};

const OPENAI: Names = Names {
    requests: ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests"],
    tokens: ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens"],
    reset: "x-ratelimit-reset-requests",
};

/// Adds what is known. `now` is in seconds since 1970: one vendor says when the count starts anew, the other
/// in how long. Gemini's clients have no such headers.
pub(crate) fn tell(wire: Wire, limits: &RateLimit, now: u64, headers: &mut HeaderMap) {
    let names = match wire {
        Wire::Anthropic => ANTHROPIC,
        Wire::Responses | Wire::Chat => OPENAI,
        Wire::Gemini => return,
    };
    let now = i64::try_from(now).ok().and_then(|now| Timestamp::from_second(now).ok());
    let reset = limits.reset.as_deref().zip(now).and_then(|(reset, now)| translate(wire, reset, now));
    let number = |number: Option<u64>| number.map(HeaderValue::from);
    let told = [
        (names.requests[0], number(limits.requests_limit)),
        (names.requests[1], number(limits.requests_remaining)),
        (names.tokens[0], number(limits.tokens_limit)),
        (names.tokens[1], number(limits.tokens_remaining)),
        (names.reset, reset.and_then(|reset| HeaderValue::try_from(reset).ok())),
    ];
    let known = told.into_iter().filter_map(|(name, value)| Some((HeaderName::from_static(name), value?)));
    headers.extend(known);
}

/// The end of a window as this wire writes it; nothing if the provider wrote something else than a point in
/// time or a span.
fn translate(wire: Wire, reset: &str, now: Timestamp) -> Option<String> {
    let at = match reset.parse::<Timestamp>() {
        Ok(at) => at,
        Err(_) => now.checked_add(reset.parse::<SignedDuration>().ok()?).ok()?,
    };
    Some(match wire {
        Wire::Anthropic => at.to_string(),
        _ => span(at.duration_since(now).max(SignedDuration::ZERO)),
    })
}

/// A span of time in the form `6m0s`.
fn span(time: SignedDuration) -> String {
    let (seconds, millis) = (time.as_secs(), time.subsec_millis());
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => format!("{millis}ms"),
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01.
    const NOW: u64 = 1_767_225_600;

    fn told(wire: Wire, limits: &RateLimit) -> Vec<String> {
        let mut headers = HeaderMap::new();
        tell(wire, limits, NOW, &mut headers);
        let mut told: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        told.sort_unstable();
        told
    }

    #[test]
    fn each_wire_has_its_names_for_them() {
        let limits = RateLimit {
            requests_limit: Some(50),
            requests_remaining: Some(49),
            tokens_limit: None,
            tokens_remaining: Some(7),
            reset: Some("6m0s".into()),
        };
        assert_eq!(
            told(Wire::Anthropic, &limits),
            [
                "anthropic-ratelimit-requests-limit: 50",
                "anthropic-ratelimit-requests-remaining: 49",
                "anthropic-ratelimit-requests-reset: 2026-01-01T00:06:00Z",
                "anthropic-ratelimit-tokens-remaining: 7",
            ]
        );
        let openai = told(Wire::Chat, &limits);
        assert_eq!(openai, told(Wire::Responses, &limits));
        assert_eq!(
            openai,
            [
                "x-ratelimit-limit-requests: 50",
                "x-ratelimit-remaining-requests: 49",
                "x-ratelimit-remaining-tokens: 7",
                "x-ratelimit-reset-requests: 6m0s",
            ]
        );
        assert!(told(Wire::Gemini, &limits).is_empty());
    }

    #[test]
    fn ends_of_windows_in_both_forms() {
        let now = Timestamp::from_second(NOW.try_into().unwrap()).unwrap();
        let check = |reset: &str, at: Option<&str>, within: Option<&str>| {
            assert_eq!(translate(Wire::Anthropic, reset, now).as_deref(), at, "{reset}");
            assert_eq!(translate(Wire::Chat, reset, now).as_deref(), within, "{reset}");
        };
        check("2026-01-01T00:00:12Z", Some("2026-01-01T00:00:12Z"), Some("12s"));
        check("2026-01-01T02:03:04Z", Some("2026-01-01T02:03:04Z"), Some("2h3m4s"));
        check("2025-12-31T00:00:00Z", Some("2025-12-31T00:00:00Z"), Some("0ms"));
        check("120ms", Some("2026-01-01T00:00:00.12Z"), Some("120ms"));
        check("1h0m1s", Some("2026-01-01T01:00:01Z"), Some("1h0m1s"));
        check("soon", None, None);
    }
}
