//! Failures: the envelope `{"error": {code, message, status, details}}` and gRPC's status names.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::{Error, ErrorKind};

/// gRPC's status names, the HTTP status the API answers with, and what they mean here. The first
/// name of a kind is the one that is written.
const STATUSES: [(&str, u16, ErrorKind); 16] = [
    ("UNAUTHENTICATED", 401, ErrorKind::Authentication),
    ("PERMISSION_DENIED", 403, ErrorKind::AccessDenied),
    ("NOT_FOUND", 404, ErrorKind::NotFound),
    ("INVALID_ARGUMENT", 400, ErrorKind::InvalidRequest),
    ("FAILED_PRECONDITION", 400, ErrorKind::InvalidRequest),
    ("OUT_OF_RANGE", 400, ErrorKind::InvalidRequest),
    ("UNIMPLEMENTED", 501, ErrorKind::InvalidRequest),
    ("RESOURCE_EXHAUSTED", 429, ErrorKind::RateLimit),
    ("INTERNAL", 500, ErrorKind::Server),
    ("UNAVAILABLE", 503, ErrorKind::Server),
    ("UNKNOWN", 500, ErrorKind::Server),
    ("DATA_LOSS", 500, ErrorKind::Server),
    ("ABORTED", 409, ErrorKind::Server),
    ("ALREADY_EXISTS", 409, ErrorKind::InvalidRequest),
    ("DEADLINE_EXCEEDED", 504, ErrorKind::Server),
    ("CANCELLED", 499, ErrorKind::Server),
];

/// What the message says where the status is ambiguous: status name, a phrase in lower case, kind.
/// The first match wins.
const PHRASES: [(&str, &str, ErrorKind); 15] = [
    ("INVALID_ARGUMENT", "api key not valid", ErrorKind::Authentication),
    ("INVALID_ARGUMENT", "api key expired", ErrorKind::Authentication),
    ("INVALID_ARGUMENT", "api key not found", ErrorKind::Authentication),
    ("INVALID_ARGUMENT", "pass a valid api key", ErrorKind::Authentication),
    ("INVALID_ARGUMENT", "token count", ErrorKind::ContextLength),
    ("INVALID_ARGUMENT", "maximum number of tokens", ErrorKind::ContextLength),
    ("INVALID_ARGUMENT", "context length", ErrorKind::ContextLength),
    ("INVALID_ARGUMENT", "context window", ErrorKind::ContextLength),
    ("INVALID_ARGUMENT", "payload size exceeds", ErrorKind::ContextLength),
    ("INVALID_ARGUMENT", "blocked for safety", ErrorKind::ContentFilter),
    ("PERMISSION_DENIED", "unregistered callers", ErrorKind::Authentication),
    ("PERMISSION_DENIED", "api key was reported as leaked", ErrorKind::Authentication),
    ("FAILED_PRECONDITION", "location is not supported", ErrorKind::AccessDenied),
    ("FAILED_PRECONDITION", "billing", ErrorKind::Quota),
    ("FAILED_PRECONDITION", "country", ErrorKind::AccessDenied),
];

/// Words in an exhausted account's message; a rate limit says how long to wait instead.
const SPENT: [&str; 4] = ["billing", "credit", "spending cap", "per day"];

/// Reads an answer that is not a success.
pub(super) fn decode(status: u16, body: &[u8]) -> Error {
    if let Some(error) = envelope(body) {
        return from_envelope(&error, Some(status)).with_body(body);
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(200)]);
    let message = match text.trim() {
        "" => format!("the provider answered with status {status}"),
        text => text.to_owned(),
    };
    Error::new(ErrorKind::from_status(status), message).with_status(status).with_body(body)
}

/// The error that a body or a chunk carries, if it carries one.
pub(super) fn carried(body: &[u8]) -> Option<Error> {
    Some(from_envelope(&envelope(body)?, None).with_body(body))
}

/// The inner object; the API sometimes sends the envelope as the only element of an array.
fn envelope(body: &[u8]) -> Option<Map<String, Value>> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let value = match value {
        Value::Array(items) => items.into_iter().next()?,
        value => value,
    };
    match value {
        Value::Object(mut map) => match map.remove("error")? {
            Value::Object(error) => Some(error),
            Value::String(message) => Some(Map::from_iter([("message".to_owned(), message.into())])),
            _ => None,
        },
        _ => None,
    }
}

