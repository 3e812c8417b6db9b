//! The way of a request for a model's answer, up to its provider.

use std::path::PathBuf;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::request::Parts;
use http::{StatusCode, header};
use junto_llm::{CallCx, CallId, Wire};
use serde_json::Value;

use super::Request;
use crate::admit::Place;
use crate::call::{Call, Held};
use crate::classify::is_free;
use crate::gateway::Gateway;
use crate::glance::{Glance, model_at_once};
use crate::guard::{self, Client};
use crate::pace::Pace;
use crate::passthrough::{self, Straight};
use crate::presumed::Presumed;
use crate::reply::{self, Failure};
use crate::report::{Meter, Via};
use crate::route::Target;
use crate::sessions::{Canned, Key, Turn, Verdict};
use crate::translate::Asked;
use crate::{body, translate, workdir};

/// Answers one request, whatever becomes of it. `model` is the one that the path names, on wires that
/// have it there.
pub(super) async fn answer(
    gateway: &Gateway,
    wire: Wire,
    model: Option<String>,
    request: Request,
) -> Response {
    let cx = guard::context(gateway, &request);
    let id = cx.call.clone();
    let meter = Meter::new(&gateway.0.books, wire, &cx);
    let result = match admit(gateway, wire, &request) {
        Ok(admitted) => call(gateway, wire, model, request, cx, admitted, meter.clone()).await,
        Err(failure) => {
            let (head, body) = request.into_parts();
            body::discard(&head.headers, body).await;
            Err(failure)
        }
    };
    let mut response = match result {
        Ok(response) => {
            meter.began(response.status());
            response
        }
        Err(failure) => refuse(failure, wire, &id, &meter),
    };
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
pub(super) fn admit(gateway: &Gateway, wire: Wire, request: &Request) -> Result<Admitted, Failure> {
    let client = guard::check(gateway, request)?;
    let coding = request.headers().get(header::CONTENT_ENCODING);
    if let Some(coding) = coding.filter(|coding| *coding != "identity") {
        let message = format!("the gateway reads no bodies in the encoding {coding:?}");
        return Err(Failure::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let place = gateway.0.admission.enter().ok_or_else(|| Failure::overloaded(wire))?;
    Ok(Admitted { client, place })
}

/// A request whose body may be read.
pub(super) struct Admitted {
    pub(super) client: Client,
    pub(super) place: Place,
}

async fn call(
    gateway: &Gateway,
    wire: Wire,
    model: Option<String>,
    request: Request,
    mut cx: CallCx,
    admitted: Admitted,
    meter: Meter,
) -> Result<Response, Failure> {
    // Whoever drops this future, or later the answer's body, ends the call.
    let cancel = cx.cancel.clone().drop_guard();
    let (head, body) = request.into_parts();
    let bytes = body::read_bytes(&head.headers, body, gateway.0.settings.body_limit).await?;
    meter.read(bytes.len());
    let straight = |asked: &str| {
        let target = gateway.0.routes.target(asked).ok()?;
        let passes = passthrough::is_possible(wire, &target, asked, &bytes);
        (passes && gateway.0.books.sessions.are_free(target.turns)).then_some(target)
    };
    let at_once = model_at_once(&bytes).filter(|_| model.is_none());
    let at_once = at_once.and_then(|asked| Some((asked.to_owned(), straight(asked)?)));
    let is_read = at_once.is_none();
    let pace = Pace::of(gateway, &head.extensions, bytes.len());
    let (asked, straight) = if let Some((asked, target)) = at_once {
        (asked, Some(target))
    } else {
        let glance = pace.run(|| Glance::at(&bytes)).await?;
        let asked = model.map_or_else(|| glance.model(), Ok)?;
        let straight = straight(&asked);
        (asked, straight)
    };
    if let Some(target) = straight {
        let permit = admitted.place.run().await.ok_or_else(|| Failure::overloaded(wire))?;
        let held = Held { _cancel: cancel, _permit: permit, _client: admitted.client };
        let call = Call { wire, target, asked, cx, held, meter };
        let straight = Straight { gateway, is_read };
        return passthrough::answer(call, head, bytes, Some(straight)).await;
    }
    let target = gateway.0.routes.target(&asked)?;
    if !gateway.0.books.sessions.are_free(target.turns) {
        gateway.0.books.caught_up().await;
    }
    // In one go, so that what is made of the request meanwhile lives no longer than it takes.
    let read = pace.run(|| prepare(gateway, wire, target, &asked, &head, bytes, &mut cx, &meter)).await;
    let Prepared { target, way, workdir } = read?;
    let permit = admitted.place.run().await.ok_or_else(|| Failure::overloaded(wire))?;
    let held = Held { _cancel: cancel, _permit: permit, _client: admitted.client };
    let call = Call { wire, target, asked, cx, held, meter };
    Box::pin(dispatch(gateway, call, head, way, workdir)).await
}

/// A request that was read.
struct Prepared {
    /// Who answers.
    target: Target,
    way: Way,
    /// Where the client says it works.
    workdir: Option<PathBuf>,
}

/// Which way a request takes, and what of it.
enum Way {
    Through(Bytes),
    Translated(Box<Asked>),
}

/// Reads a request, whose books are those of its session from now on.
#[expect(clippy::too_many_arguments, reason = "all that is known of a request")]
fn prepare(
    gateway: &Gateway,
    wire: Wire,
    target: Target,
    asked: &str,
    head: &Parts,
    bytes: Bytes,
    cx: &mut CallCx,
    meter: &Meter,
) -> Result<Prepared, Failure> {
    let body = body::json(&bytes)?;
    crate::classify(wire, asked, &head.headers, &body).apply(cx);
    let workdir = cx.workdir.take();
    let model = target.model.clone().unwrap_or_else(|| asked.to_owned());
    meter.route(&cx.traffic, &target.name, &model);
    if gateway.0.books.sessions.have_budget() {
        meter.presume(Presumed::new(wire, &model, bytes.clone()));
    }
    let target = in_session(gateway, wire, target, cx, &body, meter)?;
    let way = if passthrough::is_possible(wire, &target, asked, &bytes) {
        Way::Through(bytes)
    } else {
        Way::Translated(Box::new(Asked::read(wire, &target, &model, head, &body)?))
    };
    Ok(Prepared { target, way, workdir })
}

/// Who answers in the call's session: the target, or a word that the session has had all its turns.
fn in_session(
    gateway: &Gateway,
    wire: Wire,
    target: Target,
    cx: &CallCx,
    body: &Value,
    meter: &Meter,
) -> Result<Target, Failure> {
    let key = Key::of(wire, cx.session.as_ref(), body);
    let turn = if is_free(&cx.traffic) { Turn::Free } else { target.turns };
    let (ticket, verdict) = gateway.0.books.sessions.begin(key, turn);
    meter.session(ticket);
    match verdict {
        Verdict::Goes => Ok(target),
        Verdict::Capped(most) => {
            meter.via(Via::Gateway);
            Ok(Target { provider: Arc::new(Canned::turns(most)), ..target })
        }
        Verdict::Spent(failure) => Err(failure),
    }
}

async fn dispatch(
    gateway: &Gateway,
    mut call: Call,
    head: Parts,
    way: Way,
    workdir: Option<PathBuf>,
) -> Result<Response, Failure> {
    let passes = matches!(way, Way::Through(_));
    tracing::debug!(
        call = %call.cx.call, model = call.asked, provider = call.target.name, traffic = ?call.cx.traffic,
        passes, "a call begins"
    );
    call.meter.via(if passes { Via::Passthrough } else { Via::Translation });
    match way {
        Way::Through(bytes) => passthrough::answer(call, head, bytes, None).await,
        Way::Translated(asked) => {
            // Only programs work somewhere, and none of them takes bytes.
            if let Some(stated) = workdir {
                call.cx.workdir = workdir::permitted(stated, &gateway.0.settings.workdir_roots).await;
            }
            translate::answer(&gateway.0.settings, call, &head, *asked).await
        }
    }
}
