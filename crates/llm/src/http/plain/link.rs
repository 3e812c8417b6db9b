//! One connection, driven by whoever has it.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::coop::unconstrained;

use super::head::{self, Head};

/// How much is read at a time.
const ROOM: usize = 8 * 1024;

/// A connection.
pub(super) struct Link {
    stream: TcpStream,
    /// What has come and nobody has taken. There is no room in it while nothing comes: of thousands of streams most are
    /// silent at any moment.
    pub(super) come: BytesMut,
    /// What the other side has not taken of the request, though it answers already.
    unsent: Option<Box<Unsent>>,
}

/// A request that is sent while its answer comes.
struct Unsent {
    head: Vec<u8>,
    body: Bytes,
    sent: usize,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Refused {
    /// Nothing of it was sent: another connection can have it.
    Unsent(io::Error),
    Broke(io::Error),
}

impl Refused {
    pub(super) fn into_error(self) -> io::Error {
        match self {
            Self::Unsent(error) | Self::Broke(error) => error,
        }
    }
}

impl Link {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, come: BytesMut::new(), unsent: None }
    }

    /// Whether another request can be sent: nothing has come that nobody asked for, nor the end. It takes no call of the
    /// system if nothing has happened.
    pub(super) fn is_free(&mut self, cx: &mut Context<'_>) -> bool {
        while self.come.is_empty() {
            // A task that has done much in its turn would be told that nothing has happened, whatever has.
            match pin!(unconstrained(poll_fn(|cx| self.stream.poll_read_ready(cx)))).poll(cx) {
                Poll::Pending => return true,
                Poll::Ready(Err(_)) => return false,
                // It may have been so when it was last looked at, and what came then may be read.
                Poll::Ready(Ok(())) => match self.stream.try_read(&mut [0]) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Ok(_) | Err(_) => return false,
                },
            }
        }
        false
    }

    /// Sends a request, and gives the head of the answer. What was not sent by then is for [`Self::poll_send`], unless the
    /// answer is a refusal: whoever refuses wants no more.
    ///
    /// # Errors
    /// If the connection is closed before, or what comes is no answer.
    pub(super) async fn ask(&mut self, head: &[u8], body: &Bytes) -> Result<Head, Refused> {
        let (mut sent, mut broke) = (0, None);
        poll_fn(|cx| {
            while sent < head.len() + body.len() && broke.is_none() {
                match self.poll_write(cx, [head, body], sent) {
                    Poll::Ready(Ok(0)) => broke = Some(io::ErrorKind::WriteZero.into()),
                    Poll::Ready(Ok(more)) => sent += more,
                    Poll::Ready(Err(error)) if sent == 0 => {
                        return Poll::Ready(Err(Refused::Unsent(error)));
                    }
                    Poll::Ready(Err(error)) => broke = Some(error),
                    Poll::Pending => break,
                }
            }
            // An answer may come before all is sent.
            Poll::Ready(match ready!(self.poll_head(cx)) {
                Ok(answer) => {
                    let is_sent = sent == head.len() + body.len();
                    let goes_on = !is_sent && broke.is_none() && answer.status.is_success();
                    self.unsent =
                        goes_on.then(|| Box::new(Unsent { head: head.to_vec(), body: body.clone(), sent }));
                    Ok(Head { stays: answer.stays && (is_sent || goes_on), ..answer })
                }
                Err(error) => Err(Refused::Broke(broke.take().unwrap_or(error))),
            })
        })
        .await
    }

    /// Whether the other side has all of the request.
    pub(super) fn is_sent(&self) -> bool {
        self.unsent.is_none()
    }

    /// Sends what it takes of a request that it answers already.
    ///
    /// # Errors
    /// If it takes no more. It may answer all the same.
    pub(super) fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(mut rest) = self.unsent.take() {
            let written = self.poll_write(cx, [&rest.head, &rest.body], rest.sent);
            match written {
                Poll::Pending => {
                    self.unsent = Some(rest);
                    return Poll::Pending;
                }
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(more)) => rest.sent += more,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
            self.unsent = (rest.sent < rest.head.len() + rest.body.len()).then_some(rest);
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what is left of two pieces.
    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        [head, body]: [&[u8]; 2],
        sent: usize,
    ) -> Poll<io::Result<usize>> {
        let body_sent = sent.saturating_sub(head.len());
        let left = [head.get(sent..).unwrap_or_default(), body.get(body_sent..).unwrap_or_default()];
        Pin::new(&mut self.stream).poll_write_vectored(cx, &left.map(IoSlice::new))
    }

    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Head>> {
        loop {
            if !self.come.is_empty()
                && let Some(head) = head::read(&mut self.come)?
            {
                return Poll::Ready(Ok(head));
            }
            if ready!(self.poll_fill(cx))? == 0 {
                return Poll::Ready(Err(closed()));
            }
        }
    }

    /// Reads what has come, and tells how much that is. Nothing is the end.
    pub(super) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut room = [MaybeUninit::uninit(); ROOM];
        let mut room = ReadBuf::uninit(&mut room);
        if Pin::new(&mut self.stream).poll_read(cx, &mut room)?.is_pending() {
            if self.come.is_empty() {
                self.come = BytesMut::new();
            }
            return Poll::Pending;
        }
        // What comes is seldom as much as there is room: a piece of a stream is kept in as many bytes as it has.
        self.come.extend_from_slice(room.filled());
        Poll::Ready(Ok(room.filled().len()))
    }
}

/// That the other side has closed the connection.
pub(super) fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed before the answer was whole")
}
