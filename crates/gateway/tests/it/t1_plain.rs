//! Usual requests are served by code of our own, and everything else by hyper: a client sees no difference.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use junto_gateway::{Gateway, Target};
use junto_llm::{Error, ErrorKind, Wire};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::scripted::{Cue, Scripted, answer, shared};
use crate::support::{House, SOON};

/// The first request of a connection which hyper shall have from then on.
const UNUSUAL: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
/// The last request of a connection.
const LAST: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// An answer, as far as it came.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    /// Without what is another each time, in any order.
    head: BTreeSet<String>,
    body: String,
    is_whole: bool,
}

/// All answers that have come, and what is not yet one.
fn read(mut bytes: &[u8]) -> (Vec<Answer>, &[u8]) {
    let mut answers = Vec::new();
    while let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
        let text = std::str::from_utf8(&bytes[..end]).unwrap().to_lowercase();
        bytes = &bytes[end + 4..];
        let is_new = |line: &&str| !line.starts_with("date: ") && !line.starts_with("request-id: ");
        let head: BTreeSet<String> = text.split("\r\n").filter(is_new).map(str::to_owned).collect();
        assert!(text.contains("\r\ndate: "), "{text}");
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
        let (body, is_whole) = match length {
            Some(length) => take(&mut bytes, length.parse().unwrap()),
            None => chunks(&mut bytes),
        };
        answers.push(Answer { head, body: same_ids(&body), is_whole });
    }
    (answers, bytes)
}

/// Reads until as many answers have come whole, or the connection is closed.
async fn hear(client: &mut TcpStream, heard: &mut Vec<u8>, count: usize) -> bool {
    while read(heard).0.iter().filter(|answer| answer.is_whole).count() < count {
        // A reset is an end, too.
        let more = timeout(SOON, client.read_buf(heard)).await.expect("it is answered or closed");
        if more.unwrap_or(0) == 0 {
            return false;
        }
    }
    true
}

/// A body without the ids that are made for it.
fn same_ids(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut parts = text.split("\"msg_");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "\"msg_" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

fn take(bytes: &mut &[u8], length: usize) -> (Vec<u8>, bool) {
    let (body, rest) = bytes.split_at(length.min(bytes.len()));
    *bytes = rest;
    (body.to_vec(), body.len() == length)
}

fn chunks(bytes: &mut &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        *bytes = &bytes[end + 2..];
        let (chunk, is_whole) = take(bytes, size);
        body.extend_from_slice(&chunk);
        let (end, _) = take(bytes, 2);
        if size == 0 || !is_whole || end != b"\r\n" {
            return (body, is_whole && end == b"\r\n");
        }
    }
    (body, false)
}

