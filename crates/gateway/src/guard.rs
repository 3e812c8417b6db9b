//! Who may ask: everything that is refused before a body is read, on every surface but `/healthz`.
//!
//! A gateway on loopback is in reach of every page in the user's browser and of every program that the
//! user runs, and what it answers costs money. So a request must be addressed to this machine by a name
//! that is its own, must not come from a foreign web page, from an agent below ourselves or from the gateway itself, must
//! show the key if there is one, and must leave room for other clients.

mod child;
mod clients;
mod cors;
mod keys;
mod origin;
mod way;

use std::net::SocketAddr;
use std::sync::Arc;

use junto_llm::{CallCx, ErrorKind};

pub(crate) use self::clients::{Client, Clients, Limits};
pub(crate) use self::cors::cors;
pub(crate) use self::keys::ClientKeys;
pub(crate) use self::way::Name;

use self::clients::Who;
use crate::aside::Desk;
use crate::gateway::Gateway;
use crate::reply::Failure;

/// The two ends of the connection that a request came on. The server puts it among the request's
/// extensions; without it, the client's address is not known.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    /// The same, as clients name it.
    pub(crate) host: Arc<str>,
    /// Where whoever serves the connection looks after its turns.
    pub(crate) desk: Arc<Desk>,
}

/// Whether a request may be looked at, and who sent it. The client counts as busy for as long as what is
/// returned is kept.
///
/// # Errors
/// The refusal: 403 for a foreign `Host` or `Origin`, for an agent below ourselves and for what the gateway itself has
/// asked for, 401 without the right key, 429 for a client that asks for too much.
pub(crate) fn check<B>(gateway: &Gateway, request: &http::Request<B>) -> Result<Client, Failure> {
    let (headers, settings) = (request.headers(), &gateway.0.settings);
    let link = request.extensions().get::<Link>();
    if let Some(host) = origin::foreign_host(request, link, &settings.hosts) {
        return Err(Failure::new(
            ErrorKind::AccessDenied,
            format!(
                "this gateway does not go by the name {host:?}; if it should, name it among the gateway's hosts"
            ),
        ));
    }
    if let Some(origin) = origin::foreign_page(request, &settings.origins) {
        return Err(Failure::new(
            ErrorKind::AccessDenied,
            format!(
                "web pages of {origin:?} may not ask this gateway; if they should, name that origin among the \
                 gateway's origins"
            ),
        ));
    }
    if child::is_marked(headers) {
        return Err(Failure::new(ErrorKind::AccessDenied, child::REFUSAL));
    }
    if gateway.0.name.is_circle(headers) {
        return Err(Failure::new(ErrorKind::AccessDenied, way::REFUSAL));
    }
    if gateway.0.client_keys.is_none() && gateway.0.clients.are_free() {
        // Nobody need be told from anybody.
        return gateway.0.clients.enter(Who::Unknown);
    }
    let who = who(gateway, request, link)?;
    gateway.0.clients.enter(who)
}

/// The context of the call that a request is.
pub(crate) fn context<B>(gateway: &Gateway, request: &http::Request<B>) -> CallCx {
    CallCx { through: Some(gateway.0.name.way(request.headers())), ..CallCx::new() }
}

/// Who asks: the one who has the key that is shown, else whoever is at that address.
fn who<B>(gateway: &Gateway, request: &http::Request<B>, link: Option<&Link>) -> Result<Who, Failure> {
    let shown = keys::shown(request);
    let key = match &gateway.0.client_keys {
        Some(keys) => Some(keys.fitting(&shown).ok_or_else(|| {
            Failure::new(
                ErrorKind::Authentication,
                "this gateway wants its key: as a bearer token, in the header x-api-key or x-goog-api-key, or as \
                 the query's `key`",
            )
        })?),
        None => shown.first().map(|key| keys::digest(key)),
    };
    let address = || link.map_or(Who::Unknown, |link| Who::Address(link.peer.ip().to_canonical()));
    Ok(key.map_or_else(address, Who::Key))
}
