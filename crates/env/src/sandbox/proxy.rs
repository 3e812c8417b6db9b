//! A proxy on this machine that reaches the hosts that were named, and nobody else.
//!
//! It speaks as much HTTP as a proxy needs: `CONNECT` for what is encrypted, and requests with a whole
//! address for what is not. Names are looked up here, where it is known whether they may be.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::hosts::{Hosts, may_lead_to, split_port};

/// How many connections there are at a time; more wait.
const CONNECTIONS: usize = 64;
/// How long a request's head is.
const HEAD: usize = 16 << 10;
/// How long a client may take to say what it wants, and a host to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves until it is stopped.
pub(super) async fn serve(listener: TcpListener, hosts: Arc<Hosts>, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        // The network it listens in may be gone with the command.
        let Ok((client, _)) = accepted else { return };
        let hosts = Arc::clone(&hosts);
        connections.spawn(async move {
            // What goes wrong here is between the client and its host.
            drop(attend(client, &hosts).await);
            drop(place);
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn attend(mut client: TcpStream, hosts: &Hosts) -> io::Result<()> {
    let head = match timeout(PATIENCE, read_head(&mut client)).await {
        Ok(head) => head?,
        Err(_) => return Ok(()),
    };
    let Some(wanted) = Wanted::read(&head) else {
        return refuse(&mut client, "400 Bad Request", "this is a proxy for HTTP").await;
    };
    let Wanted { host, port, .. } = wanted;
    if !hosts.allow(host, port) {
        let message = format!("{host}:{port} is not among the hosts that this sandbox reaches");
        return refuse(&mut client, "403 Forbidden", &message).await;
    }
    let mut server = match timeout(PATIENCE, connect(host, port)).await {
        Ok(Ok(server)) => server,
        Ok(Err(e)) => return refuse(&mut client, "502 Bad Gateway", &format!("{host}:{port}: {e}")).await,
        Err(_) => return refuse(&mut client, "504 Gateway Timeout", &format!("{host}:{port}")).await,
    };
    match wanted.request {
        Some(request) => server.write_all(&request).await?,
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
    }
    server.write_all(wanted.rest).await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let mut last = io::Error::other("it has no address that this sandbox reaches");
    for address in lookup_host((bare, port)).await? {
        if !may_lead_to(host, address.ip()) {
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}

async fn read_head(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while end_of_head(&head).is_none() && head.len() < HEAD {
        if client.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    Ok(head)
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|start| start + 4)
}

async fn refuse(client: &mut TcpStream, status: &str, message: &str) -> io::Result<()> {
    let length = message.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n\
         {message}\n"
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}

/// What a client wants.
#[derive(Debug, PartialEq, Eq)]
struct Wanted<'a> {
    host: &'a str,
    port: u16,
    /// The request as its host understands it; none if the client will say everything itself.
    request: Option<Vec<u8>>,
    /// What the client has said beyond its request's head.
    rest: &'a [u8],
}

impl<'a> Wanted<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(end_of_head(bytes)?)?;
        let head = std::str::from_utf8(head).ok()?;
        let (line, headers) = head.split_once("\r\n")?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if method == "CONNECT" {
            let (host, port) = split_port(target);
            return Some(Self { host, port: port?.parse().ok()?, request: None, rest });
        }
        let target = target.strip_prefix("http://")?;
        let end = target.find(['/', '?']).unwrap_or(target.len());
        let (place, path) = target.split_at_checked(end)?;
        let (host, port) = split_port(place);
        let port = port.map_or(Some(80), |port| port.parse().ok())?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        // One request for each connection: the next may be for another host.
        let kept = headers.split("\r\n").filter(|line| !line.is_empty() && !is_between_us(line));
        let mut request = format!("{method} {slash}{path} {version}\r\nConnection: close\r\n");
        for line in kept {
            request.push_str(line);
            request.push_str("\r\n");
        }
        request.push_str("\r\n");
        Some(Self { host, port, request: Some(request.into_bytes()), rest })
    }
}

/// Whether a header is for the proxy and not for the host.
fn is_between_us(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default();
    ["connection", "keep-alive", "proxy-authorization", "proxy-connection"]
        .iter()
        .any(|own| name.eq_ignore_ascii_case(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_want() {
        let read = |text: &'static str| {
            Wanted::read(text.as_bytes()).map(|wanted| {
                let request = wanted.request.map(|request| String::from_utf8(request).unwrap());
                (wanted.host, wanted.port, request, std::str::from_utf8(wanted.rest).unwrap())
            })
        };
        assert_eq!(
            read("CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\nhello"),
            Some(("example.org", 443, None, "hello"))
        );
        assert_eq!(read("CONNECT [::1]:9 HTTP/1.1\r\n\r\n"), Some(("[::1]", 9, None, "")));
        let plain = "POST http://example.org?q=1 HTTP/1.1\r\nHost: example.org\r\n\
                     Proxy-Connection: keep-alive\r\nContent-Length: 1\r\n\r\nx";
        let request = "POST /?q=1 HTTP/1.1\r\nConnection: close\r\nHost: example.org\r\n\
                       Content-Length: 1\r\n\r\n";
        assert_eq!(read(plain), Some(("example.org", 80, Some(request.to_owned()), "x")));
        for nothing in [
            "",
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://example.org/ HTTP/1.1\r\n\r\n",
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "CONNECT example.org:443 HTTP/1.1\r\n",
            "CONNECT example.org:99999 HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(read(nothing), None, "{nothing:?}");
        }
    }
}