/// What is answered to so many requests in these pieces, each sent when the one before can have been read, and to a last
/// one if the connection is still open then.
async fn answers(house: &House, first: &[u8], pieces: &[&[u8]], count: usize) -> Vec<Answer> {
    let mut client = TcpStream::connect(house.url.trim_start_matches("http://")).await.unwrap();
    client.set_nodelay(true).unwrap();
    let mut heard = Vec::new();
    if !first.is_empty() {
        client.write_all(first).await.unwrap();
        assert!(hear(&mut client, &mut heard, 1).await);
        heard.clear();
    }
    for piece in pieces {
        client.write_all(piece).await.unwrap();
        if pieces.len() > 1 {
            // Long enough to be seen alone, and in some cases to be seen as late; either is right.
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
    }
    if hear(&mut client, &mut heard, count).await {
        // It may be closed already.
        let _ = client.write_all(LAST).await;
        let _ = timeout(SOON, client.read_to_end(&mut heard)).await.expect("it is closed");
    }
    let (answers, rest) = read(&heard);
    assert!(rest.is_empty(), "{}", String::from_utf8_lossy(rest));
    answers
}

/// Answers by bytes to `counted`, `chunked`, `short`, `long` and `broken`, and any other model in translation.
fn gateway() -> Gateway {
    let by_bytes = |headers: &[(&'static str, &'static str)], chunks: Vec<Result<Bytes, Error>>| {
        let response =
            http::Response::builder().header("content-type", "application/json").header("x-own", "1");
        let response =
            headers.iter().fold(response, |response, (name, value)| response.header(*name, *value));
        let scripted = Scripted::new([]).with_bytes(Wire::Anthropic, response.body(chunks).unwrap());
        Target::new("p", Arc::new(scripted))
    };
    let piece = |text: &'static str| Ok(Bytes::from_static(text.as_bytes()));
    let two = || vec![piece("{\"a\":"), piece("1}")];
    let broken = || vec![piece("{\"a\":"), Err(Error::new(ErrorKind::Network, "cut"))];
    Gateway::builder()
        .route("counted", by_bytes(&[("content-length", "7")], two()))
        .route("chunked", by_bytes(&[], two()))
        .route("long", by_bytes(&[("content-length", "3")], two()))
        .route("short", by_bytes(&[("content-length", "9")], two()))
        .route("broken", by_bytes(&[], broken()))
        .route("broken-counted", by_bytes(&[("content-length", "9")], broken()))
        .route("empty", by_bytes(&[("content-length", "0")], Vec::new()))
        .route("nothing", by_bytes(&[], Vec::new()))
        .route("*", Target::new("s", shared(answer([], "yes"))))
        .build()
        .unwrap()
}

fn body(model: &str) -> String {
    format!(r#"{{"model":"{model}","max_tokens":9,"messages":[{{"role":"user","content":"hi"}}]}}"#)
}

fn post(lines: &str, body: &str) -> String {
    format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n{lines}\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn answers_are_those_that_hyper_would_give() {
    let house = House::open(&gateway()).await;
    let streamed = body("any").replacen('{', "{\"stream\":true,", 1);
    let usual = [
        post("", &body("counted")),
        post("", &body("chunked")),
        post("", &body("broken")),
        post("", &body("broken-counted")),
        post("", &body("empty")),
        post("", &body("nothing")),
        post("", &body("any")),
        post("Connection: keep-alive\r\nX-Any: \u{e4}\r\n", &body("any")),
        post("", &streamed),
        post("", "{"),
        post("", ""),
        post("origin: https://evil.example\r\n", &body("any")),
        post("", &body("any")).replacen("localhost", "evil.example", 1),
        post("", &body("any")).replacen("/v1/messages", "/v1/nothing", 1),
        post("", &body("any")).replacen("/v1/messages", "http://localhost/v1/messages?x=1", 1),
        post("", &body("any")).replace("\r\n", "\n"),
        [post("", &body("any")), post("", &body("counted"))].concat(),
        // From here on hyper has both.
        post("expect: 100-continue\r\n", "").replacen("POST", "PUT", 1),
        post("connection: close\r\n", &body("any")),
        post("content-length: 1\r\n", &body("any")),
        post("", &body("any")).replacen("localhost", "local\u{1}host", 1),
        post("", &body("any")).replacen("/v1/messages", "nowhere", 1),
        format!("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n\r\n{}", post("", &body("any"))),
        post("", &format!("{}{}", " ".repeat(70_000), body("counted"))),
    ];
    for said in usual {
        let count = said.matches("HTTP/1.1").count();
        let ours = answers(&house, b"", &[said.as_bytes()], count).await;
        let hypers = answers(&house, UNUSUAL, &[said.as_bytes()], count).await;
        assert_eq!(ours, hypers, "{said}");
        assert!(!ours.is_empty(), "{said}");
    }
    // Of an answer that ends too soon hyper forgets what it was about to send.
    let short = answers(&house, b"", &[post("", &body("short")).as_bytes()], 1).await;
    assert!(matches!(&short[..], [answer] if !answer.is_whole && answer.body == "{\"a\":1}"), "{short:?}");
    // Of one that is too long it keeps the connection, on which nobody knows any more what belongs to what.
    let long = answers(&house, b"", &[post("", &body("long")).as_bytes()], 2).await;
    assert!(matches!(&long[..], [answer] if answer.is_whole && answer.body == "{\"a"), "{long:?}");
    house.close().await;
}

/// Whether the rest comes soon enough to be served here or so late that it is left to hyper.
#[tokio::test]
async fn a_request_may_come_in_pieces() {
    let house = House::open(&gateway()).await;
    let said = post("x: y\r\n", &body("counted"));
    let expected = answers(&house, UNUSUAL, &[said.as_bytes()], 1).await;
    let head = said.find("\r\n\r\n").unwrap();
    for cuts in
        [vec![1], vec![30], vec![head + 2], vec![head + 4], vec![head + 9], vec![3, 40, head + 5, head + 20]]
    {
        let mut pieces = Vec::new();
        let mut rest = said.as_bytes();
        let mut before = 0;
        for cut in cuts {
            let (piece, after) = rest.split_at(cut - before);
            pieces.push(piece);
            (rest, before) = (after, cut);
        }
        pieces.push(rest);
        assert_eq!(answers(&house, b"", &pieces, 1).await, expected, "{pieces:?}");
    }
    house.close().await;
}

#[tokio::test]
async fn the_answer_under_way_when_the_gateway_closes_is_the_last_one() {
    let held = Arc::new(Scripted::new(answer([Cue::Hold], "yes")));
    let gateway = Gateway::builder().route("*", Target::new("s", Arc::clone(&held) as _)).build().unwrap();
    let house = House::open(&gateway).await;
    let mut client = TcpStream::connect(house.url.trim_start_matches("http://")).await.unwrap();
    let mut idle = TcpStream::connect(house.url.trim_start_matches("http://")).await.unwrap();
    client.write_all(post("", &body("any")).as_bytes()).await.unwrap();
    held.wait_running(1).await;
    house.shutdown.cancel();
    timeout(SOON, idle.read_to_end(&mut Vec::new())).await.expect("it is closed at once").unwrap();
    held.go_on();
    let mut heard = Vec::new();
    timeout(SOON, client.read_to_end(&mut heard)).await.expect("it is closed").unwrap();
    let [answer] = &read(&heard).0[..] else { panic!("{}", String::from_utf8_lossy(&heard)) };
    assert!(answer.is_whole && answer.head.contains("connection: close"), "{answer:?}");
    house.close().await;
}
