//! Failures, read and written.

use serde_json::{Value, json};

use crate::{Error, ErrorKind};

/// The provider's codes, and its types where they say more than the status does.
const CODES: &[(&str, ErrorKind)] = &[
    ("account_deactivated", ErrorKind::AccessDenied),
    ("authentication_error", ErrorKind::Authentication),
    ("billing_hard_limit_reached", ErrorKind::Quota),
    ("billing_not_active", ErrorKind::Quota),
    ("bio_policy", ErrorKind::ContentFilter),
    ("content_filter", ErrorKind::ContentFilter),
    ("content_policy_violation", ErrorKind::ContentFilter),
    ("context_length_exceeded", ErrorKind::ContextLength),
    ("cyber_policy", ErrorKind::ContentFilter),
    ("exceed_context_size_error", ErrorKind::ContextLength),
    ("image_content_policy_violation", ErrorKind::ContentFilter),
    ("insufficient_quota", ErrorKind::Quota),
    ("invalid_api_key", ErrorKind::Authentication),
    ("invalid_prompt", ErrorKind::InvalidRequest),
    ("model_not_found", ErrorKind::NotFound),
    ("permission_error", ErrorKind::AccessDenied),
    ("rate_limit_error", ErrorKind::RateLimit),
    ("rate_limit_exceeded", ErrorKind::RateLimit),
    ("request_timeout", ErrorKind::Timeout),
    ("server_error", ErrorKind::Server),
    ("server_is_overloaded", ErrorKind::Server),
    ("slow_down", ErrorKind::RateLimit),
    ("unsupported_country_region_territory", ErrorKind::AccessDenied),
    ("usage_limit_reached", ErrorKind::Quota),
    ("vector_store_timeout", ErrorKind::Timeout),
];

/// What a message says where neither code nor type does; all in lower case.
const PHRASES: &[(&str, ErrorKind)] = &[
    ("context length", ErrorKind::ContextLength),
    ("context window", ErrorKind::ContextLength),
    ("context size", ErrorKind::ContextLength),
    ("too many tokens", ErrorKind::ContextLength),
    ("prompt is too long", ErrorKind::ContextLength),
    ("exceeded your current quota", ErrorKind::Quota),
    ("insufficient quota", ErrorKind::Quota),
    ("billing", ErrorKind::Quota),
    ("rate limit", ErrorKind::RateLimit),
    ("incorrect api key", ErrorKind::Authentication),
    ("invalid api key", ErrorKind::Authentication),
    ("content policy", ErrorKind::ContentFilter),
    ("content management policy", ErrorKind::ContentFilter),
];

/// Reads an answer that is not a success.
pub(super) fn decode(status: u16, body: &[u8]) -> Error {
    let parsed: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let object = match parsed.get("error") {
        Some(error) if !error.is_null() => error,
        _ => &parsed,
    };
    let error = match read(object, Some(status)) {
        Some(error) => error,
        None => Error::new(ErrorKind::from_status(status), plain(status, body)),
    };
    error.with_status(status).with_body(body)
}

/// Reads the error of a failed answer or of an `error` event.
pub(super) fn from_object(object: &Value) -> Error {
    read(object, None)
        .unwrap_or_else(|| Error::new(ErrorKind::Server, "the provider failed and did not say why"))
}

/// `None` if there is no message to be found.
fn read(object: &Value, status: Option<u16>) -> Option<Error> {
    let message = object
        .get("message")
        .or_else(|| object.get("detail"))
        .unwrap_or(object)
        .as_str()
        .filter(|message| !message.is_empty())?;
    let code = object.get("code").and_then(Value::as_str);
    let class = object.get("type").and_then(Value::as_str);
    let error = Error::new(kind(status, code, class, message), message);
    Some(match code.or(class.filter(|&class| class != "error")) {
        Some(code) => error.with_code(code),
        None => error,
    })
}

