//! A server that repeats one frame as often as it is told, and holds nothing.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers one request with the start, so many times the middle, and the end.
pub(crate) async fn serve([start, middle, end]: [Vec<u8>; 3], times: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 8192];
        let mut seen = Vec::new();
        // The body of such a small request comes in the same packet as its headers, or right after.
        while !seen.ends_with(b"}") {
            let n = socket.read(&mut request).await.unwrap();
            assert!(n > 0, "the client went away");
            seen.extend_from_slice(&request[..n]);
        }
        let length = start.len() + middle.len() * times + end.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&start).await.unwrap();
        let batch = middle.repeat(64);
        for _ in 0..times / 64 {
            socket.write_all(&batch).await.unwrap();
        }
        for _ in 0..times % 64 {
            socket.write_all(&middle).await.unwrap();
        }
        socket.write_all(&end).await.unwrap();
    });
    address
}
