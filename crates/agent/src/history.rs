//! The conversation, as the model sees it. It grows, and is made shorter as a whole (`compact.rs`); it is
//! valid for the strictest provider at every moment between two steps: each tool call has its result.
//!
//! The log has the same conversation for everybody else, with the time of each entry. A record of its
//! turns is read from there, and what the model saw to the byte, so that a session can be brought back
//! (`restore/conversation.rs`):
//!
//! | turn | events, for a reader | what the model saw |
//! |---|---|---|
//! | system | `session_start` | its `setup`: the whole prompt, which does not change |
//! | user | `user_input`: what was said | its text and `pictures`, as they were read then |
//! | assistant | `reasoning_end` and `assistant_text_end`: the whole texts; `call`: usage, cost, model and response id, once for each model call, whose name they all bear in `corr`; then `tool_call_start`: each call with its arguments | `call`: its `answer`, verbatim with signatures and raw items; absent if nothing entered the conversation |
//! | tool results | `tool_call_end`: one for each call, with the whole output | its `seen` where the output was cut or has pictures, else the output; one message for all calls of an answer, in their order |
//! | steering | `steering_injected`, or `loop_detection` where the loop itself spoke | the same, unless the loop `stops` there |
//! | all, anew | `compacted`: the conversation was made shorter | its `messages`: everything from there on |
//! | none | `rewound`: what came after an input is no longer part of the conversation | |

use junto_llm::{Message, Messages, ToolCall, ToolResult, Usage};

use crate::context::Size;
use crate::prefix::Marks;
use crate::said::Said;

/// The conversation.
#[derive(Debug, Default)]
pub(crate) struct History {
    messages: Messages,
    size: Size,
    marks: Marks,
    pins: Pins,
    /// How many tokens it had when it was last made shorter.
    shortened_to: u64,
    /// How many turns the session has had.
    turns: u32,
}

/// Which messages stay, by their place, however often the conversation is made shorter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pins {
    /// The pinned ones, in order.
    pub(crate) pinned: Vec<usize>,
    /// The latest input: it stays until the next one comes.
    pub(crate) input: Option<usize>,
}

impl Pins {
    pub(crate) fn holds(&self, place: usize) -> bool {
        self.input == Some(place) || self.pinned.contains(&place)
    }
}

impl History {
    /// A conversation that begins with a system prompt, unless it is empty.
    pub(crate) fn new(system: &str) -> Self {
        let mut history = Self::default();
        if !system.is_empty() {
            history.push(Message::system(system));
        }
        history
    }

    /// The same, in a session that has had at least so many turns: not all of them need be in it.
    pub(crate) fn with_turns(mut self, turns: u32) -> Self {
        self.turns = self.turns.max(turns);
        self
    }

    /// How many turns the session has had: what was said to the model, its answers, and the results of
    /// each round of tools.
    pub(crate) fn turns(&self) -> u32 {
        self.turns
    }

    fn turn(&mut self, message: Message) {
        self.turns = self.turns.saturating_add(1);
        self.push(message);
    }

    fn push(&mut self, message: Message) {
        self.size.add(&message);
        self.marks.add(&message);
        self.messages.push(message);
    }

    /// What a request sends. The messages are shared, not copied, so that a long session costs no more for
    /// each turn than a short one.
    pub(crate) fn messages(&self) -> Messages {
        self.messages.clone()
    }

    /// The fingerprints of these messages.
    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// How many tokens it has, by the provider's last count and a guess for what came after.
    pub(crate) fn tokens(&self) -> u64 {
        self.size.tokens()
    }

    /// Which messages stay.
    pub(crate) fn pins(&self) -> &Pins {
        &self.pins
    }

    /// How many tokens it must have before it is worth making it shorter again.
    pub(crate) fn rest(&self) -> u64 {
        self.shortened_to.saturating_add(self.shortened_to / 4)
    }

    /// Puts another conversation, of about so many tokens, in the place of this one.
    pub(crate) fn replace(&mut self, messages: Messages, pins: Pins, tokens: u64) {
        let mut marks = Marks::default();
        messages.iter().for_each(|message| marks.add(message));
        let (size, turns) = (Size::about(tokens), self.turns);
        *self = Self { messages, size, marks, pins, shortened_to: tokens, turns };
    }

    /// An input. The first is pinned, and so is one that is marked.
    pub(crate) fn begin(&mut self, said: &Said) {
        let place = self.messages.len();
        if said.input.pinned || self.pins.input.is_none() {
            self.pins.pinned.push(place);
        }
        self.pins.input = Some(place);
        self.turn(said.message());
    }

    /// What somebody said while the model worked. Marked, it is pinned.
    pub(crate) fn say(&mut self, said: &Said) {
        if said.input.pinned {
            self.pins.pinned.push(self.messages.len());
        }
        self.turn(said.message());
    }

    /// An answer, or what there is of it: exactly what the log has of it.
    pub(crate) fn enter(&mut self, answer: Message) {
        self.turn(answer);
    }

    /// The provider's count of everything up to here.
    pub(crate) fn count(&mut self, usage: &Usage) {
        if usage.input > 0 {
            self.size.count(usage.input.saturating_add(usage.output));
        }
    }

    /// The results of the last answer's calls, in their order.
    pub(crate) fn results(&mut self, results: Vec<ToolResult>) {
        self.turn(Message::tool_results(results));
    }

    /// The last round of tools: each call of the answer, and its result.
    pub(crate) fn last_round(&self) -> impl Iterator<Item = (&ToolCall, &ToolResult)> {
        let (calls, results) = match self.messages.as_slice() {
            [.., answer, results] => (Some(answer), Some(results)),
            _ => (None, None),
        };
        let calls = calls.into_iter().flat_map(Message::tool_calls);
        calls.zip(results.into_iter().flat_map(Message::results))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is copied as long as no request is kept: copying would cost the square of the turns.
    #[test]
    fn a_request_shares_the_conversation() {
        let mut history = History::new("You are a test.");
        let mut moved = 0;
        for _ in 0..2000 {
            let before = history.messages.as_ptr();
            let request = history.messages();
            assert_eq!(request.as_ptr(), before);
            drop(request);
            history.push(Message::user("more"));
            moved += usize::from(history.messages.as_ptr() != before);
        }
        assert!(moved < 20, "only where a vector grows: {moved}");
    }
}
