//! Pays for calls of providers that do not do so themselves.

use super::{Middleware, Next};
use crate::catalog::Catalog;
use crate::meter::Ticket;
use crate::{CallCx, Error, EventStream, Fut, Request, Response, Unlimited};
use std::sync::Arc;

/// Reserves each call's worst case from [`CallCx::budget`] before it is made, settles it after, and writes
/// it down in [`CallCx::tally`].
///
/// [`HttpProvider`](crate::HttpProvider) does all that by itself. This is for providers that do not, and that
/// ask one model once for each call. What lies further in sees a budget without a limit, so that nothing
/// is paid twice.
#[derive(Clone)]
pub struct BudgetGuard {
    catalog: Catalog,
}

impl BudgetGuard {
    /// A guard with the prices of this catalog.
    pub fn new(catalog: Catalog) -> Self {
        Self { catalog }
    }

    async fn buy(&self, request: &mut Request, cx: &CallCx) -> Result<(Ticket, CallCx), Error> {
        let provider = request.provider.clone().unwrap_or_default();
        let ticket = Ticket::buy(&self.catalog, &provider, request, cx).await?;
        Ok((ticket, CallCx { budget: Arc::new(Unlimited), tally: None, ..cx.clone() }))
    }
}

impl Middleware for BudgetGuard {
    fn complete<'a>(
        &'a self,
        mut request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move {
            let (mut ticket, paid) = self.buy(&mut request, cx).await?;
            ticket.awaits();
            let result = next.complete(request, &paid).await;
            ticket.close(result)
        })
    }

    fn stream<'a>(
        &'a self,
        mut request: Request,
        cx: &'a CallCx,
        next: Next<'a>,
    ) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let (ticket, paid) = self.buy(&mut request, cx).await?;
            let events = next.stream(request, &paid).await;
            ticket.follow(events)
        })
    }
}
