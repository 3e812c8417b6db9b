//! How many tokens a request would be: the provider's word where it has one, else a count of our own.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue};
use junto_gateway::{Gateway, Target};
use junto_llm::{
    ByteStream, CallCx, Error, EventStream, Fut, Passthrough, Provider, Request, Response, Wire,
};
use junto_twin::{Options, Play, Twin};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::scripted::{self, Scripted};
use crate::support::{Raw, Reports, ask, model, post, raw, target};

/// The wires that have a surface for counts.
const SURFACES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Gemini];

/// Where a surface is, for this model.
fn path(surface: Wire, model: &str) -> String {
    match surface {
        Wire::Anthropic => "/v1/messages/count_tokens".to_owned(),
        Wire::Gemini => format!("/v1beta/models/{model}:countTokens"),
        _ => "/v1/responses/input_tokens".to_owned(),
    }
}

/// What a client of this surface sends to have one message counted.
fn body(surface: Wire, model: &str, text: &str) -> Value {
    match surface {
        Wire::Anthropic => json!({"model": model, "messages": [{"role": "user", "content": text}]}),
        Wire::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
        _ => json!({"model": model, "input": text}),
    }
}

fn tokens(surface: Wire, answer: &Raw) -> u64 {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let name = if surface == Wire::Gemini { "totalTokens" } else { "input_tokens" };
    answer.json()[name].as_u64().unwrap()
}

async fn count(gateway: &Gateway, surface: Wire, model: &str, body: &Value) -> Raw {
    raw(ask(gateway, post(&path(surface, model), body.to_string())).await).await
}

/// A gateway whose provider is asked for this model whatever the client names, and speaks no wire by bytes.
fn counting(model: &str) -> (Arc<Scripted>, Reports, Gateway) {
    let provider = Arc::new(Scripted::new(scripted::answer([], "an answer")));
    let reports = Reports::default();
    let target = Target::new("s", provider.clone()).model(model);
    let gateway = Gateway::builder().route("*", target).on_call(reports.sink()).build().unwrap();
    (provider, reports, gateway)
}

/// A client of any wire learns what the model that will answer it counts.
#[tokio::test]
async fn the_model_that_answers_is_the_one_that_counts() {
    let (provider, reports, gateway) = counting("gpt-5.5");
    for surface in SURFACES {
        let answer = count(&gateway, surface, "any", &body(surface, "any", "Hello, world")).await;
        // The two words and the comma, and six around them.
        assert_eq!(tokens(surface, &answer), 9, "{surface:?}");
    }
    assert!(provider.asked().is_empty() && reports.all().is_empty(), "to count is no call");

    let (_, _, claude) = counting("claude-opus-5-5");
    let long = "The quick brown fox jumps over the lazy dog. ".repeat(100);
    for surface in SURFACES {
        let [gpt, claude] = [
            tokens(surface, &count(&gateway, surface, "any", &body(surface, "any", &long)).await),
            tokens(surface, &count(&claude, surface, "any", &body(surface, "any", &long)).await),
        ];
        assert!((1000..1100).contains(&gpt) && claude > gpt * 6 / 5, "{surface:?} {gpt} {claude}");
    }
}

#[tokio::test]
async fn gemini_clients_may_send_a_whole_request() {
    let (_, _, gateway) = counting("gpt-5.5");
    let whole = json!({"generateContentRequest": {
        "model": "models/any",
        "systemInstruction": {"parts": [{"text": "You are a scientist"}]},
        "contents": [{"role": "user", "parts": [{"text": "Hello, world"}]}],
    }});
    let answer = count(&gateway, Wire::Gemini, "any", &whole).await;
    assert_eq!(tokens(Wire::Gemini, &answer), 9 + 8);
    assert_eq!(answer.json()["promptTokensDetails"][0]["tokenCount"], 17);
}

