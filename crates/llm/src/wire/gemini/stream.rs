//! Reads a streamed answer. It holds no text: only what is open, and the last token counts.

use std::sync::Arc;

use serde_json::{Value, json};

use super::body::{Body, Candidate, Str, finish, usage};
use super::part::WirePart;
use super::{error, made_id};
use crate::sse::Frame;
use crate::wire::{DecodeCx, StreamDecoder};
use crate::{Content, Error, ErrorKind, FinishReason, Part, SegmentId, StreamEvent, Usage};

/// The decoder of one streamed answer.
pub(super) struct Decoder {
    cx: DecodeCx,
    started: bool,
    response_id: String,
    /// The segment that plain text joins.
    open: Option<(Joins, SegmentId)>,
    next: u32,
    calls: usize,
    finish: Option<String>,
    /// The last `usageMetadata`, as it came.
    usage: String,
}

/// What a segment is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joins {
    Text,
    Thought,
}

impl Decoder {
    pub(super) fn new(cx: DecodeCx) -> Self {
        Self {
            cx,
            started: false,
            response_id: String::new(),
            open: None,
            next: 0,
            calls: 0,
            finish: None,
            usage: String::new(),
        }
    }

    fn chunk(&mut self, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        let mut body: Body<'_> = serde_json::from_str(data).map_err(|e| {
            error::carried(data.as_bytes()).unwrap_or_else(|| {
                Error::stream(format!("a chunk of the stream makes no sense: {e}")).with_body(data.as_bytes())
            })
        })?;
        if body.error.is_some()
            && let Some(error) = error::carried(data.as_bytes())
        {
            return Err(error);
        }
        self.start(&body, out);
        if let Some(counts) = body.usage_metadata {
            self.usage.clear();
            self.usage.push_str(counts.get());
        }
        let Some(mut candidate) = body.take_candidate() else {
            return match body.refusal() {
                Some(refusal) => Err(refusal),
                None => Ok(()),
            };
        };
        for part in candidate.take_parts() {
            self.part(part, data, out);
        }
        notes(&candidate, out);
        if let Some(Str(reason)) = candidate.finish_reason {
            self.finish = Some(reason.into_owned());
        }
        Ok(())
    }

    fn start(&mut self, body: &Body<'_>, out: &mut Vec<StreamEvent>) {
        if self.started {
            return;
        }
        self.started = true;
        let origin = &self.cx.origin;
        if let Some(Str(id)) = &body.response_id {
            self.response_id.push_str(id);
        }
        out.push(StreamEvent::StreamStart {
            id: self.response_id.clone(),
            model: body.model_version.as_ref().map_or_else(|| origin.model.clone(), |Str(m)| m.to_string()),
            provider: origin.provider.clone(),
            origin: Some(Arc::clone(origin)),
            usage: None,
            warnings: std::mem::take(&mut self.cx.warnings),
            rate_limit: self.cx.rate_limit.take(),
        });
    }

    fn part(&mut self, mut part: WirePart, data: &str, out: &mut Vec<StreamEvent>) {
        if part.rest.is_empty() && (part.thought || part.signature.is_none()) {
            let joins = if part.thought { Joins::Thought } else { Joins::Text };
            self.join(joins, part.text.take().unwrap_or_default(), part.signature.take(), out);
            return;
        }
        self.close(None, out);
        let basis = if self.response_id.is_empty() { data.as_bytes() } else { self.response_id.as_bytes() };
        let calls = self.calls;
        let (content, raw) = part.read(&self.cx.names, || made_id(basis, calls));
        self.whole(content, raw, out);
    }

    /// Adds to the open segment of this kind, or opens one. A signature ends it.
    fn join(&mut self, joins: Joins, text: String, signature: Option<String>, out: &mut Vec<StreamEvent>) {
        if text.is_empty() && signature.is_none() {
            return;
        }
        let id = match self.open {
            Some((kind, id)) if kind == joins => id,
            _ => {
                self.close(None, out);
                let id = self.segment();
                self.open = Some((joins, id));
                out.push(match joins {
                    Joins::Text => StreamEvent::TextStart { id },
                    Joins::Thought => StreamEvent::ReasoningStart { id },
                });
                id
            }
        };
        if !text.is_empty() {
            out.push(match joins {
                Joins::Text => StreamEvent::TextDelta { id, text },
                Joins::Thought => StreamEvent::ReasoningDelta { id, text },
            });
        }
        if signature.is_some() {
            self.close(signature, out);
        }
    }

    fn close(&mut self, signature: Option<String>, out: &mut Vec<StreamEvent>) {
        match self.open.take() {
            Some((Joins::Text, id)) => out.push(StreamEvent::TextEnd { id, raw: None }),
            Some((Joins::Thought, id)) => {
                out.push(StreamEvent::ReasoningEnd { id, signature, raw: None });
            }
            None => {}
        }
    }

    /// Hands on a part that nothing joins.
    fn whole(&mut self, content: Content, raw: Option<Value>, out: &mut Vec<StreamEvent>) {
        match content {
            Content::Text(text) => {
                let id = self.segment();
                out.push(StreamEvent::TextStart { id });
                if !text.is_empty() {
                    out.push(StreamEvent::TextDelta { id, text });
                }
                out.push(StreamEvent::TextEnd { id, raw });
            }
            Content::Thinking(thinking) => {
                let id = self.segment();
                out.push(StreamEvent::ReasoningStart { id });
                out.push(StreamEvent::ReasoningDelta { id, text: thinking.text });
                out.push(StreamEvent::ReasoningEnd { id, signature: thinking.signature, raw });
            }
            Content::ToolCall(call) => {
                self.calls += 1;
                let id = self.segment();
                out.push(StreamEvent::ToolCallStart {
                    id,
                    call_id: call.id.clone(),
                    name: call.name.clone(),
                    kind: call.kind,
                });
                out.push(StreamEvent::ToolCallDelta { id, arguments: call.raw_arguments.clone() });
                out.push(StreamEvent::ToolCallEnd { id, call, raw });
            }
            content => {
                let part = Part::received(content, Arc::clone(&self.cx.origin), raw);
                out.push(StreamEvent::Part { part });
            }
        }
    }

    fn segment(&mut self) -> SegmentId {
        let id = SegmentId(self.next);
        self.next = self.next.wrapping_add(1);
        id
    }
}

