//! Connections without TLS: kept from call to call, never waited for by anybody but the call that uses them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use junto_llm::{CallCx, Endpoint, Error, HttpProvider, Provider as _, Request, StreamEvent, Wire};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A hang guard.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the server does with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// A length and a body.
    Answer,
    /// A body in two chunks, the second after a while, with trailers.
    Chunks,
    /// An answer, after which it closes the connection without a word.
    AnswerAndClose,
    /// A head, half a body, and then nothing.
    Stall,
    /// A body that ends with the connection.
    UntilClosed,
    /// Events, and then the end of the body.
    Events,
    /// Events, and no end of the body.
    EventsWithoutEnd,
}

/// The events of an answer, and what may come after them.
const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
    4f\r\ndata: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n\r\n\
    43\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\r\n\
    e\r\ndata: [DONE]\n\n\r\n";
const AFTER: &str = "3\r\n:\n\n\r\n0\r\n\r\n";

/// A server of few words, which counts its connections and tells when one of them was closed by the other side.
struct Server {
    address: String,
    connections: Arc<AtomicUsize>,
    closed: UnboundedReceiver<()>,
}

impl Server {
    async fn start(deeds: &'static [Deed]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (connections, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (tell, closed) = unbounded_channel();
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let (asked, tell) = (Arc::clone(&asked), tell.clone());
                tokio::spawn(async move {
                    serve(stream, deeds, &asked).await;
                    // Whoever started the server may have seen enough.
                    let _ = tell.send(());
                });
            }
        });
        Self { address, connections, closed }
    }

    fn provider(&self) -> HttpProvider {
        HttpProvider::new(Endpoint::new("p", Wire::Chat, format!("http://{}/v1", self.address))).unwrap()
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until a connection is over.
    async fn closed(&mut self) {
        tokio::time::timeout(PATIENCE, self.closed.recv()).await.expect("it is closed").unwrap();
    }
}

async fn serve(mut stream: TcpStream, deeds: &[Deed], asked: &AtomicUsize) {
    let mut buffer = Vec::new();
    loop {
        while !is_whole(&buffer) {
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let head = String::from_utf8(std::mem::take(&mut buffer)).unwrap().to_lowercase();
        assert!(head.starts_with("post /v1/chat/completions"), "{head}");
        assert!(head.contains("\r\nhost: 127.0.0.1:") && head.contains("\r\nuser-agent: junto/"), "{head}");
        if head.ends_with("\r\n\r\n{}") {
            assert!(
                head.contains("completions?a=1 http/1.1\r\n") && head.contains("\r\naccept: */*\r\n"),
                "{head}"
            );
        }
        let deed = deeds[asked.fetch_add(1, Ordering::SeqCst).min(deeds.len() - 1)];
        let start = match deed {
            Deed::Chunks => "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
            Deed::Stall => "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabc",
            Deed::UntilClosed => "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabcdef",
            Deed::Events | Deed::EventsWithoutEnd => EVENTS,
            Deed::Answer | Deed::AnswerAndClose => "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcdef",
        };
        // In one piece, so that the end is there with the last event.
        let after = if deed == Deed::Events { AFTER } else { "" };
        stream.write_all(format!("{start}{after}").as_bytes()).await.unwrap();
        match deed {
            Deed::Answer | Deed::Stall | Deed::Events | Deed::EventsWithoutEnd => {}
            Deed::AnswerAndClose | Deed::UntilClosed => return,
            Deed::Chunks => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                stream.write_all(b"3\r\ndef\r\n0\r\nx-late: 1\r\n\r\n").await.unwrap();
            }
        }
    }
}

/// Whether this is a head and the body that it tells of.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() == length.expect("a length").parse::<usize>().unwrap()
}

async fn ask(provider: &HttpProvider, cx: &CallCx) -> Result<junto_llm::ByteStream, Error> {
    let passthrough = provider.passthrough(Wire::Chat).unwrap();
    let answer = passthrough
        .send("/chat/completions?a=1", http::HeaderMap::new(), Bytes::from_static(b"{}"), cx)
        .await?;
    assert_eq!(answer.status(), 200);
    Ok(answer.into_body())
}

async fn whole(provider: &HttpProvider) -> Result<Vec<u8>, Error> {
    let mut bytes = ask(provider, &CallCx::new()).await?;
    let mut all = Vec::new();
    while let Some(chunk) = bytes.next().await {
        all.extend_from_slice(&chunk?);
    }
    Ok(all)
}

#[tokio::test]
async fn one_connection_serves_one_call_after_another() {
    let server = Server::start(&[Deed::Answer, Deed::Chunks, Deed::Answer, Deed::Chunks, Deed::Answer]).await;
    let provider = server.provider();
    for _ in 0..5 {
        assert_eq!(whole(&provider).await.unwrap(), b"abcdef");
    }
    assert_eq!(server.connections(), 1);
}

