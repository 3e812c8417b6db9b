//! From the bytes of an answer to its events.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::{aborted, network};
use crate::wire::StreamDecoder;
use crate::{ByteStream, Error, ErrorKind, EventStream, StreamEvent, sse};

/// The bytes of an answer; ends in an error if it is cancelled or nothing comes for too long.
pub(super) fn bytes(
    response: reqwest::Response,
    idle: Duration,
    cancel: CancellationToken,
) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    struct Reader<S> {
        /// Gone once the stream is over, which closes the connection.
        body: Option<S>,
        idle: Duration,
        cancel: CancellationToken,
    }
    let reader = Reader { body: Some(Box::pin(response.bytes_stream())), idle, cancel };
    stream::unfold(reader, |mut reader| async move {
        let body = reader.body.as_mut()?;
        let item = tokio::select! {
            biased;
            () = reader.cancel.cancelled() => Err(aborted()),
            chunk = tokio::time::timeout(reader.idle, body.next()) => match chunk {
                Ok(None) => return None,
                Ok(Some(Ok(chunk))) => Ok(chunk),
                Ok(Some(Err(e))) => Err(broken(e)),
                Err(_) => Err(Error::new(
                    ErrorKind::Timeout,
                    format!("the stream was silent for {:?} (idle timeout)", reader.idle),
                )),
            },
        };
        if item.is_err() {
            reader.body = None;
        }
        Some((item, reader))
    })
}

fn broken(error: reqwest::Error) -> Error {
    let cause = network(error, "the connection broke in the middle of the stream");
    Error::stream(cause.message().to_owned()).with_source(cause)
}

/// The events of an answer. `own` puts the provider's name on errors and takes keys off them.
pub(super) fn events(
    response: reqwest::Response,
    decoder: Box<dyn StreamDecoder>,
    idle: Duration,
    cancel: CancellationToken,
    own: impl Fn(Error) -> Error + Send + 'static,
) -> EventStream {
    let reader = Events {
        bytes: Some(Box::pin(bytes(response, idle, cancel))),
        sse: sse::Decoder::new(),
        decoder,
        batch: Vec::new(),
        ready: VecDeque::new(),
        failed: None,
        delivered: false,
    };
    EventStream::new(stream::unfold((reader, own), |(mut reader, own)| async move {
        let item = reader.next().await?;
        Some((item.map_err(&own), (reader, own)))
    }))
}

struct Events {
    /// Gone once the answer is over, which closes the connection.
    bytes: Option<ByteStream>,
    sse: sse::Decoder,
    decoder: Box<dyn StreamDecoder>,
    /// What one chunk gave; kept for its capacity.
    batch: Vec<StreamEvent>,
    ready: VecDeque<StreamEvent>,
    /// Comes after everything that is ready.
    failed: Option<Error>,
    /// Whether content was handed on, after which an error is not retryable.
    delivered: bool,
}

impl Events {
    async fn next(&mut self) -> Option<Result<StreamEvent, Error>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if matches!(event, StreamEvent::Finish { .. }) {
                    // What comes after the end of the answer is nobody's business.
                    self.bytes = None;
                    self.failed = None;
                    self.ready.clear();
                }
                self.delivered |= event.is_content();
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                self.bytes = None;
                return Some(Err(if self.delivered { error.after_content() } else { error }));
            }
            let chunk = self.bytes.as_mut()?.next().await;
            let result = match chunk {
                Some(Ok(chunk)) => {
                    let (decoder, batch) = (&mut self.decoder, &mut self.batch);
                    self.sse.push(&chunk, |frame| decoder.frame(frame, batch))
                }
                Some(Err(error)) => Err(error),
                None => {
                    self.bytes = None;
                    let (decoder, batch) = (&mut self.decoder, &mut self.batch);
                    self.sse
                        .finish(|frame| decoder.frame(frame, batch))
                        .and_then(|()| self.decoder.end(&mut self.batch))
                }
            };
            self.ready.extend(self.batch.drain(..));
            self.failed = result.err();
        }
    }
}
