//! The paths that clients know, and the way of a request up to its provider.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use http::request::Parts;
use http::{Method, StatusCode, header};
use junto_llm::{CallCx, CallId, ErrorKind, Wire};
use serde_json::{Value, json};

use crate::admit::Place;
use crate::body::Unread;
use crate::call::{Call, Held};
use crate::gateway::Gateway;
use crate::guard::Client;
use crate::reply::{self, Failure};
use crate::report::{Meter, Via};
use crate::{body, guard, passthrough, translate};

type Request = axum::extract::Request;

pub(crate) fn router(gateway: Gateway) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/v1/messages", post(messages))
        .route("/v1/responses", post(responses))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown)
        .with_state(gateway)
}

async fn healthz() -> Response {
    reply::json(StatusCode::OK, &json!({"status": "ok"}))
}

async fn messages(State(gateway): State<Gateway>, request: Request) -> Response {
    answer(&gateway, Wire::Anthropic, request).await
}

async fn responses(State(gateway): State<Gateway>, request: Request) -> Response {
    answer(&gateway, Wire::Responses, request).await
}

async fn unknown(request: Request) -> Response {
    let message = format!("there is nothing at {} {}", request.method(), request.uri().path());
    Failure::with_status(StatusCode::NOT_FOUND, message).into_response(wire_of(request.uri().path()))
}

async fn wrong_method(method: Method, request: Request) -> Response {
    let path = request.uri().path();
    let message = format!("{path} does not take {method}");
    Failure::with_status(StatusCode::METHOD_NOT_ALLOWED, message).into_response(wire_of(path))
}

/// The wire whose clients would ask for such a path.
fn wire_of(path: &str) -> Wire {
    if path.starts_with("/v1/messages") { Wire::Anthropic } else { Wire::Responses }
}

/// Answers one request, whatever becomes of it.
async fn answer(gateway: &Gateway, wire: Wire, request: Request) -> Response {
    let cx = CallCx::new();
    let id = cx.call.clone();
    let meter = Meter::new(&gateway.0.books, wire, &cx);
    let result = match admit(gateway, wire, &request) {
        Ok(place) => call(gateway, wire, request, cx, place, meter.clone()).await,
        Err(failure) => {
            body::discard(request.into_body()).await;
            Err(failure)
        }
    };
    let mut response = result.unwrap_or_else(|failure| refuse(failure, wire, &id, &meter));
    reply::identify(&mut response, wire, &id);
    response
}

fn refuse(failure: Failure, wire: Wire, call: &CallId, meter: &Meter) -> Response {
    tracing::debug!(%call, ?failure, "a call failed before its first byte");
    let error = failure.error().clone();
    let response = failure.into_response(wire);
    meter.fail(Some(response.status()), error);
    response
}

/// What can be refused before the body is read.
fn admit(gateway: &Gateway, wire: Wire, request: &Request) -> Result<(Client, Place), Failure> {
    let client = guard::check(gateway, request)?;
    let headers = request.headers();
    if let Some(coding) = headers.get(header::CONTENT_ENCODING).filter(|coding| *coding != "identity") {
        let message = format!("the gateway reads no bodies in the encoding {coding:?}");
        return Err(Failure::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let place = gateway.0.admission.enter().ok_or_else(|| Failure::overloaded(wire))?;
    Ok((client, place))
}

async fn call(
    gateway: &Gateway,
    wire: Wire,
    request: Request,
    mut cx: CallCx,
    (client, place): (Client, Place),
    meter: Meter,
) -> Result<Response, Failure> {
    // Whoever drops this future, or later the answer's body, ends the call.
    let cancel = cx.cancel.clone().drop_guard();
    let (head, body) = request.into_parts();
    let bytes = read(body, gateway.0.settings.body_limit).await?;
    let body: Value = serde_json::from_slice(&bytes)
        .map_err(|e| Failure::new(ErrorKind::InvalidRequest, format!("the body is not JSON: {e}")))?;
    let Some(asked) = body.get("model").and_then(Value::as_str).map(str::to_owned) else {
        return Err(Failure::new(ErrorKind::InvalidRequest, "model: must be a string"));
    };
    let Some(target) = gateway.0.routes.find(&asked).cloned() else {
        return Err(Failure::new(ErrorKind::NotFound, format!("model: no route leads to `{asked}`")));
    };
    crate::classify(wire, &head.headers, &body).apply(&mut cx);
    meter.route(&cx, &target.name, target.model.as_deref().unwrap_or(&asked));
    let permit = place.run().await.ok_or_else(|| Failure::overloaded(wire))?;
    let held = Held { _cancel: cancel, _permit: permit, _client: client };
    let call = Call { wire, target, asked, cx, held, meter };
    dispatch(gateway, call, &head, bytes, body).await
}

async fn read(body: axum::body::Body, limit: usize) -> Result<Bytes, Failure> {
    body::read(body, limit).await.map_err(|unread| match unread {
        Unread::TooLarge => {
            let message = format!("the request is larger than {limit} bytes");
            Failure::with_status(StatusCode::PAYLOAD_TOO_LARGE, message)
        }
        Unread::TooSlow => Failure::new(ErrorKind::Timeout, "the request did not come in time"),
        Unread::Broken(why) => {
            Failure::new(ErrorKind::InvalidRequest, format!("the request could not be read: {why}"))
        }
    })
}

async fn dispatch(
    gateway: &Gateway,
    call: Call,
    head: &Parts,
    bytes: Bytes,
    body: Value,
) -> Result<Response, Failure> {
    let passes = passthrough::is_possible(&call, &bytes);
    tracing::debug!(
        call = %call.cx.call, model = call.asked, provider = call.target.name, traffic = ?call.cx.traffic,
        passes, "a call begins"
    );
    call.meter.via(if passes { Via::Passthrough } else { Via::Translation });
    if passes {
        drop(body);
        passthrough::answer(call, head, bytes).await
    } else {
        drop(bytes);
        translate::answer(&gateway.0.settings, call, head, &body).await
    }
}
