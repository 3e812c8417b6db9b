//! The paths that clients know, and who answers at each.

mod count;
mod generate;
mod openapi;
mod table;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use junto_llm::Wire;
use serde_json::json;

use crate::gateway::Gateway;
use crate::guard;
use crate::metrics::{self, Gauges};
use crate::reply::{self, Failure};
use crate::status::Status;
use table::{Found, Surface};

type Request = axum::extract::Request;

/// The gateway as a service: one table of paths, and a refusal for everything that is not in it.
pub(crate) fn router(gateway: Gateway) -> Router {
    let answer = async |State(gateway): State<Gateway>, request: Request| answer(&gateway, request).await;
    Router::new().fallback(answer).with_state(gateway)
}

/// Answers any request.
pub(crate) async fn answer(gateway: &Gateway, request: Request) -> Response {
    if gateway.0.settings.origins.is_empty() {
        return serve(gateway, request).await;
    }
    Box::pin(guard::cors(gateway, request, |request| serve(gateway, request))).await
}

async fn serve(gateway: &Gateway, request: Request) -> Response {
    match table::find(request.method(), request.uri().path()) {
        // Whoever watches over the gateway asks as often as it likes, and shows nothing.
        Some(Found { surface: Surface::Health, .. }) => alive(),
        // It reports what it refuses.
        Some(Found { surface: Surface::Generate(wire), model }) => {
            generate::answer(gateway, wire, model, request).await
        }
        Some(Found { surface: surface @ Surface::Count(wire), model }) => {
            let response = count::answer(gateway, wire, model, request).await;
            gateway.0.books.metrics.request(surface.name(), response.status());
            response
        }
        found => {
            let surface = found.as_ref().map_or("none", |found| found.surface.name());
            let response = match guard::check(gateway, &request) {
                Ok(_client) => {
                    if found.as_ref().is_some_and(|found| found.surface.shows_books()) {
                        gateway.0.books.caught_up().await;
                    }
                    other(gateway, found, &request)
                }
                Err(failure) => failure.into_response(wire_of(request.uri().path(), request.headers())),
            };
            gateway.0.books.metrics.request(surface, response.status());
            response
        }
    }
}

/// Answers a request for something else than a model's answer.
fn other(gateway: &Gateway, found: Option<Found>, request: &Request) -> Response {
    let Some(Found { surface, model }) = found else { return missing(request) };
    match surface {
        Surface::Health | Surface::Hello => alive(),
        Surface::Metrics => reply::text(metrics::TYPE, metrics_text(gateway)),
        Surface::Models => models(gateway, model.as_deref(), request),
        Surface::OpenApi => openapi::document(),
        Surface::Status => Status::of(gateway).page(),
        Surface::StatusJson => reply::json(StatusCode::OK, &json!(Status::of(gateway))),
        Surface::Generate(_) | Surface::Count(_) => missing(request),
    }
}

fn alive() -> Response {
    reply::json(StatusCode::OK, &json!({"status": "ok"}))
}

fn metrics_text(gateway: &Gateway) -> String {
    let (books, admission) = (&gateway.0.books, &gateway.0.admission);
    let (running, waiting) = (admission.running(), admission.waiting());
    metrics::text(&books.metrics, Gauges { running, waiting, sessions: books.sessions.len() })
}

/// What can be asked for, in the words of the wire that the client speaks.
fn models(gateway: &Gateway, model: Option<&str>, request: &Request) -> Response {
    let wire = wire_of(request.uri().path(), request.headers());
    let (models, query) = (&gateway.0.models, request.uri().query().unwrap_or_default());
    let list = match model {
        Some(model) => models.one(wire, model, &gateway.0.routes),
        None => models.list(wire, query),
    };
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
