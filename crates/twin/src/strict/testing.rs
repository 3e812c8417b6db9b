//! What the tables of the wires' tests share.

use http::{HeaderMap, HeaderName, HeaderValue};
use junto_llm::{Content, Finish, FinishReason, Part, Response, Thinking, ToolCall, Wire};
use serde_json::{Value, json};

use super::{Checker, Refusal, Seen};

pub(super) const KEY: &str = "twin-key";

/// A case of a table: what is changed in a good request (see [`patch`]), the status, the wire's own
/// name of the error, and a phrase of the message. A status of 200 means that it is accepted.
pub(super) type Case = (&'static str, Value, u16, &'static str, &'static str);

pub(super) fn path(wire: Wire, model: &str) -> String {
    match wire {
        Wire::Anthropic => "/v1/messages".to_owned(),
        Wire::Responses => "/v1/responses".to_owned(),
        Wire::Chat => "/v1/chat/completions".to_owned(),
        Wire::Gemini => format!("/v1beta/models/{model}:generateContent"),
    }
}

pub(super) fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap()))
        .collect()
}

/// The headers of a good request.
pub(super) fn good_headers(wire: Wire) -> HeaderMap {
    match wire {
        Wire::Anthropic => headers(&[("x-api-key", KEY), ("anthropic-version", "2023-06-01")]),
        Wire::Gemini => headers(&[("x-goog-api-key", KEY)]),
        _ => headers(&[("authorization", &format!("Bearer {KEY}"))]),
    }
}

/// Sends a body with good headers.
pub(super) fn send(checker: &Checker, wire: Wire, model: &str, body: &Value) -> Result<Seen, Refusal> {
    checker.check(wire, &path(wire, model), &good_headers(wire), body.to_string().as_bytes())
}

/// A copy with some fields replaced. A field that is an object is gone into where both have one,
/// unless its name ends in `=`; a `null` removes a field.
pub(super) fn patch(base: &Value, changes: &Value) -> Value {
    let (Value::Object(base), Value::Object(changes)) = (base, changes) else { return changes.clone() };
    let mut out = base.clone();
    for (name, change) in changes {
        let (name, whole) = name.strip_suffix('=').map_or((name.as_str(), false), |name| (name, true));
        match (change, out.get(name)) {
            (Value::Null, _) => {
                out.shift_remove(name);
            }
            (change, Some(old)) if !whole => {
                let new = patch(old, change);
                out.insert(name.to_owned(), new);
            }
            (change, _) => {
                out.insert(name.to_owned(), change.clone());
            }
        }
    }
    Value::Object(out)
}

/// The wire's own name of an error, and its message.
pub(super) fn named(wire: Wire, refusal: &Refusal) -> (String, String) {
    let error = &refusal.body["error"];
    let name = match wire {
        Wire::Anthropic => {
            assert_eq!(refusal.body["type"], "error");
            &error["type"]
        }
        Wire::Gemini => {
            assert_eq!(error["code"], refusal.status);
            &error["status"]
        }
        _ => {
            assert!(error.get("param").is_some(), "an envelope has a param, be it null");
            &error["code"]
        }
    };
    (name.as_str().unwrap_or("null").to_owned(), error["message"].as_str().unwrap().to_owned())
}

/// Runs a table of changes to one good request, each on a new checker.
pub(super) fn run(wire: Wire, model: &str, base: &Value, cases: Vec<Case>) {
    for (what, changes, status, name, phrase) in cases {
        let checker = Checker::new(KEY.to_owned());
        let result = send(&checker, wire, model, &patch(base, &changes));
        judged(wire, what, result, status, name, phrase);
    }
}

/// Compares a verdict with what was expected of it.
pub(super) fn judged(
    wire: Wire,
    what: &str,
    result: Result<Seen, Refusal>,
    status: u16,
    name: &str,
    phrase: &str,
) {
    match result {
        Ok(_) => assert_eq!(200, status, "{what}: accepted"),
        Err(refusal) => {
            let (found, message) = named(wire, &refusal);
            assert_eq!((refusal.status, found.as_str()), (status, name), "{what}: {message}");
            assert!(message.contains(phrase), "{what}: {message:?} lacks {phrase:?}");
        }
    }
}

/// An answer that thinks and calls `f` twice.
pub(super) fn thoughtful(model: &str) -> Response {
    answer(
        model,
        vec![
            Part::new(Content::Thinking(Thinking { text: "Let me see.".to_owned(), signature: None })),
            Part::text("I will look."),
            Part::new(Content::ToolCall(ToolCall::function("", "f", "{\"b\":1,\"a\":[2]}"))),
            Part::new(Content::ToolCall(ToolCall::function("", "f", "{}"))),
        ],
    )
}

pub(super) fn answer(model: &str, parts: Vec<Part>) -> Response {
    let mut response = Response::empty("twin", model);
    response.message.content = parts;
    response.finish_reason = FinishReason::new(Finish::ToolCalls);
    response
}

/// The raw item of a part, whatever its origin.
pub(super) fn raw(part: &Part) -> Value {
    part.origin().and_then(|origin| part.raw_for(origin)).cloned().unwrap_or(Value::Null)
}

pub(super) fn call_ids(response: &Response) -> Vec<String> {
    response.tool_calls().map(|call| call.id.clone()).collect()
}

/// A text of about this many tokens.
pub(super) fn long(tokens: usize) -> String {
    "word ".repeat(tokens)
}

/// A tool's schema.
pub(super) fn shape() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "string"}}})
}