fn kind(status: Option<u16>, code: Option<&str>, class: Option<&str>, message: &str) -> ErrorKind {
    let named = |name: &str| CODES.iter().find(|(code, _)| *code == name).map(|&(_, kind)| kind);
    if let Some(kind) = code.and_then(named).or_else(|| class.and_then(named)) {
        return kind;
    }
    let by_status = status.map(ErrorKind::from_status);
    // Where the status is clear the message only muddies it: a 500 may well speak of rate limits.
    let ambiguous = matches!(
        by_status,
        None | Some(ErrorKind::InvalidRequest | ErrorKind::RateLimit | ErrorKind::Unknown)
    );
    if ambiguous {
        let message = message.to_lowercase();
        if let Some(&(_, kind)) = PHRASES.iter().find(|(phrase, _)| message.contains(phrase)) {
            return kind;
        }
    }
    match by_status {
        Some(kind) => kind,
        None if class == Some("invalid_request_error") => ErrorKind::InvalidRequest,
        None if code.is_some_and(|code| code.contains("image") || code.starts_with("invalid_")) => {
            ErrorKind::InvalidRequest
        }
        None => ErrorKind::Server,
    }
}

/// A message from a body that is no envelope: its beginning, if it can be read at all.
fn plain(status: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.trim().lines().next().unwrap_or_default();
    if line.is_empty() || line.starts_with('<') {
        return format!("the provider answered with status {status}");
    }
    line.chars().take(300).collect()
}

/// Writes a failure: the status and the envelope.
pub(super) fn encode(error: &Error) -> (u16, Value) {
    let (default, class, code) = envelope(error.kind());
    // The provider's own status says more, as long as it means the same.
    let status = match error.status() {
        Some(status) if ErrorKind::from_status(status) == error.kind() => status,
        _ => default,
    };
    let body = json!({"error": {
        "message": error.message(),
        "type": class,
        "param": null,
        "code": code.or(error.code()),
    }});
    (status, body)
}

/// The error as it stands in a failed answer and in an `error` event: `code` and `message`.
pub(super) fn code_and_message(error: &Error) -> (String, &str) {
    let (_, _, code) = envelope(error.kind());
    let code = code.or(error.code()).unwrap_or("server_error");
    (code.to_owned(), error.message())
}

