//! Headers: what goes out with every request, and what providers say in theirs.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::{Auth, Endpoint};
use crate::vendor::VENDORS;
use crate::{Error, ErrorKind, RateLimit, Wire};

/// The headers for every request to an endpoint. The key is marked sensitive.
pub(super) fn for_endpoint(endpoint: &Endpoint) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if endpoint.wire == Wire::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    let key_header = match endpoint.wire {
        Wire::Anthropic => Some("x-api-key"),
        Wire::Gemini => Some("x-goog-api-key"),
        Wire::Responses | Wire::Chat => None,
    };
    let (name, text) = match (&endpoint.auth, key_header) {
        (Auth::None, _) => (None, String::new()),
        (Auth::Key(secret), Some(name)) => (Some(HeaderName::from_static(name)), secret.expose().to_owned()),
        (Auth::Key(secret) | Auth::Bearer(secret), _) => {
            (Some(header::AUTHORIZATION), format!("Bearer {}", secret.expose()))
        }
    };
    if let Some(name) = name {
        // The error of a bad value would show the key, so it is left out.
        let mut value = HeaderValue::try_from(text).map_err(|_| {
            Error::configuration("the API key has characters that cannot stand in a header")
                .with_provider(&endpoint.name)
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    for (name, value) in &endpoint.headers {
        let fault =
            || Error::configuration(format!("`{name}` is not a valid header")).with_provider(&endpoint.name);
        let name = HeaderName::try_from(name).map_err(|_| fault())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| fault())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// How long a provider asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|t| t.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let wait = text("retry-after")?;
    if let Ok(seconds) = wait.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(wait).ok()?;
    #[expect(clippy::disallowed_methods, reason = "a date in a header means the world's clock")]
    let now = jiff::Timestamp::now();
    // A date in the past means: now.
    Some(Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// What a provider said about its limits, in Anthropic's or OpenAI's headers.
pub(super) fn rate_limit(headers: &HeaderMap) -> Option<RateLimit> {
    // Many say nothing, and to look for each name takes longer than to see that.
    if !headers.keys().any(|name| name.as_str().contains("ratelimit")) {
        return None;
    }
    let text =
        |names: [&str; 2]| names.iter().find_map(|n| headers.get(*n)?.to_str().ok()).map(str::to_owned);
    let number = |names| text(names).and_then(|t| t.parse().ok());
    let limits = RateLimit {
        requests_limit: number(["anthropic-ratelimit-requests-limit", "x-ratelimit-limit-requests"]),
        requests_remaining: number([
            "anthropic-ratelimit-requests-remaining",
            "x-ratelimit-remaining-requests",
        ]),
        tokens_limit: number(["anthropic-ratelimit-tokens-limit", "x-ratelimit-limit-tokens"]),
        tokens_remaining: number(["anthropic-ratelimit-tokens-remaining", "x-ratelimit-remaining-tokens"]),
        reset: text(["anthropic-ratelimit-requests-reset", "x-ratelimit-reset-requests"]),
    };
    (limits != RateLimit::default()).then_some(limits)
}

/// Refuses a stream that is none: a login page, a proxy's error.
pub(super) fn check_event_stream(headers: &HeaderMap) -> Result<(), Error> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream") {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Stream,
        format!("the provider answered with `{kind}` instead of an event stream"),
    )
    .with_hint("check the base URL: something between here and the provider may have answered"))
}

/// Whether this is the address of a built-in vendor.
pub(super) fn is_vendors(url: &reqwest::Url) -> bool {
    let at = |base: &str| reqwest::Url::parse(base).is_ok_and(|base| base.host() == url.host());
    VENDORS.iter().any(|vendor| at(vendor.base_url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_are_known_by_their_addresses() {
        let check = |base: &str, expected| {
            assert_eq!(is_vendors(&reqwest::Url::parse(base).unwrap()), expected, "{base}");
        };
        check("https://api.openai.com/v1", true);
        check("https://API.anthropic.com", true);
        check("https://generativelanguage.googleapis.com:443", true);
        check("http://127.0.0.1:6767/v1", false);
        check("https://api.openai.com.gateway.example/v1", false);
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_str(v).unwrap())).collect()
    }

    #[test]
    fn waits_are_read_in_every_form() {
        let check = |pairs: &[(&'static str, &str)], expected: Option<Duration>| {
            assert_eq!(retry_after(&headers(pairs)), expected, "{pairs:?}");
        };
        check(&[("retry-after", "7")], Some(Duration::from_secs(7)));
        check(&[("retry-after", " 1.5 ")], Some(Duration::from_millis(1500)));
        check(&[("retry-after-ms", "250"), ("retry-after", "9")], Some(Duration::from_millis(250)));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(Duration::ZERO));
        check(&[("retry-after", "soon")], None);
        check(&[("retry-after", "-3")], None);
        check(&[("retry-after", "1e300")], None);
        check(&[], None);
        let far = retry_after(&headers(&[("retry-after", "Thu, 01 Jan 2099 00:00:00 GMT")])).unwrap();
        assert!(far > Duration::from_secs(1_000_000));
    }

    #[test]
    fn keys_go_where_the_wire_wants_them_and_are_sensitive() {
        for (wire, name) in
            [(Wire::Anthropic, "x-api-key"), (Wire::Gemini, "x-goog-api-key"), (Wire::Chat, "authorization")]
        {
            let headers = for_endpoint(&Endpoint::new("p", wire, "http://x").key("k1")).unwrap();
            assert!(headers[name].is_sensitive() && !format!("{headers:?}").contains("k1"));
        }
        let proxy = Endpoint {
            headers: vec![("x-proxy-token".into(), "t1".into())],
            ..Endpoint::new("p", Wire::Chat, "http://x")
        };
        let shown = format!("{proxy:?} {:?}", for_endpoint(&proxy).unwrap());
        assert!(shown.contains("x-proxy-token") && !shown.contains("t1"), "{shown}");
        let error = for_endpoint(&Endpoint::new("p", Wire::Chat, "http://x").key("a\u{1}b")).unwrap_err();
        assert!(!format!("{error:?}{error}").contains("a\u{1}b"));
    }
}
