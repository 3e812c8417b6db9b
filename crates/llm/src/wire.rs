//! The model wires, each in both directions.
//!
//! A [`Codec`] is pure: values to bytes and back, no IO, no clock. The client side encodes requests
//! and decodes answers; the server side decodes requests and encodes answers. What one side writes
//! the other can read, which tests check for every wire.

pub mod anthropic;
pub mod chat;
mod custom;
pub mod gemini;
mod hosted;
mod json;
pub mod responses;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalog::ModelInfo;
use crate::names::NameMap;
use crate::sse::Frame;
use crate::{
    Error, ErrorKind, Finish, FinishReason, Origin, RateLimit, Request, Response, StreamEvent, ToolChoice,
    Warning,
};

/// A model wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    #[serde(rename = "openai", alias = "responses")]
    Responses,
    /// Gemini generateContent.
    Gemini,
    /// OpenAI Chat Completions, for compatible endpoints.
    Chat,
}

impl Wire {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Responses, Self::Gemini, Self::Chat];

    /// The name in configuration and in `provider_options`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Responses => "openai",
            Self::Gemini => "gemini",
            Self::Chat => "chat",
        }
    }

    /// The wire's codec.
    pub fn codec(self) -> &'static dyn Codec {
        match self {
            Self::Anthropic => &anthropic::Anthropic,
            Self::Responses => &responses::Responses,
            Self::Gemini => &gemini::Gemini,
            Self::Chat => &chat::Chat,
        }
    }
}

/// Whether an answer comes whole or in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Whole.
    Complete,
    /// As server-sent events.
    Stream,
}

/// What an encoder needs to know beside the request.
#[derive(Clone, Debug)]
pub struct EncodeCx<'a> {
    /// Where the request goes. Parts of the same origin go back verbatim.
    pub origin: &'a Origin,
    /// Whole or streamed.
    pub mode: Mode,
    /// The session, for wires with a cache key.
    pub session: Option<&'a str>,
    /// What the catalog knows of the model.
    pub model: Option<&'a ModelInfo>,
    /// How the request's tool names are spelled on this wire.
    pub names: &'a NameMap,
    /// Whether to place cache breakpoints on wires that need them.
    pub auto_cache: bool,
}

/// A request, ready to be sent.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The path below the base URL, with its query: `/v1/messages`.
    pub path: String,
    /// Headers that depend on the request, for instance betas. Authentication is not among them.
    pub headers: Vec<(&'static str, String)>,
    /// The body. What grows from turn to turn comes last, so that successive requests share the
    /// longest prefix.
    pub body: Value,
    /// What was translated or dropped.
    pub warnings: Vec<Warning>,
}

/// What a decoder needs to know beside the bytes.
#[derive(Clone, Debug)]
pub struct DecodeCx {
    /// Where the answer comes from; the parts keep it.
    pub origin: Arc<Origin>,
    /// How the request's tool names are spelled on this wire.
    pub names: Arc<NameMap>,
    /// The encoder's warnings, to be handed on with the answer.
    pub warnings: Vec<Warning>,
    /// What the headers said about limits.
    pub rate_limit: Option<RateLimit>,
}

/// A request as a server got it.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// The path with its query; Gemini keeps the model and the mode there.
    pub path: &'a str,
    /// The body.
    pub body: &'a Value,
}

/// What a server's answer says beside what the model said. Codecs see neither a clock nor, when they
/// write an answer, its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerCx {
    /// When the answer was begun, in seconds since 1970, for wires that date their answers.
    pub created: u64,
    /// Whether a stream tells its usage, on the wire whose clients have to ask for that (Chat
    /// Completions): others stumble over the chunk that has nothing else in it.
    pub tells_usage: bool,
    /// What the answer repeats of its request: [`Codec::repeated`].
    pub repeated: Map<String, Value>,
}

impl Default for AnswerCx {
    /// At no time in particular, with its usage.
    fn default() -> Self {
        Self { created: 0, tells_usage: true, repeated: Map::new() }
    }
}

/// One wire, both directions. Pure.
pub trait Codec: Send + Sync {
    // ---- client ----

