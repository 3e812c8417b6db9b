//! Texts that come in pieces, and then once more as a whole.

use serde_json::Value;

use crate::CliEvent;
use crate::fields::text;

/// The most that is kept of a text that comes in pieces.
const TEXT_LIMIT: usize = crate::LINE_LIMIT;

/// What is written in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Text,
    Reasoning,
}

impl Shape {
    /// The shape of a block, and what it says; `None` for a block of another kind.
    pub(crate) fn of(block: &Value) -> Option<(Self, &str)> {
        match text(block, "type") {
            "text" => Some((Self::Text, text(block, "text"))),
            "thinking" => Some((Self::Reasoning, text(block, "thinking"))),
            _ => None,
        }
    }

    fn start(self) -> CliEvent {
        match self {
            Self::Text => CliEvent::TextStart,
            Self::Reasoning => CliEvent::ReasoningStart,
        }
    }

    fn delta(self, more: &str) -> CliEvent {
        match self {
            Self::Text => CliEvent::TextDelta(more.to_owned()),
            Self::Reasoning => CliEvent::ReasoningDelta(more.to_owned()),
        }
    }

    fn end(self, whole: String) -> CliEvent {
        match self {
            Self::Text => CliEvent::TextEnd(whole),
            Self::Reasoning => CliEvent::ReasoningEnd(whole),
        }
    }
}

/// The text or reasoning that is being written, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partial {
    open: Option<Segment>,
}

#[derive(Clone, Debug)]
struct Segment {
    shape: Shape,
    message: String,
    index: u64,
    text: String,
    /// Whether its pieces have ended. It stays open for the whole, which comes before or after.
    stopped: bool,
}

impl Partial {
    pub(crate) fn start(&mut self, shape: Shape, message: &str, index: u64, events: &mut Vec<CliEvent>) {
        self.abandon(events);
        events.push(shape.start());
        let message = message.to_owned();
        self.open = Some(Segment { shape, message, index, text: String::new(), stopped: false });
    }

    pub(crate) fn delta(&mut self, shape: Shape, index: u64, more: &str, events: &mut Vec<CliEvent>) {
        if let Some(open) = &mut self.open
            && open.shape == shape
            && open.index == index
            && !open.stopped
        {
            let added = append(&mut open.text, more);
            if !added.is_empty() {
                events.push(shape.delta(added));
            }
        }
    }

    /// Takes more of a text that has no id. It is begun if it is not open.
    pub(crate) fn more(&mut self, shape: Shape, more: &str, events: &mut Vec<CliEvent>) {
        self.begin(shape, "", events);
        self.delta(shape, 0, more, events);
    }

    /// Takes a text as far as it is written. It is begun if it is not open; what it says otherwise than
    /// before is left to the whole.
    pub(crate) fn up_to(&mut self, shape: Shape, message: &str, text: &str, events: &mut Vec<CliEvent>) {
        self.begin(shape, message, events);
        let said = self.open.as_ref().map(|open| open.text.as_str()).unwrap_or_default();
        if let Some(more) = text.strip_prefix(said) {
            self.delta(shape, 0, more, events);
        }
    }

    fn begin(&mut self, shape: Shape, message: &str, events: &mut Vec<CliEvent>) {
        if !self.open.as_ref().is_some_and(|open| open.shape == shape && open.message == message) {
            self.start(shape, message, 0, events);
        }
    }

    pub(crate) fn stop(&mut self, index: u64) {
        if let Some(open) = self.open.as_mut().filter(|open| open.index == index) {
            open.stopped = true;
        }
    }

    /// Takes a whole text. If it is what came in pieces, it ends that; so does a second attempt under
    /// another id at what broke off, if it begins alike.
    pub(crate) fn whole(&mut self, shape: Shape, message: &str, whole: &str, events: &mut Vec<CliEvent>) {
        let continued = self.open.take_if(|open| {
            open.shape == shape && (open.message == message || open.stopped) && whole.starts_with(&open.text)
        });
        let said = if let Some(open) = continued {
            open.text.len()
        } else {
            self.abandon(events);
            if whole.is_empty() {
                return;
            }
            events.push(shape.start());
            0
        };
        if let Some(rest) = whole.get(said..).filter(|rest| !rest.is_empty()) {
            events.push(shape.delta(rest));
        }
        events.push(shape.end(whole.to_owned()));
    }

    /// Ends what is open and was never confirmed as a whole.
    pub(crate) fn abandon(&mut self, events: &mut Vec<CliEvent>) {
        if self.end(events) {
            events.push(CliEvent::Abandoned);
        }
    }

    /// Ends what is open; says whether anything was.
    pub(crate) fn end(&mut self, events: &mut Vec<CliEvent>) -> bool {
        match self.open.take() {
            Some(open) => {
                events.push(open.shape.end(open.text));
                true
            }
            None => false,
        }
    }
}

/// Adds to a text, up to the limit; gives what was added.
pub(crate) fn append<'a>(text: &mut String, more: &'a str) -> &'a str {
    let room = TEXT_LIMIT.saturating_sub(text.len());
    let added = &more[..more.floor_char_boundary(room)];
    text.push_str(added);
    added
}

/// Puts another text in the place of one, up to the limit.
pub(crate) fn replace(text: &mut String, by: &str) {
    text.clear();
    append(text, by);
}
