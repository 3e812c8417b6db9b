//! What no client of ours would send, and who may send at all.

use axum::body::Body;
use http::{HeaderMap, HeaderValue, Method};
use junto_gateway::{Gateway, Settings, Target};
use junto_llm::Wire;
use junto_twin::Play;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::scripted::{answer, shared};
use crate::support::{House, Raw, SOON, addressed, ask, asked, hello, post, raw, translated};

const SURFACES: [(&str, Wire); 4] = [
    ("/v1/messages", Wire::Anthropic),
    ("/v1/responses", Wire::Responses),
    ("/v1/chat/completions", Wire::Chat),
    ("/v1beta/models/m:generateContent", Wire::Gemini),
];

fn gateway() -> Gateway {
    Gateway::builder().route("*", Target::new("s", shared(answer([], "yes")))).build().unwrap()
}

/// The error's type or, on Gemini's wire, its status, by the form of the wire's envelope.
fn envelope(wire: Wire, raw: &Raw) -> String {
    let body = raw.json();
    assert_eq!(raw.headers["content-type"], "application/json");
    assert!(!body["error"]["message"].as_str().unwrap().is_empty());
    match wire {
        Wire::Anthropic => assert_eq!(body["type"], "error", "{body}"),
        Wire::Gemini => assert_eq!(body["error"]["code"], raw.status, "{body}"),
        _ => assert!(body.get("type").is_none() && body["error"].get("code").is_some(), "{body}"),
    }
    let name = if wire == Wire::Gemini { "status" } else { "type" };
    body["error"][name].as_str().unwrap().to_owned()
}

async fn check(path: &str, wire: Wire, body: impl Into<Body>, status: u16, kind: &str) {
    let raw = raw(ask(&gateway(), post(path, body)).await).await;
    assert_eq!((raw.status, envelope(wire, &raw).as_str()), (status, kind), "{path}: {}", raw.text());
}

/// What each wire calls a request that makes no sense.
fn bad(wire: Wire) -> &'static str {
    if wire == Wire::Gemini { "INVALID_ARGUMENT" } else { "invalid_request_error" }
}

#[tokio::test]
async fn bodies_that_make_no_sense_are_bad_requests() {
    for (path, wire) in SURFACES {
        let deep = format!("{{\"model\":\"m\",\"messages\":{}{}}}", "[".repeat(500), "]".repeat(500));
        for body in ["", "{", "null", "[]", "\u{0}", "{\"model\": 3}", "{\"messages\": []}", deep.as_str()] {
            check(path, wire, body.to_owned(), 400, bad(wire)).await;
        }
        check(path, wire, vec![0xff, 0xfe], 400, bad(wire)).await;
        let fields: [Value; 5] = [
            json!({"messages": 3, "input": 3, "contents": 3}),
            json!({
                "messages": [{"role": "nobody", "content": "x"}], "input": [{"role": "nobody", "content": "x"}],
                "contents": [{"role": "nobody", "parts": []}],
            }),
            json!({
                "messages": [{"role": "user", "content": [{}]}], "input": [{"type": "message", "role": "user"}],
                "contents": [3],
            }),
            json!({"tools": 3, "messages": [], "input": [], "contents": []}),
            json!({
                "temperature": "warm", "messages": [], "input": [],
                "contents": [], "generationConfig": {"temperature": "warm"},
            }),
        ];
        for mut body in fields {
            body["model"] = json!("m");
            check(path, wire, body.to_string(), 400, bad(wire)).await;
        }
    }
}

