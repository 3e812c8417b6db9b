//! Gemini `generateContent` and `streamGenerateContent?alt=sse`.
//!
//! What is peculiar to this wire:
//! - The model and the mode stand in the path, not in the body.
//! - **Call ids** are not reliable. Where the API gives none, the decoder makes one that starts with
//!   `junto_call_`; such ids, and ids that another wire made, are never sent: the API then ties a
//!   result to its call by name and order. Ids that came off this wire are sent on the call and on
//!   its result alike.
//! - **Thought signatures** belong to the part they came on and go back on it. A call of another
//!   origin has none; the first such call of a model turn gets the documented stand-in (the API
//!   looks at the first call of each step only).
//! - An answer **stream** ends with its last chunk; there is no end marker.
//! - **Schemas** of tools are a subset of OpenAPI 3.0; a keyword outside it fails the whole request.
//!   The schema of a structured answer is plain JSON Schema (`responseJsonSchema`).
//!
//! Differences between a whole and a streamed answer: neighbouring plain texts of a stream join into
//! one part, while a text with a signature stays a part of its own; and an id made for a call is
//! derived from the chunk where the answer has no `responseId`.

mod answer;
mod body;
mod contents;
mod error;
mod json_schema;
mod part;
mod path;
mod request;
mod response;
#[cfg(test)]
mod round_trip;
mod schema;
mod server;
mod stream;
mod thinking;

use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{Codec, DecodeCx, EncodeCx, Encoded, Incoming, Mode, StreamDecoder, StreamEncoder, Wire};
use crate::{Error, Origin, Request, Response};

/// The codec of this wire.
#[derive(Clone, Copy, Debug)]
pub struct Gemini;

impl Codec for Gemini {
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
        server::decode(incoming, origin)
    }

    fn lost(&self, request: &Request, same: bool) -> Option<&'static str> {
        let options = request.provider_options.get(Wire::Gemini.name())?;
        let answers = options["generationConfig"]["candidateCount"].as_u64();
        if answers.is_some_and(|answers| answers > 1) {
            return Some("candidateCount");
        }
        (!same && !options["cachedContent"].is_null()).then_some("cachedContent")
    }

    fn encode_response(&self, response: &Response) -> Value {
        answer::encode(response)
    }

    fn stream_encoder(&self) -> Box<dyn StreamEncoder> {
        Box::new(answer::Encoder::default())
    }

    fn encode_error(&self, error: &Error) -> (u16, Value) {
        error::encode(error)
    }
}

/// What a call without a signature of its own carries so that the API takes it.
const SKIP_SIGNATURE: &str = "skip_thought_signature_validator";

/// How the ids start that were made here because the API gave none.
const CALL_PREFIX: &str = "junto_call_";

/// An id for a call that came without one: the same for the same answer, different for another.
/// `basis` names the answer: its id, else its bytes, whose token counts differ from turn to turn.
fn made_id(basis: &[u8], index: usize) -> String {
    let hash = Sha256::digest(basis).iter().take(8).fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    format!("{CALL_PREFIX}{hash:016x}_{index}")
}

fn is_made_id(id: &str) -> bool {
    id.starts_with(CALL_PREFIX)
}

/// A field by its camelCase name; the API takes snake_case too.
fn field<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    map.get(name).or_else(|| map.iter().find(|(key, _)| camel(key) == name).map(|(_, value)| value))
}

/// A key in camelCase.
fn camel(key: &str) -> std::borrow::Cow<'_, str> {
    if !key.contains('_') {
        return key.into();
    }
    let mut out = String::with_capacity(key.len());
    let mut upper = false;
    for c in key.chars() {
        if c == '_' {
            upper = !out.is_empty();
        } else {
            out.push(if upper { c.to_ascii_uppercase() } else { c });
            upper = false;
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_read_in_both_spellings() {
        for (key, expected) in
            [("text", "text"), ("function_call", "functionCall"), ("_x_y", "xY"), ("aB", "aB")]
        {
            assert_eq!(camel(key), expected);
        }
        let map = json!({"top_p": 1, "topK": 2});
        let map = map.as_object().unwrap();
        assert_eq!(field(map, "topP"), Some(&json!(1)));
        assert_eq!(field(map, "topK"), Some(&json!(2)));
        assert_eq!(field(map, "topQ"), None);
    }

    #[test]
    fn made_ids_are_recognisable_and_differ() {
        let ids = [made_id(b"r1", 0), made_id(b"r1", 1), made_id(b"r2", 0)];
        assert!(ids.iter().all(|id| is_made_id(id)));
        assert!(ids[0] != ids[1] && ids[0] != ids[2]);
        assert_eq!(ids[0], made_id(b"r1", 0));
    }
}
