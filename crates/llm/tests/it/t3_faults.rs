//! Faults on the wire: each ends in a typed error, none hangs, none loses what was delivered.

use std::time::Duration;

use futures_util::StreamExt;
use junto_llm::generate::{Generate, generate, stream};
use junto_llm::http::{Endpoint, HttpVersion};
use junto_llm::{CallCx, ErrorKind, Request, StreamEvent, Timeouts, Wire};
use junto_twin::{After, Fault, Options, Play, Step, Twin};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{client, eager, endpoint, model};

const TEXT: &str = "The quick brown fox jumps over the lazy dog, again and again. ";

fn with(fault: Fault) -> Twin {
    let step = Step { repeat: Some(40), ..Step::text(TEXT) };
    Twin::start(Play::of([step]), Options { fault: Some(fault), ..Options::default() }).unwrap()
}

fn ask(wire: Wire) -> Request {
    Request::prompt("hi").model(model(wire))
}

fn impatient() -> CallCx {
    let short = Duration::from_millis(400);
    CallCx::new().timeouts(Timeouts { request: short, idle: short, ..Timeouts::default() })
}

#[tokio::test]
async fn each_fault_ends_a_stream_with_its_kind() {
    use ErrorKind as K;
    let cases: Vec<(Fault, &[ErrorKind])> = vec![
        (Fault { drop_after_bytes: Some(After(2000)), ..Fault::default() }, &[K::Stream]),
        (Fault { drop_after_bytes: Some(After(0)), ..Fault::default() }, &[K::Stream, K::Network]),
        (Fault { stall: Some(After(2000)), ..Fault::default() }, &[K::Timeout]),
        (Fault { malformed_frame: Some(After(3)), ..Fault::default() }, &[K::Stream]),
        (Fault { truncated_json: Some(After(3)), ..Fault::default() }, &[K::Stream]),
        (Fault { content_type: Some("text/html".into()), ..Fault::default() }, &[K::Stream]),
        (Fault { content_type: Some("application/json".into()), ..Fault::default() }, &[K::Stream]),
        (Fault { error_event: Some(After(3)), ..Fault::default() }, &[K::Server]),
        (Fault { slow_headers_ms: Some(60_000), ..Fault::default() }, &[K::Timeout]),
        (Fault { h2_reset: Some(After(2000)), ..Fault::default() }, &[K::Stream]),
    ];
    for wire in Wire::ALL {
        for (fault, kinds) in &cases {
            let twin = with(fault.clone());
            let error = match client(endpoint(&twin, wire)).stream(ask(wire), &impatient()).await {
                Err(error) => error,
                Ok(events) => {
                    let events: Vec<_> = events.collect().await;
                    let (last, before) = events.split_last().expect("some event");
                    assert!(before.iter().all(Result::is_ok), "one error, at the end");
                    last.as_ref().err().unwrap_or_else(|| panic!("{wire:?} {fault:?} did not fail")).clone()
                }
            };
            assert!(kinds.contains(&error.kind()), "{wire:?} {fault:?}: {error:?}");
            twin.wait_until_idle().await;
        }
    }
}

#[tokio::test]
async fn each_fault_ends_a_whole_answer_with_its_kind() {
    use ErrorKind as K;
    let cases: Vec<(Fault, &[ErrorKind])> = vec![
        (Fault { drop_after_bytes: Some(After(100)), ..Fault::default() }, &[K::Network]),
        (Fault { stall: Some(After(100)), ..Fault::default() }, &[K::Timeout]),
        (Fault { malformed_frame: Some(After(1)), ..Fault::default() }, &[K::Server]),
        (Fault { truncated_json: Some(After(1)), ..Fault::default() }, &[K::Server]),
        (Fault { slow_headers_ms: Some(60_000), ..Fault::default() }, &[K::Timeout]),
        (Fault::status(400), &[K::InvalidRequest]),
        (Fault::status(403), &[K::AccessDenied]),
        (Fault::status(404), &[K::NotFound]),
        (Fault::status(408), &[K::Timeout]),
        (Fault::status(413), &[K::ContextLength]),
        (Fault::status(422), &[K::InvalidRequest]),
        (Fault::status(500), &[K::Server]),
        (Fault::status(503), &[K::Server]),
        (Fault::status(529), &[K::Server]),
        (Fault::status(302), &[K::NotFound]),
    ];
    for wire in Wire::ALL {
        for (fault, kinds) in &cases {
            let twin = with(fault.clone());
            let error = client(endpoint(&twin, wire)).complete(ask(wire), &impatient()).await.unwrap_err();
            assert!(kinds.contains(&error.kind()), "{wire:?} {fault:?}: {error:?}");
            assert_eq!(error.provider(), Some("twin"));
            twin.wait_until_idle().await;
        }
    }
}

