//! The output of a process, read as it comes.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use tokio::net::unix::pipe::Receiver;

use crate::{Output, OutputStream};

/// The largest piece of output.
const PIECE: usize = 64 << 10;

/// No pipe holds more, unless root made it larger.
const PIPE: usize = 1 << 20;

/// What a pipe is made to hold of which much is read. Larger ones save few more turns, and what goes
/// through them no longer fits into the processor's cache.
const WIDE: i32 = 256 << 10;

/// The streams of a process. Nothing is kept here: what nobody asks for stays with the system, and
/// once that holds no more the process waits.
pub(super) struct Streams {
    /// The one that spoke last is asked last.
    sources: Vec<Source>,
    buffer: BytesMut,
}

struct Source {
    stream: OutputStream,
    /// Absent once it is at its end.
    receiver: Option<Receiver>,
    /// How much is still read after the process has ended and its time was up.
    left: usize,
    widened: bool,
}

impl Streams {
    pub(super) fn of_pipes(stdout: OwnedFd, stderr: OwnedFd) -> io::Result<Self> {
        let stdout = Source::new(OutputStream::Stdout, Receiver::from_owned_fd(stdout)?);
        let stderr = Source::new(OutputStream::Stderr, Receiver::from_owned_fd(stderr)?);
        Ok(Self { sources: vec![stdout, stderr], buffer: BytesMut::new() })
    }

    pub(super) fn of_terminal(terminal: OwnedFd) -> io::Result<Self> {
        let mut source = Source::new(OutputStream::Stdout, Receiver::from_owned_fd_unchecked(terminal)?);
        source.widened = true;
        Ok(Self { sources: vec![source], buffer: BytesMut::new() })
    }

    /// Those of a process that has ours.
    pub(super) fn none() -> Self {
        Self { sources: Vec::new(), buffer: BytesMut::new() }
    }

    /// Whether all streams are at their end.
    pub(super) fn ended(&self) -> bool {
        self.sources.iter().all(|source| source.receiver.is_none())
    }

    /// Whether standard output is at its end.
    pub(super) fn stdout_ended(&self) -> bool {
        let mut all = self.sources.iter();
        all.all(|source| source.stream != OutputStream::Stdout || source.receiver.is_none())
    }

    /// The next piece; `None` once all streams are at their end. Nothing is lost if this is dropped.
    pub(super) async fn next(&mut self) -> io::Result<Option<Output>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Output>>> {
        for index in 0..self.sources.len() {
            let source = &mut self.sources[index];
            match source.poll_read(cx, &mut self.buffer) {
                Poll::Ready(Ok(0)) => source.receiver = None,
                Poll::Ready(Ok(length)) => {
                    let piece = Output { stream: source.stream, bytes: piece(&mut self.buffer, length) };
                    source.widen_after(length);
                    self.sources[index..].rotate_left(1);
                    return Poll::Ready(Ok(Some(piece)));
                }
                Poll::Ready(Err(e)) => {
                    source.receiver = None;
                    return Poll::Ready(Err(e));
                }
                Poll::Pending => {}
            }
        }
        if self.ended() { Poll::Ready(Ok(None)) } else { Poll::Pending }
    }

    /// What is in the pipes this moment, in pieces. `None` once they are empty or a pipe's full
    /// measure was read, after which nothing that was written before can be left.
    pub(super) fn rest(&mut self) -> io::Result<Option<Output>> {
        for source in &mut self.sources {
            let Some(receiver) = &source.receiver else { continue };
            self.buffer.resize(source.left.min(PIECE), 0);
            // Past the runtime, which may not have heard yet that there is something to read.
            match nix::unistd::read(receiver, &mut self.buffer) {
                Ok(0) | Err(Errno::EAGAIN | Errno::EIO) => source.left = 0,
                Ok(length) => {
                    source.left -= length;
                    return Ok(Some(Output {
                        stream: source.stream,
                        bytes: piece(&mut self.buffer, length),
                    }));
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(None)
    }

    /// Reads and forgets, so that whoever writes can go on. Does not end.
    pub(super) async fn discard(&mut self) {
        while let Ok(Some(_)) = self.next().await {}
        std::future::pending::<()>().await;
    }
}

impl Source {
    fn new(stream: OutputStream, receiver: Receiver) -> Self {
        Self { stream, receiver: Some(receiver), left: PIPE, widened: false }
    }

    /// Reads into an empty buffer; nothing at the end. Not by the runtime's own way of reading: it
    /// takes a short read for an empty pipe, and a terminal gives little at a time.
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut BytesMut) -> Poll<io::Result<usize>> {
        let Some(receiver) = &self.receiver else { return Poll::Pending };
        loop {
            ready!(receiver.poll_read_ready(cx))?;
            buffer.clear();
            buffer.reserve(PIECE);
            match receiver.try_read_buf(buffer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                // Nobody has the other end of the terminal any more.
                Err(e) if e.raw_os_error() == Some(Errno::EIO as i32) => return Poll::Ready(Ok(0)),
                read => return Poll::Ready(read),
            }
        }
    }

    /// Makes room for more once somebody has much to say, so that it need not wait for us each time.
    fn widen_after(&mut self, length: usize) {
        if length < PIECE || self.widened {
            return;
        }
        self.widened = true;
        if let Some(receiver) = &self.receiver {
            // Whoever has too many large pipes keeps a small one.
            let _ = fcntl(receiver, FcntlArg::F_SETPIPE_SZ(WIDE));
        }
    }
}

/// The first bytes of the buffer: as they are where they fill it, or else a piece of a few bytes would
/// hold all of it for as long as somebody keeps it.
fn piece(buffer: &mut BytesMut, length: usize) -> Bytes {
    if length > PIECE / 2 {
        let mut whole = std::mem::take(buffer);
        whole.truncate(length);
        return whole.freeze();
    }
    Bytes::copy_from_slice(&buffer[..length])
}
