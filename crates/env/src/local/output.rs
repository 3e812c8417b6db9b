//! The two output streams of a process, read as they come.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use nix::errno::Errno;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::pipe::Receiver;

use crate::{Output, OutputStream};

/// The largest piece of output.
const PIECE: usize = 64 << 10;

/// No pipe holds more, unless root made it larger.
const PIPE: usize = 1 << 20;

/// Both streams. Nothing is kept here: what nobody asks for stays in the pipes, and once these are
/// full the process waits.
pub(super) struct Streams {
    /// The one that spoke last is asked last.
    pipes: [Pipe; 2],
    scratch: Box<[u8]>,
}

struct Pipe {
    stream: OutputStream,
    /// Absent once it is at its end.
    receiver: Option<Receiver>,
    /// How much is still read after the process has ended and its time was up.
    left: usize,
}

impl Streams {
    pub(super) fn new(stdout: OwnedFd, stderr: OwnedFd) -> io::Result<Self> {
        let pipe = |stream, fd| {
            let receiver = Some(Receiver::from_owned_fd(fd)?);
            io::Result::Ok(Pipe { stream, receiver, left: PIPE })
        };
        Ok(Self {
            pipes: [pipe(OutputStream::Stdout, stdout)?, pipe(OutputStream::Stderr, stderr)?],
            scratch: vec![0; PIECE].into(),
        })
    }

    /// Whether both streams are at their end.
    pub(super) fn ended(&self) -> bool {
        self.pipes.iter().all(|pipe| pipe.receiver.is_none())
    }

    /// The next piece; `None` once both streams are at their end. Nothing is lost if this is dropped.
    pub(super) async fn next(&mut self) -> io::Result<Option<Output>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Output>>> {
        for index in 0..self.pipes.len() {
            let pipe = &mut self.pipes[index];
            let Some(receiver) = &mut pipe.receiver else { continue };
            let mut buffer = ReadBuf::new(&mut self.scratch);
            match Pin::new(receiver).poll_read(cx, &mut buffer) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => pipe.receiver = None,
                Poll::Ready(Ok(())) => {
                    let piece =
                        Output { stream: pipe.stream, bytes: Bytes::copy_from_slice(buffer.filled()) };
                    self.pipes[index..].rotate_left(1);
                    return Poll::Ready(Ok(Some(piece)));
                }
                Poll::Ready(Err(e)) => {
                    pipe.receiver = None;
                    return Poll::Ready(Err(e));
                }
            }
        }
        if self.ended() { Poll::Ready(Ok(None)) } else { Poll::Pending }
    }

    /// What is in the pipes this moment, in pieces. `None` once they are empty or a pipe's full
    /// measure was read, after which nothing that was written before can be left.
    pub(super) fn rest(&mut self) -> io::Result<Option<Output>> {
        for pipe in &mut self.pipes {
            let Some(receiver) = &pipe.receiver else { continue };
            let length = pipe.left.min(self.scratch.len());
            // Past the runtime, which may not have heard yet that there is something to read.
            match nix::unistd::read(receiver, &mut self.scratch[..length]) {
                Ok(0) | Err(Errno::EAGAIN) => pipe.left = 0,
                Ok(read) => {
                    pipe.left -= read;
                    let bytes = Bytes::copy_from_slice(&self.scratch[..read]);
                    return Ok(Some(Output { stream: pipe.stream, bytes }));
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
