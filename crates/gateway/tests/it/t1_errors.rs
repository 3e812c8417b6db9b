//! What fails behind the gateway, told in the words of the client's wire.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use junto_gateway::{Gateway, Target};
use junto_llm::{CallCx, Endpoint, Error, ErrorKind, HttpProvider, Request, StreamEvent, Wire};
use junto_twin::{After, Fault, Options, Play, RetryAfter, Step, Twin};

use crate::scripted::{Cue, shared, start, text};
use crate::support::{House, Stand, Way, asked, events, hello, model, passing, target, translated};

const SURFACES: [Wire; 4] = Wire::ALL;

fn faulty(fault: Fault) -> Play {
    Play::of([Step::fault(fault)])
}

/// A client's question, and the error it gets.
async fn error(s: &Stand, surface: Wire, model: &str, way: Way) -> Error {
    let request = Request::prompt("hi").model(model);
    way.ask(&s.house.client(surface), request).await.expect_err("the twin fails")
}

#[tokio::test]
async fn a_wrong_key_upstream_is_a_401() {
    for surface in SURFACES {
        for wire in Wire::ALL {
            let twin = Twin::start(Play::text("never"), Options::default()).unwrap();
            let endpoint = Endpoint::new("upstream", wire, twin.base_url(wire)).key("wrong-key");
            let provider = Arc::new(HttpProvider::new(endpoint).unwrap());
            let gateway = Gateway::builder()
                .route("*", Target::new("upstream", provider).model(model(wire)))
                .build()
                .unwrap();
            let house = House::open(&gateway).await;
            for way in Way::BOTH {
                let request = Request::prompt("hi").model(asked(surface));
                let error = way.ask(&house.client(surface), request).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Authentication, "{surface:?} {wire:?} {way:?}: {error}");
                assert!(!format!("{error:?} {error} {:?}", error.body()).contains("wrong-key"));
            }
        }
    }
}

#[tokio::test]
async fn the_time_to_wait_is_passed_on() {
    for surface in SURFACES {
        for wire in Wire::ALL {
            let fault = Fault { retry_after: Some(RetryAfter::Seconds(7)), ..Fault::status(429) };
            let s = translated(wire, faulty(fault)).await;
            for way in Way::BOTH {
                let error = error(&s, surface, asked(surface), way).await;
                assert_eq!(error.kind(), ErrorKind::RateLimit, "{surface:?} {wire:?}: {error}");
                assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
                assert_eq!(error.status(), Some(429));
                // Gemini has no words for limits.
                let can_say = surface != Wire::Gemini && wire != Wire::Gemini;
                let left = error.rate_limit().and_then(|limits| limits.requests_remaining);
                assert_eq!(left.is_some(), can_say, "{surface:?} {wire:?}: {:?}", error.rate_limit());
            }
        }
    }
}

#[tokio::test]
async fn an_overloaded_provider_keeps_its_status() {
    let s = translated(Wire::Anthropic, faulty(Fault::status(529))).await;
    assert_eq!(error(&s, Wire::Anthropic, asked(Wire::Anthropic), Way::Streamed).await.status(), Some(529));
    let s = translated(Wire::Gemini, faulty(Fault::status(503))).await;
    assert_eq!(error(&s, Wire::Responses, asked(Wire::Responses), Way::Whole).await.status(), Some(503));
}

/// What a surface says when the one behind the gateway fails: Gemini's statuses have no "bad gateway".
fn bad_gateway(surface: Wire) -> u16 {
    if surface == Wire::Gemini { 500 } else { 502 }
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_a_bad_gateway() {
    // A port that is taken and on which nobody listens.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    for surface in SURFACES {
        let provider = Arc::new(HttpProvider::new(Endpoint::new("upstream", surface, &url)).unwrap());
        let target = Target::new("upstream", provider).model(model(surface));
        let house = House::open(&Gateway::builder().route("*", target).build().unwrap()).await;
        // One is translated, the other passes through.
        for model in [asked(surface), model(surface)] {
            let request = Request::prompt("hi").model(model);
            let error = Way::Streamed.ask(&house.client(surface), request).await.unwrap_err();
            assert_eq!(error.status(), Some(bad_gateway(surface)), "{surface:?} {model}: {error}");
        }
    }
}

