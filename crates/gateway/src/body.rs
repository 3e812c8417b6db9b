//! Reading a request's body, within bounds.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use bytes::{Bytes, BytesMut};
use http::{Extensions, StatusCode};
use http_body_util::BodyExt as _;
use junto_llm::ErrorKind;
use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::glance::{Glance, not_json};
use crate::guard::Link;
use crate::reply::Failure;

/// How long a client may take to send its body.
const PATIENCE: Duration = Duration::from_mins(1);
/// How much of a body that nobody wants is read all the same, so that the client comes to reading
/// the refusal instead of finding its connection reset.
const COURTESY: usize = 8 * 1024 * 1024;
/// What is set aside at once, whatever length the client announces.
const FIRST: usize = 1024 * 1024;

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
enum Unread {
    /// It has more bytes than the limit.
    TooLarge,
    /// It did not come in time.
    TooSlow,
    /// The connection broke, or the body makes no sense as HTTP.
    Broken(String),
}

/// The whole body of this request as it came and as JSON, if it is not larger than `limit`.
pub(crate) async fn read_json(
    request: &Extensions,
    body: Body,
    limit: usize,
) -> Result<(Bytes, Value), Failure> {
    let bytes = read_bytes(body, limit).await?;
    let json = Pace::of(request, bytes.len()).run(|| {
        Glance::at(&bytes)?;
        json(&bytes)
    })?;
    Ok((bytes, json))
}

/// What a body says.
pub(crate) fn json(bytes: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(bytes).map_err(|e| not_json(&e))
}

/// From how many bytes on a body takes so long to read that others are let go on meanwhile.
const LONG: usize = 256 * 1024;

/// How something is done that takes the longer the larger a request is.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// At once.
    Short,
    /// So that whatever else this thread would do meanwhile is done by another.
    Long,
}

impl Pace {
    /// For a request that has so many bytes.
    pub(crate) fn of(request: &Extensions, size: usize) -> Self {
        // Other servers may call from where a thread cannot be left.
        let is_ours = size >= LONG && request.get::<Link>().is_some();
        let can_be_left = || Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
        if is_ours && can_be_left() { Self::Long } else { Self::Short }
    }

    pub(crate) fn run<T>(self, work: impl FnOnce() -> T) -> T {
        match self {
            Self::Short => work(),
            Self::Long => block_in_place(work),
        }
    }
}

/// The whole body as it came, if it is not larger than `limit`.
pub(crate) async fn read_bytes(body: Body, limit: usize) -> Result<Bytes, Failure> {
    read(body, limit).await.map_err(|unread| match unread {
        Unread::TooLarge => {
            let message = format!("the request is larger than {limit} bytes");
            Failure::with_status(StatusCode::PAYLOAD_TOO_LARGE, message)
        }
        Unread::TooSlow => Failure::new(ErrorKind::Timeout, "the request did not come in time"),
        Unread::Broken(why) => {
            Failure::new(ErrorKind::InvalidRequest, format!("the request could not be read: {why}"))
        }
    })
}

/// The whole body, if it is not larger than `limit`.
async fn read(mut body: Body, limit: usize) -> Result<Bytes, Unread> {
    tokio::time::timeout(PATIENCE, collect(&mut body, limit)).await.unwrap_or(Err(Unread::TooSlow))
}

/// Reads and forgets what a refused client still sends.
pub(crate) async fn discard(mut body: Body) {
    // Whatever becomes of it, the refusal stands.
    let _ = tokio::time::timeout(PATIENCE, skip(&mut body)).await;
}

async fn collect(body: &mut Body, limit: usize) -> Result<Bytes, Unread> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        skip(body).await;
        return Err(Unread::TooLarge);
    }
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // Trailers say nothing that concerns us.
        let Ok(data) = frame.map_err(|e| Unread::Broken(e.to_string()))?.into_data() else { continue };
        if data.len() > limit - bytes.len() {
            drop(bytes);
            skip(body).await;
            return Err(Unread::TooLarge);
        }
        if bytes.is_empty() {
            // Most requests come in one piece, which is then the body.
            if body.is_end_stream() {
                return Ok(data);
            }
            bytes.reserve(announced.min(FIRST));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

async fn skip(body: &mut Body) {
    let mut skipped = 0;
    while skipped < COURTESY {
        match body.frame().await {
            Some(Ok(frame)) => skipped += frame.data_ref().map_or(0, Bytes::len),
            Some(Err(_)) | None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aside::Desk;
    use crate::books::Books;
    use futures_util::stream;
    use std::io;
    use std::net::SocketAddr;
    use std::sync::mpsc;

    /// Of a request that came through our own server.
    fn served() -> Extensions {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let desk = Desk::new(Books::for_tests(drop), None);
        let mut extensions = Extensions::new();
        extensions.insert(Link { peer: address, local: address, host: "localhost".into(), desk });
        extensions
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_have_their_turn_while_a_large_request_is_read() {
        let serving = async {
            let (tell, told) = mpsc::sync_channel(1);
            tokio::spawn(async move { tell.send(()) });
            Pace::of(&served(), LONG).run(|| told.recv_timeout(PATIENCE))
        };
        tokio::spawn(serving).await.unwrap().expect("somebody else did it");
    }

    #[tokio::test]
    async fn a_thread_is_left_only_where_it_can_be_and_for_what_is_large() {
        let is_long = |request: &Extensions, size| matches!(Pace::of(request, size), Pace::Long);
        assert!(!is_long(&served(), LONG), "there is only this thread");
        let others = tokio::task::spawn_blocking(move || {
            let several = tokio::runtime::Builder::new_multi_thread().build().unwrap();
            let _within = several.enter();
            [is_long(&served(), LONG), is_long(&served(), LONG - 1), is_long(&Extensions::new(), LONG)]
        });
        assert_eq!(others.await.unwrap(), [true, false, false]);
    }

    fn chunks(chunks: &[&'static str]) -> Body {
        let chunks: Vec<io::Result<&'static str>> = chunks.iter().copied().map(Ok).collect();
        Body::from_stream(stream::iter(chunks))
    }

    #[tokio::test]
    async fn up_to_the_limit_and_not_a_byte_more() {
        assert_eq!(read(chunks(&["ab", "", "cd"]), 4).await, Ok(Bytes::from_static(b"abcd")));
        assert_eq!(read(chunks(&["ab", "cde"]), 4).await, Err(Unread::TooLarge));
        assert_eq!(read(Body::empty(), 4).await, Ok(Bytes::new()));
    }

    #[tokio::test]
    async fn a_broken_body_says_so() {
        let broken = stream::iter([Ok("ab"), Err(io::Error::other("gone"))]);
        assert!(matches!(read(Body::from_stream(broken), 4).await, Err(Unread::Broken(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_comes_is_not_awaited_for_ever() {
        let silent = || Body::from_stream(stream::pending::<io::Result<Bytes>>());
        assert_eq!(read(silent(), 4).await, Err(Unread::TooSlow));
        discard(silent()).await;
    }
}
