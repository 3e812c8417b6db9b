mod errors;
mod properties;
mod requests;
mod responses;
mod servers;
mod streams;

use std::sync::Arc;

use serde_json::{Value, json};

use super::Chat;
use crate::names::NameMap;
use crate::wire::{Codec as _, DecodeCx, EncodeCx, Encoded, Incoming, Mode, Wire};
use crate::{
    Accumulator, Content, Error, Message, Origin, Part, Request, Response, Role, StreamEvent, ToolCall,
    ToolKind, ToolSpec, sse,
};

fn origin() -> Origin {
    Origin { wire: Wire::Chat, provider: "local".into(), model: "m".into() }
}

fn encoded_as(request: &Request, mode: Mode) -> Result<Encoded, Error> {
    let names = NameMap::for_request(request, Wire::Chat);
    let origin = origin();
    let cx = EncodeCx { origin: &origin, mode, session: None, model: None, names: &names, auto_cache: true };
    Chat.encode_request(request, &cx)
}

fn encoded(request: &Request) -> Encoded {
    encoded_as(request, Mode::Complete).unwrap()
}

fn body(request: &Request) -> Value {
    encoded(request).body
}

fn with_options(mut request: Request, options: Value) -> Request {
    request.provider_options.insert("chat".into(), options);
    request
}

fn decode_cx(request: &Request) -> DecodeCx {
    DecodeCx {
        origin: Arc::new(origin()),
        names: Arc::new(NameMap::for_request(request, Wire::Chat)),
        warnings: Vec::new(),
        rate_limit: None,
    }
}

fn decoded(body: &Value) -> Result<Response, Error> {
    Chat.decode_response(body.to_string().as_bytes(), &decode_cx(&Request::default()))
}

/// The events of a stream of bytes, up to its end or failure.
fn events_for(request: &Request, bytes: &[u8]) -> (Vec<StreamEvent>, Result<(), Error>) {
    let mut decoder = Chat.stream_decoder(decode_cx(request));
    let mut frames = sse::Decoder::new();
    let mut out = Vec::new();
    let result = frames
        .push(bytes, |frame| decoder.frame(frame, &mut out))
        .and_then(|()| frames.finish(|frame| decoder.frame(frame, &mut out)))
        .and_then(|()| decoder.end(&mut out));
    (out, result)
}

fn folded(events: &[StreamEvent]) -> Response {
    let mut accumulator = Accumulator::new();
    for event in events {
        accumulator.push(event);
    }
    accumulator.into_response()
}

fn served(body: &Value) -> Result<(Request, Mode), Error> {
    Chat.decode_request(Incoming { path: "/chat/completions", body }, &Arc::new(origin()))
}

fn function(name: &str) -> ToolSpec {
    ToolSpec::foreign(name, "does it", json!({"type": "object"}))
}

fn custom(name: &str) -> ToolSpec {
    ToolSpec { name: name.into(), description: String::new(), kind: ToolKind::Custom { format: None } }
}

fn calling(calls: impl IntoIterator<Item = ToolCall>) -> Message {
    Message::new(Role::Assistant, calls.into_iter().map(|call| Part::new(Content::ToolCall(call))).collect())
}
