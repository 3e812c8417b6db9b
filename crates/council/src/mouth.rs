//! An answer that is handed on while it is made, as far as it may be seen before it is whole.

use junto_llm::{Request, StreamEvent};

use crate::proposal::is_formal;
use crate::voice::Voice;

/// Hands an answer on as it comes. What must be checked first is held back until it was: calls of
/// tools and everything behind them, and an answer that must fit a form. What is not yet content is
/// held back too, so that whoever fails before saying anything can be replaced.
pub(crate) struct Mouth<'a> {
    voice: &'a Voice,
    held: Vec<StreamEvent>,
    /// Whether nothing more goes out before the whole is checked.
    is_shut: bool,
    has_spoken: bool,
}

impl<'a> Mouth<'a> {
    /// For an answer to this request.
    pub(crate) fn new(voice: &'a Voice, request: &Request) -> Self {
        let is_shut = is_formal(request);
        Self { voice, held: Vec::new(), is_shut, has_spoken: false }
    }

    /// Takes in an event of the answer.
    pub(crate) async fn take(&mut self, event: &StreamEvent) {
        if !self.voice.is_heard() {
            return;
        }
        let event = match event {
            StreamEvent::StreamStart { origin: None, .. }
            | StreamEvent::Progress { .. }
            | StreamEvent::StepFinish { .. }
            | StreamEvent::Finish { .. }
            | StreamEvent::ProviderEvent { .. } => return,
            StreamEvent::StreamStart { origin, .. } => StreamEvent::Origin { origin: origin.clone() },
            event => event.clone(),
        };
        self.is_shut |= matches!(event, StreamEvent::ToolCallStart { .. });
        if self.is_shut || !(self.has_spoken || says_something(&event)) {
            self.held.push(event);
            return;
        }
        self.open().await;
        self.voice.utter(event).await;
    }

    /// Hands on what was held back.
    pub(crate) async fn open(&mut self) {
        self.has_spoken = self.voice.is_heard();
        for event in std::mem::take(&mut self.held) {
            self.voice.utter(event).await;
        }
    }

    /// Forgets what was held back.
    pub(crate) fn shut(&mut self) {
        self.held.clear();
    }

    /// Whether something was handed on to somebody.
    pub(crate) fn has_spoken(&self) -> bool {
        self.has_spoken
    }
}

/// Whether somebody who hears this has heard something. Starts, ends and blanks are nothing yet.
fn says_something(event: &StreamEvent) -> bool {
    match event {
        StreamEvent::TextDelta { text, .. } => !text.trim().is_empty(),
        StreamEvent::ReasoningDelta { text, .. } => !text.is_empty(),
        StreamEvent::Part { .. } => true,
        _ => false,
    }
}
