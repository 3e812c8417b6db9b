//! Reads a streamed answer.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{Calls, Fragment};
use super::loose::{Arguments, Content, Loose, Number};
use super::response::{Names, Piece, content_piece, finish_reason};
use super::{error, usage};
use crate::sse::Frame;
use crate::wire::{DecodeCx, StreamDecoder};
use crate::{Error, SegmentId, StreamEvent, ToolCallKind, Usage};

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    id: Loose<'a>,
    #[serde(borrow, default)]
    model: Loose<'a>,
    #[serde(default)]
    created: Number,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    /// Where Groq puts its usage.
    #[serde(borrow, default)]
    x_groq: Option<Nested<'a>>,
}

#[derive(Deserialize)]
struct Nested<'a> {
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Number,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    finish_reason: Loose<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    reasoning_content: Loose<'a>,
    #[serde(borrow, default)]
    reasoning: Loose<'a>,
    #[serde(borrow, default)]
    refusal: Loose<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
    #[serde(borrow, default)]
    function_call: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    #[serde(default)]
    index: Option<Number>,
    #[serde(borrow, default)]
    id: Loose<'a>,
    #[serde(borrow, default)]
    function: Option<FunctionDelta<'a>>,
    #[serde(borrow, default)]
    custom: Option<CustomDelta<'a>>,
    #[serde(borrow, default)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    name: Loose<'a>,
    #[serde(borrow, default)]
    arguments: Arguments<'a>,
}

#[derive(Deserialize)]
struct CustomDelta<'a> {
    #[serde(borrow, default)]
    name: Loose<'a>,
    #[serde(borrow, default)]
    input: Loose<'a>,
}

impl<'a> CallDelta<'a> {
    fn into_fragment(self) -> Fragment<'a> {
        let (name, arguments, kind) = if let Some(custom) = self.custom {
            (custom.name.0, custom.input.0, ToolCallKind::Custom)
        } else {
            let function = self.function.unwrap_or_default();
            (function.name.0, function.arguments.0, ToolCallKind::Function)
        };
        Fragment {
            index: self.index.map(|index| index.0),
            id: self.id.0,
            name,
            arguments,
            kind,
            extra: self.extra_content,
        }
    }
}

