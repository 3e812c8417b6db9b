//! Failures, read and written.

use super::*;
use crate::ErrorKind as K;

#[test]
fn failures_in_all_their_shapes() {
    let check = |status: u16, body: &str, kind: K, message: &str| {
        let error = Chat.decode_error(status, body.as_bytes());
        assert_eq!(error.kind(), kind, "{status} {body}");
        assert_eq!(error.message(), message);
        assert_eq!(error.status(), Some(status));
        assert_eq!(error.body(), Some(body));
    };
    let openai = |message: &str, kind: &str, code: Value| {
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}}).to_string()
    };
    check(
        401,
        &openai("bad key", "invalid_request_error", json!("invalid_api_key")),
        K::Authentication,
        "bad key",
    );
    check(403, &openai("no", "invalid_request_error", Value::Null), K::AccessDenied, "no");
    check(
        404,
        &openai("no model", "invalid_request_error", json!("model_not_found")),
        K::NotFound,
        "no model",
    );
    check(400, &openai("bad", "invalid_request_error", Value::Null), K::InvalidRequest, "bad");
    check(429, &openai("slow", "requests", json!("rate_limit_exceeded")), K::RateLimit, "slow");
    check(429, &openai("pay", "insufficient_quota", json!("insufficient_quota")), K::Quota, "pay");
    check(
        402,
        &openai("Insufficient Balance", "unknown_error", Value::Null),
        K::Quota,
        "Insufficient Balance",
    );
    check(
        400,
        &openai("long", "invalid_request_error", json!("context_length_exceeded")),
        K::ContextLength,
        "long",
    );
    check(
        400,
        &openai("filtered", "invalid_request_error", json!("content_filter")),
        K::ContentFilter,
        "filtered",
    );
    check(500, &openai("oops", "server_error", Value::Null), K::Server, "oops");
    let vllm = "This model's maximum context length is 4096 tokens";
    check(
        400,
        &json!({"object": "error", "message": vllm, "type": "BadRequestError", "code": 400}).to_string(),
        K::ContextLength,
        vllm,
    );
    let llama = "the request exceeds the available context size";
    check(
        400,
        &json!({"error": {"code": 400, "message": llama, "type": "exceed_context_size_error"}}).to_string(),
        K::ContextLength,
        llama,
    );
    check(404, r#"{"error":"model 'x' not found"}"#, K::NotFound, "model 'x' not found");
    check(401, r#"{"detail":"Not authenticated"}"#, K::Authentication, "Not authenticated");
    check(
        422,
        r#"{"detail":[{"loc":["body","messages",0],"msg":"field required"}]}"#,
        K::InvalidRequest,
        "body.messages.0: field required",
    );
    check(502, "<html><head><title>502 Bad Gateway</title></head></html>", K::Server, "502 Bad Gateway");
    check(503, "<html>x</html>", K::Server, "the server answered with a page instead of JSON");
    check(503, "upstream connect error", K::Server, "upstream connect error");
    check(500, "", K::Server, "the server answered with status 500 and nothing else");
    check(429, "{}", K::RateLimit, "{}");
    check(529, "[1]", K::Server, "[1]");
}

#[test]
fn the_code_is_kept() {
    let code = |body: &str| Chat.decode_error(400, body.as_bytes()).code().map(str::to_owned);
    assert_eq!(code(r#"{"error":{"message":"x","code":"c","type":"t"}}"#).as_deref(), Some("c"));
    assert_eq!(code(r#"{"error":{"message":"x","type":"t"}}"#).as_deref(), Some("t"));
    assert_eq!(code(r#"{"error":{"message":"x","code":17}}"#).as_deref(), Some("17"));
    assert_eq!(code(r#"{"error":{"message":"x","code":400}}"#), None);
}

#[test]
fn long_bodies_are_quoted_in_part() {
    let error = Chat.decode_error(500, "é".repeat(5000).as_bytes());
    assert_eq!(error.message().chars().count(), 200);
}

#[test]
fn what_a_server_writes_a_client_reads() {
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
        let (status, body) = Chat.encode_error(&Error::new(kind, "because"));
        assert!(status >= 400);
        let error = Chat.decode_error(status, body.to_string().as_bytes());
        assert_eq!((error.kind(), error.message()), (kind, "because"), "{body}");
    }
    let (status, body) =
        Chat.encode_error(&Error::new(K::Server, "x").with_status(529).with_code("overloaded"));
    assert_eq!(status, 529);
    assert_eq!(
        body,
        json!({"error": {"message": "x", "type": "server_error", "param": null, "code": "overloaded"}})
    );
}
