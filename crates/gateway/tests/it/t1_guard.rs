//! Who is refused before anything is asked of anybody, on every surface.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use junto_gateway::{Builder, Gateway, Settings, Target};
use junto_llm::Wire;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

use crate::scripted::{Cue, Scripted, answer, shared, start};
use crate::support::{House, Raw, Way, addressed, ask, hello, path, post, raw};

/// Every surface but `/healthz`, and what is none: how it is asked, and the status of its answer.
const OTHERS: [(&str, &str, u16); 13] = [
    ("HEAD", "/", 200),
    ("GET", "/api/hello", 200),
    ("GET", "/metrics", 200),
    ("GET", "/status", 200),
    ("GET", "/status.json", 200),
    ("GET", "/openapi.json", 200),
    ("GET", "/v1/models", 200),
    ("GET", "/v1/models/m", 200),
    ("GET", "/v1beta/models", 200),
    // Without a body they are bad requests, but only for those who may ask.
    ("POST", "/v1/messages/count_tokens", 400),
    ("POST", "/v1beta/models/m:countTokens", 400),
    ("GET", "/nothing", 404),
    ("POST", "/v1/messages/nothing", 404),
];

/// A request to each surface, with these headers, and the status it gets if it is let in.
fn requests(headers: &[(&str, &str)], query: &str) -> Vec<(Request<Body>, u16)> {
    let with = |mut request: Request<Body>| {
        for (name, value) in headers {
            request
                .headers_mut()
                .append(http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        request
    };
    let models = Wire::ALL.map(|wire| {
        let (path, body) = addressed(wire, hello(wire, false).to_string().into());
        (with(post(&format!("{path}{query}"), body)), 200)
    });
    let others = OTHERS.map(|(method, path, status)| {
        let request = Request::builder().method(method).uri(format!("{path}{query}"));
        (with(request.body(Body::empty()).unwrap()), status)
    });
    models.into_iter().chain(others).collect()
}

fn gateway(provider: &Arc<Scripted>) -> Builder {
    Gateway::builder().route("*", Target::new("s", provider.clone()))
}

/// Checks that each surface refuses such requests with this status and says why, or lets them in.
async fn check(
    build: fn(Builder) -> Builder,
    headers: &[(&str, &str)],
    query: &str,
    refused: Option<(u16, &str)>,
) {
    let provider = shared(answer([], "yes"));
    let gateway = build(gateway(&provider)).build().unwrap();
    for (request, status) in requests(headers, query) {
        let what = format!("{} {} {headers:?}", request.method(), request.uri());
        let raw = raw(ask(&gateway, request).await).await;
        assert_eq!(raw.status, refused.map_or(status, |(status, _)| status), "{what}: {}", raw.text());
        let is_told = !what.starts_with("HEAD");
        if let Some((_, words)) = refused.filter(|_| is_told) {
            let body = raw.json();
            let message = body["error"]["message"].as_str().unwrap_or_else(|| panic!("{what}: {body}"));
            assert!(message.contains(words), "{what}: {message}");
        }
    }
    let expected = if refused.is_some() { 0 } else { Wire::ALL.len() };
    assert_eq!(provider.asked().len(), expected, "{headers:?}");
    let health = Request::get("/healthz").header("host", "anything").body(Body::empty()).unwrap();
    assert_eq!(ask(&gateway, health).await.status(), 200, "whoever watches over it shows nothing");
}

#[tokio::test]
async fn a_foreign_host_is_refused() {
    let foreign = Some((403, "evil.example"));
    check(|b| b, &[("host", "evil.example")], "", foreign).await;
    check(|b| b, &[("host", "evil.example:6767")], "", foreign).await;
    check(|b| b, &[("host", "127.0.0.1"), ("host", "evil.example")], "", foreign).await;
    check(|b| b, &[("host", "localhost:6767")], "", None).await;
    check(|b| b, &[("host", "[::1]:6767")], "", None).await;
    let named =
        |b: Builder| b.settings(Settings { hosts: vec!["evil.example".into()], ..Settings::default() });
    check(named, &[("host", "Evil.Example:6767")], "", None).await;
}

#[tokio::test]
async fn a_foreign_page_is_refused() {
    check(|b| b, &[("origin", "https://evil.example")], "", Some((403, "evil.example"))).await;
    check(|b| b, &[("origin", "null")], "", Some((403, "null"))).await;
    check(|b| b, &[("origin", "http://127.0.0.1:6767")], "", Some((403, "origin"))).await;
    let named = |b: Builder| {
        b.settings(Settings { origins: vec!["https://ok.example".into()], ..Settings::default() })
    };
    check(named, &[("origin", "https://ok.example")], "", None).await;
    check(named, &[("origin", "https://evil.example")], "", Some((403, "evil.example"))).await;
}

/// A browser asks first; the pages of other origins get no leave, and nothing to read.
#[tokio::test]
async fn allowed_pages_may_read_what_they_get() {
    let provider = shared(answer([], "yes"));
    let settings = Settings { origins: vec!["https://ok.example".into()], ..Settings::default() };
    let gateway = gateway(&provider).client_key("s3cret").settings(settings).build().unwrap();
    let first = |origin: &str, host: &str| {
        let request = Request::options("/v1/messages").header("origin", origin).header("host", host);
        let request = request.header("access-control-request-method", "POST");
        request
            .header("access-control-request-headers", "x-api-key,content-type")
            .body(Body::empty())
            .unwrap()
    };
    let leave = ask(&gateway, first("https://ok.example", "localhost")).await;
    assert_eq!(leave.status(), 204);
    assert_eq!(leave.headers()["access-control-allow-origin"], "https://ok.example");
    assert_eq!(leave.headers()["access-control-allow-headers"], "x-api-key,content-type");
    for (origin, host) in [("https://evil.example", "localhost"), ("https://ok.example", "evil.example")] {
        let none = ask(&gateway, first(origin, host)).await;
        assert_eq!(none.status(), 403, "{origin} {host}");
        assert!(!none.headers().contains_key("access-control-allow-origin"));
    }
    let mut request = post("/v1/messages", hello(Wire::Anthropic, false).to_string());
    request.headers_mut().insert("origin", "https://ok.example".parse().unwrap());
    let refused = ask(&gateway, request).await;
    assert_eq!(refused.status(), 401, "leave to ask is no key");
    assert_eq!(refused.headers()["access-control-allow-origin"], "https://ok.example");
    assert!(provider.asked().is_empty());
}

#[tokio::test]
async fn the_key_is_taken_in_four_places() {
    let keyed = |b: Builder| b.client_key("s3cret").client_key("second/key");
    let wrong = Some((401, "key"));
    check(keyed, &[], "", wrong).await;
    check(keyed, &[("authorization", "Bearer wrong"), ("x-api-key", "wrong")], "?key=wrong", wrong).await;
    check(keyed, &[("x-goog-api-key", "wrong")], "", wrong).await;
    check(keyed, &[("authorization", "Bearer s3cret")], "", None).await;
    check(keyed, &[("x-api-key", "s3cret")], "", None).await;
    check(keyed, &[("x-goog-api-key", "s3cret")], "", None).await;
    check(keyed, &[], "?key=s3cret", None).await;
    check(keyed, &[("x-api-key", "wrong")], "?a=b&key=second%2Fkey", None).await;
}

#[tokio::test]
async fn an_agent_below_ourselves_is_refused_and_told_why() {
    for mark in
        [("x-junto-run", "t-1"), ("x-junto-child", "1"), ("x-junto-depth", "1"), ("x-frites-depth", "3")]
    {
        check(|b| b, &[mark], "", Some((403, "own gateway"))).await;
    }
    check(|b| b, &[("x-junto-depth", "0")], "", None).await;
    let keyed = |b: Builder| b.client_key("s3cret");
    let marked = [("x-junto-run", "t-1"), ("x-api-key", "s3cret")];
    check(keyed, &marked, "", Some((403, "own gateway"))).await;
}

fn with_key(wire: Wire, key: &str) -> Request<Body> {
    let (path, body) = addressed(wire, hello(wire, true).to_string().into());
    let mut request = post(&path, body);
    request.headers_mut().insert("x-api-key", key.parse().unwrap());
    request
}

fn told_to_wait(refused: &Raw, wait: &str, words: &str) {
    assert_eq!((refused.status, &refused.headers["retry-after"]), (429, &wait.parse().unwrap()));
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains(words), "{message}");
}

/// One client may not take all places, nor keep others from theirs. No time passes but what is waited for.
#[tokio::test(start_paused = true)]
async fn so_many_requests_of_one_client_at_a_time() {
    for wire in Wire::ALL {
        let provider = shared([start(), Cue::Hang]);
        let settings = Settings { client_running: NonZeroU32::new(2), ..Settings::default() };
        let gateway = gateway(&provider).settings(settings).build().unwrap();
        let first = ask(&gateway, with_key(wire, "a")).await;
        let second = ask(&gateway, with_key(wire, "a")).await;
        assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 200));
        let refused = raw(ask(&gateway, with_key(wire, "a")).await).await;
        told_to_wait(&refused, "1", "2 requests under way");
        assert_eq!(ask(&gateway, with_key(wire, "b")).await.status(), 200, "another client has its own");
        drop(first);
        assert_eq!(ask(&gateway, with_key(wire, "a")).await.status(), 200, "one that left makes room");
        assert_eq!(provider.asked().len(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn so_many_requests_of_one_client_in_a_minute() {
    let provider = shared(answer([], "yes"));
    let settings = Settings { client_rate: NonZeroU32::new(6), ..Settings::default() };
    let gateway = gateway(&provider).settings(settings).build().unwrap();
    for wire in Wire::ALL.into_iter().chain([Wire::Chat, Wire::Gemini]) {
        assert_eq!(ask(&gateway, with_key(wire, "a")).await.status(), 200);
    }
    let refused = raw(ask(&gateway, with_key(Wire::Anthropic, "a")).await).await;
    told_to_wait(&refused, "10", "6 times in a minute");
    let status = Request::get("/status").header("x-api-key", "a").body(Body::empty()).unwrap();
    assert_eq!(ask(&gateway, status).await.status(), 429);
    assert_eq!(ask(&gateway, with_key(Wire::Chat, "b")).await.status(), 200);
    tokio::time::advance(std::time::Duration::from_secs(10)).await;
    assert_eq!(ask(&gateway, with_key(Wire::Anthropic, "a")).await.status(), 200);
}

/// One request on a connection of its own, as these bytes, from this address.
async fn by_hand(house: &House, from: &str, head: &str) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from.parse::<IpAddr>().unwrap(), 0).into()).unwrap();
    let address = house.url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

/// Over real sockets: clients without a key are told apart by their addresses, and hosts are checked in
/// whatever form a request names them.
#[tokio::test]
async fn on_a_socket_addresses_count() {
    let settings = Settings { client_rate: NonZeroU32::new(2), ..Settings::default() };
    let house = House::open(&gateway(&shared([])).settings(settings).build().unwrap()).await;
    let hello = "GET /api/hello HTTP/1.1\r\nHost: localhost";
    let (ok, slow) = ("HTTP/1.1 200 OK", "HTTP/1.1 429 Too Many Requests");
    for (from, expected) in [("127.0.0.1", ok), ("127.0.0.1", ok), ("127.0.0.1", slow), ("127.0.0.2", ok)] {
        assert_eq!(by_hand(&house, from, hello).await, expected, "{from}");
    }
    let forbidden = "HTTP/1.1 403 Forbidden";
    for head in [
        "GET /api/hello HTTP/1.1\r\nHost: evil.example",
        "GET http://evil.example/api/hello HTTP/1.1\r\nHost: localhost",
    ] {
        assert_eq!(by_hand(&house, "127.0.0.3", head).await, forbidden, "{head}");
    }
    house.close().await;
}

/// Collects everything that is logged, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        write!(self.0.lock().unwrap(), "{span:?}").unwrap();
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        write!(self.0.lock().unwrap(), "{values:?}").unwrap();
    }
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        write!(self.0.lock().unwrap(), "{event:?}").unwrap();
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn keys_are_in_no_log_report_or_answer() {
    const KEY: &str = "sk-THIS-MUST-NOT-LEAK-4711";
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let told = Log::default();
    let sink = told.clone();
    let mut answers = String::new();
    for wrong in [true, false] {
        let sink = sink.clone();
        let builder = gateway(&shared(answer([], "yes"))).client_key(KEY);
        let gateway = builder
            .on_call(move |report| write!(sink.0.lock().unwrap(), "{report:?}").unwrap())
            .build()
            .unwrap();
        let shown = if wrong { format!("{KEY}x") } else { KEY.to_owned() };
        let bearer = format!("Bearer {shown}");
        let headers = [("authorization", &*bearer), ("x-api-key", &*shown), ("x-goog-api-key", &*shown)];
        for (request, _) in requests(&headers, &format!("?key={shown}")) {
            let response = ask(&gateway, request).await;
            write!(answers, "{:?}", response.headers()).unwrap();
            answers += &String::from_utf8_lossy(&response.into_body().collect().await.unwrap().to_bytes());
        }
        write!(answers, "{gateway:?}").unwrap();
    }
    let (log, told) = (log.0.lock().unwrap().clone(), told.0.lock().unwrap().clone());
    assert!(log.contains("a call begins") && log.contains("failed before"), "something was logged: {log}");
    assert!(told.contains("Authentication") && answers.contains("yes"));
    for (what, text) in [("log", log), ("reports", told), ("answers", answers)] {
        assert!(!text.contains(KEY), "the key is in the {what}: {text}");
    }
}

