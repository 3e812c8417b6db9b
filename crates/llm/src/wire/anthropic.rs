//! Anthropic Messages, in both directions.
//!
//! What a request may carry for this wire alone stands in `provider_options.anthropic`. Its fields
//! are merged into the body (objects deeply, `null` removes a field) except these, which are meant
//! for the encoder:
//!
//! | field | meaning |
//! |---|---|
//! | `beta_headers` | list or comma-separated text; becomes the header `anthropic-beta` |
//! | `mid_system` | whether system messages after the first turn keep their place and role |
//! | `auto_cache` | `false` places no cache breakpoints |
//! | `tool_fields` | by tool name: further fields of its declaration, such as `defer_loading` |
//!
//! **Structured answers** use `output_config.format` where the model takes it. Where it does not,
//! the encoder declares a tool of a reserved name and forces its call; both decoders turn a call of
//! that name back into a text part, so the caller sees JSON text either way.

mod answer;
mod blocks;
mod cache;
mod effort;
mod error;
mod ids;
mod media;
mod messages;
mod options;
mod request;
mod response;
#[cfg(test)]
mod round_trip;
mod schema;
mod server;
mod server_block;
mod stream;
mod stream_block;
mod stream_encoder;
#[cfg(test)]
mod testing;
mod tools;

use std::sync::Arc;

use serde_json::Value;

use super::{Codec, DecodeCx, EncodeCx, Encoded, Incoming, Mode, StreamDecoder, StreamEncoder};
use crate::{Error, FinishReason, Origin, Request, Response};

/// The tool whose call is the answer, on models without structured output. No tool of our own
/// constructor can have this name, since those start with a letter.
const ANSWER_TOOL: &str = "_json_answer";

/// The codec of this wire.
#[derive(Clone, Copy, Debug)]
pub struct Anthropic;

impl Codec for Anthropic {
    fn encode_request(&self, request: &Request, cx: &EncodeCx<'_>) -> Result<Encoded, Error> {
        request::encode(request, cx)
    }

    fn decode_response(&self, body: &[u8], cx: &DecodeCx) -> Result<Response, Error> {
        response::decode(body, cx)
    }

    fn stream_decoder(&self, cx: DecodeCx) -> Box<dyn StreamDecoder> {
        Box::new(stream::Decoder::new(cx))
    }

    fn decode_error(&self, status: u16, body: &[u8]) -> Error {
        error::decode(status, body)
    }

    fn decode_request(&self, incoming: Incoming<'_>, origin: &Arc<Origin>) -> Result<(Request, Mode), Error> {
        server::decode(incoming.body, origin)
    }

    fn encode_response(&self, response: &Response) -> Value {
        answer::encode(response)
    }

    fn failure(&self, reason: &FinishReason) -> Option<Error> {
        super::broken_off(reason)
    }

    fn stream_encoder(&self) -> Box<dyn StreamEncoder> {
        Box::<stream_encoder::Encoder>::default()
    }

    fn encode_error(&self, error: &Error) -> (u16, Value) {
        error::encode(error)
    }
}
