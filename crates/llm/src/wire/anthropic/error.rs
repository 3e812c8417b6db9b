//! Failures, in both directions.

use serde_json::{Value, json};

use crate::{Error, ErrorKind};

/// The wire's error types in our words. A time-out (408) is known by its status.
const TYPES: [(&str, ErrorKind); 10] = [
    ("invalid_request_error", ErrorKind::InvalidRequest),
    ("authentication_error", ErrorKind::Authentication),
    ("billing_error", ErrorKind::Quota),
    ("permission_error", ErrorKind::AccessDenied),
    ("not_found_error", ErrorKind::NotFound),
    ("request_too_large", ErrorKind::ContextLength),
    ("rate_limit_error", ErrorKind::RateLimit),
    ("timeout_error", ErrorKind::Server),
    ("api_error", ErrorKind::Server),
    ("overloaded_error", ErrorKind::Server),
];

/// What messages of refused requests say when something more precise is meant.
const MESSAGES: [(&str, ErrorKind); 6] = [
    (TOO_LONG, ErrorKind::ContextLength),
    ("exceed context limit", ErrorKind::ContextLength),
    ("exceeds the context window", ErrorKind::ContextLength),
    ("context length", ErrorKind::ContextLength),
    ("credit balance", ErrorKind::Quota),
    ("content filtering", ErrorKind::ContentFilter),
];

/// The words by which clients recognise an over-long conversation.
const TOO_LONG: &str = "prompt is too long";

/// Reads an answer that is not a success.
pub(super) fn decode(status: u16, body: &[u8]) -> Error {
    match serde_json::from_slice::<Value>(body) {
        Ok(envelope) if envelope["error"].is_object() => {
            from_envelope(Some(status), &envelope).with_body(body)
        }
        _ => {
            let said: String = String::from_utf8_lossy(body).trim().chars().take(200).collect();
            let message = if said.is_empty() { format!("the server answered {status}") } else { said };
            let kind = refine(ErrorKind::from_status(status), &message);
            Error::new(kind, message).with_status(status).with_body(body)
        }
    }
}

/// Reads the envelope `{type: error, error: {type, message}}`, as it comes with a status or in the
/// middle of a stream.
pub(super) fn from_envelope(status: Option<u16>, envelope: &Value) -> Error {
    let code = envelope["error"]["type"].as_str().unwrap_or_default();
    let message = envelope["error"]["message"].as_str().unwrap_or("the provider reports an error");
    let by_status = status.map_or(ErrorKind::Unknown, ErrorKind::from_status);
    let kind = match TYPES.iter().find(|(name, _)| *name == code) {
        Some(_) if by_status == ErrorKind::Timeout => ErrorKind::Timeout,
        Some((_, kind)) => *kind,
        None => by_status,
    };
    let mut error = Error::new(refine(kind, message), message);
    if !code.is_empty() {
        error = error.with_code(code);
    }
    if let Some(status) = status {
        error = error.with_status(status);
    }
    error
}

fn refine(kind: ErrorKind, message: &str) -> ErrorKind {
    if !matches!(kind, ErrorKind::InvalidRequest | ErrorKind::Unknown) {
        return kind;
    }
    let message = message.to_ascii_lowercase();
    MESSAGES.iter().find(|(words, _)| message.contains(words)).map_or(kind, |(_, kind)| *kind)
}