#[tokio::test]
async fn duplicate_events_do_not_break_a_stream_silently() {
    for wire in Wire::ALL {
        let twin = with(Fault { duplicate_events: true, ..Fault::default() });
        let events: Vec<_> =
            client(endpoint(&twin, wire)).stream(ask(wire), &CallCx::new()).await.unwrap().collect().await;
        // Twice the text or an error; but one end, and nothing after it.
        let ends = events.iter().filter(|e| matches!(e, Err(_) | Ok(StreamEvent::Finish { .. }))).count();
        assert_eq!(ends, 1, "{wire:?}");
        assert!(matches!(events.last(), Some(Err(_) | Ok(StreamEvent::Finish { .. }))));
    }
}

#[tokio::test]
async fn an_http2_reset_is_a_stream_error() {
    for wire in Wire::ALL {
        let twin = with(Fault { h2_reset: Some(After(2000)), ..Fault::default() });
        let mut endpoint = endpoint(&twin, wire);
        endpoint.http = HttpVersion::Http2;
        let client = client(endpoint);
        let events: Vec<_> = client.stream(ask(wire), &CallCx::new()).await.unwrap().collect().await;
        let error = events.last().unwrap().as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stream, "{wire:?}: {error}");
        let error = client.complete(ask(wire), &CallCx::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Network, "{wire:?}: {error}");
    }
}

/// What goes wrong once, before any content, is retried and nobody sees it.
#[tokio::test]
async fn passing_faults_are_retried() {
    let passing = [
        Fault::status(500),
        Fault::status(529),
        Fault { drop_after_bytes: Some(After(0)), ..Fault::default() },
        Fault { content_type: Some("text/html".into()), ..Fault::default() },
        Fault { malformed_frame: Some(After(0)), ..Fault::default() },
    ];
    for wire in Wire::ALL {
        for fault in &passing {
            let twin = with(fault.clone().times(1));
            let client = client(endpoint(&twin, wire));
            let options = || Generate::request(ask(wire)).client(&client).retry(eager());
            let events: Vec<_> = stream(options()).await.unwrap().collect().await;
            let Some(Ok(StreamEvent::Finish { response: Some(response), .. })) = events.last() else {
                panic!("{wire:?} {fault:?}: {:?}", events.last())
            };
            assert_eq!(response.text(), TEXT.repeat(40), "{wire:?} {fault:?}");
            assert_eq!(twin.requests().len(), 2, "{wire:?} {fault:?}");
            let starts = events.iter().filter(|e| matches!(e, Ok(StreamEvent::StreamStart { .. }))).count();
            assert_eq!(starts, 1);
        }
        let twin = with(Fault::status(500).times(2));
        let client = client(endpoint(&twin, wire));
        let result = generate(Generate::request(ask(wire)).client(&client).retry(eager())).await.unwrap();
        assert_eq!(result.text(), TEXT.repeat(40));
    }
}

/// A provider that asks for more patience than the policy has is not asked again.
#[tokio::test]
async fn a_long_retry_after_ends_the_retries() {
    for wire in Wire::ALL {
        let fault = Fault { retry_after_date: Some(3600), ..Fault::status(429) };
        let twin = with(fault);
        let client = client(endpoint(&twin, wire));
        let error = generate(Generate::request(ask(wire)).client(&client).retry(eager())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RateLimit);
        assert!(error.retry_after().unwrap() > Duration::from_mins(50));
        assert_eq!(twin.requests().len(), 1);
    }
}

/// A redirect would take the key along: it is named, without its query, and asked for once.
#[tokio::test]
async fn a_redirect_is_named_and_not_followed() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 1024];
        assert!(socket.read(&mut buffer).await.unwrap() > 0);
        let reply = "HTTP/1.1 301 Moved Permanently\r\nlocation: https://elsewhere.example/v1?token=t0k\r\n\
                     content-length: 0\r\nconnection: close\r\n\r\n";
        socket.write_all(reply.as_bytes()).await.unwrap();
        // A second try would not be answered.
    });
    let client = client(Endpoint::new("p", Wire::Chat, format!("http://{address}")).key("k"));
    let error = generate(Generate::prompt("hi").model("m").client(&client).retry(eager())).await.unwrap_err();
    server.await.unwrap();
    assert_eq!((error.kind(), error.status()), (ErrorKind::NotFound, Some(301)));
    assert!(error.message().contains("`https://elsewhere.example/v1`"), "{error}");
    assert!(!format!("{error:?}").contains("t0k") && error.hint().unwrap().contains("base URL"));
}
