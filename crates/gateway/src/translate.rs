//! The way of a call that is decoded, answered by its provider, and encoded again.

use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use junto_llm::wire::{Incoming, Mode};
use junto_llm::{Request, Wire};
use serde_json::{Value, json};

use crate::call::Call;
use crate::gateway::Settings;
use crate::live::{Label, Live};
use crate::reply::{self, Failure};
use crate::sealed::{self, Sealer};

/// Answers a call. What fails before the first byte is a [`Failure`]; what fails later is told in
/// the stream.
pub(crate) async fn answer(
    settings: &Settings,
    call: Call,
    head: &Parts,
    body: &Value,
) -> Result<Response, Failure> {
    let path = head.uri.path_and_query().map_or(head.uri.path(), |path| path.as_str());
    let (request, mode) = read(&call, &head.headers, Incoming { path, body })?;
    let label = Label::new(&call);
    match mode {
        Mode::Complete => {
            let mut response = call.target.provider.complete(request, &call.cx).await?;
            call.meter.finish(&response.usage);
            label.apply(&mut response.id, &mut response.model);
            Sealer::new(call.origin()).seal_all(&mut response);
            Ok(reply::json(StatusCode::OK, &call.wire.codec().encode_response(&response)))
        }
        Mode::Stream => Ok(reply::events(Live::open(settings, call, request, label).await?)),
    }
}

/// The request as the provider shall get it.
fn read(call: &Call, headers: &HeaderMap, incoming: Incoming<'_>) -> Result<(Request, Mode), Failure> {
    let (mut request, mode) = call.wire.codec().decode_request(incoming, &call.origin())?;
    sealed::open_all(call.wire, &mut request.messages);
    request.model = Some(call.model().to_owned());
    request.provider = Some(call.target.name.clone());
    if call.target.provider.passthrough(call.wire).is_none() {
        // Labels are for the books of the provider that the client believes it talks to; they may
        // name the user's account there, which is nobody else's business.
        request.metadata.clear();
    }
    if call.wire == Wire::Anthropic {
        keep_betas(headers, &mut request);
    }
    Ok((request, mode))
}

/// Anthropic's clients switch features on by header; the encoder takes them from the options.
fn keep_betas(headers: &HeaderMap, request: &mut Request) {
    let betas: Vec<&str> =
        headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok()).collect();
    if betas.is_empty() {
        return;
    }
    let options = request.provider_options.entry(Wire::Anthropic.name()).or_insert_with(|| json!({}));
    if let Value::Object(options) = options {
        options.insert("beta_headers".to_owned(), betas.join(",").into());
    }
}