/// A client's word about where it works is taken for what exists below a root, and for nothing else.
#[tokio::test]
async fn a_directory_must_exist_below_a_root() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (home, other) = (base.join("home"), base.join("other"));
    for folder in [home.join("work"), other.clone()] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let check = async |roots: &[&std::path::Path], stated: &std::path::Path, taken: bool| {
        let provider = shared(answer([], "yes"));
        let workdir_roots = roots.iter().map(|root| root.to_path_buf()).collect();
        let settings = Settings { workdir_roots, ..Settings::default() };
        let gateway = gateway(&provider).settings(settings).build().unwrap();
        let system = format!("# Environment\nPrimary working directory: {}", stated.display());
        let messages = json!([{"role": "user", "content": "hi"}]);
        let body = json!({"model": "m", "max_tokens": 9, "system": system, "messages": messages});
        let path = path(Wire::Anthropic, "m", Way::Whole);
        assert_eq!(ask(&gateway, post(&path, body.to_string())).await.status(), 200);
        let found = provider.asked().remove(0).1.workdir;
        assert_eq!(found.as_deref(), taken.then_some(stated), "{roots:?} {stated:?}");
    };
    check(&[&home], &home.join("work"), true).await;
    check(&[&home, &other], &other, true).await;
    check(&[&home], &other, false).await;
    check(&[&home], &home.join("none"), false).await;
    check(&[], &home.join("work"), false).await;
}
