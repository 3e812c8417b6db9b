//! The model of the benchmark, which can also fail, and the bytes that it is asked with.

#[path = "../../examples/load/answers.rs"]
pub(crate) mod answers;
#[path = "../../examples/load/http.rs"]
pub(crate) mod http;
#[path = "../../examples/load/upstream.rs"]
mod upstream;

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;

use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The model, on a thread of its own: what it starts is not among what is counted. Ends when it is dropped.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    _end: DropGuard,
}

impl Upstream {
    pub(crate) fn start() -> Self {
        let (send, address) = mpsc::sync_channel(1);
        let end = CancellationToken::new();
        let ended = end.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                send.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    served = upstream::serve(listener) => served.unwrap(),
                    () = ended.cancelled() => {}
                }
            });
        });
        Self { address: address.recv().unwrap(), _end: end.drop_guard() }
    }

    /// How many requests are being answered.
    pub(crate) async fn running(&self) -> usize {
        get(self.address, "/running").await.parse().unwrap()
    }
}

/// What is at a path of a server.
pub(crate) async fn get(address: SocketAddr, path: &str) -> String {
    let mut peer = http::Peer::connect(&address.to_string()).await.unwrap();
    peer.send(format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes()).await.unwrap();
    let head = peer.head().await.unwrap().unwrap();
    let mut body = Vec::new();
    peer.body(&head, |bytes| body.extend_from_slice(bytes)).await.unwrap();
    String::from_utf8(body).unwrap()
}
