//! A line for each call, through `tracing`. Never the content, never a key.

use super::{End, Middleware, Next, watch_complete, watch_stream};
use crate::{CallCx, Error, EventStream, Fut, Request, Response};

/// Logs each call's model, usage and failure under the target `junto_llm::call`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log;

const TARGET: &str = "junto_llm::call";

/// What writes the line once the call has ended.
fn line(request: &Request, cx: &CallCx) -> impl FnOnce(End) + Send + 'static {
    let (call, model) = (cx.call.clone(), request.model.clone().unwrap_or_default());
    move |end| match end {
        End::Finished(u) => {
            tracing::info!(target: TARGET, %call, model, input = u.input, output = u.output, cache_read = u.cache_read, "finished");
        }
        End::Failed(error) => {
            tracing::warn!(target: TARGET, %call, model, kind = error.kind().as_str(), %error, "failed");
        }
        End::Dropped(_) => tracing::info!(target: TARGET, %call, model, "dropped by the caller"),
    }
}

impl Middleware for Log {
    fn complete<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<Response, Error>> {
        let line = line(&request, cx);
        Box::pin(watch_complete(next, request, cx, line))
    }

    fn stream<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<EventStream, Error>> {
        let line = line(&request, cx);
        Box::pin(watch_stream(next, request, cx, line))
    }
}
