//! Writes an answer, whole or streamed, as the official SDKs expect it.
//!
//! **Signatures.** A part that came off this wire is written as it came. Reasoning of another origin
//! keeps its signature beside its text, which this wire does not: the signature then goes on the
//! first call that follows, since that is where clients and the API look for it; without a call, on
//! the text that follows (in a stream, where the text is gone by then, on an empty text at the end).
//! It is written as it is; the SDKs decode it as base64, so whoever makes one should write base64.

use serde_json::{Map, Value, json};

use super::body::finish_word;
use super::contents::function_call;
use super::error;
use super::part::write_media;
use crate::sse;
use crate::wire::{StreamEncoder, Wire};
use crate::{Content, Error, FinishReason, Part, Response, StreamEvent, Thinking, ToolCall, Usage};

/// Writes a whole answer.
pub(super) fn encode(response: &Response) -> Value {
    let mut parts = Vec::new();
    let mut loose = Vec::new();
    for part in &response.message.content {
        let Written { item, signature } = write(part);
        parts.extend(item);
        loose.extend(signature.map(|signature| (parts.len(), signature)));
    }
    // The signature nearest to a part has the first claim on it.
    for (from, signature) in loose.into_iter().rev() {
        attach(&mut parts, from, signature);
    }
    let mut body = chunk(parts, &response.id, &response.model);
    finish(&mut body, &response.finish_reason, &response.usage);
    body.into()
}

/// A part on the wire, and the signature that must find a place on a later one.
struct Written {
    item: Option<Value>,
    signature: Option<String>,
}

fn write(part: &Part) -> Written {
    let from_here = part.origin().filter(|origin| origin.wire == Wire::Gemini);
    let alone = |item: Value| Written { item: Some(item), signature: None };
    if let Some(raw) = from_here.and_then(|origin| part.raw_for(origin)) {
        return alone(raw.clone());
    }
    match part.content() {
        Content::Text(text) => alone(json!({"text": text})),
        Content::Thinking(thinking) if from_here.is_some() => alone(thought(thinking)),
        Content::Thinking(thinking) => {
            let text = Thinking { text: thinking.text.clone(), signature: None };
            let item = (!text.text.is_empty()).then(|| thought(&text));
            Written { item, signature: thinking.signature.clone() }
        }
        Content::Image(media) | Content::Audio(media) | Content::Document(media) => {
            Written { item: write_media(media).ok(), signature: None }
        }
        Content::ToolCall(call) => alone(written_call(call)),
        Content::Other(item) if from_here.is_some() => alone(item.clone()),
        // Nothing that a client of this wire could read, or that a model may say.
        Content::Other(_) | Content::RedactedThinking(_) | Content::ToolResult(_) => {
            Written { item: None, signature: None }
        }
    }
}

fn written_call(call: &ToolCall) -> Value {
    let id = Some(call.id.as_str()).filter(|id| !id.is_empty());
    function_call(call, id, &call.name)
}

fn thought(thinking: &Thinking) -> Value {
    let mut item = json!({"text": thinking.text, "thought": true});
    if let Some(signature) = &thinking.signature {
        item["thoughtSignature"] = signature.as_str().into();
    }
    item
}

fn attach(parts: &mut Vec<Value>, from: usize, signature: String) {
    let after = || parts.iter().enumerate().skip(from);
    let call = after().find(|(_, part)| part.get("functionCall").is_some());
    let text = || after().find(|(_, part)| part.get("text").is_some() && part.get("thought").is_none());
    match call.or_else(text).map(|(index, _)| index).and_then(|index| parts.get_mut(index)) {
        Some(Value::Object(part)) => {
            part.entry("thoughtSignature").or_insert_with(|| signature.into());
        }
        _ => parts.push(signed_nothing(&signature)),
    }
}

fn signed_nothing(signature: &str) -> Value {
    json!({"text": "", "thoughtSignature": signature})
}

