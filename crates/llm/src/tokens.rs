//! How many tokens a request is, without asking anyone.
//!
//! OpenAI's models are counted with their own vocabulary. Nobody has published those of the others' current
//! models, so for them each kind of text (prose, code, other scripts, digits) weighs as much more or less as
//! was measured. Tools, pictures, documents and what a vendor puts around each message are counted too.
//!
//! ```
//! use junto_llm::{Request, Wire, tokens};
//! let count = tokens::count(&Request::prompt("Hello, world"), "gpt-5.5", Wire::Responses);
//! assert_eq!((count.tokens, count.exact), (9, true));
//! ```
//!
//! The vocabulary is loaded when it is first needed, which takes some milliseconds, and a large request takes
//! about a tenth of a second for a megabyte: call this from where that may be.

mod family;
mod media;
mod picture_size;
mod split;
mod vocabulary;

use serde::Serialize;
use serde_json::Value;

pub use self::picture_size::of as picture_size;

use self::family::{Family, Frame, Schema, Tally};
use self::media::Paper;
use self::vocabulary::{O200K, Scratch};
use crate::{
    Content, Media, Message, Part, Request, ResponseFormat, Role, ToolCall, ToolChoice, ToolKind, ToolResult,
    ToolSpec, Wire,
};

/// How many tokens something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The tokens; never 0.
    pub tokens: u64,
    /// Whether this is what the provider will say: it was counted with the model's own vocabulary, and there
    /// is nothing in it whose cost is only estimated (tools, media, reasoning).
    pub exact: bool,
}

/// Counts the input tokens of a request as this model would, asked on this wire. Media that are named by URL
/// or path are assumed to be of common size.
pub fn count(request: &Request, model: &str, wire: Wire) -> Count {
    let mut counter = Counter::new(model, wire);
    counter.request(request);
    counter.done()
}

/// Counts the tokens of a text alone, with nothing around it.
pub fn count_text(text: &str, model: &str, wire: Wire) -> Count {
    let mut counter = Counter::new(model, wire);
    counter.text(text);
    counter.done()
}

/// What has been counted so far.
struct Counter {
    family: &'static Family,
    tokens: f64,
    exact: bool,
    scratch: Scratch,
}

