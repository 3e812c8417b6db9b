//! ZeroMQ's protocol over a Unix socket, as far as a client of a kernel needs it.
//!
//! Written here, since at the other end is whatever code a cell was given: a message has a limit before a
//! byte of it is kept, and a connection that ends is over, not made again to whoever listens there by then.

use std::io;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// The most bytes of a message.
pub(super) const LARGEST: usize = 64 << 20;
/// The most parts of a message.
const PARTS: usize = 64;
/// How much is read at a time.
const CHUNK: usize = 64 << 10;
/// How much room stays with a buffer that is empty.
const KEPT: usize = 1 << 20;
/// What each side says first: the signature, version 3.0, no security, and that nobody is the server.
const GREETING: [u8; 64] = {
    let mut greeting = [0; 64];
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    greeting[12] = b'N';
    greeting[13] = b'U';
    greeting[14] = b'L';
    greeting[15] = b'L';
    greeting
};

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// What a socket is to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Dealer,
    /// With everything subscribed to.
    Subscriber,
}

/// A connection to one socket of a kernel.
pub(super) struct Wire {
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
    frames: Frames,
}

impl Wire {
    /// Whether the other side has hung up. The system is asked, so that it is known as soon as it is so.
    pub(super) fn is_hung_up(&self) -> bool {
        let stream: &UnixStream = self.read.as_ref();
        // That somebody has hung up is told without being asked for.
        let mut asked = [PollFd::new(stream, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut asked, Some(&at_once)).is_ok_and(|told| told > 0)
    }

    /// Connects to a socket that is bound already.
    pub(super) async fn connect(path: &Path, kind: Kind) -> io::Result<Self> {
        let (mut read, mut write) = UnixStream::connect(path).await?.into_split();
        write.write_all(&GREETING).await?;
        let mut theirs = [0; GREETING.len()];
        read.read_exact(&mut theirs).await?;
        if theirs[0] != GREETING[0] || theirs[9] & 1 == 0 || theirs[10] < 3 || theirs[12..16] != *b"NULL" {
            return Err(invalid("it does not speak ZeroMQ 3"));
        }
        let name: &[u8] = match kind {
            Kind::Dealer => b"DEALER",
            Kind::Subscriber => b"SUB",
        };
        let mut ready = b"\x05READY".to_vec();
        property(&mut ready, b"Socket-Type", name);
        property(&mut ready, b"Identity", b"");
        let mut first = Vec::new();
        frame(&mut first, COMMAND, &ready);
        if kind == Kind::Subscriber {
            // To everything: the topic is empty.
            frame(&mut first, 0, &[1]);
        }
        write.write_all(&first).await?;
        Ok(Self { read, write, frames: Frames::default() })
    }

    /// Sends a message of several parts.
    pub(super) async fn send(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.write.write_all(&frames(parts)).await
    }

    /// Sends a small message, unless it would have to wait or nobody is there any more.
    pub(super) fn send_at_once(&self, parts: &[&[u8]]) {
        let _ = self.write.try_write(&frames(parts));
    }

    /// The next message; `None` if the other side has closed. Nothing is lost if the future is dropped.
    pub(super) async fn receive(&mut self) -> io::Result<Option<Vec<Vec<u8>>>> {
        loop {
            if let Some(message) = self.frames.next()? {
                return Ok(Some(message));
            }
            self.frames.buffer.reserve(CHUNK);
            if self.read.read_buf(&mut self.frames.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}

/// Messages out of bytes as they come.
#[derive(Default)]
struct Frames {
    buffer: Vec<u8>,
    /// How much of the buffer has been taken.
    taken: usize,
    /// The parts so far of the message under way, and their bytes.
    parts: Vec<Vec<u8>>,
    size: usize,
}

impl Frames {
    fn next(&mut self) -> io::Result<Option<Vec<Vec<u8>>>> {
        loop {
            let rest = self.buffer.get(self.taken..).unwrap_or_default();
            let Some((flags, length, head)) = header(rest)? else { break };
            if self.size.saturating_add(length) > LARGEST || self.parts.len() >= PARTS {
                return Err(invalid("it sent a message that is too large"));
            }
            let Some(body) = rest.get(head..head + length) else { break };
            let body = body.to_vec();
            self.taken += head + length;
            if flags & COMMAND != 0 {
                continue;
            }
            self.size += length;
            self.parts.push(body);
            if flags & MORE == 0 {
                self.size = 0;
                return Ok(Some(std::mem::take(&mut self.parts)));
            }
        }
        self.buffer.drain(..self.taken);
        self.taken = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT {
            self.buffer = Vec::new();
        }
        Ok(None)
    }
}

/// Flags and length of a frame, and how many bytes say so; `None` if they are not all there.
fn header(bytes: &[u8]) -> io::Result<Option<(u8, usize, usize)>> {
    let Some((&flags, rest)) = bytes.split_first() else { return Ok(None) };
    if flags & LONG == 0 {
        return Ok(rest.first().map(|&length| (flags, usize::from(length), 2)));
    }
    let Some(length) = rest.first_chunk::<8>() else { return Ok(None) };
    let length = usize::try_from(u64::from_be_bytes(*length)).ok().filter(|length| *length <= LARGEST);
    let length = length.ok_or_else(|| invalid("it sent a message that is too large"))?;
    Ok(Some((flags, length, 9)))
}

/// A message of several parts.
fn frames(parts: &[&[u8]]) -> Vec<u8> {
    let mut text = Vec::with_capacity(parts.iter().map(|part| part.len() + 9).sum());
    for (index, part) in parts.iter().enumerate() {
        frame(&mut text, if index + 1 < parts.len() { MORE } else { 0 }, part);
    }
    text
}

fn frame(text: &mut Vec<u8>, flags: u8, body: &[u8]) {
    if let Ok(length) = u8::try_from(body.len()) {
        text.extend([flags, length]);
    } else {
        text.push(flags | LONG);
        text.extend((body.len() as u64).to_be_bytes());
    }
    text.extend_from_slice(body);
}

fn property(text: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    // All of them are short.
    text.push(u8::try_from(name.len()).unwrap_or(0));
    text.extend_from_slice(name);
    text.extend(u32::try_from(value.len()).unwrap_or(0).to_be_bytes());
    text.extend_from_slice(value);
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], step: usize) -> Vec<Vec<Vec<u8>>> {
        let mut frames = Frames::default();
        let mut messages = Vec::new();
        for piece in bytes.chunks(step) {
            frames.buffer.extend_from_slice(piece);
            while let Some(message) = frames.next().unwrap() {
                messages.push(message);
            }
        }
        messages
    }

    #[test]
    fn messages_are_the_same_however_the_bytes_come() {
        let long = vec![7; 300];
        let mut bytes = Vec::new();
        frame(&mut bytes, COMMAND, b"\x05READY");
        frame(&mut bytes, MORE, b"a");
        frame(&mut bytes, MORE, b"");
        frame(&mut bytes, 0, &long);
        frame(&mut bytes, 0, b"b");
        let expected = vec![vec![b"a".to_vec(), vec![], long], vec![b"b".to_vec()]];
        for step in [1, 2, 7, 100, 1000] {
            assert_eq!(all(&bytes, step), expected, "in steps of {step}");
        }
    }

    #[test]
    fn what_is_announced_as_too_large_is_refused_before_it_comes() {
        let mut frames = Frames::default();
        frames.buffer.push(LONG);
        frames.buffer.extend((LARGEST as u64 + 1).to_be_bytes());
        assert!(frames.next().is_err());
        // In many parts, too.
        let mut frames = Frames::default();
        let mut refused = false;
        for _ in 0..=PARTS {
            frame(&mut frames.buffer, MORE, b"x");
            refused = refused || frames.next().is_err();
        }
        assert!(refused);
    }
}
