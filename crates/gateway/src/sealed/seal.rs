//! Sealing, on the way out.

use std::collections::BTreeMap;
use std::sync::Arc;

use junto_llm::{Content, Origin, Part, Response, SegmentId, StreamEvent, Thinking, Wire};
use serde_json::{Value, json};

use super::{EXTRA, EXTRA_FIELD, Sealed, write};

/// Seals what one answer holds, whole or streamed.
#[derive(Debug)]
pub(crate) struct Sealer {
    /// Whom the parts will be taken for when they come back.
    expected: Arc<Origin>,
    /// Whose the streamed parts are.
    maker: Option<Arc<Origin>>,
    /// The text of reasoning that is being said, where the slot has to hold it.
    said: BTreeMap<SegmentId, String>,
    /// What no slot has taken yet: texts, and where a slot comes after what it holds, reasoning.
    waiting: Vec<Sealed>,
    /// Whether the maker has given a call an id of its own.
    gives_ids: bool,
    /// Whether the answer has begun since the last slot.
    has_begun: bool,
    /// A call of which it is not known yet whether something has to go ahead of it.
    held: Vec<StreamEvent>,
}

impl Sealer {
    pub(crate) fn new(expected: Arc<Origin>) -> Self {
        Self {
            expected,
            maker: None,
            said: BTreeMap::new(),
            waiting: Vec::new(),
            gives_ids: false,
            has_begun: false,
            held: Vec::new(),
        }
    }

    /// Seals what a whole answer holds.
    pub(crate) fn seal_all(mut self, response: &mut Response) {
        let parts = std::mem::take(&mut response.message.content);
        for part in parts {
            self.part(part, &mut |part| response.message.content.push(part));
        }
    }

    /// Seals what an event of a stream holds, and hands on what the client shall get; the events come
    /// in order.
    pub(crate) fn seal(&mut self, event: StreamEvent, mut emit: impl FnMut(StreamEvent)) {
        match event {
            StreamEvent::StreamStart { ref origin, .. } | StreamEvent::Origin { ref origin } => {
                self.maker.clone_from(origin);
                emit(event);
            }
            StreamEvent::ReasoningDelta { id, ref text } => {
                if self.keeps_text() {
                    self.said.entry(id).or_default().push_str(text);
                }
                emit(event);
            }
            StreamEvent::ReasoningEnd { id, signature, raw } => {
                let (signature, raw) = self.reasoning(id, signature, raw);
                emit(StreamEvent::ReasoningEnd { id, signature, raw });
            }
            StreamEvent::TextDelta { .. } => {
                self.has_begun = true;
                emit(event);
            }
            StreamEvent::ToolCallStart { .. } | StreamEvent::ToolCallDelta { .. } if self.may_go_ahead() => {
                self.held.push(event);
            }
            StreamEvent::TextEnd { id, mut raw } => {
                let slot = match self.foreign(self.maker.as_ref()).cloned() {
                    Some(maker) => self.text(&maker, &mut raw),
                    None => None,
                };
                emit(StreamEvent::TextEnd { id, raw });
                if let Some(part) = slot {
                    emit(StreamEvent::Part { part });
                }
            }
            StreamEvent::ToolCallStart { .. } if self.has_own_slots() => {
                self.ahead(None).into_iter().for_each(|part| emit(StreamEvent::Part { part }));
                emit(event);
            }
            StreamEvent::ToolCallEnd { id, call, mut raw } => {
                if let Some(maker) = self.foreign(self.maker.as_ref()).cloned() {
                    let signed = self.call(&maker, &call.id, raw.as_ref());
                    if self.has_own_slots() {
                        if let Some(part) = self.ahead(signed) {
                            emit(StreamEvent::Part { part });
                        }
                    } else {
                        raw = self.on_call(signed, raw);
                    }
                }
                self.taken();
                let end = StreamEvent::ToolCallEnd { id, call, raw };
                self.held.drain(..).chain([end]).for_each(emit);
            }
            StreamEvent::Part { part } => self.part(part, &mut |part| emit(StreamEvent::Part { part })),
            StreamEvent::Finish { .. } => self.held.drain(..).chain([event]).for_each(emit),
            event => emit(event),
        }
    }

