//! Reads a whole answer.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{error, ids, usage};
use crate::names::NameMap;
use crate::wire::{DecodeCx, json};
use crate::{
    Content, Error, ErrorKind, Finish, FinishReason, Message, Part, RawBody, Response, Role, Thinking,
    ToolCall, ToolCallKind, Usage,
};

/// The fields of an answer that say something.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    error: Value,
    id: Value,
    created: Value,
    model: Value,
    choices: Value,
    usage: Value,
}

pub(super) fn decode(body: &[u8], cx: &DecodeCx) -> Result<Response, Error> {
    let nonsense = |what: &str| Error::new(ErrorKind::Server, format!("the answer {what}")).with_body(body);
    let answer: Answer = json::fields(body).map_err(|e| nonsense("is not JSON").with_source(e))?;
    if !answer.error.is_null()
        && let Some(error) = error::within(&serde_json::from_slice(body).unwrap_or_default())
    {
        return Err(error.with_body(body));
    }
    let choice = answer.choices.get(0).ok_or_else(|| nonsense("has no choices"))?;
    if let Some(error) = error::within(choice) {
        return Err(error.with_body(body));
    }
    let message = choice.get("message").ok_or_else(|| nonsense("has no message"))?;

    let id = answer.id.as_str().unwrap_or_default();
    let created = answer.created.as_f64().unwrap_or(0.0);
    let mut parts = Parts { cx, list: Vec::new(), refused: false };
    for piece in pieces(message) {
        parts.push(piece);
    }
    let mut names = Names::new(&cx.names, id, created);
    for item in calls(message) {
        let (call, raw) = names.call(&item);
        parts.received(Content::ToolCall(call), raw);
    }

    Ok(Response {
        id: id.to_owned(),
        model: answer.model.as_str().filter(|m| !m.is_empty()).unwrap_or(&cx.origin.model).to_owned(),
        provider: cx.origin.provider.clone(),
        finish_reason: finish_reason(text(choice, "finish_reason"), !names.used.is_empty(), parts.refused),
        message: Message::new(Role::Assistant, parts.list),
        usage: Some(answer.usage).filter(Value::is_object).map_or_else(Usage::default, usage::read),
        warnings: cx.warnings.clone(),
        rate_limit: cx.rate_limit.clone(),
        raw: Some(RawBody::new(body.to_vec())),
    })
}

/// A stretch of what the model said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Reasoning(String),
    Refusal(String),
}

impl Piece {
    /// The content it would be by itself.
    pub(super) fn into_content(self) -> Content {
        match self {
            Self::Text(text) | Self::Refusal(text) => Content::Text(text),
            Self::Reasoning(text) => Content::Thinking(Thinking { text, signature: None }),
        }
    }
}

/// What a message says, reasoning first. Empty stretches are left out.
fn pieces(message: &Value) -> Vec<Piece> {
    let reasoning = text(message, "reasoning_content").filter(|r| !r.is_empty());
    let reasoning = reasoning.or_else(|| text(message, "reasoning"));
    let mut pieces: Vec<Piece> = reasoning.map(|r| Piece::Reasoning(r.to_owned())).into_iter().collect();
    match &message["content"] {
        Value::String(content) => pieces.push(Piece::Text(content.clone())),
        Value::Array(items) => pieces.extend(items.iter().filter_map(content_piece)),
        _ => {}
    }
    pieces.extend(text(message, "refusal").map(|r| Piece::Refusal(r.to_owned())));
    pieces.retain(|(Piece::Text(s) | Piece::Reasoning(s) | Piece::Refusal(s))| !s.is_empty());
    pieces
}

/// What an item of a content list says: a text, a refusal, or reasoning, which is itself a text or a
/// list of texts.
pub(super) fn content_piece(item: &Value) -> Option<Piece> {
    if let Some(refusal) = text(item, "refusal") {
        return Some(Piece::Refusal(refusal.to_owned()));
    }
    match &item["thinking"] {
        Value::String(thinking) => return Some(Piece::Reasoning(thinking.clone())),
        Value::Array(items) => {
            return Some(Piece::Reasoning(items.iter().filter_map(|item| text(item, "text")).collect()));
        }
        _ => {}
    }
    text(item, "text").map(|text| Piece::Text(text.to_owned()))
}

struct Parts<'a> {
    cx: &'a DecodeCx,
    list: Vec<Part>,
    refused: bool,
}

impl Parts<'_> {
    fn received(&mut self, content: Content, raw: Option<Value>) {
        self.list.push(Part::received(content, Arc::clone(&self.cx.origin), raw));
    }

    /// Appends a piece; it continues the part before it if that is of the same kind, as it would in
    /// a stream.
    fn push(&mut self, piece: Piece) {
        self.refused |= matches!(piece, Piece::Refusal(_));
        let last = self.list.last().map(Part::content);
        let content = match (piece, last) {
            (Piece::Text(more) | Piece::Refusal(more), Some(Content::Text(text))) => {
                let whole = format!("{text}{more}");
                self.list.pop();
                Content::Text(whole)
            }
            (Piece::Reasoning(more), Some(Content::Thinking(thinking))) => {
                let text = format!("{}{more}", thinking.text);
                self.list.pop();
                Content::Thinking(Thinking { text, signature: None })
            }
            (piece, _) => piece.into_content(),
        };
        self.received(content, None);
    }
}

