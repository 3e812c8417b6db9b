//! As little of HTTP/1.1 as a benchmark needs, so that what asks and what answers costs next to nothing.

use std::io;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The largest head.
const MOST_HEAD: usize = 64 * 1024;

/// One end of a connection.
pub(crate) struct Peer {
    stream: TcpStream,
    buffer: BytesMut,
}

/// The first lines of a message.
#[derive(Debug)]
pub(crate) struct Head {
    /// The request line, or the status line.
    pub(crate) first: String,
    length: Length,
}

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Known(usize),
    Chunked,
}

impl Head {
    fn read(text: &str) -> io::Result<Self> {
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default().to_owned();
        let mut length = Length::Known(0);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                length = Length::Known(value.trim().parse().map_err(|_| odd("a length that is none"))?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                length = Length::Chunked;
            }
        }
        Ok(Self { first, length })
    }

    /// The status of an answer; 0 if the head is that of a request.
    pub(crate) fn status(&self) -> u16 {
        self.first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    /// The path of a request.
    pub(crate) fn path(&self) -> &str {
        self.first.split(' ').nth(1).unwrap_or_default()
    }
}

impl Peer {
    pub(crate) fn new(stream: TcpStream) -> Self {
        let _ = stream.set_nodelay(true);
        Self { stream, buffer: BytesMut::with_capacity(16 * 1024) }
    }

    pub(crate) async fn connect(address: &str) -> io::Result<Self> {
        TcpStream::connect(address).await.map(Self::new)
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// The next message's head; none if the connection was closed in between.
    pub(crate) async fn head(&mut self) -> io::Result<Option<Head>> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let head = Head::read(&String::from_utf8_lossy(&self.buffer[..end]))?;
                self.buffer.advance(end + 4);
                return Ok(Some(head));
            }
            if self.buffer.len() > MOST_HEAD {
                return Err(odd("a head without an end"));
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return if self.buffer.is_empty() { Ok(None) } else { Err(odd("half a head")) };
            }
        }
    }

    /// The body that follows a head, piece by piece as it comes.
    pub(crate) async fn body(&mut self, head: &Head, mut sink: impl FnMut(&[u8])) -> io::Result<()> {
        match head.length {
            Length::Known(length) => self.take(length, &mut sink).await,
            Length::Chunked => loop {
                let line = self.line().await?;
                let size = line.split(';').next().unwrap_or_default().trim();
                let size = usize::from_str_radix(size, 16).map_err(|_| odd("a chunk without a size"))?;
                self.take(size, &mut sink).await?;
                self.line().await?;
                if size == 0 {
                    return Ok(());
                }
            },
        }
    }

    /// Reads until the other side goes.
    pub(crate) async fn closed(&mut self) -> io::Result<()> {
        while self.stream.read_buf(&mut self.buffer).await? > 0 {
            self.buffer.clear();
        }
        Ok(())
    }

    async fn take(&mut self, mut length: usize, sink: &mut impl FnMut(&[u8])) -> io::Result<()> {
        while length > 0 {
            if self.buffer.is_empty() && self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(odd("half a body"));
            }
            let some = length.min(self.buffer.len());
            sink(&self.buffer[..some]);
            self.buffer.advance(some);
            length -= some;
        }
        Ok(())
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.buffer.advance(end + 2);
                return Ok(line);
            }
            if self.buffer.len() > MOST_HEAD || self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(odd("half a line"));
            }
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn odd(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
