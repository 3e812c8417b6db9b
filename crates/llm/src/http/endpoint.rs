//! Where a provider is.

use std::fmt;

use crate::{Secret, Timeouts, Wire};

/// Where a provider is and how to talk to it.
#[derive(Clone)]
pub struct Endpoint {
    /// The provider's name in the client.
    pub name: String,
    /// The wire it speaks.
    pub wire: Wire,
    /// The URL that the wire's paths are added to.
    pub base_url: String,
    /// How it knows us.
    pub auth: Auth,
    /// Headers for every request. A proxy's may be secret, so their values are not printed.
    pub headers: Vec<(String, String)>,
    /// How long to wait.
    pub timeouts: Timeouts,
    /// Whether to place cache breakpoints on wires that need them.
    pub auto_cache: bool,
    /// Which HTTP to speak.
    pub http: HttpVersion,
}

/// How a provider knows us.
#[derive(Clone, Debug)]
pub enum Auth {
    /// It does not ask.
    None,
    /// With a key, in the header that the wire has for it.
    Key(Secret),
    /// With a bearer token, whatever the wire.
    Bearer(Secret),
}

/// Which HTTP to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// What TLS negotiates; HTTP/1.1 without TLS.
    #[default]
    Negotiated,
    /// HTTP/2 from the first byte, also without TLS.
    Http2,
}

impl Endpoint {
    /// An endpoint without a key, with default timeouts.
    pub fn new(name: impl Into<String>, wire: Wire, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            wire,
            base_url: base_url.into(),
            auth: Auth::None,
            headers: Vec::new(),
            timeouts: Timeouts::default(),
            auto_cache: true,
            http: HttpVersion::default(),
        }
    }

    /// This endpoint with a key.
    pub fn key(mut self, key: impl Into<Secret>) -> Self {
        self.auth = Auth::Key(key.into());
        self
    }

    /// This endpoint with timeouts.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    pub(super) fn secret(&self) -> Option<&Secret> {
        match &self.auth {
            Auth::None => None,
            Auth::Key(secret) | Auth::Bearer(secret) => Some(secret),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Endpoint")
            .field("name", &self.name)
            .field("wire", &self.wire)
            .field("base_url", &self.base_url)
            .field("auth", &self.auth)
            .field("headers", &headers)
            .field("timeouts", &self.timeouts)
            .field("auto_cache", &self.auto_cache)
            .field("http", &self.http)
            .finish()
    }
}
