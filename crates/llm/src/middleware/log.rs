//! A line for each call, through `tracing`. Never the content, never a key.

use super::{End, Middleware, Next, ended, watch};
use crate::{CallCx, CallId, Error, EventStream, Fut, Request, Response};

/// Logs each call's model, usage and failure under the target `junto_llm::call`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log;

fn report(call: &CallId, model: &str, end: &End) {
    const TARGET: &str = "junto_llm::call";
    match end {
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
        let model = request.model.clone().unwrap_or_default();
        Box::pin(async move {
            let result = next.complete(request, cx).await;
            report(&cx.call, &model, &ended(&result));
            result
        })
    }

    fn stream<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<EventStream, Error>> {
        let model = request.model.clone().unwrap_or_default();
        let call = cx.call.clone();
        Box::pin(async move {
            match next.stream(request, cx).await {
                Ok(events) => Ok(watch(events, move |end| report(&call, &model, &end))),
                Err(error) => {
                    report(&call, &model, &End::Failed(error.clone()));
                    Err(error)
                }
            }
        })
    }
}
