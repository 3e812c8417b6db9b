//! The paths that clients know, and who answers at each.

mod generate;
mod openapi;
mod table;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use junto_llm::{ErrorKind, Wire};
use serde_json::json;

use crate::auth;
use crate::gateway::Gateway;
use crate::reply::{self, Failure};
use table::{Found, Surface};

type Request = axum::extract::Request;

/// The gateway as a service: one table of paths, and a refusal for everything that is not in it.
pub(crate) fn router(gateway: Gateway) -> Router {
    Router::new().fallback(serve).with_state(gateway)
}

async fn serve(State(gateway): State<Gateway>, request: Request) -> Response {
    let Some(Found { surface, model }) = table::find(request.method(), request.uri().path()) else {
        return missing(&request);
    };
    match surface {
        Surface::Alive => reply::json(StatusCode::OK, &json!({"status": "ok"})),
        Surface::Generate(wire) => generate::answer(&gateway, wire, model, request).await,
        Surface::Models => models(&gateway, model.as_deref(), &request),
        Surface::OpenApi => openapi::document(),
    }
}

/// What can be asked for, in the words of the wire that the client speaks.
fn models(gateway: &Gateway, model: Option<&str>, request: &Request) -> Response {
    let wire = wire_of(request.uri().path(), request.headers());
    let (models, query) = (&gateway.0.models, request.uri().query().unwrap_or_default());
    let list = check(gateway, request.headers()).and_then(|()| match model {
        Some(model) => models.one(wire, model, &gateway.0.routes),
        None => models.list(wire, query),
    });
    list.map_or_else(|failure| failure.into_response(wire), |list| reply::json(StatusCode::OK, &list))
}

/// Refuses whatever is not in the table: unknown paths, and methods that a path does not take.
fn missing(request: &Request) -> Response {
    let path = request.uri().path();
    let message = format!("there is nothing at {} {path}", request.method());
    let wire = wire_of(path, request.headers());
    Failure::with_status(StatusCode::NOT_FOUND, message).into_response(wire)
}

/// The wire whose clients would ask in such a way: by the path where it says so, else by the headers.
fn wire_of(path: &str, headers: &HeaderMap) -> Wire {
    let says = |name: &str| headers.contains_key(name);
    match path {
        path if path.starts_with("/v1/messages") => Wire::Anthropic,
        path if path.starts_with("/v1beta/") => Wire::Gemini,
        path if path.starts_with("/v1/chat/") => Wire::Chat,
        path if path.starts_with("/v1/responses") => Wire::Responses,
        _ if says("anthropic-version") || says("x-api-key") => Wire::Anthropic,
        _ if says("x-goog-api-key") => Wire::Gemini,
        _ => Wire::Responses,
    }
}

/// Whether this client may ask at all.
fn check(gateway: &Gateway, headers: &HeaderMap) -> Result<(), Failure> {
    if auth::is_child(headers) {
        return Err(Failure::new(
            ErrorKind::AccessDenied,
            "a command-line agent that Junto has started does not ask Junto's own gateway; \
             does its endpoint, or a setting of its own, lead here?",
        ));
    }
    if gateway.0.client_key.as_ref().is_some_and(|key| !key.is_shown(headers)) {
        return Err(Failure::new(
            ErrorKind::Authentication,
            "this gateway wants its key, as a bearer token or in the header x-api-key",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    #[test]
    fn a_refusal_is_in_the_words_of_whoever_asks() {
        let check = |path: &str, header: Option<&'static str>, wire: Wire| {
            let headers: HeaderMap = header
                .map(|name| (HeaderName::from_static(name), HeaderValue::from_static("v")))
                .into_iter()
                .collect();
            assert_eq!(wire_of(path, &headers), wire, "{path} {header:?}");
        };
        check("/v1/messages/batches", None, Wire::Anthropic);
        check("/v1/chat/completions", Some("x-api-key"), Wire::Chat);
        check("/v1/responses/abc", Some("anthropic-version"), Wire::Responses);
        check("/v1beta/files", None, Wire::Gemini);
        check("/v1/files", Some("anthropic-version"), Wire::Anthropic);
        check("/v1/files", Some("x-goog-api-key"), Wire::Gemini);
        check("/v1/files", None, Wire::Responses);
        check("/", None, Wire::Responses);
    }
}