/// What its provider alone has, or an answer of another kind: another provider would answer something
/// else than was asked.
#[tokio::test]
async fn what_only_the_own_provider_can_heed_is_refused_elsewhere() {
    let check = async |surface: Wire, wire: Wire, more: Value, expected: Option<&str>| {
        let s = translated(wire, Play::text("yes")).await;
        let mut body = hello(surface, false);
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body["model"] = asked(surface).into();
        let raw = s.house.send(surface, HeaderMap::new(), body.to_string()).await;
        let said = raw.text();
        match expected {
            Some(field) => {
                assert_eq!(
                    (raw.status, s.twin.requests().len()),
                    (400, 0),
                    "{surface:?} on {wire:?}: {said}"
                );
                assert!(said.contains(field), "{said}");
            }
            // The twin knows of nothing that it was not told, and says so in its own words.
            None => assert!(!said.contains("behind this gateway"), "{surface:?} on {wire:?}: {said}"),
        }
    };
    let reference = json!([{"type": "item_reference", "id": "msg_1"}, {"role": "user", "content": "hi"}]);
    for wire in Wire::ALL {
        let unless = |own: Wire, field| (wire != own).then_some(field);
        let responses = Wire::Responses;
        check(
            responses,
            wire,
            json!({"previous_response_id": "resp_1"}),
            unless(responses, "previous_response_id"),
        )
        .await;
        check(responses, wire, json!({"conversation": "conv_1"}), unless(responses, "conversation")).await;
        check(responses, wire, json!({"prompt": {"id": "pmpt_1"}}), unless(responses, "prompt")).await;
        check(responses, wire, json!({"input": reference}), unless(responses, "item_reference")).await;
        check(responses, wire, json!({"background": true}), Some("background")).await;
        check(responses, wire, json!({"background": false, "previous_response_id": null}), None).await;
        check(Wire::Chat, wire, json!({"n": 3}), Some("n")).await;
        check(Wire::Chat, wire, json!({"n": 1}), None).await;
        // These go through by bytes to their own provider: the model is in the path.
        if wire != Wire::Gemini {
            let two = json!({"generationConfig": {"candidateCount": 2}});
            check(Wire::Gemini, wire, two, Some("candidateCount")).await;
            let cached = json!({"cachedContent": "cachedContents/1"});
            check(Wire::Gemini, wire, cached, Some("cachedContent")).await;
        }
    }
}

#[tokio::test]
async fn paths_that_are_none_and_methods_that_are_wrong() {
    let check = async |method: Method, path: &str, wire: Option<Wire>| {
        let request = http::Request::builder().method(method.clone()).uri(path).body(Body::empty()).unwrap();
        let raw = raw(ask(&gateway(), request).await).await;
        assert_eq!(raw.status, if wire.is_some() { 404 } else { 200 }, "{method} {path}");
        if let Some(wire) = wire {
            envelope(wire, &raw);
        }
    };
    check(Method::HEAD, "/", None).await;
    check(Method::HEAD, "/api/hello", None).await;
    check(Method::GET, "/api/hello", None).await;
    check(Method::GET, "/healthz", None).await;
    check(Method::GET, "/", Some(Wire::Responses)).await;
    check(Method::POST, "/healthz", Some(Wire::Responses)).await;
    check(Method::POST, "/v1/messages/", Some(Wire::Anthropic)).await;
    check(Method::POST, "/v1/messages/batches", Some(Wire::Anthropic)).await;
    check(Method::GET, "/v1/messages", Some(Wire::Anthropic)).await;
    check(Method::OPTIONS, "/v1/messages", Some(Wire::Anthropic)).await;
    check(Method::DELETE, "/v1/responses", Some(Wire::Responses)).await;
    check(Method::GET, "/v1/responses/resp_1", Some(Wire::Responses)).await;
    check(Method::PUT, "/v1/chat/completions", Some(Wire::Chat)).await;
    check(Method::POST, "/v1beta/models/m:embedContent", Some(Wire::Gemini)).await;
    check(Method::POST, "/v1beta/models/:generateContent", Some(Wire::Gemini)).await;
}

#[tokio::test]
async fn queries_are_ignored_and_answers_have_an_id() {
    for (path, wire) in SURFACES {
        let request = post(&format!("{path}?beta=true"), hello(wire, false).to_string());
        let raw = raw(ask(&gateway(), request).await).await;
        assert_eq!(raw.status, 200, "{}", raw.text());
        let id = if wire == Wire::Anthropic { "request-id" } else { "x-request-id" };
        assert!(raw.headers[id].to_str().unwrap().starts_with("req_"));
    }
}

