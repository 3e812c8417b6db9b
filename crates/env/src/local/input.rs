//! The standard input of a process.

use std::io;
use std::os::fd::OwnedFd;

use bytes::{Buf, Bytes};
use tokio::net::unix::pipe::Sender;

use super::pty::END_OF_INPUT;

/// What a process reads.
pub(super) struct Input {
    /// Absent where there is none, and once it has ended.
    pipe: Option<Sender>,
    /// What was given beforehand and is not written yet. The pipe ends with it.
    given: Option<Bytes>,
    /// Where it is typed on a terminal: how the last line stands.
    typed: Option<Line>,
}

/// How a line stands that is typed.
#[derive(Clone, Copy)]
enum Line {
    Begun,
    Ended,
}

impl Line {
    fn after(self, typed: &[u8]) -> Self {
        match typed.last() {
            Some(b'\n' | b'\r') => Self::Ended,
            Some(_) => Self::Begun,
            None => self,
        }
    }

    /// What ends the input. In a line that was begun, the key only hands it over.
    fn end(self) -> &'static [u8] {
        match self {
            Self::Begun => &[END_OF_INPUT; 2],
            Self::Ended => &[END_OF_INPUT],
        }
    }
}

impl Input {
    /// With bytes given beforehand, or open for whatever [`write_some`](Self::write_some) brings.
    pub(super) fn new(pipe: Option<OwnedFd>, given: Option<Bytes>) -> io::Result<Self> {
        Ok(Self { pipe: pipe.map(Sender::from_owned_fd).transpose()?, given, typed: None })
    }

    /// The same on a terminal.
    pub(super) fn typed(terminal: OwnedFd, given: Option<Bytes>) -> io::Result<Self> {
        let given = given.map(|bytes| {
            let end = Line::Ended.after(&bytes).end();
            [&bytes, end].concat().into()
        });
        Ok(Self { pipe: Some(Sender::from_owned_fd_unchecked(terminal)?), given, typed: Some(Line::Ended) })
    }

    /// None.
    pub(super) fn none() -> Self {
        Self { pipe: None, given: None, typed: None }
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
    pub(super) async fn write_some(&mut self, data: &[u8]) -> io::Result<usize> {
        let Some(pipe) = &self.pipe else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let written = write_some(pipe, data).await?;
        self.typed = self.typed.map(|line| line.after(data.get(..written).unwrap_or_default()));
        Ok(written)
    }

    /// Ends it; on a terminal, with the key that does it, once there is room for it.
    pub(super) fn close(&mut self) {
        match self.typed {
            Some(line) => self.given = Some(Bytes::from_static(line.end())),
            None => self.end(),
        }
    }

    /// Lets go of it.
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
