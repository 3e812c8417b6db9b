//! A client's chores, done by the very model that it named for them.

use junto::council::Member;
use junto::llm::{CallCx, Client, Error, EventStream, Fut, Provider, Request, Response};

/// Asks for exactly the model that a client named, if one of the client's providers has it; else the first member.
pub(super) struct Chores {
    client: Client,
    first: Member,
}

impl Chores {
    pub(super) fn new(client: Client, first: Member) -> Self {
        Self { client, first }
    }

    /// Who does it, and the request as it is put to them.
    fn pinned(&self, request: Request) -> (&dyn Provider, Request) {
        let named = request.model.as_deref();
        let known = named.and_then(|model| self.client.catalog().get(model));
        let can = |name: &str| self.client.provider_names().any(|known| known == name);
        if let Some(info) = known.filter(|info| can(&info.provider)) {
            let (provider, model) = (Some(info.provider.clone()), Some(info.id.clone()));
            return (&self.client, Request { provider, model, ..request });
        }
        let (provider, model) = (self.first.provider_name.clone(), self.first.model.clone());
        (&*self.first.provider, Request { provider, model, ..request })
    }
}

impl Provider for Chores {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        let (provider, request) = self.pinned(request);
        provider.complete(request, cx)
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        let (provider, request) = self.pinned(request);
        provider.stream(request, cx)
    }
}
