//! How many tokens a request would be: asked of the provider where it can say, else counted here.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::request::Parts;
use http::{StatusCode, Uri};
use junto_llm::wire::Incoming;
use junto_llm::{CallCx, ErrorKind, Origin, Request as Asked, Wire, tokens};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Request;
use super::generate::{self, Admitted};
use crate::gateway::Gateway;
use crate::glance::Glance;
use crate::guard;
use crate::pace::Pace;
use crate::reply::{self, Failure};
use crate::route::{ClientKeyUse, Target};
use crate::{body, headers, passthrough, sealed};

/// The longest count that is taken from a provider; it is a line.
const LONGEST: usize = 64 * 1024;
/// How long a provider may take: a client that wants a count waits for it before it asks.
const PATIENCE: Duration = Duration::from_secs(3);

/// Answers one request for a count. `model` is the one that the path names, on wires that have it there.
pub(super) async fn answer(
    gateway: &Gateway,
    wire: Wire,
    model: Option<String>,
    request: Request,
) -> Response {
    let cx = guard::context(gateway, &request);
    let id = cx.call.clone();
    let result = match generate::admit(gateway, wire, &request) {
        Ok(admitted) => {
            // Whoever drops this future ends what it has begun.
            let _cancel = cx.cancel.clone().drop_guard();
            count(gateway, wire, model, request, admitted, &cx).await
        }
        Err(failure) => {
            let (head, body) = request.into_parts();
            body::discard(&head.headers, body).await;
            Err(failure)
        }
    };
    let mut response = result.unwrap_or_else(|failure| failure.into_response(wire));
    reply::identify(&mut response, wire, &id);
    response
}

async fn count(
    gateway: &Gateway,
    wire: Wire,
    model: Option<String>,
    request: Request,
    Admitted { client: _client, place }: Admitted,
    cx: &CallCx,
) -> Result<Response, Failure> {
    let (head, body) = request.into_parts();
    let bytes = body::read_bytes(&head.headers, body, gateway.0.settings.body_limit).await?;
    let pace = Pace::of(gateway, &head.extensions, bytes.len());
    let glance = pace.run(|| Glance::at(&bytes)).await?;
    let _permit = place.run().await.ok_or_else(|| Failure::overloaded(wire))?;
    let asked = model.map_or_else(|| glance.model(), Ok)?;
    let target = gateway.0.routes.target(&asked)?;
    let renamed = target.model.as_ref().is_some_and(|model| *model != asked);
    if !renamed
        && !sealed::may_be_in(wire, &bytes)
        && let Ok(Some(told)) = timeout(PATIENCE, ask(&target, wire, &head, bytes.clone(), cx)).await
    {
        return Ok(told);
    }
    let model = target.model.clone().unwrap_or(asked);
    let spoken = Wire::ALL.into_iter().find(|wire| target.provider.passthrough(*wire).is_some());
    // It may take a while, so it is not done where other calls wait for their turn.
    let counted = pace.apart(move || {
        let request = read(wire, &target, &model, body::json(&bytes)?)?;
        Ok::<_, Failure>(tokens::count(&request, &model, spoken.unwrap_or(wire)))
    });
    let count = counted.await.map_err(|_| Failure::new(ErrorKind::Server, "the count broke off"))??;
    Ok(reply::json(StatusCode::OK, &said(wire, count.tokens)))
}

/// What the provider says, if it speaks the client's wire. Its refusals of what the client has sent are for the
/// client; if it has no such surface, or cannot be asked now, there is nothing to tell.
async fn ask(target: &Target, wire: Wire, head: &Parts, body: Bytes, cx: &CallCx) -> Option<Response> {
    let provider = target.provider.passthrough(wire)?;
    let path = path(wire, &head.uri, target.client_key);
    let headers = headers::to_provider(&head.headers, target.client_key);
    let (answer, mut chunks) = provider.send(&path, headers, body, cx).await.ok()?.into_parts();
    let status = answer.status;
    let elsewhere = [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED, StatusCode::TOO_MANY_REQUESTS];
    if !(status.is_success() || status.is_client_error()) || elsewhere.contains(&status) {
        tracing::debug!(provider = target.name, %status, "the provider did not count, so it is counted here");
        return None;
    }
    let mut told = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        told.extend_from_slice(&chunk.ok()?);
        if told.len() > LONGEST {
            return None;
        }
    }
    let mut response = Response::new(Body::from(told.freeze()));
    *response.status_mut() = status;
    *response.headers_mut() = headers::to_client(&answer.headers);
    Some(response)
}

/// Where a provider counts, below its base URL.
fn path(wire: Wire, uri: &Uri, key: ClientKeyUse) -> String {
    let path = match wire {
        Wire::Anthropic => "/v1/messages/count_tokens",
        Wire::Responses => "/responses/input_tokens",
        Wire::Chat | Wire::Gemini => uri.path(),
    };
    passthrough::with_query(path, uri, key)
}

/// The request whose tokens are asked for.
fn read(wire: Wire, target: &Target, model: &str, mut body: Value) -> Result<Asked, Failure> {
    // Gemini's clients send the conversation, or else the whole request that they would send.
    if wire == Wire::Gemini
        && let Some(whole) = body.get_mut("generateContentRequest")
    {
        body = whole.take();
    }
    let origin = Arc::new(Origin { wire, provider: target.name.clone(), model: model.to_owned() });
    // Of the path only Gemini's codec reads anything, and a model is known already.
    let incoming = Incoming { path: "/v1beta/models/any:generateContent", body: &body };
    let (mut request, _) = wire.codec().decode_request(incoming, &origin)?;
    if request.messages.is_empty() && request.tools.is_empty() {
        return Err(Failure::new(ErrorKind::InvalidRequest, "there is nothing to count"));
    }
    sealed::open_all(wire, &mut request.messages);
    Ok(request)
}

/// A count in the words of the wire.
fn said(wire: Wire, tokens: u64) -> Value {
    match wire {
        Wire::Anthropic => json!({"input_tokens": tokens}),
        Wire::Responses | Wire::Chat => json!({"object": "response.input_tokens", "input_tokens": tokens}),
        Wire::Gemini => {
            let details = json!([{"modality": "TEXT", "tokenCount": tokens}]);
            json!({"totalTokens": tokens, "promptTokensDetails": details})
        }
    }
}
