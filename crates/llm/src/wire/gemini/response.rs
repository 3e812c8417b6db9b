//! Reads a whole answer.

use std::sync::Arc;

use super::body::{Body, Str, finish, usage};
use super::{error, made_id};
use crate::wire::DecodeCx;
use crate::{Content, Error, ErrorKind, Finish, FinishReason, Message, Part, RawBody, Response, Role, Usage};

/// Reads a whole answer.
///
/// # Errors
/// The error the body carries; `content_filter` if the prompt was refused; `server` if the body
/// makes no sense.
pub(super) fn decode(body: &[u8], cx: &DecodeCx) -> Result<Response, Error> {
    read(body, cx).map_err(|error| error.with_provider(&cx.origin.provider))
}

fn read(body: &[u8], cx: &DecodeCx) -> Result<Response, Error> {
    let mut read: Body<'_> = serde_json::from_slice(body).map_err(|e| {
        error::carried(body).unwrap_or_else(|| {
            Error::new(ErrorKind::Server, format!("the answer makes no sense: {e}")).with_body(body)
        })
    })?;
    if read.error.is_some()
        && let Some(error) = error::carried(body)
    {
        return Err(error);
    }
    let Some(mut candidate) = read.take_candidate() else {
        let nothing = || Error::new(ErrorKind::Server, "the answer has no candidate");
        return Err(read.refusal().unwrap_or_else(nothing).with_body(body));
    };
    let id = read.response_id.as_ref().map_or("", |Str(id)| id);
    let basis = if id.is_empty() { body } else { id.as_bytes() };
    let mut calls = 0;
    let parts: Vec<Part> = candidate
        .take_parts()
        .map(|part| {
            let (content, raw) = part.read(&cx.names, || made_id(basis, calls));
            calls += usize::from(matches!(content, Content::ToolCall(_)));
            Part::received(content, Arc::clone(&cx.origin), raw)
        })
        .collect();
    let finish_reason = match &candidate.finish_reason {
        Some(Str(raw)) => finish(raw, calls > 0),
        None => FinishReason::new(Finish::Other),
    };
    Ok(Response {
        id: id.to_owned(),
        model: read.model_version.map_or_else(|| cx.origin.model.clone(), |Str(model)| model.into_owned()),
        provider: cx.origin.provider.clone(),
        message: Message::new(Role::Assistant, parts),
        finish_reason,
        usage: read.usage_metadata.map_or_else(Usage::default, |raw| usage(raw.get())),
        warnings: cx.warnings.clone(),
        rate_limit: cx.rate_limit.clone(),
        raw: Some(RawBody::new(body.to_vec())),
    })
}

#[cfg(test)]
mod tests {
    use super::super::round_trip::{decode_cx, origin};
    use super::*;
    use crate::ToolCall;
    use serde_json::{Value, json};

    fn decode_value(body: &Value) -> Result<Response, Error> {
        decode(body.to_string().as_bytes(), &decode_cx())
    }

    #[test]
    fn an_answer_is_read_whole() {
        let body = json!({
            "candidates": [{
                "content": {"role": "model", "parts": [
                    {"text": "hm", "thought": true},
                    {"text": "I look."},
                    {},
                    {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"id": "given", "name": "look", "args": {}}}
                ]},
                "finishReason": "STOP", "index": 0, "safetyRatings": []
            }, {"content": {"parts": [{"text": "ignored"}]}}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7},
            "modelVersion": "gemini-x-001", "responseId": "r1", "somethingNew": [1]
        });
        let response = decode_value(&body).unwrap();
        assert_eq!((response.id.as_str(), response.model.as_str()), ("r1", "gemini-x-001"));
        assert_eq!((response.text().as_str(), response.reasoning().as_str()), ("I look.", "hm"));
        let calls: Vec<&ToolCall> = response.tool_calls().collect();
        assert_eq!(calls[0], &ToolCall::function(made_id(b"r1", 0), "look", "{\"at\":1}"));
        assert_eq!(calls[1], &ToolCall::function("given", "look", "{}"));
        assert_eq!(response.finish_reason, FinishReason::with_raw(Finish::ToolCalls, "STOP"));
        assert_eq!((response.usage.input, response.usage.total), (5, 7));
        let signed = &response.message.content[2];
        assert_eq!(signed.raw_for(&origin()), Some(&body["candidates"][0]["content"]["parts"][3]));
        assert_eq!(response.raw.unwrap().json(), body);
    }

    #[test]
    fn answers_without_an_id_still_give_different_call_ids() {
        let body = |tokens: u32| {
            json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": tokens}})
        };
        let id = |tokens| decode_value(&body(tokens)).unwrap().tool_calls().next().unwrap().id.clone();
        assert_eq!(id(1), id(1));
        assert_ne!(id(1), id(2));
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        let check = |body: &str, kind: ErrorKind| {
            let error = decode(body.as_bytes(), &decode_cx()).unwrap_err();
            assert_eq!(error.kind(), kind, "{body}");
            assert_eq!(error.provider(), Some("gemini"));
        };
        check("{}", ErrorKind::Server);
        check("", ErrorKind::Server);
        check("<html>", ErrorKind::Server);
        check(r#"{"candidates": 3}"#, ErrorKind::Server);
        check(r#"{"candidates": []}"#, ErrorKind::Server);
        check(r#"{"promptFeedback": {"blockReason": "SAFETY"}}"#, ErrorKind::ContentFilter);
        check(r#"{"error": {"code": 503, "status": "UNAVAILABLE"}}"#, ErrorKind::Server);
        check(r#"[{"error": {"status": "NOT_FOUND", "message": "x"}}]"#, ErrorKind::NotFound);
    }

    #[test]
    fn a_candidate_may_be_almost_empty() {
        let response =
            decode_value(&json!({"candidates": [{"finishReason": "SAFETY", "content": null}]})).unwrap();
        assert!(response.message.content.is_empty());
        assert_eq!(response.finish_reason.unified, Finish::ContentFilter);
        assert_eq!(response.model, "gemini-x");
    }
}
