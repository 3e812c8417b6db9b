//! Refuses a call whose worst case the budget cannot pay.

use super::{End, Middleware, Next, watch_complete, watch_stream};
use crate::catalog::Catalog;
use crate::{CallCx, Cost, Error, EventStream, Fut, Request, Reservation, Response, Usage};

/// Reserves each call's worst case from [`CallCx::budget`] before it is made, and settles it after.
///
/// The worst case is the request's size in characters over three, all of it uncached, plus as many
/// tokens as the answer may have.
#[derive(Clone)]
pub struct BudgetGuard {
    catalog: Catalog,
}

impl BudgetGuard {
    /// A guard with the prices of this catalog.
    pub fn new(catalog: Catalog) -> Self {
        Self { catalog }
    }

    fn worst(&self, request: &Request) -> Cost {
        let model = request.model.as_deref().unwrap_or_default();
        let text = serde_json::to_string(&(&request.messages, &request.tools)).map_or(0, |t| t.len());
        let input = u64::try_from(text / 3).unwrap_or(u64::MAX);
        let most = self.catalog.get(model).map(|m| m.max_output);
        let output = request.max_tokens.or(most).unwrap_or(4096);
        // Writing to a cache can cost more than plain input.
        let usage = Usage { cache_write: Some(input), ..Usage::new(input, output) };
        self.catalog.cost(request.provider.as_deref().unwrap_or_default(), model, &usage)
    }

    /// What books the call once it has ended. A call that failed before it gave anything gives the
    /// money back; what a call used that broke off half-way, nobody knows.
    fn settle(
        &self,
        request: &Request,
        reservation: Box<dyn Reservation>,
    ) -> impl FnOnce(End) + Send + 'static {
        let catalog = self.catalog.clone();
        let provider = request.provider.clone().unwrap_or_default();
        let model = request.model.clone().unwrap_or_default();
        move |end| match end {
            End::Finished(usage) => reservation.settle(catalog.cost(&provider, &model, &usage)),
            End::Failed(error) if !error.is_after_content() => drop(reservation),
            End::Failed(_) | End::Dropped(_) => reservation.settle(Cost::Unknown),
        }
    }
}

impl Middleware for BudgetGuard {
    fn complete<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            let settle = self.settle(&request, cx.budget.reserve(self.worst(&request))?);
            watch_complete(next, request, cx, settle).await
        })
    }

    fn stream<'a>(
        &'a self,
        request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let settle = self.settle(&request, cx.budget.reserve(self.worst(&request))?);
            watch_stream(next, request, cx, settle).await
        })
    }
}