/// A call as it stands on the wire.
#[derive(Debug)]
pub(super) struct WireCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) kind: ToolCallKind,
    /// What some servers hang on a call and want back with it, signatures for instance.
    pub(super) extra: Option<Value>,
}

fn calls(message: &Value) -> Vec<WireCall> {
    let listed = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice).iter().map(wire_call);
    let legacy = message.get("function_call").filter(|call| call.is_object()).map(|function| WireCall {
        id: String::new(),
        name: text(function, "name").unwrap_or_default().to_owned(),
        arguments: arguments(&function["arguments"]),
        kind: ToolCallKind::Function,
        extra: None,
    });
    listed.chain(legacy).collect()
}

/// Reads an item of `tool_calls`.
pub(super) fn wire_call(item: &Value) -> WireCall {
    let (body, input, kind) = match item.get("custom") {
        Some(custom) => (custom, "input", ToolCallKind::Custom),
        None => (&item["function"], "arguments", ToolCallKind::Function),
    };
    WireCall {
        id: text(item, "id").unwrap_or_default().to_owned(),
        name: text(body, "name").unwrap_or_default().to_owned(),
        arguments: arguments(&body[input]),
        kind,
        extra: item.get("extra_content").filter(|extra| !extra.is_null()).cloned(),
    }
}

fn arguments(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) => value.to_string(),
        _ => String::new(),
    }
}

/// Gives the calls of one answer their ids and names.
#[derive(Debug)]
pub(super) struct Names {
    map: Arc<NameMap>,
    answer: String,
    created: u64,
    used: HashSet<String>,
}

impl Names {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float-to-int cast saturates"
    )]
    fn new(map: &Arc<NameMap>, answer: &str, created: f64) -> Self {
        Self::of(map, answer, created as u64)
    }

    pub(super) fn of(map: &Arc<NameMap>, answer: &str, created: u64) -> Self {
        Self { map: Arc::clone(map), answer: answer.to_owned(), created, used: HashSet::new() }
    }

    /// The call's id: the server's, if it gave one and gave it once.
    pub(super) fn id(&mut self, given: &str, name: &str) -> String {
        let place = self.used.len();
        let id = if given.is_empty() || self.used.contains(given) {
            ids::synthesize(&self.answer, self.created, place, name)
        } else {
            given.to_owned()
        };
        self.used.insert(id.clone());
        id
    }

    /// The caller's name for a tool, and how the tool is called.
    pub(super) fn tool<'a>(&'a self, name: &'a str, kind: ToolCallKind) -> (&'a str, ToolCallKind) {
        let name = self.map.from_wire(name);
        (name, if self.map.is_custom(name) { ToolCallKind::Custom } else { kind })
    }

    fn call(&mut self, item: &WireCall) -> (ToolCall, Option<Value>) {
        let id = self.id(&item.id, &item.name);
        self.finished(id, item)
    }

    /// The whole call, and its raw item where the call does not say everything.
    pub(super) fn finished(&self, id: String, item: &WireCall) -> (ToolCall, Option<Value>) {
        let (name, kind) = self.tool(&item.name, item.kind);
        let raw = item.extra.as_ref().map(|extra| {
            json!({
                "id": id,
                "type": "function",
                "function": { "name": item.name, "arguments": item.arguments },
                "extra_content": extra,
            })
        });
        let call = match (kind, item.kind) {
            (ToolCallKind::Custom, ToolCallKind::Function) => {
                ToolCall::function(id, name, &*item.arguments).into_custom()
            }
            (ToolCallKind::Custom, ToolCallKind::Custom) => ToolCall::custom(id, name, &*item.arguments),
            (ToolCallKind::Function, _) => ToolCall::function(id, name, &*item.arguments),
        };
        (call, raw)
    }
}

/// Why the model stopped. Some servers say `stop` though they call tools, or nothing at all.
pub(super) fn finish_reason(raw: Option<&str>, calls: bool, refused: bool) -> FinishReason {
    let said = match raw.unwrap_or_default() {
        "stop" | "eos" | "end_turn" | "stop_sequence" => Finish::Stop,
        "length" | "max_tokens" | "model_length" => Finish::Length,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "content_filter" | "safety" => Finish::ContentFilter,
        "error" => Finish::Error,
        _ => Finish::Other,
    };
    let unified = match said {
        Finish::Stop | Finish::Other if calls => Finish::ToolCalls,
        Finish::Stop | Finish::Other if refused => Finish::ContentFilter,
        said => said,
    };
    FinishReason { unified, raw: raw.filter(|raw| !raw.is_empty()).map(str::to_owned) }
}

/// A string field.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}
