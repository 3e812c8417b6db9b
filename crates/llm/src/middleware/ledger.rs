//! One row for each call: who asked, what it used, what it cost.

use std::sync::Arc;

use super::{End, Middleware, Next, watch_complete, watch_stream};
use crate::catalog::Catalog;
use crate::{CallCx, Cost, Entry, Error, EventStream, Fut, Request, Response, Usage};

/// Where rows go.
type Sink = Arc<dyn Fn(Entry) + Send + Sync>;

/// Writes one [`Entry`] for each call to a sink.
#[derive(Clone)]
pub struct Ledger {
    catalog: Catalog,
    sink: Sink,
}

impl Ledger {
    /// A ledger with the prices of this catalog.
    pub fn new(catalog: Catalog, sink: impl Fn(Entry) + Send + Sync + 'static) -> Self {
        Self { catalog, sink: Arc::new(sink) }
    }

    /// What writes the row once the call has ended.
    fn row(&self, request: &Request, cx: &CallCx) -> impl FnOnce(End) + Send + 'static {
        let ledger = self.clone();
        let (call, parent, session) = (cx.call.clone(), cx.parent.clone(), cx.session.clone());
        let provider = request.provider.clone().unwrap_or_default();
        let model = request.model.clone().unwrap_or_default();
        move |end| {
            let (usage, cost, error) = match end {
                End::Finished(usage) => {
                    let cost = ledger.catalog.cost(&provider, &model, &usage);
                    (usage, cost, None)
                }
                End::Failed(error) => (Usage::default(), Cost::Unknown, Some(error)),
                End::Dropped(usage) => (usage, Cost::Unknown, None),
            };
            (ledger.sink)(Entry { call, parent, session, provider, model, usage, cost, error });
        }
    }
}

impl Middleware for Ledger {
    fn complete<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<Response, Error>> {
        let row = self.row(&request, cx);
        Box::pin(watch_complete(next, request, cx, row))
    }

    fn stream<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<EventStream, Error>> {
        let row = self.row(&request, cx);
        Box::pin(watch_stream(next, request, cx, row))
    }
}
