//! Bytes in, bytes out: nothing is added, nothing is lost, and the books are kept all the same.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use junto_gateway::{CallEnd, Gateway, Target, Via};
use junto_llm::{Effort, Error, Message, Request, ToolResult, Wire};
use junto_twin::{Call, Options, Play, Step, Think, Twin};
use serde_json::json;
use std::sync::Arc;

use crate::scripted::{self, Scripted};
use crate::support::{
    House, Reports, Way, ask, clock, hello, model, passing, path, post, raw, target, weather,
};

const SURFACES: [Wire; 4] = Wire::ALL;

/// A gateway in front of a provider that answers these chunks, which need make no sense.
fn relaying(wire: Wire, chunks: Vec<Result<Bytes, Error>>) -> (Arc<Scripted>, Gateway) {
    let answer = http::Response::builder()
        .status(203)
        .header("content-type", "text/event-stream")
        .header("x-from-afar", "yes")
        .header("set-cookie", "a=b")
        .header("connection", "keep-alive")
        .body(chunks)
        .unwrap();
    let provider = Arc::new(Scripted::new(scripted::answer([], "translated")).with_bytes(wire, answer));
    let gateway = Gateway::builder().route("*", Target::new("s", provider.clone())).build().unwrap();
    (provider, gateway)
}

#[tokio::test]
async fn every_byte_goes_through_both_ways() {
    for surface in SURFACES {
        let chunks: Vec<&[u8]> = vec![b"data: {oops\n\n\xff\xfe", b"", b": comment\r\n", b"no end"];
        let (provider, gateway) =
            relaying(surface, chunks.iter().map(|c| Ok(Bytes::copy_from_slice(c))).collect());
        // Order, spaces, escapes and unknown fields are the client's own.
        let body = r#"{ "zeta":1.0,  "model" : "any\u002dmodel", "messages":[], "input":[],"a":null,"stream":true }"#;
        let path = format!("{}?beta=true", path(surface, "any-model", Way::Whole));
        let mut request = post(&path, body);
        for (name, value) in [
            ("authorization", "Bearer mine"),
            ("x-api-key", "mine"),
            ("accept-encoding", "gzip"),
            ("anthropic-beta", "x-2026"),
            ("user-agent", "client/1"),
            ("connection", "x-hop"),
            ("x-hop", "1"),
        ] {
            request.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        let answer = raw(ask(&gateway, request).await).await;
        assert_eq!(answer.bytes, chunks.concat());
        assert_eq!((answer.status, answer.headers["x-from-afar"].to_str().unwrap()), (203, "yes"));
        assert!(!answer.headers.contains_key("set-cookie") && !answer.headers.contains_key("connection"));

        let (sent_to, headers, sent) = provider.sent().remove(0);
        assert_eq!(sent, body.as_bytes());
        let below =
            if matches!(surface, Wire::Responses | Wire::Chat) { path.strip_prefix("/v1") } else { None };
        assert_eq!(sent_to, below.unwrap_or(&path));
        let mut names: Vec<&str> = headers.keys().map(http::HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["anthropic-beta", "content-type", "user-agent"]);
        assert!(provider.asked().is_empty(), "it was not translated");
    }
}

#[tokio::test]
async fn a_clients_key_goes_on_only_where_it_is_told_to() {
    let (provider, _) = relaying(Wire::Anthropic, Vec::new());
    let target = Target::new("s", provider.clone()).forward_client_key();
    let gateway = Gateway::builder().route("*", target).build().unwrap();
    let mut request = post("/v1/messages", hello(Wire::Anthropic, false).to_string());
    request.headers_mut().insert("x-api-key", HeaderValue::from_static("mine"));
    ask(&gateway, request).await;
    assert_eq!(provider.sent()[0].1["x-api-key"], "mine");
}

/// What the provider breaks off is broken off, after everything that came.
#[tokio::test]
async fn a_broken_answer_stays_broken() {
    let chunks = vec![Ok(Bytes::from_static(b"data: half")), Err(Error::stream("gone"))];
    let (_, gateway) = relaying(Wire::Anthropic, chunks);
    let house = House::open(&gateway).await;
    let raw = house.send(Wire::Anthropic, HeaderMap::new(), hello(Wire::Anthropic, true).to_string()).await;
    assert_eq!(raw.bytes, b"data: half");
    assert!(raw.error.is_some(), "the client can tell that it is not whole");
}

/// The other wire, another model, or progress of ours in the conversation: then it is translated.
#[tokio::test]
async fn what_has_to_be_changed_is_translated() {
    let check = async |wire: Wire, model: Option<&str>, body: serde_json::Value, passes: bool| {
        let (provider, _) = relaying(Wire::Anthropic, vec![Ok(Bytes::from_static(b"{}"))]);
        let target = Target::new("s", provider.clone());
        let target = if let Some(model) = model { target.model(model) } else { target };
        let gateway = Gateway::builder().route("*", target).build().unwrap();
        let path = path(wire, "m", Way::Whole);
        ask(&gateway, post(&path, body.to_string())).await;
        assert_eq!(
            (provider.sent().len() == 1, provider.asked().len() == 1),
            (passes, !passes),
            "{wire:?} {model:?}"
        );
    };
    let plain = hello(Wire::Anthropic, false);
    check(Wire::Anthropic, None, plain.clone(), true).await;
    check(Wire::Anthropic, Some(model(Wire::Anthropic)), plain.clone(), true).await;
    check(Wire::Anthropic, Some("another"), plain.clone(), false).await;
    check(Wire::Responses, None, hello(Wire::Responses, false), false).await;
    let mut marked = plain;
    let progress = json!({"type": "thinking", "thinking": "working…", "signature": "anVudG86cHJvZ3Jlc3M="});
    marked["messages"] = json!([
        {"role": "user", "content": "hi"}, {"role": "assistant", "content": [progress]},
        {"role": "user", "content": "and?"},
    ]);
    check(Wire::Anthropic, None, marked, false).await;
}

/// With a twin behind it: the client gets exactly the bytes that the twin sent.
#[tokio::test]
async fn the_client_gets_what_the_twin_sent() {
    for surface in SURFACES {
        for stream in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let options = Options { record: Some(folder.path().to_owned()), ..Options::default() };
            let twin = Twin::start(Play::text("Hello, wörld. ".repeat(50)), options).unwrap();
            let reports = Reports::default();
            let gateway = Gateway::builder()
                .route("*", target(&twin, surface))
                .on_call(reports.sink())
                .build()
                .unwrap();
            let house = House::open(&gateway).await;
            let raw = house.send(surface, HeaderMap::new(), hello(surface, stream).to_string()).await;
            assert_eq!(raw.status, 200, "{}", raw.text());
            house.close().await;
            twin.wait_until_idle().await;
            let sent = std::fs::read(folder.path().join("0001-reply.txt")).unwrap();
            assert_eq!(String::from_utf8_lossy(&sent), raw.text(), "{surface:?} {stream}");

            let (report, charged) = (reports.all().remove(0), twin.usage_total());
            assert_eq!((report.usage.input, report.usage.output), (charged.input, charged.output));
            assert!(
                matches!(report.end, CallEnd::Complete) && report.via == Some(Via::Passthrough),
                "{report:?}"
            );
            assert_eq!(report.model, model(surface));
        }
    }
}

