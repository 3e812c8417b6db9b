//! How much runs at a time, and how the gateway ends.

use futures_util::{FutureExt as _, StreamExt as _};
use http_body_util::BodyExt as _;
use junto_gateway::{Gateway, Settings, Target};
use junto_llm::{CallCx, Request, Wire};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

use crate::scripted::{Cue, Scripted, finish, shared, start, text};
use crate::support::{House, SOON, Way, ask, events, hello, post, raw};

fn gateway(provider: &Arc<Scripted>, settings: Settings) -> Gateway {
    Gateway::builder().route("*", Target::new("s", provider.clone())).settings(settings).build().unwrap()
}

fn request(wire: Wire) -> http::Request<axum::body::Body> {
    let path = if wire == Wire::Anthropic { "/v1/messages" } else { "/v1/responses" };
    post(path, hello(wire, true).to_string())
}

#[tokio::test]
async fn beyond_the_queue_clients_are_told_to_come_back() {
    let provider = shared([start(), Cue::Hang]);
    let gateway = gateway(&provider, Settings { running: 1, waiting: 1, ..Settings::default() });
    let running = ask(&gateway, request(Wire::Anthropic)).await;
    assert_eq!(running.status(), 200);
    let mut waiting = Box::pin(ask(&gateway, request(Wire::Anthropic)));
    assert!(waiting.as_mut().now_or_never().is_none(), "it waits");
    for (wire, status) in [(Wire::Anthropic, 529), (Wire::Responses, 503)] {
        let refused = raw(ask(&gateway, request(wire)).await).await;
        assert_eq!((refused.status, refused.headers["retry-after"].to_str().unwrap()), (status, "1"));
        assert!(refused.json()["error"]["message"].as_str().unwrap().contains("too many"));
    }
    assert_eq!(provider.asked().len(), 1);
    drop(running);
    assert_eq!(waiting.await.status(), 200);
    assert_eq!(provider.asked().len(), 2);
}

/// A call holds its permit until its answer is over, not only until it begins.
#[tokio::test]
async fn one_that_gives_up_waiting_makes_room() {
    let provider = shared([start(), Cue::Hang]);
    let gateway = gateway(&provider, Settings { running: 1, waiting: 1, ..Settings::default() });
    let running = ask(&gateway, request(Wire::Anthropic)).await;
    let mut waiting = Box::pin(ask(&gateway, request(Wire::Anthropic)));
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(waiting);
    let mut next = Box::pin(ask(&gateway, request(Wire::Anthropic)));
    assert!(next.as_mut().now_or_never().is_none(), "it waits instead of being refused");
    drop(running);
    assert_eq!(next.await.status(), 200);
    assert_eq!(provider.asked().len(), 2, "the one that gave up was never asked for");
}

#[tokio::test]
async fn a_finished_answer_makes_room() {
    let mut cues = vec![start()];
    cues.extend(text("yes"));
    cues.push(finish());
    let provider = shared(cues);
    let gateway = gateway(&provider, Settings { running: 1, waiting: 0, ..Settings::default() });
    for _ in 0..3 {
        let response = ask(&gateway, request(Wire::Responses)).await;
        assert_eq!(response.status(), 200);
        response.into_body().collect().await.unwrap();
    }
}

/// An answer that runs when the gateway is asked to close comes to its end; nobody new gets in.
#[tokio::test]
async fn closing_lets_running_answers_finish() {
    for surface in [Wire::Anthropic, Wire::Responses] {
        let mut cues = vec![start(), Cue::Hold];
        cues.extend(text("worth the wait"));
        cues.push(finish());
        let provider = shared(cues);
        let house = House::open(&gateway(&provider, Settings::default())).await;
        let ask = || Request::prompt("hi").model("m");
        let mut stream = house.client(surface).stream(ask(), &CallCx::new()).await.unwrap();
        stream.next().await.unwrap().unwrap();
        house.shutdown.cancel();
        assert!(Way::Whole.ask(&house.client(surface), ask()).await.is_err(), "nobody new gets in");
        assert!(!house.server.is_finished());
        provider.go_on();
        let answer = stream.into_response().await.unwrap();
        assert_eq!(answer.text(), "worth the wait");
        timeout(SOON, house.server).await.expect("the server ends").unwrap();
        assert_eq!(provider.asked().len(), 1);
    }
}

/// One that does not finish within the grace is cut off, and its call with it.
#[tokio::test]
async fn closing_does_not_wait_for_ever() {
    let provider = shared([start(), Cue::Hang]);
    let settings = Settings { grace: Duration::from_secs(5), ..Settings::default() };
    let house = House::open(&gateway(&provider, settings)).await;
    let cx = CallCx::new();
    let stream = house.client(Wire::Anthropic).stream(Request::prompt("hi").model("m"), &cx).await.unwrap();
    // From here on no time passes but what is waited for.
    tokio::time::pause();
    house.shutdown.cancel();
    house.server.await.unwrap();
    provider.wait_running(0).await;
    assert!(provider.asked()[0].1.cancel.is_cancelled());
    let (_, error) = events(stream).await;
    assert!(error.is_some(), "the client sees that the answer broke off");
}

/// Whoever drops the server ends everything it serves.
#[tokio::test]
async fn a_dropped_server_takes_its_connections_along() {
    let provider = shared([start(), Cue::Hang]);
    let house = House::open(&gateway(&provider, Settings::default())).await;
    let cx = CallCx::new();
    let stream = house.client(Wire::Responses).stream(Request::prompt("hi").model("m"), &cx).await.unwrap();
    house.server.abort();
    timeout(SOON, provider.wait_running(0)).await.expect("the call is dropped");
    assert!(events(stream).await.1.is_some());
}
