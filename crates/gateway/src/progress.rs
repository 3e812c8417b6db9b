//! What a provider says about its progress, shown to clients as reasoning.
//!
//! No wire has a place for narration, but clients show reasoning as it comes. So progress is put
//! into reasoning segments of its own, and taken out again when the client sends it back. On wires
//! where reasoning is signed the signature says what it is; on the others, whose reasoning is bare
//! text, each line stands between marks that nobody sees.

use std::borrow::Cow;
use std::collections::VecDeque;

use http::{HeaderMap, header};
use junto_llm::{SegmentId, StreamEvent, Wire};
use memchr::memmem;

use crate::gateway::Progress;
use crate::sealed;

/// What stands before a line of progress where there is no signature.
const OPEN: &str = "\u{2063}\u{2062}";
/// What stands behind it.
const CLOSE: &str = "\u{2062}\u{2063}";
/// The first mark as it stands in JSON that is written in ASCII.
const ESCAPED: &str = "\\u2063\\u2062";
/// How many lines wait for their turn; of more, the last ones.
const WAITING: usize = 32;

/// What becomes of lines that come when the answer has been said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trailing {
    /// They are shown behind it.
    Shown,
    /// They are left out, unless something else follows.
    LeftOut,
}

impl Trailing {
    /// As the client that sent these headers can bear it. Claude Code without a person in front of it
    /// takes the last block of an answer for its result, whatever that block is.
    pub(crate) fn for_client(headers: &HeaderMap) -> Self {
        let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        let is_headless = agent.starts_with("claude-cli/") && agent.contains("sdk-");
        if is_headless { Self::LeftOut } else { Self::Shown }
    }
}

/// Turns the progress of one stream into reasoning.
#[derive(Debug)]
pub(crate) struct Narrator {
    progress: Progress,
    trailing: Trailing,
    /// Whether the answer's text has begun.
    has_answered: bool,
    /// Whether the client's wire signs reasoning.
    is_signed: bool,
    /// The segment that is open.
    open: Option<SegmentId>,
    /// The id for the next segment; they count down, away from the provider's.
    next: u32,
    /// How many segments of the provider's are open.
    busy: usize,
    /// Lines that came meanwhile.
    waiting: VecDeque<String>,
}

