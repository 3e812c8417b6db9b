//! The two standard streams, and what waits until they take it.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How much may wait before whoever has more to say should wait, too.
const MUCH: usize = 64 * 1024;
/// A stream that has room takes as much without making anybody wait: that is what `poll` promises of a pipe.
const PIECE: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };
/// How often a stream is tried that the system cannot wait for.
const TRY: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Err,
}

impl Stream {
    fn write_all(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Out => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            Self::Err => {
                let mut err = io::stderr().lock();
                err.write_all(bytes).and_then(|()| err.flush())
            }
        }
    }

    /// Does something with the stream itself. Nothing is held back in front of it: every write above is flushed.
    fn with<T>(self, what: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
        match self {
            Self::Out => what(io::stdout().as_fd()),
            Self::Err => what(io::stderr().as_fd()),
        }
    }

    /// Whether it takes something at once, or has failed; waits so long for that.
    fn has_room(self, patience: Duration) -> bool {
        let timeout = Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        };
        self.with(|fd| match poll(&mut [PollFd::new(&fd, PollFlags::OUT)], Some(&timeout)) {
            Ok(ready) => ready > 0,
            // The write tells what is wrong.
            Err(error) => error != Errno::INTR,
        })
    }

    /// Writes what goes without waiting; the rest stays.
    fn write_some(self, bytes: &mut BytesMut) -> io::Result<()> {
        while !bytes.is_empty() && self.has_room(Duration::ZERO) {
            let piece = bytes.get(..PIECE).unwrap_or(bytes);
            match self.with(|fd| rustix::io::write(fd, piece)) {
                Ok(written) => bytes.advance(written),
                Err(Errno::INTR) => {}
                // Somebody else who has it wants nobody to wait for it.
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits until it takes something.
    async fn room(self) {
        // A second handle, because the runtime wants to own what it waits for.
        let own = self.with(|fd| fd.try_clone_to_owned());
        #[expect(deprecated, reason = "what replaces it is unsafe, and an owned handle stays what it is")]
        let Ok(watched) = own.and_then(|own| AsyncFd::with_interest(own, Interest::WRITABLE)) else {
            tokio::time::sleep(TRY).await;
            return;
        };
        while let Ok(mut guard) = watched.writable().await {
            if self.has_room(Duration::ZERO) {
                return;
            }
            guard.clear_ready();
        }
    }
}

/// Both of them.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// Whether what would have to wait for a reader waits here, so that nobody else does.
    pub(super) is_patient: bool,
    /// Whether both are a terminal, where everything is seen in the order in which it was said.
    are_together: bool,
    waiting: Vec<(Stream, BytesMut)>,
    /// What went wrong with standard output, until somebody is told.
    fault: Option<io::Error>,
}

impl Streams {
    pub(super) fn new(are_together: bool) -> Self {
        Self { are_together, ..Self::default() }
    }

    /// Writes to a stream.
    ///
    /// # Errors
    /// If standard output fails, also at what waited. Whoever cannot read standard error cannot be told.
    pub(super) fn put(&mut self, stream: Stream, text: &str) -> io::Result<()> {
        if !self.is_patient {
            return stream.write_all(text.as_bytes());
        }
        match self.waiting.last_mut() {
            Some((last, waiting)) if *last == stream => waiting.extend_from_slice(text.as_bytes()),
            _ => self.waiting.push((stream, text.as_bytes().into())),
        }
        self.write_waiting();
        match stream {
            Stream::Out => self.fault.take().map_or(Ok(()), Err),
            Stream::Err => Ok(()),
        }
    }

    /// Writes of what waits as much as goes.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub(super) fn write_some(&mut self) -> io::Result<()> {
        self.write_waiting();
        self.fault.take().map_or(Ok(()), Err)
    }

    fn write_waiting(&mut self) {
        let (mut stuck, mut fault) = (Vec::new(), None);
        let are_together = self.are_together;
        self.waiting.retain_mut(|(stream, bytes)| {
            if stuck.contains(stream) || are_together && !stuck.is_empty() {
                return true;
            }
            if let Err(error) = stream.write_some(bytes) {
                bytes.clear();
                if *stream == Stream::Out {
                    fault = Some(error);
                }
            }
            if !bytes.is_empty() {
                stuck.push(*stream);
            }
            !bytes.is_empty()
        });
        self.fault = fault.or(self.fault.take());
    }

    /// Whether something waits, be it a fault.
    pub(super) fn wait(&self) -> bool {
        !self.waiting.is_empty() || self.fault.is_some()
    }

    /// Whether much does.
    pub(super) fn are_full(&self) -> bool {
        self.bytes() > MUCH
    }

    /// Waits until one of those that something waits for takes more.
    pub(super) fn room(&self) -> impl Future<Output = ()> + use<> {
        let wanted = |wanted| self.waiting.iter().any(|(stream, _)| *stream == wanted);
        let (out, err, fault) = (wanted(Stream::Out), wanted(Stream::Err), self.fault.is_some());
        async move {
            tokio::select! {
                biased;
                () = std::future::ready(()), if fault => {}
                () = Stream::Out.room(), if out => {}
                () = Stream::Err.room(), if err => {}
                else => std::future::pending().await,
            }
        }
    }

    /// Forgets what waits.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Writes what waits, unless nobody takes anything for so long.
    pub(super) fn finish(&mut self, patience: Duration) {
        let mut before = usize::MAX;
        loop {
            self.write_waiting();
            if self.waiting.is_empty() || self.bytes() == before {
                return;
            }
            before = self.bytes();
            for (stream, _) in &self.waiting {
                if stream.has_room(patience) {
                    break;
                }
            }
        }
    }

    fn bytes(&self) -> usize {
        self.waiting.iter().map(|(_, bytes)| bytes.len()).sum()
    }
}