/// The status, type and code that say this kind on the wire.
fn envelope(kind: ErrorKind) -> (u16, &'static str, Option<&'static str>) {
    match kind {
        ErrorKind::Authentication => (401, "invalid_request_error", Some("invalid_api_key")),
        ErrorKind::AccessDenied => (403, "permission_error", None),
        ErrorKind::NotFound => (404, "invalid_request_error", Some("model_not_found")),
        ErrorKind::InvalidRequest
        | ErrorKind::InvalidToolCall
        | ErrorKind::UnsupportedToolChoice
        | ErrorKind::Configuration => (400, "invalid_request_error", None),
        ErrorKind::ContextLength => (400, "invalid_request_error", Some("context_length_exceeded")),
        ErrorKind::ContentFilter => (400, "invalid_request_error", Some("content_policy_violation")),
        ErrorKind::RateLimit => (429, "rate_limit_error", Some("rate_limit_exceeded")),
        ErrorKind::Quota => (429, "insufficient_quota", Some("insufficient_quota")),
        ErrorKind::Timeout => (408, "server_error", Some("request_timeout")),
        ErrorKind::Network | ErrorKind::Stream => (502, "server_error", Some("server_error")),
        ErrorKind::Server | ErrorKind::Aborted | ErrorKind::NoObject | ErrorKind::Unknown => {
            (500, "server_error", Some("server_error"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ErrorKind as K;

    #[test]
    fn codes_then_messages_then_statuses_decide() {
        let check = |status: u16, body: Value, expected: K| {
            let error = decode(status, body.to_string().as_bytes());
            assert_eq!(error.kind(), expected, "{status} {body}");
            assert_eq!(error.status(), Some(status));
            assert!(!error.message().is_empty() && error.body().is_some());
        };
        let body = |message: &str, class: &str, code: Value| json!({"error": {"message": message, "type": class, "code": code, "param": null}});
        let invalid = "invalid_request_error";
        check(401, body("Incorrect API key provided", invalid, json!("invalid_api_key")), K::Authentication);
        check(401, body("You have no credentials", invalid, Value::Null), K::Authentication);
        check(403, body("not for you", invalid, Value::Null), K::AccessDenied);
        check(404, body("The model does not exist", invalid, json!("model_not_found")), K::NotFound);
        check(400, body("The model does not exist", invalid, json!("model_not_found")), K::NotFound);
        check(400, body("Unknown parameter", invalid, json!("unknown_parameter")), K::InvalidRequest);
        check(422, json!({"detail": "no such field"}), K::InvalidRequest);
        check(400, body("too long", invalid, json!("context_length_exceeded")), K::ContextLength);
        check(400, body("Your input exceeds the Context Window", invalid, Value::Null), K::ContextLength);
        check(413, json!({}), K::ContextLength);
        check(429, body("slow", "requests", json!("rate_limit_exceeded")), K::RateLimit);
        check(429, body("slow", "tokens", Value::Null), K::RateLimit);
        check(429, body("pay", "insufficient_quota", json!("insufficient_quota")), K::Quota);
        check(429, body("You exceeded your current quota", "", Value::Null), K::Quota);
        check(500, body("rate limit of the cluster", "server_error", Value::Null), K::Server);
        check(503, body("overloaded", "x", json!(503)), K::Server);
        check(408, json!({"error": "late"}), K::Timeout);
        check(418, json!([]), K::InvalidRequest);
        check(400, body("no", "x", json!("content_policy_violation")), K::ContentFilter);
    }

    #[test]
    fn bodies_that_are_no_json_still_say_something() {
        assert_eq!(decode(502, b"<html>bad gateway").message(), "the provider answered with status 502");
        assert_eq!(decode(500, b"upstream died\nat x").message(), "upstream died");
        assert_eq!(decode(500, b"\xff").kind(), K::Server);
        assert_eq!(decode(500, b"").message(), "the provider answered with status 500");
    }

    #[test]
    fn events_have_no_status_and_still_a_kind() {
        let check =
            |object: Value, expected: K| assert_eq!(from_object(&object).kind(), expected, "{object}");
        check(json!({"code": "rate_limit_exceeded", "message": "x"}), K::RateLimit);
        check(json!({"code": "insufficient_quota", "message": "x"}), K::Quota);
        check(json!({"code": "context_length_exceeded", "message": "x"}), K::ContextLength);
        check(json!({"code": "server_error", "message": "x"}), K::Server);
        check(json!({"code": "invalid_prompt", "message": "x"}), K::InvalidRequest);
        check(json!({"code": "image_too_large", "message": "x"}), K::InvalidRequest);
        check(json!({"type": "invalid_request_error", "message": "x"}), K::InvalidRequest);
        check(json!({"type": "error", "code": null, "message": "x"}), K::Server);
        check(Value::Null, K::Server);
    }

    #[test]
    fn what_is_written_is_read_as_the_same_kind() {
        for kind in [
            K::Authentication,
            K::AccessDenied,
            K::NotFound,
            K::InvalidRequest,
            K::ContextLength,
            K::RateLimit,
            K::Quota,
            K::ContentFilter,
            K::Server,
            K::Timeout,
        ] {
            let (status, body) = encode(&Error::new(kind, "why"));
            let error = decode(status, body.to_string().as_bytes());
            assert_eq!((error.kind(), error.message()), (kind, "why"));
        }
        assert_eq!(encode(&Error::new(K::Server, "x").with_status(503)).0, 503);
        assert_eq!(encode(&Error::new(K::Server, "x").with_status(404)).0, 500);
    }
}
