//! What a request that goes through by bytes says for the books.

use bytes::Bytes;
use http::HeaderMap;
use junto_llm::Wire;
use serde_json::Value;

use crate::Classified;
use crate::gateway::Gateway;
use crate::report::{Meter, Via};
use crate::sessions::{Key, Turn};

/// A request of which note is still to be taken: by [`Note::take`], or when this is dropped. To read it takes about as
/// long as to send it on, so that is done when nobody waits for it.
pub(crate) struct Note {
    gateway: Gateway,
    meter: Meter,
    /// Gone once note is taken of it.
    request: Option<Noted>,
}

/// What note is taken of.
pub(crate) struct Noted {
    pub(crate) wire: Wire,
    /// And nothing else of the request's head: what it came through lives no longer than its connection.
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
    /// The name of the provider that has it.
    pub(crate) provider: String,
    /// The model that is asked for.
    pub(crate) asked: String,
}

impl Note {
    pub(crate) fn new(gateway: Gateway, meter: Meter, request: Noted) -> Self {
        Self { gateway, meter, request: Some(request) }
    }

    /// Takes note of the request, and gives it back.
    pub(crate) fn take(mut self) -> Option<Noted> {
        self.read()
    }

    fn read(&mut self) -> Option<Noted> {
        let request = self.request.take()?;
        let Noted { wire, headers, bytes, provider, asked } = &request;
        // What is no JSON says nothing.
        let body = serde_json::from_slice(bytes).unwrap_or(Value::Null);
        let Classified { traffic, session, .. } = crate::classify(*wire, asked, headers, &body);
        let key = Key::of(*wire, session.as_ref(), &body);
        let (ticket, _) = self.gateway.0.books.sessions.begin(key, Turn::Free);
        self.meter.route(&traffic, provider, asked);
        self.meter.session(ticket);
        self.meter.via(Via::Passthrough);
        Some(request)
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        self.read();
    }
}
