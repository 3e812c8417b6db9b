//! Failures, in both directions.

use serde_json::{Value, json};

use super::response::text;
use crate::{Error, ErrorKind};

/// The most of a body that is quoted when it is not JSON.
const QUOTE: usize = 200;

/// What servers write as `code` or `type`.
const CODES: [(&str, ErrorKind); 24] = [
    ("insufficient_quota", ErrorKind::Quota),
    ("billing_hard_limit_reached", ErrorKind::Quota),
    ("billing_not_active", ErrorKind::Quota),
    ("insufficient_balance", ErrorKind::Quota),
    ("context_length_exceeded", ErrorKind::ContextLength),
    ("exceed_context_size_error", ErrorKind::ContextLength),
    ("rate_limit_exceeded", ErrorKind::RateLimit),
    ("rate_limit_error", ErrorKind::RateLimit),
    ("invalid_api_key", ErrorKind::Authentication),
    ("authentication_error", ErrorKind::Authentication),
    ("permission_error", ErrorKind::AccessDenied),
    ("permission_denied", ErrorKind::AccessDenied),
    ("model_not_found", ErrorKind::NotFound),
    ("not_found_error", ErrorKind::NotFound),
    ("content_filter", ErrorKind::ContentFilter),
    ("content_policy_violation", ErrorKind::ContentFilter),
    ("server_error", ErrorKind::Server),
    ("internal_server_error", ErrorKind::Server),
    ("InternalServerError", ErrorKind::Server),
    ("overloaded_error", ErrorKind::Server),
    ("timeout", ErrorKind::Timeout),
    ("NotFoundError", ErrorKind::NotFound),
    ("requests", ErrorKind::RateLimit),
    ("tokens", ErrorKind::RateLimit),
];

/// What messages say, in lower case, where code and status say too little.
const PHRASES: [(&str, ErrorKind); 14] = [
    ("maximum context length", ErrorKind::ContextLength),
    ("context length exceeded", ErrorKind::ContextLength),
    ("available context size", ErrorKind::ContextLength),
    ("context window", ErrorKind::ContextLength),
    ("prompt is too long", ErrorKind::ContextLength),
    ("input is too long", ErrorKind::ContextLength),
    ("exceeded your current quota", ErrorKind::Quota),
    ("insufficient balance", ErrorKind::Quota),
    ("insufficient credits", ErrorKind::Quota),
    ("requires more credits", ErrorKind::Quota),
    ("content management policy", ErrorKind::ContentFilter),
    ("incorrect api key", ErrorKind::Authentication),
    ("invalid api key", ErrorKind::Authentication),
    ("api key not valid", ErrorKind::Authentication),
];

/// Reads an answer that is not a success.
pub(super) fn decode(status: u16, body: &[u8]) -> Error {
    let error = if let Ok(value) = serde_json::from_slice::<Value>(body) {
        read(status, &value)
    } else {
        let mut message = quote(&String::from_utf8_lossy(body));
        if message.is_empty() {
            message = format!("the server answered with status {status} and nothing else");
        }
        Error::new(by_message(&message).unwrap_or_else(|| by_status(status)), message)
    };
    error.with_status(status).with_body(body)
}

/// The failure that a body, a choice or a chunk with a successful status carries.
pub(super) fn within(value: &Value) -> Option<Error> {
    let error = value.get("error").filter(|error| !error.is_null())?;
    // Proxies put the status they got into `code`.
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let read = read(status.unwrap_or(0), value);
    Some(match status {
        Some(status) => read.with_status(status),
        None => read,
    })
}

/// The failure that a frame of the kind `error` carries.
pub(super) fn in_frame(data: &str) -> Error {
    let value = serde_json::from_str::<Value>(data).unwrap_or_else(|_| json!({ "message": quote(data) }));
    within(&value).unwrap_or_else(|| read(0, &value)).with_body(data.as_bytes())
}

