//! What a provider says about its progress, shown to clients as reasoning.
//!
//! No wire has a place for narration, but clients show reasoning as it comes. So progress is put
//! into reasoning segments of its own, whose signature says what they are: clients send reasoning
//! back verbatim, and the signature is how it is known and taken out again.

use junto_llm::{Content, Message, Part, SegmentId, StreamEvent};

use crate::gateway::Progress;

/// The signature of progress: "junto progress" in base64, as clients expect a signature to look.
pub(crate) const MARK: &str = "anVudG8gcHJvZ3Jlc3M=";

/// Whether a request's body may hold progress that came back.
pub(crate) fn may_be_in(body: &[u8]) -> bool {
    // A body that is no UTF-8 is no JSON and comes to nothing anyway.
    std::str::from_utf8(body).is_ok_and(|text| text.contains(MARK))
}

/// Takes progress that came back out of a conversation.
pub(crate) fn strip(messages: &mut Vec<Message>) {
    messages.retain_mut(|message| {
        let before = message.content.len();
        message.content.retain(|part| !is_progress(part));
        // A message that was nothing but progress was never said.
        message.content.len() == before || !message.content.is_empty()
    });
}

fn is_progress(part: &Part) -> bool {
    matches!(part.content(), Content::Thinking(thinking) if thinking.signature.as_deref() == Some(MARK))
}

/// Turns the progress of one stream into reasoning.
#[derive(Debug)]
pub(crate) struct Narrator {
    progress: Progress,
    /// The segment that is open.
    open: Option<SegmentId>,
    /// The id for the next segment; they count down, away from the provider's.
    next: u32,
}

impl Narrator {
    pub(crate) fn new(progress: Progress) -> Self {
        Self { progress, open: None, next: u32::MAX }
    }

    /// Takes in an event and hands on what the client shall see.
    ///
    /// Lines that follow each other share a segment. It ends when something else begins, but not
    /// for more of what has begun already: else narration beside a running answer would become as
    /// many segments as lines.
    pub(crate) fn pass(&mut self, event: StreamEvent, mut emit: impl FnMut(&StreamEvent)) {
        match event {
            StreamEvent::Progress { text } => {
                if self.progress == Progress::Shown {
                    self.say(text, emit);
                }
            }
            event => {
                if begins_or_ends(&event)
                    && let Some(id) = self.open.take()
                {
                    let signature = Some(MARK.to_owned());
                    emit(&StreamEvent::ReasoningEnd { id, signature, raw: None });
                }
                emit(&event);
            }
        }
    }

    fn say(&mut self, mut line: String, mut emit: impl FnMut(&StreamEvent)) {
        let id = self.open.unwrap_or_else(|| {
            let id = SegmentId(self.next);
            self.next = self.next.wrapping_sub(1);
            emit(&StreamEvent::ReasoningStart { id });
            id
        });
        self.open = Some(id);
        line.push('\n');
        emit(&StreamEvent::ReasoningDelta { id, text: line });
    }
}

fn begins_or_ends(event: &StreamEvent) -> bool {
    matches!(
        event,
        StreamEvent::TextStart { .. }
            | StreamEvent::ReasoningStart { .. }
            | StreamEvent::ToolCallStart { .. }
            | StreamEvent::Part { .. }
            | StreamEvent::Finish { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use junto_llm::{Finish, FinishReason, Role, Thinking, Usage};

    fn progress(text: &str) -> StreamEvent {
        StreamEvent::Progress { text: text.into() }
    }

    fn text(delta: &str) -> StreamEvent {
        StreamEvent::TextDelta { id: SegmentId(0), text: delta.into() }
    }

    fn shown(mode: Progress, events: Vec<StreamEvent>) -> String {
        let mut narrator = Narrator::new(mode);
        let mut seen = Vec::new();
        for event in events {
            narrator.pass(event, |event| {
                seen.push(match event {
                    StreamEvent::ReasoningStart { .. } => "<".into(),
                    StreamEvent::ReasoningDelta { text, .. } => text.replace('\n', "/"),
                    StreamEvent::ReasoningEnd { signature, .. } => {
                        assert_eq!(signature.as_deref(), Some(MARK));
                        ">".into()
                    }
                    StreamEvent::TextDelta { text, .. } => text.clone(),
                    StreamEvent::TextStart { .. } => "[".into(),
                    StreamEvent::Finish { .. } => ".".into(),
                    other => panic!("{other:?}"),
                });
            });
        }
        seen.concat()
    }

    fn finish() -> StreamEvent {
        StreamEvent::Finish {
            reason: FinishReason::new(Finish::Stop),
            usage: Usage::default(),
            response: None,
        }
    }

    #[test]
    fn lines_share_a_segment_that_ends_where_something_begins() {
        let start = || StreamEvent::TextStart { id: SegmentId(0) };
        let events = || {
            vec![
                progress("a"),
                progress("b"),
                start(),
                text("x"),
                progress("c"),
                text("y"),
                progress("d"),
                finish(),
            ]
        };
        assert_eq!(shown(Progress::Shown, events()), "<a/b/>[x<c/yd/>.");
        assert_eq!(shown(Progress::Hidden, events()), "[xy.");
        assert_eq!(shown(Progress::Shown, vec![progress("a"), finish()]), "<a/>.");
    }

    #[test]
    fn only_what_is_marked_is_taken_out() {
        let thinking = |signature: Option<&str>| {
            let signature = signature.map(str::to_owned);
            Part::new(Content::Thinking(Thinking { text: "hm".into(), signature }))
        };
        let mut messages = vec![
            Message::user("q"),
            Message::new(Role::Assistant, vec![thinking(Some(MARK)), thinking(Some("s")), Part::text("a")]),
            Message::new(Role::Assistant, vec![thinking(Some(MARK))]),
            Message::new(Role::System, vec![]),
            Message::new(Role::Assistant, vec![thinking(None)]),
        ];
        strip(&mut messages);
        let left: Vec<usize> = messages.iter().map(|m| m.content.len()).collect();
        assert_eq!(left, [1, 2, 0, 1]);
        assert!(may_be_in(format!("{{\"signature\":\"{MARK}\"}}").as_bytes()));
        assert!(!may_be_in(b"{}") && !may_be_in(b"\xff"));
    }
}