impl Counter {
    fn new(model: &str, wire: Wire) -> Self {
        let family = Family::of(model, wire);
        tracing::trace!(model, family = family.name, "tokens are counted");
        let exact = family.vocabulary && family.has(model);
        Self { family, tokens: 0.0, exact, scratch: Scratch::default() }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float-to-int cast saturates"
    )]
    fn done(self) -> Count {
        Count { tokens: (self.tokens.round() as u64).max(1), exact: self.exact }
    }

    fn text(&mut self, text: &str) {
        let mut tally = Tally::default();
        for (piece, kind) in split::pieces(text) {
            tally.add(piece, kind, O200K.count(piece.as_bytes(), &mut self.scratch));
        }
        self.tokens += self.family.tokens(&tally);
    }

    /// What a vendor puts around, by a name in the family's frame.
    fn frame(&mut self, part: impl Fn(&Frame) -> f64) {
        self.tokens += part(&self.family.frame);
    }

    /// What can only be estimated.
    fn estimate(&mut self, tokens: f64) {
        self.tokens += tokens;
        self.exact = false;
    }

    fn request(&mut self, request: &Request) {
        self.frame(|frame| frame.base);
        self.tools(&request.tools, request.tool_choice.as_ref());
        if let Some(ResponseFormat::JsonSchema { schema, .. }) = &request.response_format {
            self.exact = false;
            if let Some(format) = self.family.frame.format {
                self.tokens += format;
                self.json(schema);
            }
        }
        let newest = request.messages.iter().rposition(|message| message.role == Role::User);
        for (index, message) in request.messages.iter().enumerate() {
            self.message(message, newest.is_none_or(|newest| index > newest));
        }
    }

    /// A message. Reasoning counts while the turn it belongs to is not over; later it is left out by most.
    fn message(&mut self, message: &Message, reasons: bool) {
        self.frame(|frame| frame.message);
        if let Some(name) = &message.name {
            self.text(name);
        }
        for part in &message.content {
            self.part(part, reasons);
        }
    }

    fn part(&mut self, part: &Part, reasons: bool) {
        match part.content() {
            Content::Text(text) => self.text(text),
            Content::Image(media) => self.image(media),
            Content::Audio(media) => self.estimate(self.family.second * media::seconds(media)),
            Content::Document(media) => self.document(media),
            Content::ToolCall(call) => self.call(call),
            Content::ToolResult(result) => self.result(result),
            Content::Thinking(thinking) => {
                self.exact = false;
                if reasons {
                    match (&*thinking.text, &thinking.signature) {
                        ("", Some(sealed)) => self.sealed(sealed),
                        (text, _) => self.text(text),
                    }
                }
            }
            Content::RedactedThinking(sealed) => {
                self.exact = false;
                if reasons {
                    self.sealed(sealed);
                }
            }
            // The tools of such an item are among the request's.
            Content::Other(item) if item["type"] == "additional_tools" => {}
            Content::Other(item) => {
                self.exact = false;
                self.json(item);
            }
        }
    }

    /// Reasoning in base64, encrypted: about four bytes of it were a token.
    fn sealed(&mut self, sealed: &str) {
        self.estimate(f64::from(u32::try_from(sealed.len()).unwrap_or(u32::MAX)) * 3.0 / 16.0);
    }

    fn image(&mut self, media: &Media) {
        self.estimate(self.family.image.tokens(media));
    }

    #[expect(clippy::cast_precision_loss, reason = "no document has 2^52 pages")]
    fn document(&mut self, media: &Media) {
        self.exact = false;
        if let Some(name) = &media.name {
            self.text(name);
        }
        match Paper::of(media) {
            Paper::Text(text) => self.text(text),
            Paper::Pages(pages) => self.estimate(pages as f64 * self.family.page),
        }
    }

    fn call(&mut self, call: &ToolCall) {
        self.exact = false;
        self.frame(|frame| frame.call);
        let arguments = call.arguments.as_object().map_or(1, serde_json::Map::len);
        self.frame(|frame| frame.argument * f64::from(u32::try_from(arguments).unwrap_or(u32::MAX)));
        self.text(&call.name);
        self.text(&call.raw_arguments);
    }

    fn result(&mut self, result: &ToolResult) {
        self.exact = false;
        self.frame(|frame| frame.result);
        self.text(&result.output.to_text());
        for image in &result.images {
            self.image(image);
        }
    }

    fn tools(&mut self, tools: &[ToolSpec], choice: Option<&ToolChoice>) {
        if tools.is_empty() {
            return;
        }
        self.exact = false;
        self.frame(|frame| frame.tools);
        if matches!(choice, Some(ToolChoice::Required | ToolChoice::Named(_))) {
            self.frame(|frame| frame.forced);
        }
        for tool in tools {
            self.tool(tool);
        }
    }

    fn tool(&mut self, tool: &ToolSpec) {
        // The tools of a namespace are declared beside it.
        if matches!(&tool.kind, ToolKind::Hosted { item, .. } if item["type"] == "namespace") {
            return;
        }
        self.frame(|frame| frame.tool);
        self.text(&tool.name);
        self.text(&tool.description);
        match &tool.kind {
            ToolKind::Function { parameters, .. } => self.schema(parameters),
            ToolKind::Custom { format } => {
                if let Some(format) = format {
                    self.json(format);
                }
            }
            ToolKind::Hosted { item, .. } => {
                self.frame(|frame| frame.hosted);
                self.json(item);
            }
        }
    }

    fn schema(&mut self, schema: &Value) {
        match self.family.schema {
            Schema::Outline => self.outline(schema),
            Schema::Json => self.json(schema),
        }
    }

    /// The names, types and descriptions of a schema, which is all that some vendors show of it.
    fn outline(&mut self, schema: &Value) {
        if let Some(description) = schema.get("description").and_then(Value::as_str) {
            self.text(description);
        }
        for group in ["properties", "$defs", "definitions"] {
            for (name, inner) in schema.get(group).and_then(Value::as_object).into_iter().flatten() {
                self.frame(|frame| frame.property);
                self.text(name);
                self.outline(inner);
            }
        }
        for choices in ["anyOf", "oneOf", "allOf"] {
            for inner in schema.get(choices).and_then(Value::as_array).into_iter().flatten() {
                self.outline(inner);
            }
        }
        for inner in ["items", "additionalProperties"].iter().filter_map(|name| schema.get(name)) {
            self.outline(inner);
        }
        for value in schema.get("enum").and_then(Value::as_array).into_iter().flatten() {
            self.json(value);
        }
    }

    fn json(&mut self, value: &impl Serialize) {
        // It fails only where serializing does, and what cannot be serialized is not sent.
        self.text(&serde_json::to_string(value).unwrap_or_default());
    }
}