#[tokio::test]
async fn tools_and_pictures_count() {
    let (_, _, gateway) = counting("claude-sonnet-4-5");
    let plain = body(Wire::Anthropic, "any", "hi");
    let least = tokens(Wire::Anthropic, &count(&gateway, Wire::Anthropic, "any", &plain).await);
    let mut with_tool = plain.clone();
    with_tool["tools"] =
        json!([{"name": "weather", "description": "The weather", "input_schema": {"type": "object"}}]);
    let tool = tokens(Wire::Anthropic, &count(&gateway, Wire::Anthropic, "any", &with_tool).await);
    assert!(tool > least + 300, "{least} {tool}");
    let mut with_picture = plain;
    let source = json!({"type": "url", "url": "https://example.org/a.png"});
    with_picture["messages"][0]["content"] = json!([{"type": "image", "source": source}]);
    let picture = tokens(Wire::Anthropic, &count(&gateway, Wire::Anthropic, "any", &with_picture).await);
    assert!(picture > least + 1000, "{least} {picture}");
}

/// A provider that answers these bytes with this status to whatever is sent to it.
fn telling(surface: Wire, status: u16, said: Result<&'static str, Error>) -> (Arc<Scripted>, Gateway) {
    let chunks = vec![said.map(|said| Bytes::from_static(said.as_bytes()))];
    let answer = http::Response::builder().status(status).header("x-from-afar", "yes").body(chunks).unwrap();
    let provider = Arc::new(Scripted::new(scripted::answer([], "an answer")).with_bytes(surface, answer));
    let gateway = Gateway::builder().route("*", Target::new("s", provider.clone())).build().unwrap();
    (provider, gateway)
}

