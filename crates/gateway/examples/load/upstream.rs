//! The model: it reads as much of a request as it must to know what is wanted, and has the answer ready.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use junto_llm::Wire;
use tokio::net::TcpListener;
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::Outcome;
use crate::answers::{self, Order};
use crate::http::Peer;

/// Answers that were made before, in the pieces in which they are sent.
type Known = Rc<RefCell<HashMap<(Wire, bool, usize), Rc<Vec<Vec<u8>>>>>>;

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener) -> Outcome {
    let known = Known::default();
    let connections = LocalSet::new();
    connections
        .run_until(async {
            loop {
                let (stream, _) = listener.accept().await.map_err(|e| e.to_string())?;
                let known = Rc::clone(&known);
                tokio::task::spawn_local(async move {
                    // How a connection ends is the other side's business.
                    let _ = connection(Peer::new(stream), &known).await;
                });
            }
        })
        .await
}

async fn connection(mut peer: Peer, known: &Known) -> std::io::Result<()> {
    let mut body = Vec::new();
    while let Some(head) = peer.head().await? {
        body.clear();
        peer.body(&head, |bytes| body.extend_from_slice(bytes)).await?;
        match answers::order(head.path(), &body) {
            Some(order) => answer(&mut peer, order, known).await?,
            None => peer.send(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await?,
        }
    }
    Ok(())
}

async fn answer(peer: &mut Peer, order: Order, known: &Known) -> std::io::Result<()> {
    let Order { wire, stream, pieces, pace } = order;
    let parts =
        Rc::clone(known.borrow_mut().entry((wire, stream, pieces)).or_insert_with(|| Rc::new(make(order))));
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

/// The bytes of an answer, head and framing included.
fn make(order: Order) -> Vec<Vec<u8>> {
    if !order.stream {
        let body = answers::whole(order.wire, order.pieces);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        return vec![[head.into_bytes(), body].concat()];
    }
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk =
        |bytes: Vec<u8>| [format!("{:x}\r\n", bytes.len()).into_bytes(), bytes, b"\r\n".to_vec()].concat();
    let mut parts: Vec<Vec<u8>> = answers::streamed(order.wire, order.pieces)
        .into_iter()
        .filter(|part| !part.is_empty())
        .map(chunk)
        .collect();
    if let Some(first) = parts.first_mut() {
        first.splice(0..0, head.iter().copied());
    }
    if let Some(last) = parts.last_mut() {
        last.extend_from_slice(b"0\r\n\r\n");
    }
    parts
}
