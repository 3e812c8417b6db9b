//! Gateways that ask gateways: a row of them answers, a circle refuses.

use std::sync::Arc;

use http::HeaderMap;
use junto_gateway::{Gateway, Settings, Target};
use junto_llm::{Endpoint, HttpProvider, Wire};
use junto_twin::{Options, Play, Twin};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::support::{House, SOON, addressed, hello, model, target};

/// A gateway on this listener that asks whoever is at this address, on this wire.
fn asking(listener: TcpListener, wire: Wire, url: &str, model: Option<&str>) -> House {
    let version = if matches!(wire, Wire::Responses | Wire::Chat) { "/v1" } else { "" };
    let provider = HttpProvider::new(Endpoint::new("next", wire, format!("{url}{version}"))).unwrap();
    let next = Target::new("next", Arc::new(provider));
    let next = model.map(str::to_owned).into_iter().fold(next, Target::model);
    // A circle would take all of these places, and leave none for others.
    let settings = Settings { running: 16, waiting: 0, ..Settings::default() };
    let gateway = Gateway::builder().route("*", next).settings(settings).build().unwrap();
    let url = address(&listener);
    let shutdown = CancellationToken::new();
    let token = shutdown.clone();
    let server = tokio::spawn(async move { gateway.serve(listener, token).await });
    House { url, shutdown, server }
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

fn address(listener: &TcpListener) -> String {
    format!("http://{}", listener.local_addr().unwrap())
}

async fn refuses(first: &House, surface: Wire) {
    let (_, body) = addressed(surface, hello(surface, false).to_string().into());
    let answer = timeout(SOON, first.send(surface, HeaderMap::new(), body)).await.expect("an answer comes");
    assert_eq!(answer.status, 403, "{surface:?}: {}", answer.text());
    assert!(answer.text().contains("come through this gateway already"), "{}", answer.text());
}

#[tokio::test]
async fn two_that_ask_each_other_refuse() {
    for surface in Wire::ALL {
        // By bytes, and translated both ways.
        for (wire, model) in [(surface, None), (Wire::Chat, Some("m")), (Wire::Anthropic, Some("m"))] {
            let (one, other) = (listener().await, listener().await);
            let (to_one, to_other) = (address(&one), address(&other));
            let first = asking(one, wire, &to_other, model);
            let second = asking(other, surface, &to_one, model);
            refuses(&first, surface).await;
            first.close().await;
            second.close().await;
        }
    }
}

#[tokio::test]
async fn one_that_asks_itself_refuses() {
    for surface in Wire::ALL {
        let listener = listener().await;
        let url = address(&listener);
        let house = asking(listener, surface, &url, None);
        refuses(&house, surface).await;
        house.close().await;
    }
}

#[tokio::test]
async fn a_row_of_them_answers() {
    for surface in Wire::ALL {
        let twin = Twin::start(Play::text("hello"), Options::default()).unwrap();
        let last = Gateway::builder().route("*", target(&twin, surface)).build().unwrap();
        let last = House::open(&last).await;
        let middle = asking(listener().await, surface, &last.url, None);
        let first = asking(listener().await, Wire::Chat, &middle.url, Some(model(surface)));
        // The middle one has to translate for the first.
        let chat = asking(listener().await, surface, &middle.url, None);
        for house in [&first, &chat] {
            let answer = house.send(surface, HeaderMap::new(), hello(surface, false).to_string()).await;
            assert_eq!(answer.status, 200, "{surface:?}: {}", answer.text());
            assert!(answer.text().contains("hello"), "{}", answer.text());
        }
    }
}