/// An answer that breaks off in the middle ends in the wire's own error event, after what came.
#[tokio::test]
async fn a_drop_in_mid_stream_is_an_error_event() {
    for surface in SURFACES {
        for wire in Wire::ALL {
            let fault = Fault { drop_after_bytes: Some(After(2500)), ..Fault::default() };
            let step = Step { fault: Some(fault), ..Step::text("word ".repeat(400)) };
            let s = translated(wire, Play::of([step.without_thinking()])).await;
            let request = Request::prompt("hi").model(asked(surface));
            let stream = s.house.client(surface).stream(request, &CallCx::new()).await.unwrap();
            let (events, error) = events(stream).await;
            let error = error.unwrap_or_else(|| panic!("{surface:?} {wire:?}: no error"));
            assert!(events.iter().any(StreamEvent::is_content), "{surface:?} {wire:?}");
            // The words of the gateway, not of a connection that broke.
            assert!(error.message().contains("middle of the stream"), "{surface:?} {wire:?}: {error}");
            assert!(error.code().is_some(), "{surface:?} {wire:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn error_events_have_the_form_of_the_wire() {
    for surface in SURFACES {
        let mut cues = vec![start()];
        cues.extend(text("half"));
        cues.push(Cue::Fail(Error::new(ErrorKind::Server, "it burst")));
        let gateway = Gateway::builder().route("*", Target::new("s", shared(cues))).build().unwrap();
        let house = House::open(&gateway).await;
        let raw = house.send(surface, HeaderMap::new(), hello(surface, true).to_string()).await;
        let said = raw.text();
        assert_eq!(raw.status, 200);
        assert!(raw.error.is_none(), "the connection ends in good order");
        assert!(said.contains("half") && said.contains("it burst"));
        match surface {
            Wire::Anthropic => assert!(said.contains("event: error\ndata: {\"type\":\"error\""), "{said}"),
            Wire::Responses => assert!(said.contains("event: response.failed\n"), "{said}"),
            Wire::Gemini | Wire::Chat => assert!(said.contains("data: {\"error\":{"), "{said}"),
        }
        assert!(!said.contains("message_stop") && !said.contains("response.completed"), "{said}");
    }
}

/// A stream that just stops is no answer.
#[tokio::test]
async fn a_stream_without_an_end_is_a_failure() {
    for surface in SURFACES {
        let gateway = Gateway::builder().route("*", Target::new("s", shared([start()]))).build().unwrap();
        let house = House::open(&gateway).await;
        for way in Way::BOTH {
            let request = Request::prompt("hi").model("any");
            assert!(way.ask(&house.client(surface), request).await.is_err(), "{surface:?} {way:?}");
        }
        let empty = Gateway::builder().route("*", Target::new("s", shared([]))).build().unwrap();
        let house = House::open(&empty).await;
        let raw = house.send(surface, HeaderMap::new(), hello(surface, true).to_string()).await;
        assert_eq!(raw.status, bad_gateway(surface), "{}", raw.text());
    }
}

/// In pass-through errors are the provider's own, to the byte.
#[tokio::test]
async fn errors_pass_through_with_status_and_headers() {
    for surface in SURFACES {
        let fault = Fault {
            retry_after: Some(RetryAfter::Seconds(7)),
            message: Some("slow down, please".into()),
            ..Fault::status(429)
        };
        let s = passing(surface, faulty(fault)).await;
        let raw = s.house.send(surface, HeaderMap::new(), hello(surface, true).to_string()).await;
        assert_eq!((raw.status, &raw.headers["retry-after"]), (429, &HeaderValue::from_static("7")));
        assert!(raw.json()["error"]["message"].as_str().unwrap().contains("slow down, please"));
    }
}

#[tokio::test]
async fn an_unknown_model_is_not_found() {
    for surface in SURFACES {
        let twin = Twin::start(Play::text("never"), Options::default()).unwrap();
        let gateway = Gateway::builder().route("only-this", target(&twin, surface)).build().unwrap();
        let house = House::open(&gateway).await;
        for way in Way::BOTH {
            let request = Request::prompt("hi").model("another");
            let error = way.ask(&house.client(surface), request).await.unwrap_err();
            assert_eq!((error.kind(), error.status()), (ErrorKind::NotFound, Some(404)), "{error}");
            assert!(error.message().contains("another"));
        }
        assert!(twin.requests().is_empty());
    }
}
