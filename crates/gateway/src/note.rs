//! What a request that goes through by bytes says for the books.

use bytes::Bytes;
use http::request::Parts;
use junto_llm::Wire;
use serde_json::Value;

use crate::Classified;
use crate::gateway::Gateway;
use crate::report::{Meter, Via};
use crate::sessions::{Key, Turn};

/// A request of which note is still to be taken: when this is dropped. To read it takes about as long as to send it on, so
/// that is done when nobody waits for it.
pub(crate) struct Note {
    pub(crate) gateway: Gateway,
    pub(crate) wire: Wire,
    pub(crate) head: Parts,
    pub(crate) bytes: Bytes,
    /// The name of the provider that has it.
    pub(crate) provider: String,
    /// The model that is asked for.
    pub(crate) asked: String,
    pub(crate) meter: Meter,
}

impl Drop for Note {
    fn drop(&mut self) {
        // It was JSON at first glance, so it is.
        let body = serde_json::from_slice(&self.bytes).unwrap_or(Value::Null);
        let Classified { traffic, session, .. } =
            crate::classify(self.wire, &self.asked, &self.head.headers, &body);
        let key = Key::of(self.wire, session.as_ref(), &body);
        let (ticket, _) = self.gateway.0.books.sessions.begin(key, Turn::Free);
        self.meter.route(&traffic, &self.provider, &self.asked);
        self.meter.session(ticket);
        self.meter.via(Via::Passthrough);
    }
}