fn from_envelope(error: &Map<String, Value>, status: Option<u16>) -> Error {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let (name, message) = (text("status"), text("message"));
    let status = status
        .or_else(|| error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()));
    let details = error.get("details").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let retry_after = details.iter().find_map(retry_delay);
    let kind = kind(name, status, message, details, retry_after.is_some());
    let message = if message.is_empty() { "the provider gave no reason" } else { message };
    let mut out = Error::new(kind, message).with_retry_after(retry_after);
    if let Some(status) = status {
        out = out.with_status(status);
    }
    if name.is_empty() { out } else { out.with_code(name) }
}

fn kind(name: &str, status: Option<u16>, message: &str, details: &[Value], may_wait: bool) -> ErrorKind {
    let said = message.to_ascii_lowercase();
    let reason = |reason: &str| details.iter().any(|detail| detail.get("reason") == Some(&json!(reason)));
    if reason("API_KEY_INVALID") || reason("CREDENTIALS_MISSING") || reason("ACCESS_TOKEN_EXPIRED") {
        return ErrorKind::Authentication;
    }
    if let Some((.., kind)) = PHRASES.iter().find(|(of, phrase, _)| *of == name && said.contains(phrase)) {
        return *kind;
    }
    // `UNKNOWN` says less than the HTTP status does.
    let named = STATUSES.iter().find(|(known, ..)| *known == name && (name != "UNKNOWN" || status.is_none()));
    let by_name = named.map(|(.., kind)| *kind);
    let kind = by_name.unwrap_or_else(|| status.map_or(ErrorKind::Unknown, ErrorKind::from_status));
    if kind != ErrorKind::RateLimit {
        return kind;
    }
    let quotas = || details.iter().filter_map(|detail| detail.get("violations")?.as_array()).flatten();
    let quota = |part: &str| {
        quotas().any(|v| v.get("quotaId").and_then(Value::as_str).is_some_and(|id| id.contains(part)))
    };
    // The usual message speaks of plan and billing even when the limit is one per minute.
    let spent =
        quota("PerDay") || (!quota("PerMinute") && !may_wait && SPENT.iter().any(|word| said.contains(word)));
    if spent { ErrorKind::Quota } else { ErrorKind::RateLimit }
}