impl<'a> FunctionDelta<'a> {
    /// The single call of the days before `tool_calls`.
    fn into_fragment(self) -> Fragment<'a> {
        Fragment {
            index: Some(u64::MAX),
            id: Cow::Borrowed(""),
            name: self.name.0,
            arguments: self.arguments.0,
            kind: ToolCallKind::Function,
            extra: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speech {
    Text,
    Reasoning,
}

/// The decoder of one answer.
pub(super) struct Decoder {
    cx: DecodeCx,
    /// Set by the first chunk.
    names: Option<Names>,
    over: bool,
    next: u32,
    open: Option<(Speech, SegmentId)>,
    calls: Calls,
    refused: bool,
    finish: Option<String>,
    /// The last usage, unread: some servers send one with every chunk.
    usage: Option<String>,
}

impl Decoder {
    pub(super) fn new(cx: DecodeCx) -> Self {
        Self {
            cx,
            names: None,
            over: false,
            next: 0,
            open: None,
            calls: Calls::default(),
            refused: false,
            finish: None,
            usage: None,
        }
    }

    fn chunk(&mut self, data: &str, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        let chunk: Chunk<'_> = serde_json::from_str(data)
            .map_err(|e| Error::stream("a chunk of the stream makes no sense").with_source(e))?;
        if chunk.error.is_some() {
            return Err(error::in_frame(data));
        }
        let usage = chunk.usage.or_else(|| chunk.x_groq.as_ref()?.usage);
        if let Some(raw) = usage.filter(|raw| raw.get().starts_with('{')) {
            self.usage = Some(raw.get().to_owned());
        }
        let choices = chunk.choices.unwrap_or_default();
        if self.names.is_none() {
            // Azure sends the results of its filters first, without an id.
            if choices.is_empty() && usage.is_none() && chunk.id.0.is_empty() {
                return Ok(());
            }
            self.start(&chunk.id.0, &chunk.model.0, chunk.created.0, out);
        }
        // Only one answer is ever asked for.
        for choice in choices.into_iter().filter(|choice| choice.index.0 == 0) {
            if let Some(delta) = choice.delta {
                self.delta(delta, out)?;
            }
            let reason = choice.finish_reason.0;
            if !reason.is_empty() && reason != "null" {
                self.finish = Some(reason.into_owned());
            }
        }
        Ok(())
    }

    fn start(&mut self, id: &str, model: &str, created: u64, out: &mut Vec<StreamEvent>) {
        self.names = Some(Names::of(&self.cx.names, id, created));
        out.push(StreamEvent::StreamStart {
            id: id.to_owned(),
            model: if model.is_empty() { self.cx.origin.model.clone() } else { model.to_owned() },
            provider: self.cx.origin.provider.clone(),
            origin: Some(self.cx.origin.clone()),
            usage: None,
            warnings: std::mem::take(&mut self.cx.warnings),
            rate_limit: self.cx.rate_limit.take(),
        });
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        // A server that knows both names says the same under both.
        let reasoning = [delta.reasoning_content.0, delta.reasoning.0].into_iter().find(|r| !r.is_empty());
        if let Some(reasoning) = reasoning {
            self.speak(Speech::Reasoning, reasoning, out);
        }
        match delta.content {
            Content::Text(text) => self.speak(Speech::Text, text, out),
            Content::Parts(items) => {
                for piece in items.iter().filter_map(content_piece) {
                    self.piece(piece, out);
                }
            }
        }
        if !delta.refusal.0.is_empty() {
            self.piece(Piece::Refusal(delta.refusal.0.into_owned()), out);
        }
        let listed = delta.tool_calls.unwrap_or_default().into_iter().map(CallDelta::into_fragment);
        for fragment in listed.chain(delta.function_call.map(FunctionDelta::into_fragment)) {
            self.hush(out);
            if let Some(names) = &mut self.names {
                self.calls.push(fragment, names, &mut self.next, out)?;
            }
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece, out: &mut Vec<StreamEvent>) {
        match piece {
            Piece::Text(text) => self.speak(Speech::Text, text.into(), out),
            Piece::Reasoning(text) => self.speak(Speech::Reasoning, text.into(), out),
            Piece::Refusal(text) => {
                self.refused |= !text.is_empty();
                self.speak(Speech::Text, text.into(), out);
            }
        }
    }

    /// Hands on text or reasoning, in the open segment if it is of that kind, else in a new one.
    fn speak(&mut self, speech: Speech, text: Cow<'_, str>, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let id = match self.open {
            Some((open, id)) if open == speech => id,
            _ => {
                self.hush(out);
                let id = SegmentId(self.next);
                self.next = self.next.wrapping_add(1);
                self.open = Some((speech, id));
                out.push(match speech {
                    Speech::Text => StreamEvent::TextStart { id },
                    Speech::Reasoning => StreamEvent::ReasoningStart { id },
                });
                id
            }
        };
        let text = text.into_owned();
        out.push(match speech {
            Speech::Text => StreamEvent::TextDelta { id, text },
            Speech::Reasoning => StreamEvent::ReasoningDelta { id, text },
        });
    }

    /// Ends the open text or reasoning.
    fn hush(&mut self, out: &mut Vec<StreamEvent>) {
        match self.open.take() {
            Some((Speech::Text, id)) => out.push(StreamEvent::TextEnd { id, raw: None }),
            Some((Speech::Reasoning, id)) => {
                out.push(StreamEvent::ReasoningEnd { id, signature: None, raw: None });
            }
            None => {}
        }
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        self.over = true;
        let Some(mut names) = self.names.take() else {
            return Err(Error::stream("the stream ended before the answer began"));
        };
        self.hush(out);
        let calls = !self.calls.is_empty();
        self.calls.finish(&mut names, &mut self.next, out);
        let raw_usage = self.usage.take().and_then(|raw| serde_json::from_str(&raw).ok());
        out.push(StreamEvent::Finish {
            reason: finish_reason(self.finish.as_deref(), calls, self.refused),
            usage: raw_usage.map_or_else(Usage::default, usage::read),
            response: None,
        });
        Ok(())
    }
}

impl StreamDecoder for Decoder {
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        let data = frame.data.trim();
        if self.over || data.is_empty() {
            return Ok(());
        }
        let result = if data == "[DONE]" {
            self.finish(out)
        } else if frame.event == "error" {
            Err(error::in_frame(data))
        } else {
            self.chunk(data, out)
        };
        self.over |= result.is_err();
        result
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        if self.over {
            Ok(())
        } else if self.finish.is_some() {
            self.finish(out)
        } else {
            self.over = true;
            Err(Error::stream("the stream ended before the answer was complete"))
        }
    }
}