/// Over a real socket, and also when the client is still sending when it is refused.
#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_one_at_the_limit_is_not() {
    for (_, wire) in SURFACES {
        let (_, body) = addressed(wire, hello(wire, false).to_string().into());
        let body = String::from_utf8(body.to_vec()).unwrap();
        let limited = |body_limit: usize| {
            let target = Target::new("s", shared(answer([], "yes")));
            let settings = Settings { body_limit, ..Settings::default() };
            Gateway::builder().route("*", target).settings(settings).build().unwrap()
        };
        let house = House::open(&limited(body.len())).await;
        assert_eq!(house.send(wire, HeaderMap::new(), body.clone()).await.status, 200);
        let sized = |size: usize| format!("{body}{}", " ".repeat(size - body.len()));
        let roomy = House::open(&limited(Settings::default().body_limit)).await;
        assert_eq!(roomy.send(wire, HeaderMap::new(), sized(4 * 1024 * 1024)).await.status, 200);
        for size in [body.len() + 1, 4 * 1024 * 1024] {
            let large = sized(size);
            let raw = house.send(wire, HeaderMap::new(), large).await;
            let expected = if wire == Wire::Anthropic { "request_too_large" } else { bad(wire) };
            assert_eq!((raw.status, envelope(wire, &raw).as_str()), (413, expected));
        }
    }
}

/// A client that asks first whether its body is wanted need not send it to learn that it is not.
#[tokio::test]
async fn a_body_over_the_limit_is_refused_before_it_is_sent_where_its_client_waits_for_leave() {
    let house = House::open(&gateway()).await;
    let mut client = TcpStream::connect(house.url.strip_prefix("http://").unwrap()).await.unwrap();
    let head = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n\
                content-length: 900000000\r\n\r\n";
    client.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(SOON, client.read_to_string(&mut answer)).await.expect("it is refused").unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_coded_body_is_not_guessed_at() {
    for (path, wire) in SURFACES {
        let mut request = post(path, hello(wire, false).to_string());
        request.headers_mut().insert("content-encoding", HeaderValue::from_static("zstd"));
        let raw = raw(ask(&gateway(), request).await).await;
        assert_eq!(raw.status, 415);
        envelope(wire, &raw);
    }
}

#[tokio::test]
async fn only_clients_with_the_key_are_served() {
    let provider = shared(answer([], "yes"));
    let target = Target::new("s", provider.clone());
    let gateway = Gateway::builder().route("*", target).client_key("s3cret").build().unwrap();
    for (path, wire) in SURFACES {
        let check = async |headers: &[(&'static str, &'static str)], status: u16| {
            let mut request = post(path, hello(wire, false).to_string());
            for (name, value) in headers {
                request.headers_mut().insert(*name, HeaderValue::from_static(value));
            }
            let raw = raw(ask(&gateway, request).await).await;
            assert_eq!(raw.status, status, "{path} {headers:?}");
            if status != 200 {
                envelope(wire, &raw);
                assert!(!raw.text().contains("s3cret"));
            }
        };
        check(&[], 401).await;
        check(&[("x-api-key", "wrong")], 401).await;
        check(&[("authorization", "Bearer wrong")], 401).await;
        check(&[("authorization", "Bearer s3cret")], 200).await;
        check(&[("x-api-key", "s3cret")], 200).await;
    }
    assert_eq!(provider.asked().len(), 2 * SURFACES.len());
    let request = http::Request::get("/healthz").body(Body::empty()).unwrap();
    assert_eq!(ask(&gateway, request).await.status(), 200);
}

#[tokio::test]
async fn a_child_of_ours_that_was_led_here_is_refused() {
    let provider = shared(answer([], "yes"));
    let target = Target::new("s", provider.clone());
    let gateway = Gateway::builder().route("*", target).build().unwrap();
    for (path, wire) in SURFACES {
        let mut request = post(path, hello(wire, false).to_string());
        request.headers_mut().insert("x-junto-run", HeaderValue::from_static("t-1"));
        let raw = raw(ask(&gateway, request).await).await;
        let kind = if wire == Wire::Gemini { "PERMISSION_DENIED" } else { "permission_error" };
        assert_eq!((raw.status, envelope(wire, &raw).as_str()), (403, kind), "{path}");
        assert!(raw.text().contains("own gateway"), "{}", raw.text());
    }
    assert!(provider.asked().is_empty());
}

#[test]
fn contradictions_are_found_when_the_gateway_is_built() {
    let target = || Target::new("s", shared([]));
    assert!(Gateway::builder().build().is_err());
    assert!(Gateway::builder().route("*", target()).client_key(" ").build().is_err());
    let both = Gateway::builder().route("*", target().forward_client_key()).client_key("k").build();
    assert!(both.unwrap_err().message().contains("forwarded"));
}
