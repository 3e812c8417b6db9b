//! When a client goes, what it started ends at once, wherever the call is.

use futures_util::StreamExt as _;
use junto_gateway::{CallEnd, Gateway, Target};
use junto_llm::{CallCx, Endpoint, HttpProvider, HttpVersion, Provider as _, Request, Timeouts, Wire};
use junto_twin::{After, Fault, Play, Step};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::scripted::{Cue, progress, shared, start};
use crate::support::{
    House, Reports, SOON, Stand, addressed, ask, asked, hello, model, passing, post, translated,
};

/// A twin that begins to answer and then falls silent until its client goes.
fn silent_after(bytes: usize) -> Play {
    let fault = Fault { stall: Some(After(bytes)), ..Fault::default() };
    Play::of([Step { fault: Some(fault), ..Step::text("word ".repeat(1000)) }])
}

/// A twin that says nothing at all for ever.
fn mute() -> Play {
    Play::of([Step {
        fault: Some(Fault { slow_headers_ms: Some(3_600_000), ..Fault::default() }),
        ..Step::text("x")
    }])
}

/// No timeout of the client's is what ends the call.
fn patient() -> CallCx {
    let hour = Duration::from_hours(1);
    CallCx::new().timeouts(Timeouts { connect: hour, request: hour, idle: hour })
}

async fn becomes_idle(s: &Stand) {
    timeout(SOON, s.twin.wait_until_idle()).await.expect("the call behind the gateway is cancelled");
}

async fn leave_in_mid_stream(s: Stand, surface: Wire, model: &str) {
    let request = Request::prompt("hi").model(model);
    let cx = patient();
    let mut stream = s.house.client(surface).stream(request, &cx).await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    becomes_idle(&s).await;
    s.house.close().await;
    assert_left(&s.reports);
}

/// Leaves while nothing has come back yet.
async fn leave_before_the_answer(s: Stand, surface: Wire, request: Request) {
    let client = s.house.client(surface);
    let call = tokio::spawn(async move { client.complete(request, &patient()).await });
    s.twin.wait_for_requests(1).await;
    call.abort();
    becomes_idle(&s).await;
    s.house.close().await;
    assert_left(&s.reports);
    assert!(s.reports.all()[0].is_untold(), "the provider had the request: that is not nothing");
}

/// Whoever looks on is told that the client has gone, and of whom it had asked.
#[track_caller]
fn assert_left(reports: &Reports) {
    let reports = reports.all();
    let [report] = reports.as_slice() else { panic!("{reports:?}") };
    assert!(matches!(report.end, CallEnd::BrokenOff), "{report:?}");
    assert_eq!(report.provider.as_deref(), Some("upstream"));
    assert!(report.session.is_some() && report.via.is_some(), "{report:?}");
}

#[tokio::test]
async fn in_the_middle_of_a_translated_stream() {
    for surface in Wire::ALL {
        for wire in Wire::ALL {
            leave_in_mid_stream(translated(wire, silent_after(8000)).await, surface, asked(surface)).await;
        }
    }
}

#[tokio::test]
async fn in_the_middle_of_a_stream_that_passes_through() {
    for surface in Wire::ALL {
        leave_in_mid_stream(passing(surface, silent_after(2000)).await, surface, model(surface)).await;
    }
}

#[tokio::test]
async fn while_a_whole_answer_is_awaited() {
    for surface in Wire::ALL {
        let ask = |model: &str| Request::prompt("hi").model(model);
        leave_before_the_answer(translated(Wire::Chat, silent_after(10)).await, surface, ask(asked(surface)))
            .await;
        leave_before_the_answer(translated(Wire::Gemini, mute()).await, surface, ask(asked(surface))).await;
        leave_before_the_answer(passing(surface, mute()).await, surface, ask(model(surface))).await;
    }
}

#[tokio::test]
async fn while_a_stream_is_being_opened() {
    for surface in Wire::ALL {
        let s = translated(Wire::Chat, mute()).await;
        let client = s.house.client(surface);
        let request = Request::prompt("hi").model(asked(surface));
        let call = tokio::spawn(async move { client.stream(request, &patient()).await.map(drop) });
        s.twin.wait_for_requests(1).await;
        call.abort();
        becomes_idle(&s).await;
    }
}

