//! One call: what is known of it once its request has been read and routed.

use std::sync::Arc;

use junto_llm::{CallCx, Origin, Wire};
use tokio_util::sync::DropGuard;

use crate::admit::Permit;
use crate::guard::Client;
use crate::report::Meter;
use crate::route::Target;

/// A call under way.
pub(crate) struct Call {
    /// The wire its client speaks.
    pub(crate) wire: Wire,
    /// Who answers.
    pub(crate) target: Target,
    /// The model as the client named it.
    pub(crate) asked: String,
    /// What travels beside the request.
    pub(crate) cx: CallCx,
    /// What the call holds while it lasts.
    pub(crate) held: Held,
    /// Who keeps the books.
    pub(crate) meter: Meter,
}

/// What a call holds until its answer is over or its client has gone. Dropping it cancels whatever
/// the call started and lets the next one run.
pub(crate) struct Held {
    pub(crate) _cancel: DropGuard,
    pub(crate) _permit: Permit,
    pub(crate) _client: Client,
}

impl Call {
    /// The model that the provider is asked for.
    pub(crate) fn model(&self) -> &str {
        self.target.model.as_deref().unwrap_or(&self.asked)
    }

    /// Whether the provider is asked for another model than the client named.
    pub(crate) fn is_renamed(&self) -> bool {
        self.model() != self.asked
    }

    /// What a client's parts are marked with: the provider and model that will get them. What these
    /// signed on this very wire goes back to them verbatim.
    pub(crate) fn origin(&self) -> Arc<Origin> {
        let (provider, model) = (self.target.name.clone(), self.model().to_owned());
        Arc::new(Origin { wire: self.wire, provider, model })
    }
}
