//! Reading a request's body, within bounds.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;
use junto_llm::ErrorKind;
use serde_json::Value;

use crate::glance::not_json;
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

/// What a body says.
pub(crate) fn json(bytes: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(bytes).map_err(|e| not_json(&e))
}

/// The whole body as it came, if it is not larger than `limit`.
pub(crate) async fn read_bytes(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Failure> {
    if waits_for_leave(headers) && announced(&body) > limit {
        return Err(too_large(limit));
    }
    read(body, limit).await.map_err(|unread| match unread {
        Unread::TooLarge => too_large(limit),
        Unread::TooSlow => Failure::new(ErrorKind::Timeout, "the request did not come in time"),
        Unread::Broken(why) => {
            Failure::new(ErrorKind::InvalidRequest, format!("the request could not be read: {why}"))
        }
    })
}

fn too_large(limit: usize) -> Failure {
    let message = format!("the request is larger than {limit} bytes");
    Failure::with_status(StatusCode::PAYLOAD_TOO_LARGE, message)
}

/// Whether a client sends its body only when it is told to (`Expect: 100-continue`), which it is as soon as somebody reads.
fn waits_for_leave(headers: &HeaderMap) -> bool {
    headers.get(header::EXPECT).is_some_and(|what| what.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// How long a client says that its body is.
fn announced(body: &Body) -> usize {
    usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX)
}

/// The whole body, if it is not larger than `limit`.
async fn read(mut body: Body, limit: usize) -> Result<Bytes, Unread> {
    tokio::time::timeout(PATIENCE, collect(&mut body, limit)).await.unwrap_or(Err(Unread::TooSlow))
}

/// Reads and forgets what a refused client still sends, unless it waits for leave to.
pub(crate) async fn discard(headers: &HeaderMap, mut body: Body) {
    if waits_for_leave(headers) {
        return;
    }
    // Whatever becomes of it, the refusal stands.
    let _ = tokio::time::timeout(PATIENCE, skip(&mut body)).await;
}

async fn collect(body: &mut Body, limit: usize) -> Result<Bytes, Unread> {
    let announced = announced(body);
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
    use futures_util::stream;
    use std::io;

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
        discard(&HeaderMap::new(), silent()).await;
    }
}
