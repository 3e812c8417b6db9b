//! From the bytes of an answer to its events.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt, stream};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::aborted;
use super::flow::Flow;
use crate::wire::StreamDecoder;
use crate::{ByteStream, Error, ErrorKind, EventStream, StreamEvent, sse};

/// As good as never.
const NEVER: Duration = Duration::from_hours(24 * 365);
/// What is said when the connection breaks.
const BROKE: &str = "the connection broke in the middle of the stream";
/// What to do about silence.
const SILENT: &str = "try again, or let the provider be silent for longer with `timeouts.idle`";
/// How many pieces may come between the end of an answer and that of its bytes, if they are to be read.
const MOST_AFTER: usize = 4;

/// The bytes of an answer; ends in an error if it is cancelled or nothing comes for too long. `own` puts the provider's
/// name on errors and takes keys off them.
pub(super) fn bytes(
    flow: Flow,
    idle: Duration,
    cancel: CancellationToken,
    own: impl Fn(Error) -> Error + Send + Unpin + 'static,
) -> ByteStream {
    Box::pin(Reader { flow: Some(flow), idle, heard: Instant::now(), watch: None, cancel, own })
}

struct Reader<O> {
    /// Gone once the stream is over, which closes the connection.
    flow: Option<Flow>,
    idle: Duration,
    /// When something came last.
    heard: Instant,
    /// Made when there is something to wait for: most whole answers are there at once.
    watch: Option<Watch>,
    cancel: CancellationToken,
    own: O,
}

/// What ends the wait for bytes.
struct Watch {
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Set anew when it goes off and not with each chunk, which would cost more than to read one.
    silence: Pin<Box<Sleep>>,
}

impl<O: Fn(Error) -> Error> Reader<O> {
    /// Why there is nothing more to wait for.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let (cancel, heard, idle) = (&self.cancel, self.heard, self.idle);
        let watch = self.watch.get_or_insert_with(|| Watch {
            cancelled: Box::pin(cancel.clone().cancelled_owned()),
            silence: Box::pin(sleep_until(due(heard, idle))),
        });
        if watch.cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(aborted());
        }
        while watch.silence.as_mut().poll(cx).is_ready() {
            if heard.elapsed() >= idle {
                let message = format!("the stream was silent for {idle:?} (idle timeout)");
                let error = Error::new(ErrorKind::Timeout, message);
                return Poll::Ready(error.with_hint(SILENT).passing());
            }
            watch.silence.as_mut().reset(due(heard, idle));
        }
        Poll::Pending
    }
}

impl<O: Fn(Error) -> Error + Unpin> Stream for Reader<O> {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(flow) = &mut this.flow else { return Poll::Ready(None) };
        let item = if this.cancel.is_cancelled() {
            Some(Err(aborted()))
        } else {
            match flow.poll_next(cx, BROKE) {
                Poll::Ready(item) => {
                    item.map(|item| item.map_err(|e| Error::stream(e.message().to_owned()).with_source(e)))
                }
                Poll::Pending => Some(Err(ready!(this.poll_end(cx)))),
            }
        };
        match item {
            Some(Ok(_)) => this.heard = Instant::now(),
            Some(Err(_)) | None => this.flow = None,
        }
        Poll::Ready(item.map(|item| item.map_err(&this.own)))
    }
}

/// When a silence has been too long; as good as never, if there is no such moment.
fn due(heard: Instant, idle: Duration) -> Instant {
    heard.checked_add(idle).unwrap_or_else(|| heard + NEVER)
}

/// The events of an answer. `own` puts the provider's name on errors and takes keys off them.
pub(super) fn events(
    flow: Flow,
    decoder: Box<dyn StreamDecoder>,
    idle: Duration,
    cancel: CancellationToken,
    own: impl Fn(Error) -> Error + Send + 'static,
) -> EventStream {
    let reader = Events {
        bytes: Some(bytes(flow, idle, cancel, std::convert::identity)),
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
    /// Lets go of the bytes. If nothing more comes than that they are over, and this is here already, whoever carries
    /// them learns so and keeps the connection. It is not waited for.
    fn leave(&mut self) {
        let Some(mut bytes) = self.bytes.take() else { return };
        for _ in 0..MOST_AFTER {
            if !matches!(bytes.next().now_or_never(), Some(Some(Ok(_)))) {
                return;
            }
        }
    }

    async fn next(&mut self) -> Option<Result<StreamEvent, Error>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if matches!(event, StreamEvent::Finish { .. }) {
                    // What comes after the end of the answer is nobody's business.
                    self.leave();
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