/// A whole tool round as real clients have it, with a twin that checks every signature.
#[tokio::test]
async fn a_tool_round_with_thinking() {
    for surface in SURFACES {
        for way in Way::BOTH {
            let calls = [
                Call::new("get_weather", json!({"city": "Ghent"})),
                Call::new("get_time", json!({"zone": "CET"})),
            ];
            let think = Think::Text("Both, please.".into());
            let play =
                Play::of([Step { think, ..Step::calls(calls) }, Step::text("It says: {{last_result}}")]);
            let s = passing(surface, play).await;
            let client = s.house.client(surface);
            let ask = |messages: Vec<Message>| {
                let request = Request { reasoning_effort: Some(Effort::High), ..Request::of(messages) };
                request.model(model(surface)).tools([weather(), clock()])
            };
            let mut messages = vec![Message::user("Weather and time?")];
            let first = way.ask(&client, ask(messages.clone())).await.unwrap();
            assert_eq!(first.reasoning(), "Both, please.");
            let results: Vec<ToolResult> =
                first.tool_calls().map(|c| ToolResult::text(&c.id, "fine")).collect();
            assert_eq!(results.len(), 2);
            messages.extend([first.message, Message::tool_results(results)]);
            let second = way.ask(&client, ask(messages)).await.unwrap();
            assert_eq!(second.text(), "It says: fine");
            s.house.close().await;
            let total: u64 = s.reports.all().iter().map(|report| report.usage.total).sum();
            assert_eq!(total, s.twin.usage_total().total, "the books agree with the twin's");
        }
    }
}