fn chunk(parts: Vec<Value>, id: &str, model: &str) -> Map<String, Value> {
    let candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    let mut chunk = Map::new();
    chunk.insert("candidates".to_owned(), Value::Array(vec![candidate]));
    chunk.insert("modelVersion".to_owned(), model.into());
    chunk.insert("responseId".to_owned(), id.into());
    chunk
}

fn finish(chunk: &mut Map<String, Value>, reason: &FinishReason, usage: &Usage) {
    if let Some(candidate) = chunk.get_mut("candidates").and_then(|list| list.get_mut(0)) {
        candidate["finishReason"] = finish_word(reason).into();
    }
    let reasoning = usage.reasoning.unwrap_or(0);
    let mut counts = json!({
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output.saturating_sub(reasoning),
        "totalTokenCount": usage.total,
    });
    if let Some(reasoning) = usage.reasoning {
        counts["thoughtsTokenCount"] = reasoning.into();
    }
    if let Some(cached) = usage.cache_read {
        counts["cachedContentTokenCount"] = cached.into();
    }
    chunk.insert("usageMetadata".to_owned(), counts);
}

/// The encoder of one streamed answer.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    id: String,
    model: String,
    /// Whether raw items and signatures are this wire's own.
    from_here: bool,
    /// A signature that waits for a call.
    signature: Option<String>,
    over: bool,
}

impl Encoder {
    fn send(&self, part: Value, out: &mut Vec<u8>) {
        write_frame(chunk(vec![part], &self.id, &self.model).into(), out);
    }
}

fn write_frame(chunk: Value, out: &mut Vec<u8>) {
    sse::encode("", &chunk.to_string(), out);
}

impl StreamEncoder for Encoder {
    fn event(&mut self, event: &StreamEvent, out: &mut Vec<u8>) {
        if self.over {
            return;
        }
        match event {
            StreamEvent::StreamStart { id, model, origin, .. } => {
                self.from_here = origin.as_ref().is_some_and(|origin| origin.wire == Wire::Gemini);
                // Chunks may have gone out under the first name.
                if self.model.is_empty() {
                    self.id.clone_from(id);
                    self.model.clone_from(model);
                }
            }
            StreamEvent::Origin { origin } => {
                self.from_here = origin.as_ref().is_some_and(|origin| origin.wire == Wire::Gemini);
            }
            // A part that says nothing makes clients drop the whole turn.
            StreamEvent::TextDelta { text, .. } | StreamEvent::ReasoningDelta { text, .. }
                if text.is_empty() => {}
            StreamEvent::TextDelta { text, .. } => self.send(json!({"text": text}), out),
            StreamEvent::ReasoningDelta { text, .. } => {
                self.send(json!({"text": text, "thought": true}), out);
            }
            // The text is gone already; its signature follows on a part of its own.
            StreamEvent::TextEnd { raw: Some(raw), .. } if self.from_here => {
                if let Some(signature) = raw.get("thoughtSignature").and_then(Value::as_str) {
                    self.send(signed_nothing(signature), out);
                }
            }
            StreamEvent::ReasoningEnd { signature: Some(signature), .. } => {
                if self.from_here {
                    let thinking = Thinking { text: String::new(), signature: Some(signature.clone()) };
                    self.send(thought(&thinking), out);
                } else {
                    self.signature = Some(signature.clone());
                }
            }
            StreamEvent::ToolCallEnd { raw: Some(raw), .. } if self.from_here => self.send(raw.clone(), out),
            StreamEvent::ToolCallEnd { call, .. } => {
                let mut item = written_call(call);
                if let Some(signature) = self.signature.take() {
                    item["thoughtSignature"] = signature.into();
                }
                self.send(item, out);
            }
            StreamEvent::Part { part } => {
                let Written { item, signature } = write(part);
                if let Some(item) = item {
                    self.send(item, out);
                }
                if signature.is_some() {
                    self.signature = signature;
                }
            }
            StreamEvent::Finish { reason, usage, .. } => {
                let parts = self.signature.take().map(|signature| signed_nothing(&signature));
                let mut last = chunk(parts.into_iter().collect(), &self.id, &self.model);
                finish(&mut last, reason, usage);
                write_frame(last.into(), out);
                self.over = true;
            }
            // A call goes out whole, when it ends.
            StreamEvent::ToolCallStart { .. }
            | StreamEvent::ToolCallDelta { .. }
            | StreamEvent::TextStart { .. }
            | StreamEvent::TextEnd { .. }
            | StreamEvent::ReasoningStart { .. }
            | StreamEvent::ReasoningEnd { .. }
            | StreamEvent::Progress { .. }
            | StreamEvent::StepFinish { .. }
            | StreamEvent::ProviderEvent { .. } => {}
        }
    }

