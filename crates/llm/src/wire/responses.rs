//! OpenAI Responses.
use super::{Codec, DecodeCx, EncodeCx, Encoded, Incoming, Mode, StreamDecoder, StreamEncoder};
use crate::{Error, Origin, Request, Response};
use serde_json::Value;
use std::sync::Arc;

/// The codec of this wire.
#[derive(Clone, Copy, Debug)]
pub struct Responses;

impl Codec for Responses {
    fn encode_request(&self, _request: &Request, _cx: &EncodeCx<'_>) -> Result<Encoded, Error> {
        todo!()
    }
    fn decode_response(&self, _body: &[u8], _cx: &DecodeCx) -> Result<Response, Error> {
        todo!()
    }
    fn stream_decoder(&self, _cx: DecodeCx) -> Box<dyn StreamDecoder> {
        todo!()
    }
    fn decode_error(&self, _status: u16, _body: &[u8]) -> Error {
        todo!()
    }
    fn decode_request(
        &self,
        _incoming: Incoming<'_>,
        _origin: &Arc<Origin>,
    ) -> Result<(Request, Mode), Error> {
        todo!()
    }
    fn encode_response(&self, _response: &Response) -> Value {
        todo!()
    }
    fn stream_encoder(&self) -> Box<dyn StreamEncoder> {
        todo!()
    }
    fn encode_error(&self, _error: &Error) -> (u16, Value) {
        todo!()
    }
}
