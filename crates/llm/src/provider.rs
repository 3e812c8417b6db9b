//! The contract every source of model answers fulfils.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;

use crate::{Accumulator, CallCx, Error, Request, Response, StreamEvent, ToolChoice, Wire};

/// A boxed future, as traits used as objects return it.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A source of model answers: a request goes in, a response or a stream of events comes out.
///
/// It has no side effects on the user's machine and does not retry by itself. A provider's API is
/// one; so is a command-line agent asked for an answer only; so is a council of providers.
pub trait Provider: Send + Sync {
    /// The whole answer.
    ///
    /// # Errors
    /// Whatever kept the provider from answering; see [`crate::ErrorKind`].
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>>;

    /// The answer as it comes. Dropping the stream ends the call and closes the connection.
    ///
    /// # Errors
    /// As [`Provider::complete`], for what fails before the first event; later failures are an
    /// `Err` item, the stream's last.
    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>>;

    /// Whether the provider and the model that a request names, or leaves out, are there to be asked;
    /// as far as that is known without asking. Nothing else of the request is looked at.
    ///
    /// # Errors
    /// `configuration`, with what there is.
    fn check_names(&self, _request: &Request) -> Result<(), Error> {
        Ok(())
    }

    /// The provider and the model that are meant by a name which is said where this provider is asked: a name may
    /// stand for another, or tell the provider, too. Absent: it means itself.
    fn meant(&self, _provider: Option<&str>, _model: &str) -> Option<(String, String)> {
        None
    }

    /// Whether the provider can be made to choose tools that way.
    fn supports_tool_choice(&self, _choice: &ToolChoice) -> bool {
        true
    }

    /// Bytes in, bytes out, for a client that speaks this provider's own wire.
    fn passthrough(&self, _wire: Wire) -> Option<&dyn Passthrough> {
        None
    }
}

/// Byte-for-byte proxying: what cannot go through parse and print. The bytes are tee-decoded by the
/// caller so that ledger and budget still see the call.
pub trait Passthrough: Send + Sync {
    /// Sends a body as it is, with these headers beside the provider's own, to a path below the base URL. Of the
    /// context only what ends the call is sure to be known: whoever passes bytes may not have read them yet.
    fn send<'a>(
        &'a self,
        path: &'a str,
        headers: http::HeaderMap,
        body: Bytes,
        cx: &'a CallCx,
    ) -> Fut<'a, Result<http::Response<ByteStream>, Error>>;
}

/// A stream of bytes.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>;

/// A stream of events. It ends after [`StreamEvent::Finish`] or after an `Err`.
pub struct EventStream(Pin<Box<dyn Stream<Item = Result<StreamEvent, Error>> + Send>>);

impl EventStream {
    /// Wraps a stream.
    pub fn new(stream: impl Stream<Item = Result<StreamEvent, Error>> + Send + 'static) -> Self {
        Self(Box::pin(stream))
    }

    /// This stream, with the whole [`Response`] in its `Finish` event.
    pub fn accumulated(self) -> Self {
        let mut accumulator = Accumulator::new();
        Self::new(futures_util::StreamExt::map(self, move |item| {
            let mut event = item?;
            accumulator.push(&event);
            if let StreamEvent::Finish { response, .. } = &mut event
                && response.is_none()
            {
                *response = Some(Box::new(std::mem::take(&mut accumulator).into_response()));
            }
            Ok(event)
        }))
    }

    /// Reads the stream to its end and gives the whole answer.
    ///
    /// # Errors
    /// The stream's own error; `stream` if it ended without a `Finish`.
    pub async fn into_response(mut self) -> Result<Response, Error> {
        let mut accumulator = Accumulator::new();
        while let Some(event) = futures_util::StreamExt::next(&mut self).await {
            match event? {
                StreamEvent::Finish { response: Some(response), .. } => return Ok(*response),
                event @ StreamEvent::Finish { .. } => {
                    accumulator.push(&event);
                    return Ok(accumulator.into_response());
                }
                event => accumulator.push(&event),
            }
        }
        Err(Error::stream("the stream ended before the answer was complete"))
    }
}

impl Stream for EventStream {
    type Item = Result<StreamEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStream")
    }
}
