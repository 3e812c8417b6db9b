//! The bytes of an answer, whichever client they come through.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::future::poll_fn;
use hyper::body::Body as _;

use super::{network, plain, reqwest_error};
use crate::Error;

/// The bytes of an answer. Dropped before its end, it closes the connection or resets the stream.
pub(super) enum Flow {
    /// Over a plain connection.
    Plain(plain::Answer),
    /// Over one with TLS, or through a proxy, or of HTTP/2.
    Full(reqwest::Body),
}

impl Flow {
    /// The next bytes. A failure is told in these words.
    pub(super) async fn next(&mut self, broke: &str) -> Option<Result<Bytes, Error>> {
        poll_fn(|cx| self.poll_next(cx, broke)).await
    }

    /// The same, for whoever waits for more than this.
    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        broke: &str,
    ) -> Poll<Option<Result<Bytes, Error>>> {
        match self {
            Self::Plain(answer) => answer.poll_chunk(cx).map_err(|e| network(e, broke)),
            Self::Full(body) => loop {
                match ready!(Pin::new(&mut *body).poll_frame(cx)) {
                    None => return Poll::Ready(None),
                    Some(Err(e)) => return Poll::Ready(Some(Err(reqwest_error(e, broke)))),
                    // Trailers say nothing that concerns us.
                    Some(Ok(frame)) => {
                        if let Ok(chunk) = frame.into_data() {
                            return Poll::Ready(Some(Ok(chunk)));
                        }
                    }
                }
            },
        }
    }
}