/// The events of a streamed answer, after the last of which nobody reads on.
async fn streamed(provider: &HttpProvider) -> Vec<StreamEvent> {
    let request = Request::prompt("hello").model("m");
    let mut events = provider.stream(request, &CallCx::new()).await.unwrap();
    let mut all = Vec::new();
    while let Some(event) = events.next().await {
        all.push(event.unwrap());
        if matches!(all.last(), Some(StreamEvent::Finish { .. })) {
            break;
        }
    }
    all
}

#[tokio::test]
async fn so_it_does_for_events_whose_last_one_ends_the_answer() {
    let server = Server::start(&[Deed::Events]).await;
    let provider = server.provider();
    for _ in 0..5 {
        assert!(matches!(streamed(&provider).await.last(), Some(StreamEvent::Finish { .. })));
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn nobody_waits_for_what_comes_after_the_last_event() {
    let mut server = Server::start(&[Deed::EventsWithoutEnd]).await;
    let provider = server.provider();
    for call in 1..=2 {
        assert!(matches!(streamed(&provider).await.last(), Some(StreamEvent::Finish { .. })));
        server.closed().await;
        assert_eq!(server.connections(), call);
    }
}

#[tokio::test]
async fn calls_at_the_same_time_have_connections_of_their_own_and_leave_them_to_others() {
    let server = Server::start(&[Deed::Chunks]).await;
    let provider = server.provider();
    for _ in 0..3 {
        let all = futures_util::future::join_all((0..4).map(|_| whole(&provider))).await;
        assert!(all.into_iter().all(|bytes| bytes.unwrap() == b"abcdef"));
    }
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_is_not_used_again() {
    let mut server = Server::start(&[Deed::AnswerAndClose]).await;
    let provider = server.provider();
    for call in 1..=4 {
        assert_eq!(whole(&provider).await.unwrap(), b"abcdef", "call {call}");
        server.closed().await;
        assert_eq!(server.connections(), call);
    }
}

#[tokio::test]
async fn an_answer_may_end_with_its_connection() {
    let server = Server::start(&[Deed::UntilClosed]).await;
    let provider = server.provider();
    assert_eq!(whole(&provider).await.unwrap(), b"abcdef");
    assert_eq!(whole(&provider).await.unwrap(), b"abcdef");
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_call_that_is_dropped_or_cancelled_closes_its_connection() {
    let mut server = Server::start(&[Deed::Stall]).await;
    let provider = server.provider();
    let mut left = ask(&provider, &CallCx::new()).await.unwrap();
    assert_eq!(left.next().await.unwrap().unwrap(), "abc");
    drop(left);
    server.closed().await;

    let cx = CallCx::new();
    let mut cancelled = ask(&provider, &cx).await.unwrap();
    assert_eq!(cancelled.next().await.unwrap().unwrap(), "abc");
    let token = cx.cancel.clone();
    let waits = tokio::spawn(async move { cancelled.next().await });
    token.cancel();
    server.closed().await;
    let error = waits.await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.kind().as_str(), "aborted", "{error}");
}

/// Whoever used the connection before may be gone, and its runtime with it.
#[test]
fn a_provider_outlives_the_runtime_that_made_its_connections() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let home = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = home.block_on(Server::start(&[Deed::Answer]));
    let provider = server.provider();
    for _ in 0..3 {
        assert_eq!(runtime().block_on(whole(&provider)).unwrap(), b"abcdef");
    }
}

#[tokio::test]
async fn nobody_there_is_said_so() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let provider = HttpProvider::new(Endpoint::new("p", Wire::Chat, format!("http://{address}"))).unwrap();
    let error = whole(&provider).await.unwrap_err();
    assert_eq!(error.kind().as_str(), "network");
    assert!(error.message().starts_with("cannot reach the provider: Connection refused"), "{error}");
}

#[tokio::test]
async fn of_many_that_are_not_used_any_more_some_are_kept() {
    const KEPT: usize = 128;
    let mut server = Server::start(&[Deed::Answer]).await;
    let (provider, cx) = (server.provider(), CallCx::new());
    for turn in 0..2 {
        let mut answers = Vec::new();
        for _ in 0..KEPT + 2 {
            answers.push(ask(&provider, &cx).await.unwrap());
        }
        assert_eq!(server.connections(), KEPT + 2 + turn * 2);
        for answer in answers {
            assert_eq!(answer.count().await, 1);
        }
        for _ in 0..2 {
            server.closed().await;
        }
    }
}
