//! One segment of a streamed answer while it is open.

use crate::{Error, SegmentId, StreamEvent, ToolCall, ToolCallKind};

/// The most that is kept of one call's arguments, in bytes.
pub(super) const MAX_ARGUMENTS: usize = 16 * 1024 * 1024;

/// What a segment carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Text,
    Reasoning,
    Call(ToolCallKind),
}

/// The two forms in which reasoning comes. Of an item that has both, the one that comes first is
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Summary,
    Content,
}

/// An open segment. It keeps no text that was handed on, but for the arguments of a call, which
/// must be whole at its end.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) id: SegmentId,
    class: Class,
    /// The item's place in the output, where the server says it.
    index: Option<u64>,
    /// What the server calls the item: its id, its call id, or both.
    names: [String; 2],
    /// How many bytes were handed on.
    sent: usize,
    /// Where the last piece of reasoning came from, and its paragraph.
    paragraph: Option<(Source, u64)>,
    /// The call's id and name, once they are known.
    call: Option<(String, String)>,
    arguments: String,
}

impl Segment {
    pub(super) fn new(id: SegmentId, class: Class, index: Option<u64>, names: [&str; 2]) -> Self {
        Self {
            id,
            class,
            index,
            names: names.map(str::to_owned),
            sent: 0,
            paragraph: None,
            call: None,
            arguments: String::new(),
        }
    }

    pub(super) fn class(&self) -> Class {
        self.class
    }

    /// Whether an event with this place, or with one of these names, speaks of this segment.
    pub(super) fn is(&self, class: Class, index: Option<u64>, names: [&str; 2]) -> bool {
        self.class == class
            && match (self.index, index) {
                (Some(ours), Some(theirs)) => ours == theirs,
                _ => names.iter().any(|n| !n.is_empty() && self.names.iter().any(|ours| ours == n)),
            }
    }

    /// The first event of the segment. That of a call is sent when its name is known.
    pub(super) fn start(&self, out: &mut Vec<StreamEvent>) {
        match self.class {
            Class::Text => out.push(StreamEvent::TextStart { id: self.id }),
            Class::Reasoning => out.push(StreamEvent::ReasoningStart { id: self.id }),
            Class::Call(_) => {}
        }
    }

    /// More text.
    pub(super) fn text(&mut self, text: String, out: &mut Vec<StreamEvent>) {
        if !text.is_empty() {
            self.sent += text.len();
            out.push(StreamEvent::TextDelta { id: self.id, text });
        }
    }

    /// More reasoning. Paragraphs are parted by a blank line, as in the finished item's view.
    pub(super) fn reasoning(
        &mut self,
        source: Source,
        paragraph: u64,
        mut text: String,
        out: &mut Vec<StreamEvent>,
    ) {
        if text.is_empty() || self.paragraph.is_some_and(|(first, _)| first != source) {
            return;
        }
        if self.paragraph.is_some_and(|(_, last)| last != paragraph) {
            text.insert_str(0, "\n\n");
        }
        self.paragraph = Some((source, paragraph));
        self.sent += text.len();
        out.push(StreamEvent::ReasoningDelta { id: self.id, text });
    }

    /// The call's id and name: its start, and the arguments that came before them.
    pub(super) fn announce(&mut self, call_id: &str, name: &str, out: &mut Vec<StreamEvent>) {
        let Class::Call(kind) = self.class else { return };
        if self.call.is_some() {
            return;
        }
        self.call = Some((call_id.to_owned(), name.to_owned()));
        out.push(StreamEvent::ToolCallStart {
            id: self.id,
            call_id: call_id.to_owned(),
            name: name.to_owned(),
            kind,
        });
        if !self.arguments.is_empty() {
            out.push(StreamEvent::ToolCallDelta { id: self.id, arguments: self.arguments.clone() });
        }
    }

    /// More of a call's arguments.
    pub(super) fn arguments(&mut self, more: String, out: &mut Vec<StreamEvent>) -> Result<(), Error> {
        if self.arguments.len() + more.len() > MAX_ARGUMENTS {
            return Err(Error::stream(format!("a call's arguments are larger than {MAX_ARGUMENTS} bytes")));
        }
        self.arguments.push_str(&more);
        if self.call.is_some() && !more.is_empty() {
            out.push(StreamEvent::ToolCallDelta { id: self.id, arguments: more });
        }
        Ok(())
    }

    /// The part of the finished text that no delta brought.
    pub(super) fn rest_of_text(&mut self, whole: &str, out: &mut Vec<StreamEvent>) {
        let Some(rest) = whole.get(self.sent..).filter(|rest| !rest.is_empty()) else { return };
        let (id, text) = (self.id, rest.to_owned());
        self.sent = whole.len();
        out.push(match self.class {
            Class::Reasoning => StreamEvent::ReasoningDelta { id, text },
            _ => StreamEvent::TextDelta { id, text },
        });
    }

    /// The part of the finished call that no delta brought: all of it, if none came.
    pub(super) fn rest_of_call(&mut self, whole: &ToolCall, out: &mut Vec<StreamEvent>) {
        self.announce(&whole.id, &whole.name, out);
        let rest = whole.raw_arguments.get(self.arguments.len()..).unwrap_or_default();
        if !rest.is_empty() {
            out.push(StreamEvent::ToolCallDelta { id: self.id, arguments: rest.to_owned() });
        }
    }

    /// The last event of a segment whose finished item never came. A call without a name is none.
    pub(super) fn end(self) -> Option<StreamEvent> {
        let id = self.id;
        Some(match self.class {
            Class::Text => StreamEvent::TextEnd { id, raw: None },
            Class::Reasoning => StreamEvent::ReasoningEnd { id, signature: None, raw: None },
            Class::Call(kind) => {
                let (call_id, name) = self.call?;
                let call = match kind {
                    ToolCallKind::Function => ToolCall::function(call_id, name, self.arguments),
                    ToolCallKind::Custom => ToolCall::custom(call_id, name, self.arguments),
                };
                StreamEvent::ToolCallEnd { id, call, raw: None }
            }
        })
    }
}
