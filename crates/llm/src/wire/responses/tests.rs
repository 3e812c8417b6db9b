//! What a client and a server on this wire would lose if the codec failed.

mod answers;
mod requests;
mod round_trip;
mod server;
mod streams;

use std::sync::Arc;

use serde_json::{Value, json};

use super::Responses;
use crate::names::NameMap;
use crate::sse;
use crate::wire::{Codec as _, DecodeCx, EncodeCx, Encoded, Incoming, Mode};
use crate::{Accumulator, Error, Origin, Request, Response, StreamEvent, Wire};

fn origin() -> Arc<Origin> {
    Arc::new(Origin { wire: Wire::Responses, provider: "openai".into(), model: "gpt-5.5".into() })
}

fn encode(request: &Request) -> Result<Encoded, Error> {
    let names = NameMap::for_request(request, Wire::Responses);
    let origin = origin();
    let cx = EncodeCx {
        origin: &origin,
        mode: Mode::Complete,
        session: None,
        model: None,
        names: &names,
        auto_cache: true,
    };
    Responses.encode_request(request, &cx)
}

fn body(request: &Request) -> Value {
    encode(request).unwrap().body
}

fn decode_cx() -> DecodeCx {
    DecodeCx {
        origin: origin(),
        names: Arc::new(NameMap::new(["get.weather"], Wire::Responses)),
        warnings: Vec::new(),
        rate_limit: None,
    }
}

fn decode(answer: &Value) -> Result<Response, Error> {
    Responses.decode_response(answer.to_string().as_bytes(), &decode_cx())
}

fn receive(body: &Value) -> Result<(Request, Mode), Error> {
    Responses.decode_request(Incoming { path: "/v1/responses", body }, &origin())
}

/// Reads a stream of these events, named by their types as the provider names them.
fn read_stream(events: &[Value]) -> Result<Vec<StreamEvent>, Error> {
    let mut bytes = Vec::new();
    for event in events {
        sse::encode(event["type"].as_str().unwrap_or_default(), &event.to_string(), &mut bytes);
    }
    read_bytes(&bytes)
}

fn read_bytes(bytes: &[u8]) -> Result<Vec<StreamEvent>, Error> {
    let mut frames = sse::Decoder::new();
    let mut decoder = Responses.stream_decoder(decode_cx());
    let mut events = Vec::new();
    frames.push(bytes, |frame| decoder.frame(frame, &mut events))?;
    frames.finish(|frame| decoder.frame(frame, &mut events))?;
    decoder.end(&mut events)?;
    Ok(events)
}

fn accumulate(events: &[StreamEvent]) -> Response {
    let mut accumulator = Accumulator::new();
    for event in events {
        accumulator.push(event);
    }
    accumulator.into_response()
}

fn created() -> Value {
    json!({"type": "response.created", "sequence_number": 0, "response": {
        "id": "resp_1", "object": "response", "model": "gpt-5.5-2026-04-01", "status": "in_progress", "output": []
    }})
}

fn completed(output: Value) -> Value {
    json!({"type": "response.completed", "sequence_number": 99, "response": {
        "id": "resp_1", "object": "response", "model": "gpt-5.5-2026-04-01", "status": "completed",
        "error": null, "incomplete_details": null, "output": output,
        "usage": {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 8},
            "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 12}, "total_tokens": 120,
        },
    }})
}
