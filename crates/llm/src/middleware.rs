//! An onion around every call: requests pass inwards in the order of registration, answers pass
//! outwards in reverse. In streaming a middleware wraps the event stream.

mod breaker;
mod budget;
mod cache;
mod ledger;
mod log;
mod record;
mod throttle;

use std::sync::Arc;

use futures_util::{StreamExt, stream};

pub use crate::meter::Entry;
pub use breaker::CircuitBreaker;
pub use budget::BudgetGuard;
pub use cache::ResponseCache;
pub use ledger::Ledger;
pub use log::Log;
pub use record::{Record, Replay};
pub use throttle::Throttle;

use crate::{CallCx, Error, EventStream, Fut, Provider, Request, Response, StreamEvent, Usage};

/// One layer of the onion. The request it sees has its provider and model settled.
pub trait Middleware: Send + Sync {
    /// Around a whole answer.
    fn complete<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<Response, Error>> {
        next.complete(request, cx)
    }

    /// Around a streamed answer.
    fn stream<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<EventStream, Error>> {
        next.stream(request, cx)
    }
}

/// What lies further in: the other middleware, then the provider.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    rest: &'a [Arc<dyn Middleware>],
    provider: &'a dyn Provider,
}

impl<'a> Next<'a> {
    /// The layers around a provider, outermost first.
    pub fn new(layers: &'a [Arc<dyn Middleware>], provider: &'a dyn Provider) -> Self {
        Self { rest: layers, provider }
    }

    /// Goes on inwards for a whole answer.
    pub fn complete(self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        match self.rest.split_first() {
            Some((layer, rest)) => layer.complete(request, cx, Self { rest, ..self }),
            None => self.provider.complete(request, cx),
        }
    }

    /// Goes on inwards for a streamed answer.
    pub fn stream(self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        match self.rest.split_first() {
            Some((layer, rest)) => layer.stream(request, cx, Self { rest, ..self }),
            None => self.provider.stream(request, cx),
        }
    }
}

/// How a call ended, as a middleware sees it.
#[derive(Clone, Debug)]
pub enum End {
    /// With an answer that used this much.
    Finished(Usage),
    /// With an error.
    Failed(Error),
    /// The caller dropped it before its end; this much is known to have been used.
    Dropped(Usage),
}

/// Makes a call for a whole answer and tells `on_end` how it ended, exactly once, also if the caller
/// drops it half-way.
async fn watch_complete(
    next: Next<'_>,
    request: Request,
    cx: &CallCx,
    on_end: impl FnOnce(End) + Send,
) -> Result<Response, Error> {
    let mut watch = Watch::new(on_end);
    let result = next.complete(request, cx).await;
    watch.end(match &result {
        Ok(response) => End::Finished(response.usage.clone()),
        Err(error) => End::Failed(error.clone()),
    });
    result
}

/// As [`watch_complete`], for a streamed answer: until it finishes, fails or is dropped.
async fn watch_stream(
    next: Next<'_>,
    request: Request,
    cx: &CallCx,
    on_end: impl FnOnce(End) + Send + 'static,
) -> Result<EventStream, Error> {
    let mut watch = Watch::new(on_end);
    let events = match next.stream(request, cx).await {
        Ok(events) => events,
        Err(error) => {
            watch.end(End::Failed(error.clone()));
            return Err(error);
        }
    };
    Ok(EventStream::new(stream::unfold((events, watch), |(mut events, mut watch)| async move {
        let item = events.next().await?;
        match &item {
            Ok(StreamEvent::StreamStart { usage: Some(usage), .. }) => watch.usage = usage.clone(),
            Ok(StreamEvent::Finish { usage, .. }) => watch.end(End::Finished(usage.clone())),
            Ok(_) => {}
            Err(error) => watch.end(End::Failed(error.clone())),
        }
        Some((item, (events, watch)))
    })))
}

/// Tells how a call ended; a call that nobody told of was dropped.
struct Watch<F: FnOnce(End)> {
    on_end: Option<F>,
    /// What is known to have been used so far.
    usage: Usage,
}

impl<F: FnOnce(End)> Watch<F> {
    fn new(on_end: F) -> Self {
        Self { on_end: Some(on_end), usage: Usage::default() }
    }

    fn end(&mut self, end: End) {
        if let Some(on_end) = self.on_end.take() {
            on_end(end);
        }
    }
}

impl<F: FnOnce(End)> Drop for Watch<F> {
    fn drop(&mut self) {
        let usage = std::mem::take(&mut self.usage);
        self.end(End::Dropped(usage));
    }
}

#[cfg(test)]
mod tests;
