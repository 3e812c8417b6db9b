//! The model: it reads as much of a request as it must to know what is wanted, and has the answer ready. If it is told
//! to, it fails.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use junto_llm::Wire;
use tokio::net::TcpListener;
use tokio::task::LocalSet;
use tokio::time::Instant;

use super::answers::{self, Fault, Order};
use super::http::Peer;

const TOO_MANY: &[u8] =
    b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
    content-length: 41\r\n\r\n{\"error\":{\"message\":\"slow down, please\"}}";
const BROKEN: &[u8] =
    b"HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/html\r\ncontent-length: 14\r\n\r\n<html>no</html";
const UNKNOWN: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
const NOISE: &[u8] = b"\x00\xff\x16\x03 220 mail.example ESMTP\n";

/// An answer, in the parts in which it is sent.
type Parts = Rc<Vec<Vec<u8>>>;

/// What the connections share.
#[derive(Default)]
pub(crate) struct State {
    /// Answers that were made before.
    known: RefCell<HashMap<(Wire, bool, usize), Parts>>,
    /// Requests that are being answered.
    running: Cell<usize>,
}

/// Counts a request for as long as it is answered.
struct Running<'a>(&'a State);

impl<'a> Running<'a> {
    fn new(state: &'a State) -> Self {
        state.running.set(state.running.get() + 1);
        Self(state)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.set(self.0.running.get() - 1);
    }
}

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener) -> Result<(), String> {
    let state = Rc::<State>::default();
    let connections = LocalSet::new();
    connections
        .run_until(async {
            loop {
                let (stream, _) = listener.accept().await.map_err(|e| e.to_string())?;
                let state = Rc::clone(&state);
                tokio::task::spawn_local(async move {
                    // How a connection ends is the other side's business.
                    let _ = connection(Peer::new(stream), &state).await;
                });
            }
        })
        .await
}

async fn connection(mut peer: Peer, state: &State) -> io::Result<()> {
    let mut body = Vec::new();
    while let Some(head) = peer.head().await? {
        body.clear();
        peer.body(&head, |bytes| body.extend_from_slice(bytes)).await?;
        if head.path() == "/running" {
            let running = state.running.get().to_string();
            let length = running.len();
            peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{running}").as_bytes())
                .await?;
            continue;
        }
        let Some((wire, order)) = Order::read(head.path(), &body) else {
            peer.send(UNKNOWN).await?;
            continue;
        };
        let _running = Running::new(state);
        match order.fault {
            None => answer(&mut peer, &parts(state, wire, order), order.pace).await?,
            Some(fault) => {
                fail(&mut peer, fault, &parts(state, wire, order), order.pace).await?;
                if !matches!(fault, Fault::TooMany | Fault::Broken | Fault::Garbage) {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

async fn answer(peer: &mut Peer, parts: &[Vec<u8>], pace: u64) -> io::Result<()> {
    let Some((first, rest)) = parts.split_first() else { return Ok(()) };
    peer.send(first).await?;
    // At fixed times, so that one that was late does not make all that follow late.
    let mut due = Instant::now();
    for part in rest {
        if pace > 0 {
            due += Duration::from_millis(pace);
            tokio::time::sleep_until(due).await;
        }
        peer.send(part).await?;
    }
    Ok(())
}

async fn fail(peer: &mut Peer, fault: Fault, parts: &[Vec<u8>], pace: u64) -> io::Result<()> {
    let half = async |peer: &mut Peer| match parts {
        [one] => peer.send(&one[..one.len() / 2]).await,
        many => answer(peer, &many[..many.len() / 2], pace).await,
    };
    match fault {
        Fault::TooMany => peer.send(TOO_MANY).await,
        Fault::Broken => peer.send(BROKEN).await,
        Fault::Mute => peer.closed().await,
        Fault::Stall => {
            half(peer).await?;
            peer.closed().await
        }
        Fault::Hangup => Ok(()),
        Fault::Drop => half(peer).await,
        Fault::Garbage => {
            let kind = if parts.len() == 1 { "application/json" } else { "text/event-stream" };
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 26\r\n\r\n");
            peer.send(format!("{head}data: {{\"half\": \"a frame\n\n\n").as_bytes()).await
        }
        Fault::Noise => peer.send(NOISE).await,
    }
}

fn parts(state: &State, wire: Wire, order: Order) -> Parts {
    let Order { stream, pieces, .. } = order;
    let mut known = state.known.borrow_mut();
    Rc::clone(known.entry((wire, stream, pieces)).or_insert_with(|| Rc::new(make(wire, stream, pieces))))
}

/// The bytes of an answer, head and framing included.
fn make(wire: Wire, stream: bool, pieces: usize) -> Vec<Vec<u8>> {
    if !stream {
        let body = answers::whole(wire, pieces);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        return vec![[head.into_bytes(), body].concat()];
    }
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk =
        |bytes: Vec<u8>| [format!("{:x}\r\n", bytes.len()).into_bytes(), bytes, b"\r\n".to_vec()].concat();
    let mut parts: Vec<Vec<u8>> = answers::streamed(wire, pieces).into_iter().map(chunk).collect();
    if let Some(first) = parts.first_mut() {
        first.splice(0..0, head.iter().copied());
    }
    if let Some(last) = parts.last_mut() {
        last.extend_from_slice(b"0\r\n\r\n");
    }
    parts
}