/// A provider of the client's wire is asked, with the client's own bytes, and its word goes back as it is.
#[tokio::test]
async fn a_provider_of_the_same_wire_is_asked() {
    let below =
        ["/v1/messages/count_tokens?beta=true", "/responses/input_tokens", "/v1beta/models/any:countTokens"];
    for (surface, below) in SURFACES.into_iter().zip(below) {
        let (provider, gateway) = telling(surface, 200, Ok(r#"{"input_tokens": 4242 }"#));
        let query = if surface == Wire::Anthropic { "?beta=true&key=mine" } else { "?key=mine" };
        let sent = format!("  {}", body(surface, "any", "hi"));
        let mut request = post(&format!("{}{query}", path(surface, "any")), sent.clone());
        request.headers_mut().insert("x-api-key", HeaderValue::from_static("mine"));
        let answer = raw(ask(&gateway, request).await).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, r#"{"input_tokens": 4242 }"#));
        assert_eq!(answer.headers["x-from-afar"], "yes");
        let (path, headers, body) = provider.sent().remove(0);
        assert_eq!((path.as_str(), &body[..]), (below, sent.as_bytes()));
        assert!(!headers.contains_key("x-api-key"));
    }
}

/// A provider that has no such surface, or is not well, does not keep the client from its count; but what the
/// client did wrong it is told.
#[tokio::test]
async fn a_provider_that_cannot_count() {
    let broken = || Err(Error::stream("gone"));
    let cases = [(404, Ok("{}")), (405, Ok("{}")), (429, Ok("{}")), (500, Ok("oops")), (200, broken())];
    for (status, said) in cases {
        let (_, gateway) = telling(Wire::Anthropic, status, said);
        let answer = count(&gateway, Wire::Anthropic, "any", &body(Wire::Anthropic, "any", "hi")).await;
        assert!(tokens(Wire::Anthropic, &answer) > 1, "{status}");
    }
    let (_, gateway) = telling(Wire::Anthropic, 400, Ok(r#"{"type":"error"}"#));
    let answer = count(&gateway, Wire::Anthropic, "any", &body(Wire::Anthropic, "any", "hi")).await;
    assert_eq!((answer.status, answer.text().as_str()), (400, r#"{"type":"error"}"#));
}

/// A provider that says nothing: not even the head of an answer, or nothing behind it.
struct Silent {
    has_begun: bool,
}

impl Provider for Silent {
    fn complete<'a>(&'a self, _: Request, _: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(std::future::pending())
    }

    fn stream<'a>(&'a self, _: Request, _: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(std::future::pending())
    }

    fn passthrough(&self, _: Wire) -> Option<&dyn Passthrough> {
        Some(self)
    }
}

impl Passthrough for Silent {
    fn send<'a>(
        &'a self,
        _: &'a str,
        _: HeaderMap,
        _: Bytes,
        _: &'a CallCx,
    ) -> Fut<'a, Result<http::Response<ByteStream>, Error>> {
        Box::pin(async move {
            if !self.has_begun {
                std::future::pending::<()>().await;
            }
            let silence: ByteStream = Box::pin(stream::pending());
            Ok(http::Response::new(silence))
        })
    }
}

/// The clock stands still but when nobody has anything to do: what hangs is not waited for.
#[tokio::test(start_paused = true)]
async fn a_provider_that_does_not_answer_is_not_waited_for() {
    for has_begun in [false, true] {
        let target = Target::new("s", Arc::new(Silent { has_begun }));
        let gateway = Gateway::builder().route("*", target).build().unwrap();
        for surface in SURFACES {
            let begin = Instant::now();
            let answer = count(&gateway, surface, "gpt-5.5", &body(surface, "gpt-5.5", "Hello, world")).await;
            assert!(tokens(surface, &answer) > 1, "{surface:?}");
            assert!(begin.elapsed() < Duration::from_secs(5), "{surface:?} {:?}", begin.elapsed());
        }
    }
}

/// A client would take 0 for room without end, so what cannot be counted is refused, in the wire's envelope.
#[tokio::test]
async fn what_cannot_be_counted_is_refused() {
    let (_, _, gateway) = counting("gpt-5.5");
    for surface in SURFACES {
        for bad in [
            "",
            "{",
            "[]",
            "null",
            r#"{"model":"m"}"#,
            r#"{"model":"m","messages":1,"input":1,"contents":1}"#,
        ] {
            let answer = raw(ask(&gateway, post(&path(surface, "any"), bad.to_owned())).await).await;
            assert_eq!(answer.status, 400, "{surface:?} {bad}: {}", answer.text());
            let error = &answer.json()["error"];
            assert!(error["message"].is_string(), "{error}");
        }
    }
    let answer = raw(ask(&gateway, post("/v1/messages/count_tokens", r#"{"messages":[]}"#)).await).await;
    assert_eq!(
        (answer.status, answer.json()["error"]["type"].as_str()),
        (400, Some("invalid_request_error"))
    );
    let get = http::Request::get("/v1/messages/count_tokens").body(Body::empty()).unwrap();
    assert_eq!(ask(&gateway, get).await.status(), 404);
}

#[tokio::test]
async fn strangers_get_no_counts() {
    let provider = Arc::new(Scripted::new(scripted::answer([], "an answer")));
    let gateway =
        Gateway::builder().route("*", Target::new("s", provider)).client_key("secret").build().unwrap();
    let answer = count(&gateway, Wire::Anthropic, "any", &body(Wire::Anthropic, "any", "hi")).await;
    assert_eq!((answer.status, answer.json()["error"]["type"].as_str()), (401, Some("authentication_error")));
}

/// With a twin behind it, which has the real surfaces and is as strict as they are: its count is the client's,
/// and it charges nothing.
#[tokio::test]
async fn a_twin_counts_for_itself() {
    for surface in SURFACES {
        let twin = Twin::start(Play::text("never asked for"), Options::default()).unwrap();
        let gateway = Gateway::builder().route("*", target(&twin, surface)).build().unwrap();
        let name = model(surface);
        let mut request = post(&path(surface, name), body(surface, name, "Hello, world").to_string());
        request.headers_mut().insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        let answer = raw(ask(&gateway, request).await).await;
        assert!(tokens(surface, &answer) >= 1, "{surface:?}");
        assert_eq!(twin.usage_total().total, 0, "to count costs nothing");
    }
}
