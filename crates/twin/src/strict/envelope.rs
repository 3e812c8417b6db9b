//! The error envelopes of the wires.

use junto_llm::Wire;
use serde_json::{Value, json};

use super::Refusal;

/// The wire's error envelope for a status. The finer codes that some statuses have (a quota instead
/// of a rate, a context that is too long) are told from the message.
pub fn envelope(wire: Wire, status: u16, message: &str) -> Value {
    match wire {
        Wire::Anthropic => {
            let kind = anthropic_type(status);
            json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": null})
        }
        Wire::Responses | Wire::Chat => {
            let (kind, code) = openai_type(status, message);
            openai(message, kind, None, code)
        }
        Wire::Gemini => {
            json!({"error": {"code": status, "message": message, "status": gemini_status(status)}})
        }
    }
}

fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        s if s >= 500 => "api_error",
        _ => "invalid_request_error",
    }
}

fn openai_type(status: u16, message: &str) -> (&'static str, Option<&'static str>) {
    let says = |phrase: &str| message.to_ascii_lowercase().contains(phrase);
    match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        404 if says("model") => ("invalid_request_error", Some("model_not_found")),
        429 if says("quota") => ("insufficient_quota", Some("insufficient_quota")),
        429 => ("requests", Some("rate_limit_exceeded")),
        400 | 413 if says("context length") || says("context window") => {
            ("invalid_request_error", Some("context_length_exceeded"))
        }
        s if s >= 500 => ("server_error", None),
        _ => ("invalid_request_error", None),
    }
}

fn gemini_status(status: u16) -> &'static str {
    match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        412 => "FAILED_PRECONDITION",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        500 => "INTERNAL",
        501 => "UNIMPLEMENTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        s if s > 500 => "INTERNAL",
        _ => "UNKNOWN",
    }
}

fn openai(message: &str, kind: &str, param: Option<&str>, code: Option<&str>) -> Value {
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

impl Refusal {
    /// A refusal with the wire's usual envelope for the status.
    pub(super) fn new(wire: Wire, status: u16, message: impl AsRef<str>) -> Self {
        Self { status, body: envelope(wire, status, message.as_ref()) }
    }

    /// Anthropic's 400.
    pub(super) fn anthropic(message: impl AsRef<str>) -> Self {
        Self::new(Wire::Anthropic, 400, message)
    }

    /// OpenAI's 400 with the parameter and the code; an empty one is `null`.
    pub(super) fn openai(message: impl AsRef<str>, param: &str, code: &str) -> Self {
        let given = |text: &'_ str| (!text.is_empty()).then(|| text.to_owned());
        let body = openai(
            message.as_ref(),
            "invalid_request_error",
            given(param).as_deref(),
            given(code).as_deref(),
        );
        Self { status: 400, body }
    }

    /// Gemini's 400.
    pub(super) fn gemini(message: impl AsRef<str>) -> Self {
        Self::new(Wire::Gemini, 400, message)
    }

    /// The same refusal with another status.
    pub(super) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Gemini's refusal with a `details` entry.
    pub(super) fn with_detail(mut self, detail: Value) -> Self {
        if let Some(error) = self.body.get_mut("error").and_then(Value::as_object_mut) {
            error.insert("details".to_owned(), json!([detail]));
        }
        self
    }
}

/// The refusal of a body that is no JSON.
pub(super) fn not_json(wire: Wire, fault: &str) -> Refusal {
    let message = match wire {
        Wire::Anthropic => format!("The request body is not valid JSON: {fault}"),
        Wire::Responses | Wire::Chat => {
            format!("We could not parse the JSON body of your request: {fault}")
        }
        Wire::Gemini => format!("Invalid JSON payload received. {fault}"),
    };
    Refusal::new(wire, 400, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wire_names_a_status_its_own_way() {
        let name = |wire, status, message| {
            let body = envelope(wire, status, message);
            let error = &body["error"];
            assert_eq!(error["message"], message);
            match wire {
                Wire::Anthropic => error["type"].clone(),
                Wire::Gemini => {
                    assert_eq!(error["code"], status);
                    error["status"].clone()
                }
                _ => json!([error["type"], error["code"]]),
            }
        };
        for (status, expected) in [
            (400, "invalid_request_error"),
            (401, "authentication_error"),
            (403, "permission_error"),
            (404, "not_found_error"),
            (413, "request_too_large"),
            (429, "rate_limit_error"),
            (500, "api_error"),
            (503, "api_error"),
            (529, "overloaded_error"),
        ] {
            assert_eq!(name(Wire::Anthropic, status, "x"), expected, "{status}");
        }
        for (status, expected) in [
            (400, "INVALID_ARGUMENT"),
            (403, "PERMISSION_DENIED"),
            (404, "NOT_FOUND"),
            (429, "RESOURCE_EXHAUSTED"),
            (500, "INTERNAL"),
            (503, "UNAVAILABLE"),
            (504, "DEADLINE_EXCEEDED"),
        ] {
            assert_eq!(name(Wire::Gemini, status, "x"), expected, "{status}");
        }
        for (status, message, expected) in [
            (400, "x", json!(["invalid_request_error", null])),
            (
                400,
                "the maximum context length is 5",
                json!(["invalid_request_error", "context_length_exceeded"]),
            ),
            (401, "x", json!(["invalid_request_error", "invalid_api_key"])),
            (404, "no such model", json!(["invalid_request_error", "model_not_found"])),
            (429, "slow down", json!(["requests", "rate_limit_exceeded"])),
            (429, "You exceeded your quota", json!(["insufficient_quota", "insufficient_quota"])),
            (500, "x", json!(["server_error", null])),
        ] {
            assert_eq!(name(Wire::Responses, status, message), expected, "{status} {message}");
            assert_eq!(name(Wire::Chat, status, message), expected, "{status} {message}");
        }
    }
}
