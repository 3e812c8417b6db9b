//! `web_fetch` against servers that behave, and against some that do not.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use junto_agent::tools::{Reach, WebFetch};
use junto_core::{Action, Tool, ToolError};
use junto_llm::ToolCall;
use serde_json::json;

use crate::hand::Hand;
use crate::site::{Reply, Site, page};

const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";
const TEXT: &str = "Content-Type: text/plain\r\n";

async fn fetch(reach: Reach, url: &str) -> (String, bool) {
    Hand::new().call(&WebFetch::new(reach), json!({"url": url})).await
}

/// Fetches what this answer holds, on a server that is in reach.
async fn check(reply: Reply, expected: &str, fails: bool) {
    let site = Site::start(vec![("/", reply)]).await;
    let (text, failed) = fetch(Reach::Everywhere, &site.url("/")).await;
    assert!(text.contains(expected), "{text}");
    assert_eq!(failed, fails, "{text}");
}

#[tokio::test]
async fn pages_are_read_as_text() {
    let html = "<title>T&amp;T</title><h1>Head</h1><p>See <a href='/x'>x</a>.<script>no</script>";
    let site = Site::start(vec![("/p", page("200 OK", HTML, html))]).await;
    let url = site.url("/p");
    let expected = format!("{url}\nTitle: T&T\n\n# Head\n\nSee [x]({}).", site.url("/x"));
    assert_eq!(fetch(Reach::Everywhere, &url).await, (expected, false));
    let request = site.requests().remove(0).to_ascii_lowercase();
    assert!(
        request.contains("user-agent: junto/") && request.contains("accept-encoding: identity"),
        "{request}"
    );
    assert!(!request.contains("cookie") && !request.contains("referer"), "{request}");
}

#[tokio::test]
async fn other_text_comes_as_it_is_and_the_rest_is_refused() {
    check(page("200 OK", "Content-Type: application/json\r\n", "{\"a\": 1}"), "\n\n{\"a\": 1}", false).await;
    check(page("200 OK", "Content-Type: text/plain; charset=iso-8859-1\r\n", b"caf\xe9"), "café", false)
        .await;
    check(page("200 OK", "Content-Type: text/plain; charset=martian\r\n", "café"), "café", false).await;
    check(page("200 OK", HTML, b"caf\xe9"), "caf\u{fffd}", false).await;
    check(page("200 OK", "Content-Type: image/png\r\n", b"\x89PNG"), "it is image/png, not text", true).await;
    check(page("200 OK", TEXT, b"a\0b"), "binary", true).await;
    let zipped = "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n";
    check(page("200 OK", zipped, b"\x1f\x8b"), "compressed (gzip)", true).await;
    check(page("404 Not Found", HTML, "<p>Gone <b>fishing</b>"), "404 Not Found\n\nGone fishing", true).await;
    check(page("204 No Content", "", ""), "/\n\n", false).await;
}

#[tokio::test]
async fn servers_that_break_the_rules() {
    check(Reply::Bytes(b"no HTTP at all\r\n\r\n".to_vec()), "cannot get it from 127.0.0.1", true).await;
    check(Reply::Bytes(Vec::new()), "cannot get it from 127.0.0.1", true).await;
    let broken = page("200 OK", "Content-Type: text/plain\r\nContent-Length: 99\r\n", "short");
    check(broken, "cannot get it from 127.0.0.1", true).await;
    check(page("302 Found", "Location: http://[\r\n", ""), "no address", true).await;
    check(page("302 Found", "", "no location"), "302 Found\n\nno location", true).await;
}

#[tokio::test]
async fn a_body_without_end_is_read_in_part() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nx".to_vec();
    let site = Site::start(vec![("/", Reply::Endless(head))]).await;
    let (text, failed) = fetch(Reach::Everywhere, &site.url("/")).await;
    assert!(
        !failed && text.ends_with("x\n[these are the first 28000 characters; there is more]"),
        "{failed}"
    );
    let few = json!({"url": site.url("/"), "max_chars": 3});
    let (text, _) = Hand::new().call(&WebFetch::new(Reach::Everywhere), few).await;
    assert!(text.ends_with("\n\nxxx\n[these are the first 3 characters; there is more]"), "{text}");
}

#[tokio::test]
async fn a_body_that_never_comes_is_not_waited_for() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nx".to_vec();
    for reply in [Reply::Stall(head), Reply::Stall(Vec::new())] {
        let site = Site::start(vec![("/", reply)]).await;
        let tool = WebFetch::new(Reach::Everywhere).time_limit(Duration::from_millis(200));
        let (text, failed) = Hand::new().call(&tool, json!({"url": site.url("/")})).await;
        assert_eq!((text.as_str(), failed), ("it did not come within 200 ms", true));
    }
}

