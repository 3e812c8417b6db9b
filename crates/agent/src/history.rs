//! The conversation, as the model sees it. It only grows, and it is valid for the strictest provider
//! at every moment between two steps: each tool call has its result.

use junto_core::Input;
use junto_llm::{Media, Message, Part, Response, Role, ToolResult};

/// The conversation.
#[derive(Debug)]
pub(crate) struct History(Vec<Message>);

impl History {
    /// A conversation that begins with a system prompt, unless it is empty.
    pub(crate) fn new(system: &str) -> Self {
        Self(if system.is_empty() { Vec::new() } else { vec![Message::system(system)] })
    }

    pub(crate) fn messages(&self) -> &[Message] {
        &self.0
    }

    /// What somebody said, at the start or while the model worked.
    pub(crate) fn say(&mut self, input: &Input) {
        let images = input.images.iter().map(|path| Part::image(Media::path(path)));
        let mut parts: Vec<Part> = images.collect();
        if !input.text.is_empty() || parts.is_empty() {
            parts.push(Part::text(&input.text));
        }
        self.0.push(Message::new(Role::User, parts));
    }

    /// A whole answer, verbatim. One that says nothing is left out: no provider takes it back.
    pub(crate) fn answer(&mut self, message: Message) {
        if !message.content.is_empty() {
            self.0.push(message);
        }
    }

    /// What there is of an answer that was broken off: its text. Reasoning without its signature and
    /// calls that nobody ran would not be taken back.
    pub(crate) fn broken_off(&mut self, response: &Response) {
        let text = response.text();
        if !text.trim().is_empty() {
            self.0.push(Message::assistant(text));
        }
    }

    /// The results of the last answer's calls, in their order.
    pub(crate) fn results(&mut self, results: Vec<ToolResult>) {
        self.0.push(Message::tool_results(results));
    }
}
