//! A client's connection in two hands: one serves it, the other sees that its client has gone.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// A connection for whoever serves it, and for whoever watches it.
pub(super) fn of(stream: TcpStream) -> (Ends, Watch) {
    let (reads, writes) = stream.into_split();
    let writes = Arc::new(writes);
    (Ends { before: Bytes::new(), reads, writes: Arc::clone(&writes) }, Watch(writes))
}

/// A connection to be served.
pub(super) struct Ends {
    /// What was read of it before, and given back.
    before: Bytes,
    reads: OwnedReadHalf,
    /// Shared, which that for reading cannot be: it has no way to read by a shared reference that would know without
    /// asking the system that everything was read.
    writes: Arc<OwnedWriteHalf>,
}

impl Ends {
    /// Gives back what was read and is for somebody else.
    pub(super) fn give_back(&mut self, before: Bytes) {
        self.before = before;
    }

    /// Waits until there may be something to read. It takes no call of the system.
    pub(super) fn poll_come(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.before.is_empty() { self.reads.as_ref().poll_read_ready(cx) } else { Poll::Ready(Ok(())) }
    }
}

impl AsyncRead for Ends {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.before.is_empty() {
            let length = buf.remaining().min(self.before.len());
            buf.put_slice(&self.before.split_to(length));
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.reads).poll_read(cx, buf)
    }
}

impl AsyncWrite for Ends {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            let stream: &TcpStream = (*self.writes).as_ref();
            ready!(stream.poll_write_ready(cx))?;
            match stream.try_write_vectored(pieces) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Whoever asks for it has nothing more to do: with both hands gone, which is next, the connection is shut down.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Sees that a client has gone.
pub(super) struct Watch(Arc<OwnedWriteHalf>);

impl Watch {
    /// Waits until the client has closed its side, whatever it has sent before that nobody has read yet. It is told by
    /// the same event as whoever reads, so it takes no call of the system.
    #[cfg(target_os = "linux")]
    pub(super) async fn gone(&self) {
        // Everything else that this stands for was not asked for when the socket was registered.
        let closed = self.0.ready(tokio::io::Interest::PRIORITY).await;
        if closed.is_ok_and(|ready| !ready.is_read_closed()) {
            std::future::pending::<()>().await;
        }
    }

    /// Other systems' events do not tell it apart from bytes that wait.
    #[cfg(not(target_os = "linux"))]
    pub(super) async fn gone(&self) {
        std::future::pending().await
    }
}
