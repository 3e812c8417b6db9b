//! Limits how many calls run at once and how fast they follow each other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;

use super::{Middleware, Next, watch_stream};
use crate::{CallCx, Error, ErrorKind, EventStream, Fut, Request, Response};

/// Lets at most so many calls run at once, and starts them at least so far apart. Waiting calls
/// keep their order and can be cancelled.
#[derive(Debug)]
pub struct Throttle {
    slots: Arc<Semaphore>,
    spacing: Duration,
    /// When the next call may start.
    next: Mutex<Option<Instant>>,
}

impl Throttle {
    /// At most `at_once` calls at a time, `spacing` apart.
    pub fn new(at_once: usize, spacing: Duration) -> Self {
        Self { slots: Arc::new(Semaphore::new(at_once.max(1))), spacing, next: Mutex::new(None) }
    }

    async fn enter(&self, cx: &CallCx) -> Result<tokio::sync::OwnedSemaphorePermit, Error> {
        let wait = async {
            let permit = Arc::clone(&self.slots).acquire_owned().await;
            let start = {
                let mut next = self.next.lock().await;
                let now = Instant::now();
                let start = next.map_or(now, |at| at.max(now));
                *next = Some(start + self.spacing);
                start
            };
            tokio::time::sleep_until(start).await;
            permit.map_err(|_| Error::configuration("the throttle is closed"))
        };
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(Error::new(ErrorKind::Aborted, "the call was cancelled while it waited for its turn")),
            permit = wait => permit,
        }
    }
}

impl Middleware for Throttle {
    fn complete<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            let _permit = self.enter(cx).await?;
            next.complete(request, cx).await
        })
    }

    fn stream<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let permit = self.enter(cx).await?;
            watch_stream(next, request, cx, move |_| drop(permit)).await
        })
    }
}