/// Also a provider that looks at nothing but its token is told.
#[tokio::test]
async fn the_calls_token_is_cancelled() {
    for surface in Wire::ALL {
        let provider = shared([start(), progress("at work"), Cue::Hang]);
        let gateway = Gateway::builder().route("*", Target::new("s", provider.clone())).build().unwrap();
        let house = House::open(&gateway).await;
        let stream =
            house.client(surface).stream(Request::prompt("hi").model("m"), &patient()).await.unwrap();
        let (_, cx) = provider.asked().remove(0);
        assert!(!cx.cancel.is_cancelled());
        drop(stream);
        timeout(SOON, cx.cancel.cancelled()).await.expect("the token is cancelled");
        timeout(SOON, provider.wait_running(0)).await.expect("the stream is dropped");
    }
}

/// Nothing has to be noticed, waited for or polled in between: with the body of the answer goes the
/// call, in the very same moment. What a server adds to that is the time until it sees the socket close.
#[tokio::test]
async fn in_the_moment_in_which_the_body_is_dropped() {
    for surface in Wire::ALL {
        let provider = shared([start(), progress("at work"), Cue::Hang]);
        let gateway = Gateway::builder().route("*", Target::new("s", provider.clone())).build().unwrap();
        let (path, body) = addressed(surface, hello(surface, true).to_string().into());
        let response = ask(&gateway, post(&path, body)).await;
        let (_, cx) = provider.asked().remove(0);
        assert!(!cx.cancel.is_cancelled());
        let child = cx.child();
        drop(response);
        assert!(cx.cancel.is_cancelled() && child.cancel.is_cancelled(), "{surface:?}");
        timeout(SOON, provider.wait_running(0)).await.expect("the stream is dropped");
    }
}

/// How long a call outlives its client, from the closed socket to the provider's token. The figure that is
/// promised is 100 ms; the limit here is one that a loaded machine keeps too.
#[tokio::test]
async fn soon_after_the_socket_is_closed() {
    let mut slowest = Duration::ZERO;
    for surface in Wire::ALL {
        let provider = shared([start(), progress("at work"), Cue::Hang]);
        let gateway = Gateway::builder().route("*", Target::new("s", provider.clone())).build().unwrap();
        let house = House::open(&gateway).await;
        for round in 0..5 {
            let ask = Request::prompt("hi").model("m");
            let stream = house.client(surface).stream(ask, &patient()).await.unwrap();
            let (_, cx) = provider.asked().remove(round);
            let began = Instant::now();
            drop(stream);
            timeout(SOON, cx.cancel.cancelled()).await.expect("the token is cancelled");
            slowest = slowest.max(began.elapsed());
        }
    }
    println!("a call outlived its client by at most {slowest:?}");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
}

/// What a client sends behind its request is read when that is answered, and hides that it has gone: the end of a line too
/// much, a request that is early, or more than is read at once.
#[tokio::test]
async fn whatever_was_sent_behind_the_request() {
    let much = "x".repeat(20_000);
    let early = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for behind in ["\r\n", early, &much] {
        for surface in Wire::ALL {
            for stand in [passing(surface, mute()).await, translated(surface, mute()).await] {
                let (path, body) = addressed(surface, hello(surface, true).to_string().into());
                let head = format!("host: localhost\r\ncontent-length: {}", body.len());
                let mut said = format!("POST {path} HTTP/1.1\r\n{head}\r\n\r\n").into_bytes();
                said.extend_from_slice(&body);
                said.extend_from_slice(behind.as_bytes());
                let address = stand.house.url.strip_prefix("http://").unwrap();
                let mut client = TcpStream::connect(address).await.unwrap();
                client.write_all(&said).await.unwrap();
                stand.twin.wait_for_requests(1).await;
                drop(client);
                becomes_idle(&stand).await;
                stand.house.close().await;
                assert_left(&stand.reports);
            }
        }
    }
}

/// Over HTTP/2 many calls share a connection, and each ends by itself.
#[tokio::test]
async fn one_stream_of_an_http2_connection() {
    for surface in Wire::ALL {
        let provider = shared([start(), progress("at work"), Cue::Hang]);
        let gateway = Gateway::builder().route("*", Target::new("s", provider.clone())).build().unwrap();
        let house = House::open(&gateway).await;
        let endpoint = Endpoint { http: HttpVersion::Http2, ..house.endpoint(surface) };
        let client = HttpProvider::new(endpoint).unwrap();
        let (cx, ask) = (patient(), || Request::prompt("hi").model("m"));
        let stays = client.stream(ask(), &cx).await.unwrap();
        let goes = client.stream(ask(), &cx).await.unwrap();
        timeout(SOON, provider.wait_running(2)).await.expect("both run");
        drop(goes);
        timeout(SOON, provider.wait_running(1)).await.expect("one of them is cancelled");
        drop(stays);
        timeout(SOON, provider.wait_running(0)).await.expect("the other is cancelled");
        house.close().await;
    }
}