#[tokio::test]
async fn a_cancelled_fetch_ends_at_once() {
    let site = Site::start(vec![("/", Reply::Stall(Vec::new()))]).await;
    let hand = Hand::new();
    let (tool, args) = (WebFetch::new(Reach::Everywhere), json!({"url": site.url("/")}));
    let cancel = hand.cx.cancel.clone();
    let asked = async {
        while site.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let ((text, failed), ()) = tokio::join!(hand.call(&tool, args), asked);
    assert!(failed && text.contains("interrupted"), "{text}");
}

#[tokio::test]
async fn redirects_are_followed_on_the_host() {
    let to = |path: &str| page("302 Found", &format!("Location: {path}\r\n"), "");
    let site = Site::start(vec![
        ("/0", to("/1")),
        ("/1", to("2?q")),
        ("/2?q", to("/3#part")),
        ("/3", to("/4")),
        ("/4", to("/5")),
        ("/5", page("200 OK", TEXT, "arrived")),
        ("/round", to("/round")),
    ])
    .await;
    let (text, failed) = fetch(Reach::Everywhere, &site.url("/0")).await;
    assert_eq!((text, failed), (format!("{}\n\narrived", site.url("/5")), false));
    let (text, failed) = fetch(Reach::Everywhere, &site.url("/round")).await;
    assert_eq!((text.as_str(), failed), ("it redirects more than 5 times", true));
    assert_eq!(site.requests().len(), 12);
}

#[tokio::test]
async fn redirects_to_elsewhere_are_not_followed() {
    let other = Site::start(vec![("/", page("200 OK", TEXT, "secret"))]).await;
    let check = async |target: String, expected: &str| {
        let reply = page("307 Temporary Redirect", &format!("Location: {target}\r\n"), "");
        let site = Site::start(vec![("/", reply)]).await;
        // Only the first server is in reach, as a page of the web would be.
        let reach = Reach::Also(vec![site.address]);
        let (text, failed) = fetch(reach, &site.url("/")).await;
        assert!(failed && text.contains(expected), "{target}: {text}");
    };
    let refused = "is not on the public internet";
    for host in
        ["127.0.0.2", "10.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "0x7f.2", "2130706434"]
    {
        check(format!("http://{host}:{}/", other.port), refused).await;
    }
    check(format!("http://localhost:{}/", other.port), "another host").await;
    check("https://example.org/x".into(), "redirects to another host: https://example.org/x").await;
    check("file:///etc/passwd".into(), "only http and https").await;
    check("ftp://127.0.0.1/".into(), "only http and https").await;
    check(format!("http://user:pass@127.0.0.1:{}/", other.port), "user name or password").await;
    assert_eq!(other.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn private_addresses_are_out_of_reach_by_any_name() {
    let site = Site::start(vec![("/", page("200 OK", TEXT, "inside"))]).await;
    let refused = "is not on the public internet";
    for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:7f00:1]", "0177.0.0.1", "127.1"] {
        let (text, failed) = fetch(Reach::Public, &format!("http://{host}:{}/", site.port)).await;
        assert!(failed && text.contains(refused), "{host}: {text}");
    }
    assert_eq!(site.requests(), Vec::<String>::new());
    // The same server is there for whoever is allowed to see it, by address and by name.
    let also = Reach::Also(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    assert!(fetch(also.clone(), &site.url("/")).await.0.ends_with("inside"));
    let by_name = fetch(also, &format!("http://localhost:{}/", site.port)).await;
    assert!(by_name.0.ends_with("inside"), "{by_name:?}");
}

#[tokio::test]
async fn what_is_no_address_is_said_before_anything_is_asked() {
    let (hand, tool) = (Hand::new(), WebFetch::default());
    let actions = async |url: &str| {
        let call = ToolCall::function("c", "web_fetch", json!({"url": url}).to_string());
        tool.actions(&call, &hand.cx).await
    };
    let net = |host: &str| Ok(vec![Action::Net { host: host.into() }]);
    assert_eq!(actions("https://Example.org:8443/x?y").await, net("example.org"));
    assert_eq!(actions("http://0x7f.1/").await, net("127.0.0.1"));
    for bad in ["", "example.org", "/x", "mailto:a@b.c", "data:,x"] {
        let answer: Result<_, ToolError> = actions(bad).await;
        assert!(answer.is_err(), "{bad}: {answer:?}");
    }
    assert!(fetch(Reach::Everywhere, "file:///etc/passwd").await.1);
}