    /// Writes a request. Media given by path must have been loaded before.
    ///
    /// # Errors
    /// `configuration` or `invalid_request` for what this wire cannot say; nothing is dropped
    /// silently.
    fn encode_request(&self, request: &Request, cx: &EncodeCx<'_>) -> Result<Encoded, Error>;

    /// Reads a whole answer.
    ///
    /// # Errors
    /// The error the body carries; `server` if it makes no sense.
    fn decode_response(&self, body: &[u8], cx: &DecodeCx) -> Result<Response, Error>;

    /// Reads a streamed answer.
    fn stream_decoder(&self, cx: DecodeCx) -> Box<dyn StreamDecoder>;

    /// Reads an answer that is not a success. The kind follows the wire's codes, else its message,
    /// else the status.
    fn decode_error(&self, status: u16, body: &[u8]) -> Error;

    /// Whether the wire can be made to choose tools that way.
    fn supports_tool_choice(&self, _choice: &ToolChoice) -> bool {
        true
    }

    // ---- server ----

    /// Reads a request. Parts are marked with `origin`, so that they go back verbatim to the
    /// provider and model it names. Body fields without a place in [`Request`] go to
    /// `provider_options` under the wire's name.
    ///
    /// # Errors
    /// `invalid_request`, saying where.
    fn decode_request(&self, incoming: Incoming<'_>, origin: &Arc<Origin>) -> Result<(Request, Mode), Error>;

    /// The field of a request read off this wire without which it would be another request, and which is
    /// lost on the way to its provider: because only a provider on this very wire understands it (`same`
    /// says whether this is one), or because an answer that is read and written again cannot heed it.
    fn lost(&self, _request: &Request, _same: bool) -> Option<&'static str> {
        None
    }

    /// Writes a whole answer.
    fn encode_response(&self, response: &Response) -> Value;

    /// The failure that an answer's end is, where the wire's answers have no word for it: a client would
    /// take it for a model that has said all it had to say.
    fn failure(&self, _reason: &FinishReason) -> Option<Error> {
        None
    }

    /// Dates a whole answer, on wires that do.
    fn date(&self, _answer: &mut Value, _created: u64) {}

    /// Fields of a request, as it came, that answers on this wire repeat: in whole answers they take the place of their
    /// defaults.
    fn repeated(&self, _request: &Value) -> Map<String, Value> {
        Map::new()
    }

    /// Writes a streamed answer.
    fn stream_encoder(&self) -> Box<dyn StreamEncoder>;

    /// Writes a failure: the status and the wire's envelope.
    fn encode_error(&self, error: &Error) -> (u16, Value);
}

/// The failure that an answer ended in, if it did.
fn broken_off(reason: &FinishReason) -> Option<Error> {
    let why = reason.raw.as_deref().map_or_else(String::new, |raw| format!(" ({raw})"));
    let error = || Error::new(ErrorKind::Server, format!("the model broke its answer off{why}"));
    (reason.unified == Finish::Error).then(error)
}

/// Reads one streamed answer, frame by frame. Holds no text that it has handed on.
pub trait StreamDecoder: Send {
    /// Takes in a frame and appends the events it gives.
    ///
    /// # Errors
    /// The error the frame carries; `stream` if it makes no sense. The stream is over then.
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<StreamEvent>) -> Result<(), Error>;

    /// At the end of the bytes.
    ///
    /// # Errors
    /// `stream` if the answer is not complete.
    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Error>;
}

/// Writes one streamed answer as server-sent events.
pub trait StreamEncoder: Send {
    /// Appends the bytes of one event. Events without a place on the wire append nothing.
    fn event(&mut self, event: &StreamEvent, out: &mut Vec<u8>);

    /// Appends a failure in the middle of the stream; the stream is over then.
    fn error(&mut self, error: &Error, out: &mut Vec<u8>);

    /// Says what the events do not; before the first of them.
    fn set(&mut self, _cx: &AnswerCx) {}

    /// Appends something that keeps a slow connection alive and means nothing. An answer should have
    /// begun by then: on some wires it is an event, and no event comes before the first.
    fn keep_alive(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b": keep-alive\n\n");
    }
}