impl Narrator {
    pub(crate) fn new(progress: Progress, trailing: Trailing, wire: Wire) -> Self {
        Self {
            progress,
            trailing,
            has_answered: false,
            is_signed: has_signatures(wire),
            open: None,
            next: u32::MAX,
            busy: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Whether the last that the client saw was progress, and more may follow.
    pub(crate) fn is_speaking(&self) -> bool {
        self.open.is_some()
    }

    /// Takes in an event and hands on what the client shall see.
    ///
    /// Lines that follow each other share a segment, which ends when something else begins. Lines
    /// that come while the answer is being said wait until that piece of it has ended: clients that
    /// follow one item at a time would lose the thread.
    pub(crate) fn pass(&mut self, event: StreamEvent, mut emit: impl FnMut(&StreamEvent)) {
        match event {
            StreamEvent::Progress { text } => {
                if self.progress == Progress::Shown {
                    self.waiting.push_back(text);
                }
                if self.waiting.len() > WAITING {
                    self.waiting.pop_front();
                }
                if self.may_speak() {
                    self.catch_up(&mut emit);
                }
            }
            event => match step(&event) {
                Step::Begins => {
                    self.make_way(&mut emit);
                    self.has_answered |= matches!(event, StreamEvent::TextStart { .. });
                    self.busy += 1;
                    emit(&event);
                }
                Step::Ends => {
                    emit(&event);
                    self.busy = self.busy.saturating_sub(1);
                    if self.may_speak() {
                        self.catch_up(&mut emit);
                    }
                }
                Step::Whole => {
                    self.make_way(&mut emit);
                    emit(&event);
                }
                Step::Finishes => {
                    if self.is_trailing() {
                        self.waiting.clear();
                    }
                    self.catch_up(&mut emit);
                    self.close(&mut emit);
                    emit(&event);
                }
                Step::Other => emit(&event),
            },
        }
    }

    /// Whether what would be said now could be the last of the stream, and must not.
    fn is_trailing(&self) -> bool {
        self.has_answered && self.trailing == Trailing::LeftOut
    }

    fn may_speak(&self) -> bool {
        self.busy == 0 && !self.is_trailing()
    }

    /// Before something else begins, which shows that what waits is not the last.
    fn make_way(&mut self, emit: &mut impl FnMut(&StreamEvent)) {
        if self.busy == 0 {
            self.catch_up(emit);
        }
        self.close(emit);
    }

    fn catch_up(&mut self, emit: &mut impl FnMut(&StreamEvent)) {
        while let Some(line) = self.waiting.pop_front() {
            let id = self.open.unwrap_or_else(|| {
                let id = SegmentId(self.next);
                self.next = self.next.wrapping_sub(1);
                emit(&StreamEvent::ReasoningStart { id });
                id
            });
            self.open = Some(id);
            let text = if self.is_signed { format!("{line}\n") } else { format!("{OPEN}{line}\n{CLOSE}") };
            emit(&StreamEvent::ReasoningDelta { id, text });
        }
    }

    fn close(&mut self, emit: &mut impl FnMut(&StreamEvent)) {
        if let Some(id) = self.open.take() {
            let signature = self.is_signed.then(|| sealed::PROGRESS.to_owned());
            emit(&StreamEvent::ReasoningEnd { id, signature, raw: None });
        }
    }
}

/// What an event means for whoever wants to speak in between.
enum Step {
    Begins,
    Ends,
    Whole,
    Finishes,
    Other,
}

fn step(event: &StreamEvent) -> Step {
    match event {
        StreamEvent::TextStart { .. }
        | StreamEvent::ReasoningStart { .. }
        | StreamEvent::ToolCallStart { .. } => Step::Begins,
        StreamEvent::TextEnd { .. } | StreamEvent::ReasoningEnd { .. } | StreamEvent::ToolCallEnd { .. } => {
            Step::Ends
        }
        StreamEvent::Part { .. } => Step::Whole,
        StreamEvent::Finish { .. } => Step::Finishes,
        _ => Step::Other,
    }
}

/// Whether reasoning on this wire has a signature of its own, which clients send back with it.
fn has_signatures(wire: Wire) -> bool {
    matches!(wire, Wire::Anthropic | Wire::Responses)
}

/// Whether a request's body may hold marked progress.
pub(crate) fn may_be_in(wire: Wire, body: &[u8]) -> bool {
    !has_signatures(wire) && [OPEN, ESCAPED].iter().any(|mark| memmem::find(body, mark.as_bytes()).is_some())
}

/// Reasoning without the progress that is marked in it.
pub(crate) fn strip(text: &str) -> Cow<'_, str> {
    if !text.contains(OPEN) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, marked)) = rest.split_once(OPEN) {
        kept.push_str(before);
        // A line that was cut off is progress to its end.
        rest = marked.split_once(CLOSE).map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use junto_llm::{Finish, FinishReason, Usage};

    fn progress(text: &str) -> StreamEvent {
        StreamEvent::Progress { text: text.into() }
    }

    const TEXT: SegmentId = SegmentId(0);

    fn start() -> StreamEvent {
        StreamEvent::TextStart { id: TEXT }
    }

    fn text(delta: &str) -> StreamEvent {
        StreamEvent::TextDelta { id: TEXT, text: delta.into() }
    }

    fn end() -> StreamEvent {
        StreamEvent::TextEnd { id: TEXT, raw: None }
    }

    fn shown(mode: Progress, wire: Wire, events: Vec<StreamEvent>) -> String {
        told(Narrator::new(mode, Trailing::Shown, wire), events)
    }

    fn told(mut narrator: Narrator, events: Vec<StreamEvent>) -> String {
        let mut seen = Vec::new();
        for event in events {
            narrator.pass(event, |event| {
                seen.push(match event {
                    StreamEvent::ReasoningStart { .. } => "<".into(),
                    StreamEvent::ReasoningDelta { text, .. } => {
                        text.replace('\n', "/").replace(OPEN, "(").replace(CLOSE, ")")
                    }
                    StreamEvent::ReasoningEnd { signature: Some(signature), .. } => {
                        assert_eq!(signature, sealed::PROGRESS);
                        ">".into()
                    }
                    StreamEvent::ReasoningEnd { signature: None, .. } => "}".into(),
                    StreamEvent::TextDelta { text, .. } => text.clone(),
                    StreamEvent::TextStart { .. } => "[".into(),
                    StreamEvent::TextEnd { .. } => "]".into(),
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
    fn lines_share_a_segment_and_wait_while_something_is_being_said() {
        let events = || {
            let before = [progress("a"), progress("b"), start(), text("x"), progress("c"), text("y")];
            let after = [end(), progress("d"), finish()];
            before.into_iter().chain(after).collect()
        };
        let check = |mode, wire, expected: &str| assert_eq!(shown(mode, wire, events()), expected);
        check(Progress::Shown, Wire::Anthropic, "<a/b/>[xy]<c/d/>.");
        check(Progress::Shown, Wire::Responses, "<a/b/>[xy]<c/d/>.");
        check(Progress::Shown, Wire::Gemini, "<(a/)(b/)}[xy]<(c/)(d/)}.");
        check(Progress::Shown, Wire::Chat, "<(a/)(b/)}[xy]<(c/)(d/)}.");
        check(Progress::Hidden, Wire::Anthropic, "[xy].");
    }

    #[test]
    fn nothing_is_lost_but_the_oldest_of_very_many() {
        let unended = vec![start(), text("x"), progress("recap"), finish()];
        assert_eq!(shown(Progress::Shown, Wire::Anthropic, unended), "[x<recap/>.");
        assert_eq!(shown(Progress::Shown, Wire::Anthropic, vec![progress("a"), finish()]), "<a/>.");
        let mut many = vec![start()];
        many.extend((0..100).map(|n| progress(&n.to_string())));
        many.extend([end(), finish()]);
        let said = shown(Progress::Shown, Wire::Anthropic, many);
        assert!(said.starts_with("[]<68/69/") && said.ends_with("/99/>."), "{said}");
    }

    #[test]
    fn some_clients_bear_nothing_behind_the_answer() {
        let told = |events| told(Narrator::new(Progress::Shown, Trailing::LeftOut, Wire::Anthropic), events);
        let before = || vec![progress("a"), start(), text("x"), progress("b"), end(), progress("c")];
        assert_eq!(told([before(), vec![finish()]].concat()), "<a/>[x].");
        assert_eq!(told([before(), vec![start(), text("y"), end(), finish()]].concat()), "<a/>[x]<b/c/>[y].");
        assert_eq!(told(vec![progress("a"), finish()]), "<a/>.");

        let check = |agent: &'static str, expected| {
            let headers = HeaderMap::from_iter([(header::USER_AGENT, HeaderValue::from_static(agent))]);
            assert_eq!(Trailing::for_client(&headers), expected, "{agent}");
        };
        check("claude-cli/2.1.325 (external, sdk-cli)", Trailing::LeftOut);
        check("claude-cli/2.1.325 (external, cli)", Trailing::Shown);
        check("Anthropic/Python 2.8.0", Trailing::Shown);
        assert_eq!(Trailing::for_client(&HeaderMap::new()), Trailing::Shown);
    }

    #[test]
    fn what_is_marked_is_stripped() {
        let check = |text: &str, expected: &str| {
            let marked = text.replace('(', OPEN).replace(')', CLOSE);
            assert_eq!(strip(&marked), expected, "{text}");
            let json = serde_json::to_string(&marked).unwrap();
            assert_eq!(may_be_in(Wire::Chat, json.as_bytes()), text.contains('('));
            assert!(!may_be_in(Wire::Anthropic, json.as_bytes()));
        };
        check("", "");
        check("hm", "hm");
        check("(a)", "");
        check("(a)hm(b)ha(c)", "hmha");
        check("hm(cut off", "hm");
        check("hm)", &format!("hm{CLOSE}"));
        assert!(may_be_in(Wire::Gemini, br#"{"text":"\u2063\u2062a\u2062\u2063"}"#));
    }
}
