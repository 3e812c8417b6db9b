//! A web server on this machine that answers as it is told, byte for byte.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the server does when it is asked for a path.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Sends these bytes, head and all, and closes.
    Bytes(Vec<u8>),
    /// Sends these bytes, and then the last of them again and again for as long as somebody listens.
    Endless(Vec<u8>),
    /// Sends these bytes, and then nothing, without closing.
    Stall(Vec<u8>),
}

pub(crate) struct Site {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

/// A whole answer.
pub(crate) fn page(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Reply {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n");
    Reply::Bytes([head.as_bytes(), body.as_ref()].concat())
}

impl Site {
    /// A server with these paths.
    pub(crate) async fn start(paths: Vec<(&'static str, Reply)>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&requests);
        let serving = tokio::spawn(async move {
            let paths = Arc::new(paths);
            let mut open = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                open.spawn(serve(stream, Arc::clone(&paths), Arc::clone(&seen)));
            }
        });
        Self { address: address.ip(), port: address.port(), requests, serving }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.address, self.port)
    }

    /// The heads of the requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    paths: Arc<Vec<(&'static str, Reply)>>,
    seen: Arc<Mutex<Vec<String>>>,
) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    seen.lock().unwrap().push(head);
    let found = paths.iter().find(|(name, _)| *name == path).map(|(_, reply)| reply.clone());
    match found.unwrap_or_else(|| page("404 Not Found", "", "nothing here")) {
        Reply::Bytes(bytes) => stream.write_all(&bytes).await.ok(),
        Reply::Endless(bytes) => {
            stream.write_all(&bytes).await.ok()?;
            let more = vec![*bytes.last().unwrap(); 64 * 1024];
            loop {
                stream.write_all(&more).await.ok()?;
            }
        }
        Reply::Stall(bytes) => {
            stream.write_all(&bytes).await.ok()?;
            std::future::pending().await
        }
    }
}