fn retry_delay(detail: &Value) -> Option<Duration> {
    let seconds: f64 = detail.get("retryDelay")?.as_str()?.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The status and the envelope for a failure.
pub(super) fn encode(error: &Error) -> (u16, Value) {
    let kind = error.kind();
    let written = match kind {
        ErrorKind::ContextLength
        | ErrorKind::ContentFilter
        | ErrorKind::InvalidToolCall
        | ErrorKind::UnsupportedToolChoice
        | ErrorKind::NoObject => ErrorKind::InvalidRequest,
        ErrorKind::Quota => ErrorKind::RateLimit,
        ErrorKind::Network | ErrorKind::Stream | ErrorKind::Configuration | ErrorKind::Unknown => {
            ErrorKind::Server
        }
        kind => kind,
    };
    // Anthropic's word for a server that is too busy.
    let status = error.status().map(|status| if status == 529 { 503 } else { status });
    // Our own time-out and cancellation have names; a client reads both as a server that failed.
    let named = match kind {
        ErrorKind::Timeout => Some("DEADLINE_EXCEEDED"),
        ErrorKind::Aborted => Some("CANCELLED"),
        _ => None,
    };
    let of_kind = |(name, _, known): &&(&str, u16, ErrorKind)| {
        named.map_or(*known == written, |wanted| *name == wanted)
    };
    let (name, status, _) = STATUSES
        .iter()
        .filter(of_kind)
        .find(|(_, listed, _)| status == Some(*listed))
        .or_else(|| STATUSES.iter().find(of_kind))
        .unwrap_or(&("INTERNAL", 500, ErrorKind::Server));
    let mut details = Vec::new();
    if kind == ErrorKind::Quota {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": "GenerateRequestsPerDay"}],
        }));
    }
    if let Some(wait) = error.retry_after() {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{}s", wait.as_secs_f64()),
        }));
    }
    let mut envelope = json!({"code": status, "message": error.message(), "status": name});
    if !details.is_empty() {
        envelope["details"] = details.into();
    }
    (*status, json!({"error": envelope}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ErrorKind as K;

    #[test]
    fn kinds_follow_name_then_message_then_status() {
        let check = |status: u16, name: &str, message: &str, expected: K| {
            let body = json!({"error": {"code": status, "message": message, "status": name}}).to_string();
            let error = decode(status, body.as_bytes());
            assert_eq!(error.kind(), expected, "{status} {name} {message}");
            assert_eq!((error.status(), error.message()), (Some(status), message));
            let listed = decode(status, format!("[{body}]").as_bytes());
            assert_eq!(listed.kind(), expected);
        };
        check(401, "UNAUTHENTICATED", "no", K::Authentication);
        check(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", K::Authentication);
        check(403, "PERMISSION_DENIED", "no", K::AccessDenied);
        check(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers", K::Authentication);
        check(404, "NOT_FOUND", "models/x is not found", K::NotFound);
        check(400, "INVALID_ARGUMENT", "bad", K::InvalidRequest);
        check(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum", K::ContextLength);
        check(400, "FAILED_PRECONDITION", "User location is not supported for the API use.", K::AccessDenied);
        check(400, "FAILED_PRECONDITION", "Please enable billing", K::Quota);
        check(429, "RESOURCE_EXHAUSTED", "slow down", K::RateLimit);
        check(429, "RESOURCE_EXHAUSTED", "check your plan and billing details", K::Quota);
        check(500, "INTERNAL", "x", K::Server);
        check(503, "UNAVAILABLE", "overloaded", K::Server);
        check(504, "DEADLINE_EXCEEDED", "x", K::Server);
        check(499, "CANCELLED", "x", K::Server);
        check(418, "SOMETHING_NEW", "x", K::InvalidRequest);
        check(429, "", "x", K::RateLimit);
    }

    #[test]
    fn details_tell_a_rate_from_a_quota() {
        let check = |quota: &str, delay: Option<&str>, expected: K, wait: Option<Duration>| {
            let mut details = vec![json!({"violations": [{"quotaId": quota}]})];
            details.extend(delay.map(|d| json!({"@type": "x/google.rpc.RetryInfo", "retryDelay": d})));
            let body = json!({"error": {"status": "RESOURCE_EXHAUSTED", "message": "check your billing",
                "details": details}});
            let error = decode(429, body.to_string().as_bytes());
            assert_eq!((error.kind(), error.retry_after()), (expected, wait), "{quota}");
        };
        let wait = Some(Duration::from_millis(34_500));
        check("GenerateRequestsPerMinutePerProject", None, K::RateLimit, None);
        check("GenerateRequestsPerMinutePerProject", Some("34.5s"), K::RateLimit, wait);
        check("GenerateRequestsPerDayPerProject", Some("34.5s"), K::Quota, wait);
        check("Tokens", Some("34.5s"), K::RateLimit, wait);
        check("Tokens", Some("-1s"), K::Quota, None);
        check("Tokens", Some("soon"), K::Quota, None);
    }

    #[test]
    fn a_reason_in_the_details_settles_a_bad_key() {
        let body = br#"{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#;
        assert_eq!(decode(400, body).kind(), K::Authentication);
    }

    #[test]
    fn bodies_that_are_no_envelope_fall_back_to_the_status() {
        for (body, message) in
            [("", "the provider answered with status 502"), ("<html>", "<html>"), ("[]", "[]")]
        {
            let error = decode(502, body.as_bytes());
            assert_eq!((error.kind(), error.message()), (K::Server, message));
        }
    }

    #[test]
    fn kinds_survive_the_wire() {
        for kind in [
            K::Authentication,
            K::AccessDenied,
            K::NotFound,
            K::InvalidRequest,
            K::RateLimit,
            K::Quota,
            K::Server,
        ] {
            let (status, body) = encode(&Error::new(kind, "why"));
            let error = decode(status, body.to_string().as_bytes());
            assert_eq!((error.kind(), error.message()), (kind, "why"), "{body}");
        }
    }

    #[test]
    fn waits_and_statuses_are_written() {
        let wait = Duration::from_millis(1500);
        let error = Error::new(K::Server, "x").with_status(503).with_retry_after(Some(wait));
        let (status, body) = encode(&error);
        assert_eq!((status, &body["error"]["status"]), (503, &json!("UNAVAILABLE")));
        assert_eq!(decode(status, body.to_string().as_bytes()).retry_after(), Some(wait));
        let (status, body) = encode(&Error::new(K::Server, "busy").with_status(529));
        assert_eq!((status, &body["error"]["status"]), (503, &json!("UNAVAILABLE")));
        assert!(body.to_string().starts_with("{\"error\":"), "SDKs look for this prefix in a stream");
    }
}
