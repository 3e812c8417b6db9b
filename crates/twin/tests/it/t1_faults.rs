//! Faults on demand, as a client meets them.

use std::time::{Duration, Instant};

use junto_llm::Wire;
use junto_twin::{After, Fault, Options, Play, Twin};
use reqwest::{Client, Response};

use crate::client::{Talk, events, http1, http2, json_of, streamed_text, text, twin};

const PLAY: &str = "[[steps]]\ntext = 'one two three four five six'\nchunk = 4";

/// Asks for a streamed answer with this fault.
async fn ask(http: &Client, twin: &Twin, wire: Wire, fault: &str) -> reqwest::Result<Response> {
    Talk::new(wire, "x").streamed(http, twin).header("x-twin-fault", fault).send().await
}

#[tokio::test]
async fn a_status_comes_with_the_envelope_and_the_wait() {
    let (twin, http) = (twin(PLAY), http1());
    for wire in Wire::ALL {
        let fault = r#"{"status": 429, "message": "slow down", "retry_after": 7, "retry_after_ms": 7100}"#;
        let response = ask(&http, &twin, wire, fault).await.unwrap();
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "7");
        assert_eq!(response.headers()["retry-after-ms"], "7100");
        let body: serde_json::Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(body["error"]["message"], "slow down", "{wire:?}");
    }
}

#[tokio::test]
async fn a_counted_fault_goes_away_and_the_step_is_played() {
    let play = "[[steps]]\ntext = 'a'\nfault = { status = 503, times = 2 }\n[[steps]]\ntext = 'b'";
    let (twin, http) = (twin(play), http1());
    let talk = Talk::new(Wire::Chat, "x");
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(talk.whole(&http, &twin).send().await.unwrap().status().as_u16());
    }
    assert_eq!(seen, [503, 503, 200]);
    let next = json_of(talk.whole(&http, &twin).send().await.unwrap()).await;
    assert_eq!(text(Wire::Chat, &next), "b");
}

#[tokio::test]
async fn options_carry_faults_too() {
    let options = Options { fault: Some(Fault::status(500).times(1)), ..Options::default() };
    let twin = Twin::start(Play::default(), options).unwrap();
    let talk = Talk::new(Wire::Gemini, "x");
    let mut seen = Vec::new();
    for _ in 0..2 {
        seen.push(talk.whole(&http1(), &twin).send().await.unwrap().status().as_u16());
    }
    assert_eq!(seen, [500, 200]);
}

#[tokio::test]
async fn a_dropped_connection_has_carried_exactly_so_many_bytes() {
    let twin = twin(PLAY);
    for wire in Wire::ALL {
        for bytes in [0, 1, 100] {
            let fault = Fault { drop_after_bytes: Some(After(bytes)), ..Fault::default() }.to_header();
            let mut response = ask(&http1(), &twin, wire, &fault).await.unwrap();
            let mut got = 0;
            let error = loop {
                match response.chunk().await {
                    Ok(Some(chunk)) => got += chunk.len(),
                    Ok(None) => panic!("{wire:?}: the body ended in good order"),
                    Err(error) => break error,
                }
            };
            assert_eq!(got, bytes, "{wire:?}: {error}");
        }
    }
}

#[tokio::test]
async fn a_stalled_stream_is_silent_until_the_client_goes() {
    let (twin, http) = (twin(PLAY), http1());
    let mut response = ask(&http, &twin, Wire::Chat, r#"{"stall": 30}"#).await.unwrap();
    let mut got = 0;
    while got < 30 {
        got += response.chunk().await.unwrap().unwrap().len();
    }
    assert_eq!(got, 30);
    let silence = tokio::time::timeout(Duration::from_millis(100), response.chunk()).await;
    assert!(silence.is_err(), "{silence:?}");
    drop(response);
    // Nothing of the twin is left behind by the client that went.
    tokio::time::timeout(Duration::from_secs(20), twin.close()).await.unwrap();
}

#[tokio::test]
async fn a_reset_stream_leaves_the_connection_alive() {
    let (twin, http) = (twin(PLAY), http2());
    for wire in Wire::ALL {
        let response = ask(&http, &twin, wire, r#"{"h2_reset": 40}"#).await.unwrap();
        assert_eq!(response.version(), reqwest::Version::HTTP_2);
        let error = response.bytes().await.unwrap_err();
        let causes = std::iter::successors(std::error::Error::source(&error), |e| e.source());
        let told: Vec<String> = causes.map(ToString::to_string).collect();
        assert!(told.iter().any(|cause| cause.contains("stream error")), "{wire:?}: {told:?}");
        let again = json_of(Talk::new(wire, "x").whole(&http, &twin).send().await.unwrap()).await;
        assert!(text(wire, &again).starts_with("one two"), "{wire:?}");
    }
}

#[tokio::test]
async fn broken_json_ends_in_good_order() {
    let (twin, http) = (twin(PLAY), http1());
    for wire in Wire::ALL {
        let whole = ask(&http, &twin, wire, "{}").await.unwrap().text().await.unwrap();
        for fault in [r#"{"truncated_json": 2}"#, r#"{"malformed_frame": 2}"#] {
            let stream = ask(&http, &twin, wire, fault).await.unwrap().text().await.unwrap();
            let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
            let broken = data.filter(|data| serde_json::from_str::<serde_json::Value>(data).is_err());
            let broken = broken.filter(|data| *data != "[DONE]").count();
            assert!(
                broken == 1 || (fault.contains("truncated") && stream.len() < whole.len()),
                "{wire:?} {fault}"
            );
            let talk = Talk::new(wire, "x").whole(&http, &twin).header("x-twin-fault", fault);
            let body = talk.send().await.unwrap().text().await.unwrap();
            assert!(serde_json::from_str::<serde_json::Value>(&body).is_err(), "{wire:?} {fault}");
        }
    }
}

#[tokio::test]
async fn events_can_come_twice_and_end_in_an_error() {
    let (twin, http) = (twin(PLAY), http1());
    for wire in Wire::ALL {
        let once = events(&ask(&http, &twin, wire, "{}").await.unwrap().text().await.unwrap());
        let fault = r#"{"duplicate_events": true}"#;
        let twice = events(&ask(&http, &twin, wire, fault).await.unwrap().text().await.unwrap());
        assert_eq!(twice.len(), 2 * once.len(), "{wire:?}");
        let fault = r#"{"error_event": 3, "message": "boom in the middle"}"#;
        let failed = ask(&http, &twin, wire, fault).await.unwrap().text().await.unwrap();
        assert!(failed.contains("boom in the middle"), "{wire:?}: {failed}");
        assert!(streamed_text(wire, &events(&failed)).len() < streamed_text(wire, &once).len(), "{wire:?}");
        let whole = Talk::new(wire, "x").whole(&http, &twin).header("x-twin-fault", fault);
        assert_eq!(whole.send().await.unwrap().status(), 500);
    }
}

#[tokio::test]
async fn headers_can_be_slow_and_wrong() {
    let (twin, http) = (twin(PLAY), http1());
    let start = Instant::now();
    let fault = r#"{"slow_headers_ms": 80, "content_type": "text/html"}"#;
    let response = ask(&http, &twin, Wire::Anthropic, fault).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(80));
    assert_eq!(response.headers()["content-type"], "text/html");
}

#[tokio::test]
async fn a_fault_that_makes_no_sense_is_refused() {
    let (twin, http) = (twin(PLAY), http1());
    let response = ask(&http, &twin, Wire::Responses, r#"{"explode": true}"#).await.unwrap();
    assert_eq!(response.status(), 400);
    assert!(response.text().await.unwrap().contains("explode"));
}