    fn error(&mut self, failure: &Error, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.over, true) {
            let (_, envelope) = error::encode(failure);
            write_frame(envelope, out);
        }
    }

    /// An empty line: the SDKs take a comment for a piece of JSON.
    fn keep_alive(&mut self, out: &mut Vec<u8>) {
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::super::round_trip::{origin, other_origin, received};
    use super::*;
    use crate::{Finish, Media, Message, Role, SegmentId, ToolCallKind};

    fn thinking(signature: &str) -> Content {
        Content::Thinking(Thinking { text: "t".into(), signature: Some(signature.into()) })
    }

    fn call(id: &str) -> Content {
        Content::ToolCall(ToolCall::function(id, "f", "{}"))
    }

    fn response(parts: Vec<Part>) -> Response {
        let mut response = Response::empty("p", "m");
        response.id = "r1".into();
        response.message = Message::new(Role::Assistant, parts);
        response.finish_reason = FinishReason::new(Finish::Stop);
        response
    }

    #[test]
    fn an_answer_has_the_fields_of_the_api() {
        let mut answer = response(vec![Part::text("hi")]);
        answer.usage = Usage { reasoning: Some(2), cache_read: Some(4), ..Usage::new(9, 5) };
        assert_eq!(
            encode(&answer),
            json!({
                "candidates": [{"content": {"parts": [{"text": "hi"}], "role": "model"}, "index": 0, "finishReason": "STOP"}],
                "modelVersion": "m",
                "responseId": "r1",
                "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 14,
                    "thoughtsTokenCount": 2, "cachedContentTokenCount": 4},
            })
        );
    }

    #[track_caller]
    fn check(parts: Vec<Part>, expected: Value) {
        assert_eq!(encode(&response(parts))["candidates"][0]["content"]["parts"], expected);
    }

    #[test]
    fn a_foreign_signature_goes_on_the_call_else_on_the_text() {
        let thought = json!({"text": "t", "thought": true});
        let written = |id: &str| json!({"functionCall": {"id": id, "name": "f", "args": {}}});
        let signed =
            |id: &str| json!({"functionCall": {"id": id, "name": "f", "args": {}}, "thoughtSignature": "s"});
        check(
            vec![Part::new(thinking("s")), Part::text("a"), Part::new(call("1")), Part::new(call("2"))],
            json!([thought, {"text": "a"}, signed("1"), written("2")]),
        );
        check(
            vec![Part::new(thinking("s")), Part::text("a")],
            json!([thought, {"text": "a", "thoughtSignature": "s"}]),
        );
        check(vec![Part::new(thinking("s"))], json!([thought, {"text": "", "thoughtSignature": "s"}]));
        check(
            vec![Part::new(thinking("old")), Part::new(thinking("s")), Part::new(call("1"))],
            json!([thought, thought, signed("1")]),
        );
        let opaque = Content::Thinking(Thinking { text: String::new(), signature: Some("s".into()) });
        check(vec![Part::new(opaque), Part::new(call("1"))], json!([signed("1")]));
    }

    #[test]
    fn own_parts_are_written_as_they_came() {
        let raw = json!({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "own"});
        let foreign_raw = json!({"type": "tool_use"});
        let code = json!({"executableCode": {}});
        let png = Media { media_type: Some("image/png".into()), ..Media::bytes(vec![1, 2, 3]) };
        check(
            vec![
                received(thinking("s"), origin(), None),
                received(call("1"), origin(), Some(raw.clone())),
                received(call("2"), other_origin(), Some(foreign_raw)),
                received(Content::Other(code.clone()), origin(), None),
                received(Content::Other(code.clone()), other_origin(), None),
                Part::new(Content::RedactedThinking("x".into())),
                Part::image(png),
            ],
            json!([
                {"text": "t", "thought": true, "thoughtSignature": "s"},
                raw,
                {"functionCall": {"id": "2", "name": "f", "args": {}}},
                code,
                {"inlineData": {"mimeType": "image/png", "data": "AQID"}},
            ]),
        );
    }

    #[test]
    fn a_stream_sends_calls_whole_and_counts_last() {
        let id = SegmentId(0);
        let mut encoder = Encoder::default();
        let mut out = Vec::new();
        for event in [
            StreamEvent::StreamStart {
                id: "r1".into(),
                model: "m".into(),
                provider: "p".into(),
                origin: None,
                usage: None,
                warnings: Vec::new(),
                rate_limit: None,
            },
            StreamEvent::ReasoningStart { id },
            StreamEvent::ReasoningDelta { id, text: "t".into() },
            StreamEvent::ReasoningEnd { id, signature: Some("s".into()), raw: None },
            StreamEvent::Progress { text: "…".into() },
            StreamEvent::ToolCallStart {
                id,
                call_id: "1".into(),
                name: "f".into(),
                kind: ToolCallKind::Function,
            },
            StreamEvent::ToolCallDelta { id, arguments: "{}".into() },
            StreamEvent::ToolCallEnd { id, call: ToolCall::function("1", "f", "{}"), raw: None },
            StreamEvent::Finish {
                reason: FinishReason::new(Finish::ToolCalls),
                usage: Usage::new(1, 2),
                response: None,
            },
        ] {
            encoder.event(&event, &mut out);
        }
        // What comes after the end is not said any more.
        encoder.error(&Error::stream("broke"), &mut out);
        let text = String::from_utf8(out).unwrap();
        let frames: Vec<Value> = text
            .split_terminator("\n\n")
            .map(|f| serde_json::from_str(&f["data: ".len()..]).unwrap())
            .collect();
        let parts = |frame: &Value| frame["candidates"][0]["content"]["parts"].clone();
        assert_eq!(parts(&frames[0]), json!([{"text": "t", "thought": true}]));
        let signed = json!({"functionCall": {"id": "1", "name": "f", "args": {}}, "thoughtSignature": "s"});
        assert_eq!(parts(&frames[1]), json!([signed]));
        assert_eq!(parts(&frames[2]), json!([]));
        assert_eq!(frames[2]["candidates"][0]["finishReason"], "STOP");
        assert_eq!(frames[2]["usageMetadata"]["totalTokenCount"], 3);
        assert!(frames[..3].iter().all(|frame| frame["responseId"] == "r1" && frame["modelVersion"] == "m"));
        assert_eq!(frames.len(), 3);
    }

    #[test]
    fn a_failure_ends_the_stream_and_a_sign_of_life_says_nothing() {
        let mut encoder = Encoder::default();
        let mut out = Vec::new();
        encoder.event(&StreamEvent::TextDelta { id: SegmentId(0), text: String::new() }, &mut out);
        encoder.keep_alive(&mut out);
        encoder.error(&Error::stream("broke"), &mut out);
        encoder.error(&Error::stream("again"), &mut out);
        let text = String::from_utf8(out).unwrap();
        let frame: Value = serde_json::from_str(text.strip_prefix("\ndata: ").unwrap()).unwrap();
        assert_eq!(frame["error"]["status"], "INTERNAL");
    }
}