/// What a candidate says beside its parts: where the answer comes from.
fn notes(candidate: &Candidate<'_>, out: &mut Vec<StreamEvent>) {
    for (key, note) in [
        ("groundingMetadata", candidate.grounding_metadata),
        ("urlContextMetadata", candidate.url_context_metadata),
    ] {
        if let Some(note) = note
            && let Ok(note) = serde_json::from_str::<Value>(note.get())
        {
            out.push(StreamEvent::ProviderEvent { raw: json!({ key: note }) });
        }
    }
}

impl StreamDecoder for Decoder {
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        self.chunk(frame.data, out).map_err(|error| error.with_provider(&self.cx.origin.provider))
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        let Some(reason) = self.finish.take() else {
            return Err(Error::new(ErrorKind::Stream, "the stream ended before the answer was complete")
                .with_provider(&self.cx.origin.provider));
        };
        self.close(None, out);
        let reason: FinishReason = finish(&reason, self.calls > 0);
        let usage = if self.usage.is_empty() { Usage::default() } else { usage(&self.usage) };
        out.push(StreamEvent::Finish { reason, usage, response: None });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::round_trip::{decode_cx, origin};
    use super::*;
    use crate::{Accumulator, Finish, Response, Thinking, ToolCall, ToolCallKind};

    fn run(chunks: &[Value]) -> Result<Vec<StreamEvent>, Error> {
        let mut decoder = Decoder::new(decode_cx());
        let mut out = Vec::new();
        for chunk in chunks {
            decoder.frame(Frame { event: "", data: &chunk.to_string() }, &mut out)?;
        }
        decoder.end(&mut out)?;
        Ok(out)
    }

    fn fold(chunks: &[Value]) -> Response {
        let mut accumulator = Accumulator::new();
        for event in run(chunks).unwrap() {
            accumulator.push(&event);
        }
        accumulator.into_response()
    }

