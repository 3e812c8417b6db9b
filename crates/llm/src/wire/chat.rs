//! OpenAI Chat Completions, as OpenAI speaks it and as vLLM, Ollama, llama.cpp, Groq, OpenRouter,
//! litellm and others imitate it.
//!
//! The imitations differ in what they send and in what they take, so this module is liberal in what
//! it reads and writes only what all of them know. Four switches under `provider_options.chat` say
//! more to servers that can hear it; they never reach the body:
//!
//! | switch | effect |
//! |---|---|
//! | `developer_role` | developer messages keep their role instead of becoming system messages |
//! | `custom_tools` | custom tools are declared as such instead of as functions of one `input` |
//! | `send_reasoning` | reasoning goes back to its own origin as `reasoning_content` |
//! | `max_completion_tokens` | the limit is sent under this name instead of `max_tokens` |
//!
//! All other fields under `provider_options.chat` are merged into the body as they are.
//!
//! A tool's answer is text on this wire. Pictures that belong to one follow in a user message of
//! their own, after the last answer of the turn.

mod answer;
mod calls;
mod error;
mod history;
mod ids;
mod loose;
mod messages;
mod parts;
mod request;
mod response;
mod server;
mod stream;
mod usage;

use std::sync::Arc;

use serde_json::Value;

use super::{Codec, DecodeCx, EncodeCx, Encoded, Incoming, Mode, StreamDecoder, StreamEncoder, Wire};
use crate::{Error, FinishReason, Origin, Request, Response};

/// The codec of this wire. Its path, `/chat/completions`, goes below a base URL that ends in `/v1`.
#[derive(Clone, Copy, Debug)]
pub struct Chat;

impl Codec for Chat {
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

    fn lost(&self, request: &Request, _same: bool) -> Option<&'static str> {
        let options = request.provider_options.get(Wire::Chat.name())?;
        options["n"].as_u64().is_some_and(|answers| answers > 1).then_some("n")
    }

    fn encode_response(&self, response: &Response) -> Value {
        answer::encode(response)
    }

    fn date(&self, answer: &mut Value, created: u64) {
        answer["created"] = created.into();
    }

    fn failure(&self, reason: &FinishReason) -> Option<Error> {
        super::broken_off(reason)
    }

    fn stream_encoder(&self) -> Box<dyn StreamEncoder> {
        Box::new(answer::Encoder::default())
    }

    fn encode_error(&self, error: &Error) -> (u16, Value) {
        error::encode(error)
    }
}

#[cfg(test)]
mod tests;
