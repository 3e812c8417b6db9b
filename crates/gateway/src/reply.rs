//! Replies that the gateway makes itself: JSON, event streams, and refusals in the words of the
//! client's wire.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode, header};
use junto_llm::{CallId, Error, ErrorKind, Wire};
use serde_json::Value;

use crate::{limits, translate};

/// Why a request is not answered.
#[derive(Debug)]
pub(crate) struct Failure {
    error: Error,
    /// A status that the error's kind alone does not give.
    status: Option<StatusCode>,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error::new(kind, message).into()
    }

    /// A refusal with a status of its own.
    pub(crate) fn with_status(status: StatusCode, message: impl Into<String>) -> Self {
        let error = Error::new(ErrorKind::InvalidRequest, message);
        Self { error, status: Some(status) }
    }

    /// The gateway has as many calls as it takes. Each wire has a status that makes its clients
    /// come back later.
    pub(crate) fn overloaded(wire: Wire) -> Self {
        let status = if wire == Wire::Anthropic { 529 } else { 503 };
        Error::new(ErrorKind::Server, "the gateway has too many requests under way")
            .with_status(status)
            .with_retry_after(Some(Duration::from_secs(1)))
            .into()
    }

    /// What went wrong.
    pub(crate) fn error(&self) -> &Error {
        &self.error
    }

    /// The failure as the wire says it.
    pub(crate) fn into_response(self, wire: Wire) -> Response {
        let (status, mut envelope) = wire.codec().encode_error(&self.error);
        let status = self.status.or(StatusCode::from_u16(status).ok());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        name(wire, status, &mut envelope);
        let mut response = json(status, &envelope);
        if let Some(known) = self.error.rate_limit() {
            limits::tell(wire, known, translate::now(), response.headers_mut());
        }
        if let Some(wait) = self.error.retry_after() {
            let headers = response.headers_mut();
            // Whole seconds, never sooner than asked; the exact wait where it is none.
            let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            if let (true, Ok(millis)) = (wait.subsec_nanos() > 0, u64::try_from(wait.as_millis())) {
                headers.insert("retry-after-ms", HeaderValue::from(millis));
            }
        }
        response
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, status: None }
    }
}

/// Makes an envelope agree with a status that its error's kind does not give.
fn name(wire: Wire, status: StatusCode, envelope: &mut Value) {
    let error = &mut envelope["error"];
    match (wire, status) {
        (Wire::Anthropic, StatusCode::PAYLOAD_TOO_LARGE) => error["type"] = "request_too_large".into(),
        (Wire::Anthropic, StatusCode::NOT_FOUND) => error["type"] = "not_found_error".into(),
        (Wire::Gemini, status) => {
            error["code"] = status.as_u16().into();
            if status == StatusCode::NOT_FOUND {
                error["status"] = "NOT_FOUND".into();
            }
        }
        _ => {}
    }
}

/// A JSON reply.
pub(crate) fn json(status: StatusCode, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A reply of text of this type.
pub(crate) fn text(kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A stream of server-sent events.
pub(crate) fn events(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let fields = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        // Proxies in between must not collect the events.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    headers.extend(fields.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

/// Gives a reply the wire's header with the call's id, unless it has one from the provider.
pub(crate) fn identify(response: &mut Response, wire: Wire, call: &CallId) {
    let name = HeaderName::from_static(if wire == Wire::Anthropic { "request-id" } else { "x-request-id" });
    if let header::Entry::Vacant(place) = response.headers_mut().entry(name)
        && let Ok(value) = HeaderValue::try_from(format!("req_{call}"))
    {
        place.insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;
    use serde_json::json;

    async fn said(failure: Failure, wire: Wire) -> (u16, Option<String>, Value) {
        let response = failure.into_response(wire);
        let wait = response.headers().get("retry-after").map(|v| v.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, wait, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn failures_in_the_words_of_each_wire() {
        let (status, wait, body) = said(Failure::overloaded(Wire::Anthropic), Wire::Anthropic).await;
        assert_eq!((status, wait.as_deref()), (529, Some("1")));
        assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!("overloaded_error")));

        let (status, wait, body) = said(Failure::overloaded(Wire::Responses), Wire::Responses).await;
        assert_eq!((status, wait.as_deref()), (503, Some("1")));
        assert_eq!(body["error"]["code"], "server_error");

        let large = || Failure::with_status(StatusCode::PAYLOAD_TOO_LARGE, "too large");
        let (status, _, body) = said(large(), Wire::Anthropic).await;
        assert_eq!((status, &body["error"]["type"]), (413, &json!("request_too_large")));
        let (status, _, body) = said(large(), Wire::Responses).await;
        assert_eq!((status, &body["error"]["type"]), (413, &json!("invalid_request_error")));
        let (status, _, body) = said(large(), Wire::Gemini).await;
        assert_eq!((status, &body["error"]["code"]), (413, &json!(413)));

        let nothing = || Failure::with_status(StatusCode::NOT_FOUND, "nothing here");
        let (status, _, body) = said(nothing(), Wire::Anthropic).await;
        assert_eq!((status, &body["error"]["type"]), (404, &json!("not_found_error")));
        let (status, _, body) = said(nothing(), Wire::Gemini).await;
        assert_eq!((status, &body["error"]["status"]), (404, &json!("NOT_FOUND")));
    }

    #[test]
    fn waits_are_rounded_up() {
        let check = |wait: Duration, seconds: &str, millis: Option<&str>| {
            let error = Error::new(ErrorKind::RateLimit, "slow").with_retry_after(Some(wait));
            let response = Failure::from(error).into_response(Wire::Anthropic);
            assert_eq!(response.headers()["retry-after"], seconds);
            assert_eq!(response.headers().get("retry-after-ms").map(|v| v.to_str().unwrap()), millis);
        };
        check(Duration::from_secs(7), "7", None);
        check(Duration::from_millis(250), "1", Some("250"));
        check(Duration::ZERO, "0", None);
    }
}