    /// The signature and the raw item that the client gets with reasoning that has ended.
    fn reasoning(
        &mut self,
        id: SegmentId,
        signature: Option<String>,
        raw: Option<Value>,
    ) -> (Option<String>, Option<Value>) {
        let text = self.said.remove(&id);
        let Some(maker) = self.maker.as_ref().filter(|maker| self.is_foreign(maker) || self.renames_items())
        else {
            return (signature, raw);
        };
        let sealed = Sealed { signature, raw, text, ..Sealed::new(maker) };
        (self.slot(sealed), None)
    }

    fn part(&mut self, part: Part, emit: &mut dyn FnMut(Part)) {
        let Some(maker) = self.foreign(part.origin()).cloned() else {
            return emit(part);
        };
        let raw = part.raw_for(&maker).cloned();
        match part.content() {
            Content::Thinking(thinking) => {
                let Thinking { text, signature } = thinking.clone();
                let kept = self.has_late_slots().then(|| text.clone());
                let sealed = Sealed { signature, raw, text: kept, ..Sealed::new(&maker) };
                match self.slot(sealed) {
                    None => emit(part),
                    signature => emit(Part::new(Content::Thinking(Thinking { text, signature }))),
                }
            }
            Content::RedactedThinking(data) => {
                let sealed = Sealed { redacted: Some(data.clone()), raw, ..Sealed::new(&maker) };
                let signature = self.slot(sealed);
                emit(Part::new(Content::Thinking(Thinking { text: String::new(), signature })));
            }
            Content::ToolCall(call) => {
                let signed = self.call(&maker, &call.id, raw.as_ref());
                let part = if self.has_own_slots() {
                    if let Some(ahead) = self.ahead(signed) {
                        emit(ahead);
                    }
                    part
                } else {
                    let raw = self.on_call(signed, raw);
                    Part::received(part.content().clone(), maker, raw)
                };
                self.taken();
                emit(part);
            }
            Content::Text(_) => {
                self.has_begun = true;
                let mut raw = raw;
                match self.text(&maker, &mut raw) {
                    Some(slot) => {
                        emit(Part::received(part.content().clone(), maker, raw));
                        emit(slot);
                    }
                    None => emit(part),
                }
            }
            _ => {
                self.has_begun = true;
                emit(part);
            }
        }
    }

    /// Keeps for the next slot what the maker of a text wants back with it. On Gemini's wire that slot is given, and has
    /// the place of the raw item's own.
    fn text(&mut self, maker: &Origin, raw: &mut Option<Value>) -> Option<Part> {
        self.waiting.push(said(maker, raw.as_ref()?)?);
        if self.expected.wire != Wire::Gemini {
            return None;
        }
        *raw = None;
        let signature = write(&self.waiting);
        Some(Part::new(Content::Thinking(Thinking { text: String::new(), signature })))
    }

    /// What is sealed of a call: Gemini's signature, and the ids of those beside a call that has one of its own, which
    /// would otherwise be the only one to have it.
    fn call(&mut self, maker: &Origin, call: &str, raw: Option<&Value>) -> Option<Sealed> {
        if maker.wire != Wire::Gemini {
            return None;
        }
        let signed = raw.filter(|raw| raw.get("thoughtSignature").is_some());
        self.gives_ids |= signed.is_some_and(|raw| raw["functionCall"]["id"].is_string());
        (signed.is_some() || self.gives_ids).then(|| Sealed {
            raw: raw.cloned(),
            call: Some(call.to_owned()),
            ..Sealed::new(maker)
        })
    }

    /// What goes ahead of a call, where reasoning has slots of its own.
    fn ahead(&mut self, signed: Option<Sealed>) -> Option<Part> {
        self.waiting.extend(signed);
        let slot = match &std::mem::take(&mut self.waiting)[..] {
            [] => None,
            [one] => one.write(),
            several => write(several),
        };
        slot.map(|data| Part::new(Content::RedactedThinking(data)))
    }

