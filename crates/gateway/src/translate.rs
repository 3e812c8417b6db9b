//! The way of a call that is decoded, answered by its provider, and encoded again.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use junto_llm::wire::{AnswerCx, Incoming, Mode};
use junto_llm::{Effort, ErrorKind, Narration, Origin, Part, RateLimit, Request, Wire};
use serde_json::{Map, Value, json};

use crate::call::Call;
use crate::gateway::{Progress, Settings};
use crate::limits;
use crate::live::{Label, Live};
use crate::progress::Trailing;
use crate::reply::{self, Failure};
use crate::route::Target;
use crate::sealed::{self, Sealer};

/// Answers a call. What fails before the first byte is a [`Failure`]; what fails later is told in
/// the stream.
pub(crate) async fn answer(
    settings: &Settings,
    mut call: Call,
    head: &Parts,
    asked: Asked,
) -> Result<Response, Failure> {
    let Asked { request, mode, tells_usage, repeated } = asked;
    let label = Label::new(&call);
    let created = now();
    match mode {
        Mode::Complete => {
            call.cx.narration = Narration::Silent;
            let mut response = call.target.provider.complete(request, &call.cx).await?;
            let codec = call.wire.codec();
            if let Some(error) = codec.failure(&response.finish_reason) {
                // It is paid for all the same.
                call.meter.paid(&response.usage);
                return Err(error.into());
            }
            call.meter.finish_with(&response);
            let maker = response.message.content.iter().find_map(Part::origin).map(|origin| origin.wire);
            label.apply(maker, &mut response.id, &mut response.model);
            Sealer::new(call.origin()).seal_all(&mut response);
            let mut answer = codec.encode_response(&response);
            codec.date(&mut answer, created);
            if let Value::Object(answer) = &mut answer {
                answer.extend(repeated);
            }
            let reply = reply::json(StatusCode::OK, &answer);
            Ok(limited(reply, call.wire, response.rate_limit.as_ref(), created))
        }
        Mode::Stream => {
            call.cx.narration = match settings.progress {
                Progress::Shown => settings.narration,
                Progress::Hidden => Narration::Silent,
            };
            let cx = AnswerCx { created, tells_usage, repeated };
            let trailing = Trailing::for_client(&head.headers);
            let wire = call.wire;
            let (events, rate_limit) = Live::open(settings, call, request, label, &cx, trailing).await?;
            Ok(limited(reply::events(events), wire, rate_limit.as_ref(), created))
        }
    }
}

/// The reply with what the provider said about its limits.
fn limited(mut reply: Response, wire: Wire, limits: Option<&RateLimit>, now: u64) -> Response {
    if let Some(known) = limits {
        limits::tell(wire, known, now, reply.headers_mut());
    }
    reply
}

/// Clients of Chat Completions have to ask for the usage of a stream.
fn wants_usage(wire: Wire, body: &Value) -> bool {
    wire != Wire::Chat || body["stream_options"]["include_usage"] == true
}

/// Seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "answers on OpenAI's wires say when they were made")]
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What is asked, decoded.
pub(crate) struct Asked {
    request: Request,
    mode: Mode,
    /// Whether the client is told what its answer used.
    tells_usage: bool,
    /// What the answer repeats of it.
    repeated: Map<String, Value>,
}

impl Asked {
    /// A request as this target shall get it, for the model that it is asked for.
    pub(crate) fn read(
        wire: Wire,
        target: &Target,
        model: &str,
        head: &Parts,
        body: &Value,
    ) -> Result<Self, Failure> {
        let path = head.uri.path_and_query().map_or(head.uri.path(), |path| path.as_str());
        let (request, mode) = read(wire, target, model, &head.headers, Incoming { path, body })?;
        let (tells_usage, repeated) = (wants_usage(wire, body), wire.codec().repeated(body));
        Ok(Self { request, mode, tells_usage, repeated })
    }
}

fn read(
    wire: Wire,
    target: &Target,
    model: &str,
    headers: &HeaderMap,
    incoming: Incoming<'_>,
) -> Result<(Request, Mode), Failure> {
    let origin = Arc::new(Origin { wire, provider: target.name.clone(), model: model.to_owned() });
    let (mut request, mode) = wire.codec().decode_request(incoming, &origin)?;
    sealed::open_all(wire, &mut request.messages);
    request.model = Some(model.to_owned());
    request.provider = Some(target.name.clone());
    let same = target.provider.passthrough(wire).is_some();
    if let Some(field) = wire.codec().lost(&request, same) {
        return Err(unheeded(field, &target.name));
    }
    if !same {
        // Labels are for the books of the provider that the client believes it talks to; they may
        // name the user's account there, which is nobody else's business.
        request.metadata.clear();
        settle_effort(&mut request);
    }
    if wire == Wire::Anthropic {
        keep_betas(headers, &mut request);
    }
    Ok((request, mode))
}

/// An answer to another question than was asked would be worse than none.
fn unheeded(field: &str, provider: &str) -> Failure {
    let message = format!("{field}: `{provider}` cannot heed it behind this gateway");
    Failure::new(ErrorKind::InvalidRequest, message)
}

/// Some of Anthropic's clients say how long to think instead of how hard, which no other wire has words
/// for. Their own provider is told as they said it.
fn settle_effort(request: &mut Request) {
    let thinking = request.provider_options.get(Wire::Anthropic.name()).map(|options| &options["thinking"]);
    if let (Some(thinking), None) = (thinking, &request.reasoning_effort) {
        request.reasoning_effort = match (thinking["type"].as_str(), thinking["budget_tokens"].as_u64()) {
            (Some("enabled"), Some(budget)) if budget < 4_096 => Some(Effort::Low),
            (Some("enabled"), Some(budget)) if budget < 16_384 => Some(Effort::Medium),
            (Some("enabled" | "adaptive"), _) => Some(Effort::High),
            _ => None,
        };
    }
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
