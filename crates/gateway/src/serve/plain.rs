//! HTTP/1.1 as nearly every request for an answer uses it, done with as little as it takes: a POST that says its length, and
//! whose body comes along with its head.
//!
//! What a call takes beside its provider's time is mostly code that runs once in a millisecond, and so has to be fetched
//! anew each time: the less of it there is, the sooner the answer is there. Whoever asks in any other way is left to hyper,
//! from the first unusual request to the end of the connection. So nothing is decided here that could be in doubt.

mod head;

use std::io::{self, IoSlice, Write as _};
use std::pin::{Pin, pin};
use std::task::{Poll, ready};
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::future::poll_fn;
use futures_util::poll;
use http::Request;
use http_body_util::BodyExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWrite as _};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use self::head::{Clock, Framing, Seen};
use super::ends::Ends;

/// How much is read at a time, at least: of a request that is longer, as much as has come of it.
const ROOM: usize = 4 * 1024;
/// How long a request may take that has begun to come. What is to be said to one that takes longer, hyper knows.
const PROMPT: Duration = Duration::from_millis(100);
/// The end of a chunk, of an answer in chunks, and both.
const END: &[u8] = b"\r\n";
const LAST: &[u8] = b"0\r\n\r\n";
const LAST_BEHIND: &[u8] = b"\r\n0\r\n\r\n";

/// What becomes of a connection.
pub(super) enum Left {
    /// It is over.
    Over,
    /// Somebody else goes on, from these bytes.
    Begun(Bytes),
}

/// Serves a connection for as long as what is asked is usual, and says when an answer is sent. Once `closing` is cancelled
/// the answer that is under way is the last one.
///
/// # Errors
/// If the connection breaks, or an answer before its end.
pub(super) async fn serve<F: Future<Output = Response>>(
    ends: &mut Ends,
    closing: &CancellationToken,
    answer: impl Fn(Request<Body>) -> F,
    answered: impl Fn(),
) -> io::Result<Left> {
    let mut clock = Clock::default();
    let mut come = BytesMut::new();
    loop {
        let Some(request) = request(ends, &mut come).await? else { return Ok(Left::Over) };
        let request = match request {
            Seen::Whole(request) => request,
            Seen::Part | Seen::Unusual => return Ok(Left::Begun(come.freeze())),
        };
        let response = answer(request).await;
        send(ends, response, closing.is_cancelled(), &mut clock).await?;
        answered();
        if closing.is_cancelled() {
            return Ok(Left::Over);
        }
    }
}

/// The next request, or as much as there is of one that is not usual or does not come at once. None at the end.
async fn request(ends: &mut Ends, come: &mut BytesMut) -> io::Result<Option<Seen>> {
    let mut due = None;
    loop {
        let seen = head::take(come);
        if !matches!(seen, Seen::Part) {
            return Ok(Some(seen));
        }
        let read = if come.is_empty() {
            // Of thousands of connections most are silent at any moment, and there is no room in those.
            *come = BytesMut::new();
            fill(ends, come).await?
        } else {
            let due = *due.get_or_insert_with(|| Instant::now() + PROMPT);
            match timeout_at(due, fill(ends, come)).await {
                Ok(read) => read?,
                Err(_) => return Ok(Some(Seen::Part)),
            }
        };
        if read == 0 {
            return Ok(None);
        }
    }
}

/// Reads what has come, and tells how much that is. Nothing is the end.
async fn fill(ends: &mut Ends, come: &mut BytesMut) -> io::Result<usize> {
    poll_fn(|cx| {
        // There is no room before there is something to read.
        ready!(ends.poll_come(cx))?;
        come.reserve(ROOM.max(come.len()));
        let read = pin!(ends.read_buf(come)).poll(cx);
        if read.is_pending() && come.is_empty() {
            *come = BytesMut::new();
        }
        read
    })
    .await
}

/// Sends an answer as it comes.
///
/// # Errors
/// If it breaks off, or has another length than its head says: then the connection is good for nothing more.
async fn send(ends: &mut Ends, response: Response, is_last: bool, clock: &mut Clock) -> io::Result<()> {
    let (head, mut body) = response.into_parts();
    if head.status.is_informational() {
        // A client would wait for the answer behind it.
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer only says that one is to come"));
    }
    let (mut before, framing) = head::write(&head, body.size_hint().exact(), is_last, clock);
    drop(head);
    let mut left = match framing {
        Framing::Counted(length) => Some(length),
        Framing::Chunked => None,
    };
    if left == Some(0) {
        drop(body);
        return write(ends, [&before, &[], &[], &[]]).await;
    }
    let mut next = poll!(body.frame());
    loop {
        let frame = match next {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                write(ends, [&before, &[], &[], &[]]).await?;
                before = Vec::new();
                body.frame().await
            }
        };
        let Some(frame) = frame else {
            return match left {
                None => write(ends, [&before, LAST, &[], &[]]).await,
                Some(_) => Err(wrong("shorter")),
            };
        };
        // Trailers say nothing that concerns a client.
        let data = frame.map_err(io::Error::other)?.into_data().unwrap_or_default();
        if let Some(left) = &mut left {
            let Some(after) = left.checked_sub(length(&data)) else {
                let (told, _) = data.split_at(usize::try_from(*left).unwrap_or(0));
                write(ends, [&before, told, &[], &[]]).await?;
                return Err(wrong("longer"));
            };
            *left = after;
        }
        // What is there already goes along: most often that is the end.
        next = if left == Some(0) { Poll::Ready(None) } else { poll!(body.frame()) };
        let is_end = matches!(next, Poll::Ready(None)) && left.unwrap_or(0) == 0;
        let mut room = [0; 18];
        let (size, after) = match left {
            None => around(data.len(), is_end, &mut room)?,
            Some(_) => (&[][..], &[][..]),
        };
        if is_end {
            // Whoever gave the answer is done, however long its client takes to read the rest.
            drop(body);
            return write(ends, [&before, size, &data, after]).await;
        }
        if !data.is_empty() {
            write(ends, [&before, size, &data, after]).await?;
            before = Vec::new();
        }
    }
}

fn length(data: &Bytes) -> u64 {
    u64::try_from(data.len()).unwrap_or(u64::MAX)
}

/// What stands before a chunk of this size, for which there is always room, and what behind it.
fn around(size: usize, is_last: bool, room: &mut [u8; 18]) -> io::Result<(&[u8], &'static [u8])> {
    if size == 0 {
        return Ok((b"", if is_last { LAST } else { b"" }));
    }
    let mut left = &mut room[..];
    write!(left, "{size:x}\r\n")?;
    let unused = left.len();
    Ok((&room[..room.len() - unused], if is_last { LAST_BEHIND } else { END }))
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer is {what} than its head says"))
}

/// Writes all of it.
async fn write(ends: &mut Ends, pieces: [&[u8]; 4]) -> io::Result<()> {
    let whole: usize = pieces.iter().map(|piece| piece.len()).sum();
    let mut written = 0;
    while written < whole {
        let mut gone = written;
        let left = pieces.map(|piece| {
            let (_, left) = piece.split_at(gone.min(piece.len()));
            gone -= piece.len() - left.len();
            IoSlice::new(left)
        });
        match poll_fn(|cx| Pin::new(&mut *ends).poll_write_vectored(cx, &left)).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            more => written += more,
        }
    }
    Ok(())
}