    /// What is written into the slot of this reasoning.
    fn slot(&mut self, sealed: Sealed) -> Option<String> {
        if sealed.is_empty() {
            return None;
        }
        if !self.has_late_slots() {
            return sealed.write();
        }
        let from_here = sealed.origin.wire == self.expected.wire && self.expected.wire == Wire::Gemini;
        self.waiting.push(Sealed { late: self.has_begun, ..sealed });
        // The slot that comes is written last, so it has to hold everything until then.
        let slot = write(&self.waiting).filter(|_| self.expected.wire == Wire::Gemini);
        if from_here {
            self.taken();
        }
        slot
    }

    /// The raw item that a client gets with a call, where the slot is on the call itself.
    fn on_call(&mut self, signed: Option<Sealed>, raw: Option<Value>) -> Option<Value> {
        match (self.expected.wire, signed, raw) {
            (Wire::Chat, signed, _) => self.extra(signed),
            // Another's call of the client's own wire has its signature where the slot is.
            (_, Some(signed), Some(mut raw)) => {
                self.waiting.push(signed);
                if let (Some(slot), Some(item)) = (write(&self.waiting), raw.as_object_mut()) {
                    item.insert("thoughtSignature".to_owned(), slot.into());
                }
                Some(raw)
            }
            (_, _, raw) => raw,
        }
    }

    /// What a client of Chat Completions keeps beside a call.
    fn extra(&mut self, signed: Option<Sealed>) -> Option<Value> {
        self.waiting.extend(signed);
        let slot = write(&self.waiting).filter(|_| !self.waiting.is_empty())?;
        Some(json!({EXTRA: {EXTRA_FIELD: slot}}))
    }

    /// A slot has gone out.
    fn taken(&mut self) {
        self.waiting.clear();
        self.has_begun = false;
    }

    /// Whether reasoning has a slot of its own on the client's wire.
    fn has_own_slots(&self) -> bool {
        matches!(self.expected.wire, Wire::Anthropic | Wire::Responses)
    }

    /// Whether the slot on the client's wire comes after the reasoning, on another part.
    fn has_late_slots(&self) -> bool {
        matches!(self.expected.wire, Wire::Gemini | Wire::Chat)
    }

    /// Whether streamed items get new ids, so that also the provider's own must be kept elsewhere.
    fn renames_items(&self) -> bool {
        self.expected.wire == Wire::Responses
    }

    fn keeps_text(&self) -> bool {
        self.has_late_slots() && self.foreign(self.maker.as_ref()).is_some()
    }

    /// Whether calls may have a signature that has to go ahead of them. Such calls come whole, so
    /// holding them back delays nothing.
    fn may_go_ahead(&self) -> bool {
        self.has_own_slots() && self.foreign(self.maker.as_ref()).is_some_and(|m| m.wire == Wire::Gemini)
    }

    fn foreign<'a>(&self, maker: Option<&'a Arc<Origin>>) -> Option<&'a Arc<Origin>> {
        maker.filter(|maker| self.is_foreign(maker))
    }

    fn is_foreign(&self, maker: &Origin) -> bool {
        *maker != *self.expected
    }
}

/// What is sealed of a text with this raw item: Gemini's signature, and OpenAI's phase. Not its id: there an item that is
/// known by one must come with the reasoning before it, which a client may have dropped.
fn said(maker: &Origin, raw: &Value) -> Option<Sealed> {
    let mut raw = raw.clone();
    let said = match maker.wire {
        Wire::Gemini => {
            raw.get("thoughtSignature")?;
            raw["text"].as_str().unwrap_or_default().to_owned()
        }
        Wire::Responses => {
            raw.get("phase").filter(|phase| phase.is_string())?;
            raw.as_object_mut()?.remove("id");
            raw["content"].as_array()?.iter().filter_map(|piece| piece["text"].as_str()).collect()
        }
        Wire::Anthropic | Wire::Chat => return None,
    };
    Some(Sealed { raw: Some(raw), said: Some(said), ..Sealed::new(maker) })
}