/// Writes a failure: the status and the envelope.
pub(super) fn encode(error: &Error) -> (u16, Value) {
    let (status, code) = match error.kind() {
        ErrorKind::Authentication => (401, "authentication_error"),
        ErrorKind::AccessDenied => (403, "permission_error"),
        ErrorKind::NotFound => (404, "not_found_error"),
        ErrorKind::InvalidRequest
        | ErrorKind::ContextLength
        | ErrorKind::ContentFilter
        | ErrorKind::InvalidToolCall
        | ErrorKind::UnsupportedToolChoice
        | ErrorKind::NoObject => (400, "invalid_request_error"),
        ErrorKind::RateLimit => (429, "rate_limit_error"),
        ErrorKind::Quota => (402, "billing_error"),
        ErrorKind::Timeout => (408, "timeout_error"),
        ErrorKind::Server if error.status() == Some(529) => (529, "overloaded_error"),
        ErrorKind::Network | ErrorKind::Stream => (502, "api_error"),
        ErrorKind::Server | ErrorKind::Aborted | ErrorKind::Configuration | ErrorKind::Unknown => {
            (500, "api_error")
        }
    };
    let said = error.message();
    let message = if error.kind() == ErrorKind::ContextLength && !said.to_ascii_lowercase().contains(TOO_LONG)
    {
        format!("{TOO_LONG}: {said}")
    } else {
        said.to_owned()
    };
    (status, json!({"type": "error", "error": {"type": code, "message": message}}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ErrorKind as K;

    #[test]
    fn kinds_by_type_then_message_then_status() {
        let check = |status: u16, code: &str, message: &str, kind: K| {
            let body =
                json!({"type": "error", "error": {"type": code, "message": message}, "request_id": "req_1"});
            let error = decode(status, body.to_string().as_bytes());
            assert_eq!(error.kind(), kind, "{status} {code} {message}");
            assert_eq!((error.status(), error.message()), (Some(status), message));
            assert_eq!(error.code(), Some(code));
            assert!(error.body().unwrap().contains("req_1"));
        };
        check(400, "invalid_request_error", "max_tokens: required", K::InvalidRequest);
        check(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", K::ContextLength);
        check(
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 1 + 2 > 2",
            K::ContextLength,
        );
        check(400, "invalid_request_error", "Your credit balance is too low", K::Quota);
        check(400, "invalid_request_error", "Output blocked by content filtering policy", K::ContentFilter);
        check(401, "authentication_error", "invalid x-api-key", K::Authentication);
        check(402, "billing_error", "pay", K::Quota);
        check(403, "permission_error", "no", K::AccessDenied);
        check(404, "not_found_error", "model: x", K::NotFound);
        check(413, "request_too_large", "big", K::ContextLength);
        check(429, "rate_limit_error", "slow down", K::RateLimit);
        check(500, "api_error", "oops", K::Server);
        check(504, "timeout_error", "late", K::Server);
        check(408, "timeout_error", "late", K::Timeout);
        check(529, "overloaded_error", "Overloaded", K::Server);
        check(418, "teapot_error", "short and stout", K::InvalidRequest);
        check(402, "new_error", "pay", K::Quota);
        check(403, "new_error", "x", K::AccessDenied);
    }

    #[test]
    fn other_bodies_fall_back_to_the_status() {
        for (status, body, kind, message) in [
            (502, "<html>bad gateway</html>", K::Server, "<html>bad gateway</html>"),
            (429, "", K::RateLimit, "the server answered 429"),
            (
                400,
                "{\"detail\":\"prompt is too long\"}",
                K::ContextLength,
                "{\"detail\":\"prompt is too long\"}",
            ),
        ] {
            let error = decode(status, body.as_bytes());
            assert_eq!((error.kind(), error.message()), (kind, message));
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for kind in [
            K::Authentication,
            K::AccessDenied,
            K::NotFound,
            K::InvalidRequest,
            K::ContextLength,
            K::RateLimit,
            K::Quota,
            K::Server,
            K::Timeout,
        ] {
            let (status, body) = encode(&Error::new(kind, "so it is"));
            let error = decode(status, body.to_string().as_bytes());
            assert_eq!(error.kind(), kind);
            assert!(error.message().contains("so it is"));
        }
        let overloaded = Error::new(K::Server, "x").with_status(529);
        assert_eq!(encode(&overloaded).0, 529);
        assert_eq!(encode(&Error::new(K::Network, "x")).0, 502);
    }
}
