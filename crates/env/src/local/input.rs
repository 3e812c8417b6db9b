//! The standard input of a process.

use std::io;
use std::os::fd::OwnedFd;

use bytes::{Buf, Bytes};
use tokio::net::unix::pipe::Sender;

/// What a process reads.
pub(super) struct Input {
    /// Absent where there is none, and once it has ended.
    pipe: Option<Sender>,
    /// What was given beforehand and is not written yet. The pipe ends with it.
    given: Option<Bytes>,
}

impl Input {
    /// With bytes given beforehand, or open for whatever [`write_some`](Self::write_some) brings.
    pub(super) fn new(pipe: Option<OwnedFd>, given: Option<Bytes>) -> io::Result<Self> {
        Ok(Self { pipe: pipe.map(Sender::from_owned_fd).transpose()?, given })
    }

    /// Whether it takes what is written.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some() && self.given.is_none()
    }

    /// Whether something given beforehand still waits to be written.
    pub(super) fn is_pending(&self) -> bool {
        self.pipe.is_some() && self.given.is_some()
    }

    /// Writes what was given beforehand and ends the input. Nothing is lost if this is dropped and
    /// called again. A process that does not want its input is left in peace.
    pub(super) async fn feed(&mut self) {
        if let (Some(pipe), Some(given)) = (&self.pipe, &mut self.given) {
            while given.has_remaining() {
                match write_some(pipe, given).await {
                    Ok(written) => given.advance(written),
                    Err(_) => break,
                }
            }
        }
        self.end();
    }

    /// Writes a part of the data, as soon as some of it fits. If this is dropped nothing was written.
    pub(super) async fn write_some(&self, data: &[u8]) -> io::Result<usize> {
        match &self.pipe {
            Some(pipe) => write_some(pipe, data).await,
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(super) fn end(&mut self) {
        self.pipe = None;
        self.given = None;
    }
}

async fn write_some(pipe: &Sender, data: &[u8]) -> io::Result<usize> {
    loop {
        pipe.writable().await?;
        match pipe.try_write(data) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
    }
}