fn read(status: u16, value: &Value) -> Error {
    let inner = value.get("error").filter(|error| error.is_object()).unwrap_or(value);
    let message = text(inner, "message")
        .or_else(|| text(value, "error"))
        .or_else(|| text(inner, "detail"))
        .map(str::to_owned)
        .or_else(|| validation_faults(&inner["detail"]))
        .filter(|message| !message.trim().is_empty())
        .unwrap_or_else(|| quote(&value.to_string()));
    let code = text(inner, "code").map(str::to_owned).or_else(|| {
        let number = inner.get("code").and_then(Value::as_u64).filter(|code| *code != u64::from(status));
        number.map(|code| code.to_string())
    });
    let kind_name = text(inner, "type");
    let kind = code
        .as_deref()
        .and_then(by_code)
        .or_else(|| kind_name.and_then(by_code))
        .or_else(|| by_message(&message))
        .unwrap_or_else(|| by_status(status));
    let error = Error::new(kind, message);
    match code.as_deref().or(kind_name) {
        Some(code) => error.with_code(code),
        None => error,
    }
}

/// What is wrong with which field, as FastAPI lists it.
fn validation_faults(detail: &Value) -> Option<String> {
    let faults: Vec<String> = detail
        .as_array()?
        .iter()
        .filter_map(|fault| {
            let place: Vec<String> = fault["loc"]
                .as_array()
                .map_or(&[][..], Vec::as_slice)
                .iter()
                .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned))
                .collect();
            Some(format!("{}: {}", place.join("."), text(fault, "msg")?))
        })
        .collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

fn by_code(code: &str) -> Option<ErrorKind> {
    CODES.iter().find(|(known, _)| *known == code).map(|(_, kind)| *kind)
}

fn by_message(message: &str) -> Option<ErrorKind> {
    let message = message.to_lowercase();
    PHRASES.iter().find(|(phrase, _)| message.contains(phrase)).map(|(_, kind)| *kind)
}

fn by_status(status: u16) -> ErrorKind {
    match status {
        0 => ErrorKind::Server,
        _ => ErrorKind::from_status(status),
    }
}

/// The beginning of a text that is not JSON; of a page, its title.
fn quote(body: &str) -> String {
    let body = body.trim();
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let start = start + "<title>".len();
        let end = lower.get(start..)?.find("</title>")?;
        body.get(start..start + end)
    });
    let text = match title {
        Some(title) => title.trim(),
        None if body.starts_with('<') => "the server answered with a page instead of JSON",
        None => body,
    };
    text.chars().take(QUOTE).collect()
}

/// Writes a failure.
pub(super) fn encode(error: &Error) -> (u16, Value) {
    let (status, kind, code) = match error.kind() {
        ErrorKind::Authentication => (401, "invalid_request_error", Some("invalid_api_key")),
        ErrorKind::AccessDenied => (403, "permission_error", None),
        ErrorKind::NotFound => (404, "invalid_request_error", Some("model_not_found")),
        ErrorKind::ContextLength => (400, "invalid_request_error", Some("context_length_exceeded")),
        ErrorKind::RateLimit => (429, "rate_limit_error", Some("rate_limit_exceeded")),
        ErrorKind::Quota => (429, "insufficient_quota", Some("insufficient_quota")),
        ErrorKind::ContentFilter => (400, "invalid_request_error", Some("content_filter")),
        ErrorKind::Timeout => (408, "timeout", Some("timeout")),
        ErrorKind::InvalidRequest
        | ErrorKind::InvalidToolCall
        | ErrorKind::UnsupportedToolChoice
        | ErrorKind::Configuration => (400, "invalid_request_error", None),
        ErrorKind::Network | ErrorKind::Stream => (502, "server_error", None),
        ErrorKind::Aborted => (499, "aborted", None),
        ErrorKind::Server | ErrorKind::NoObject | ErrorKind::Unknown => {
            (error.status().filter(|status| *status >= 500).unwrap_or(500), "server_error", None)
        }
    };
    let code = code.or_else(|| error.code());
    (status, json!({ "error": { "message": error.message(), "type": kind, "param": null, "code": code } }))
}