    fn chunk(parts: Value) -> Value {
        json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
            "usageMetadata": {"promptTokenCount": 3}, "modelVersion": "gemini-x-001", "responseId": "r1"})
    }

    fn last(reason: &str) -> Value {
        json!({"candidates": [{"finishReason": reason}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 9}})
    }

    #[test]
    fn a_transcript_becomes_events() {
        let id = SegmentId;
        let call = ToolCall::function(made_id(b"r1", 0), "f", "{\"a\":1}");
        let raw = json!({"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "s"});
        let events = run(&[
            chunk(json!([{"text": "h", "thought": true}])),
            chunk(json!([{"text": "m", "thought": true}, {"text": "on"}])),
            chunk(json!([{"text": "e"}])),
            chunk(json!([raw])),
            last("STOP"),
        ])
        .unwrap();
        let expected = vec![
            StreamEvent::StreamStart {
                id: "r1".into(),
                model: "gemini-x-001".into(),
                provider: "gemini".into(),
                origin: Some(Arc::new(origin())),
                usage: None,
                warnings: Vec::new(),
                rate_limit: None,
            },
            StreamEvent::ReasoningStart { id: id(0) },
            StreamEvent::ReasoningDelta { id: id(0), text: "h".into() },
            StreamEvent::ReasoningDelta { id: id(0), text: "m".into() },
            StreamEvent::ReasoningEnd { id: id(0), signature: None, raw: None },
            StreamEvent::TextStart { id: id(1) },
            StreamEvent::TextDelta { id: id(1), text: "on".into() },
            StreamEvent::TextDelta { id: id(1), text: "e".into() },
            StreamEvent::TextEnd { id: id(1), raw: None },
            StreamEvent::ToolCallStart {
                id: id(2),
                call_id: call.id.clone(),
                name: "f".into(),
                kind: ToolCallKind::Function,
            },
            StreamEvent::ToolCallDelta { id: id(2), arguments: "{\"a\":1}".into() },
            StreamEvent::ToolCallEnd { id: id(2), call, raw: Some(raw) },
            StreamEvent::Finish {
                reason: FinishReason::with_raw(Finish::ToolCalls, "STOP"),
                usage: Usage {
                    raw: Some(json!({"promptTokenCount": 3, "candidatesTokenCount": 9})),
                    ..Usage::new(3, 9)
                },
                response: None,
            },
        ];
        assert_eq!(events, expected);
    }

    #[test]
    fn a_signature_keeps_its_own_part() {
        let check = |parts: &[Value], expected: &[(Content, Option<Value>)]| {
            let mut chunks: Vec<Value> = parts.iter().map(|part| chunk(json!([part]))).collect();
            chunks.push(last("STOP"));
            let response = fold(&chunks);
            let seen: Vec<_> = response
                .message
                .content
                .iter()
                .map(|part| (part.content().clone(), part.raw_for(&origin()).cloned()))
                .collect();
            assert_eq!(seen, expected);
        };
        let text = |text: &str| Content::Text(text.into());
        let signed = json!({"text": "c", "thoughtSignature": "s"});
        check(
            &[json!({"text": "a"}), json!({"text": "b"}), signed.clone(), json!({"text": "d"})],
            &[(text("ab"), None), (text("c"), Some(signed)), (text("d"), None)],
        );
        let bare = json!({"text": "", "thoughtSignature": "s"});
        check(&[json!({"text": "a"}), bare.clone()], &[(text("a"), None), (text(""), Some(bare))]);
        let thinking = |text: &str, signature: &str| {
            Content::Thinking(Thinking { text: text.into(), signature: Some(signature.into()) })
        };
        check(
            &[
                json!({"text": "x", "thought": true}),
                json!({"text": "y", "thought": true, "thoughtSignature": "1"}),
                json!({"text": "z", "thought": true}),
                json!({"text": "", "thought": true, "thoughtSignature": "2"}),
            ],
            &[(thinking("xy", "1"), None), (thinking("z", "2"), None)],
        );
    }

    #[test]
    fn other_parts_and_notes_are_handed_on() {
        let code = json!({"executableCode": {"code": "1"}});
        let mut with_notes = last("STOP");
        with_notes["candidates"][0]["groundingMetadata"] = json!({"webSearchQueries": ["q"]});
        let events = run(&[chunk(json!([{"text": ""}, code])), with_notes]).unwrap();
        assert!(
            matches!(&events[1], StreamEvent::Part { part } if *part.content() == Content::Other(code.clone())),
            "{events:?}"
        );
        let note = json!({"groundingMetadata": {"webSearchQueries": ["q"]}});
        assert!(events.contains(&StreamEvent::ProviderEvent { raw: note }));
    }

    #[test]
    fn a_stream_that_breaks_is_an_error() {
        let check = |chunks: &[Value], kind: ErrorKind| {
            let error = run(chunks).unwrap_err();
            assert_eq!((error.kind(), error.provider()), (kind, Some("gemini")), "{chunks:?}");
        };
        check(&[], ErrorKind::Stream);
        check(&[chunk(json!([{"text": "cut"}]))], ErrorKind::Stream);
        check(&[json!(3)], ErrorKind::Stream);
        check(&[json!({"candidates": {}})], ErrorKind::Stream);
        check(&[json!({"promptFeedback": {"blockReason": "OTHER"}})], ErrorKind::ContentFilter);
        let overloaded = json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": "x"}});
        check(&[chunk(json!([{"text": "a"}])), overloaded.clone()], ErrorKind::Server);
        check(&[json!([overloaded])], ErrorKind::Server);
    }

    #[test]
    fn token_counts_may_follow_the_end() {
        let response = fold(&[
            chunk(json!([{"text": "a"}])),
            json!({"candidates": [{"finishReason": "MAX_TOKENS"}]}),
            json!({"usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}}),
        ]);
        assert_eq!((response.usage.total, response.finish_reason.unified), (3, Finish::Length));
    }
}
