//! The way of a request for a model's answer, up to its provider.

use axum::response::Response;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use junto_llm::{CallCx, CallId, ErrorKind, Wire};
use serde_json::Value;

use super::Request;
use crate::admit::Place;
use crate::call::{Call, Held};
use crate::gateway::Gateway;
use crate::reply::{self, Failure};
use crate::report::{Meter, Via};
use crate::{body, passthrough, translate};

/// Answers one request, whatever becomes of it. `model` is the one that the path names, on wires that
/// have it there.
pub(super) async fn answer(
    gateway: &Gateway,
    wire: Wire,
    model: Option<String>,
    request: Request,
) -> Response {
    let cx = CallCx::new();
    let id = cx.call.clone();
    let meter = Meter::new(gateway.0.sink.clone(), &cx);
    let result = match admit(gateway, wire, request.headers()) {
        Ok(place) => call(gateway, wire, model, request, cx, place, meter.clone()).await,
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
fn admit(gateway: &Gateway, wire: Wire, headers: &HeaderMap) -> Result<Place, Failure> {
    super::check(gateway, headers)?;
    if let Some(coding) = headers.get(header::CONTENT_ENCODING).filter(|coding| *coding != "identity") {
        let message = format!("the gateway reads no bodies in the encoding {coding:?}");
        return Err(Failure::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    gateway.0.admission.enter().ok_or_else(|| Failure::overloaded(wire))
}

async fn call(
    gateway: &Gateway,
    wire: Wire,
    model: Option<String>,
    request: Request,
    mut cx: CallCx,
    place: Place,
    meter: Meter,
) -> Result<Response, Failure> {
    // Whoever drops this future, or later the answer's body, ends the call.
    let cancel = cx.cancel.clone().drop_guard();
    let (head, body) = request.into_parts();
    let (bytes, body) = body::read_json(body, gateway.0.settings.body_limit).await?;
    let asked = model.map_or_else(|| model_in(&body), Ok)?;
    let target = gateway.0.routes.target(&asked)?;
    crate::classify(wire, &asked, &head.headers, &body).apply(&mut cx);
    meter.route(&cx, &target.name, target.model.as_deref().unwrap_or(&asked));
    let permit = place.run().await.ok_or_else(|| Failure::overloaded(wire))?;
    let held = Held { _cancel: cancel, _permit: permit };
    let call = Call { wire, target, asked, cx, held, meter };
    dispatch(gateway, call, &head, bytes, body).await
}

/// The model that a body names.
fn model_in(body: &Value) -> Result<String, Failure> {
    let model = body.get("model").and_then(Value::as_str).filter(|model| !model.is_empty());
    let missing = || Failure::new(ErrorKind::InvalidRequest, "model: must be a string that is not empty");
    model.map(str::to_owned).ok_or_else(missing)
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
