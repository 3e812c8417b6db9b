//! OpenAI Responses.
//!
//! A conversation is a flat list of items: messages, reasoning, calls and their outputs stand side
//! by side, and the answer is again such a list. Each item read off the wire is kept whole beside
//! its part, so that a conversation with one model goes back to it exactly as it came.
//!
//! | file | subject |
//! |---|---|
//! | `request` | the body a client sends |
//! | `input` | a conversation as items |
//! | `incoming` | the body and the items as a server reads them |
//! | `namespaces` | tools with two names, and tools in the conversation |
//! | `items` | the items of an answer, read and written |
//! | `response` | the whole answer, read and written |
//! | `stream`, `segment` | the streamed answer, read |
//! | `stream_encoder` | the streamed answer, written |
//! | `error` | failures, read and written |

mod call_ids;
mod error;
mod incoming;
mod input;
mod items;
mod namespaces;
mod request;
mod response;
mod segment;
mod stream;
mod stream_encoder;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Codec, DecodeCx, EncodeCx, Encoded, Incoming, Mode, StreamDecoder, StreamEncoder};
use crate::{Error, Origin, Request, Response};

/// The codec of this wire.
#[derive(Clone, Copy, Debug)]
pub struct Responses;

impl Codec for Responses {
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
        incoming::decode(incoming.body, origin)
    }

    fn lost(&self, request: &Request, same: bool) -> Option<&'static str> {
        incoming::lost(request, same)
    }

    fn encode_response(&self, response: &Response) -> Value {
        response::encode(response)
    }

    fn date(&self, answer: &mut Value, created: u64) {
        response::date(answer, created);
    }

    fn repeated(&self, request: &Value) -> Map<String, Value> {
        let fields = response::REPEATED.iter().filter_map(|name| Some((*name, request.get(name)?)));
        fields
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.into(), value.clone()))
            .collect()
    }

    fn stream_encoder(&self) -> Box<dyn StreamEncoder> {
        Box::new(stream_encoder::Encoder::default())
    }

    fn encode_error(&self, error: &Error) -> (u16, Value) {
        error::encode(error)
    }
}
