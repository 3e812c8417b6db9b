//! What a call used where its provider does not say, or not all of it: counted here, for budgets, which would never end
//! otherwise.

use std::sync::Arc;

use bytes::Bytes;
use junto_llm::wire::Incoming;
use junto_llm::{Origin, Response, StreamEvent, Usage, Wire, tokens};
use serde_json::Value;

use crate::report::is_nothing;

/// How much of an answer is kept to be counted, in bytes; no model writes so much.
const MOST: usize = 8 * 1024 * 1024;

/// From how many bytes on it takes a while to count them.
const LONG: usize = 8 * 1024;

/// A request, and what was answered so far.
pub(crate) struct Presumed {
    wire: Wire,
    model: String,
    request: Bytes,
    answer: String,
    /// What the provider said before the end.
    told: Usage,
}

impl Presumed {
    /// For a request on this wire.
    pub(crate) fn new(wire: Wire, model: &str, request: Bytes) -> Self {
        Self { wire, model: model.to_owned(), request, answer: String::new(), told: Usage::default() }
    }

    /// Whether anything was answered.
    pub(crate) fn has_heard(&self) -> bool {
        !self.answer.is_empty() || !is_nothing(&self.told)
    }

    /// Takes note of what the provider says before the end: most know by then what they have read, and nothing of what they
    /// will write.
    pub(crate) fn hear_usage(&mut self, told: &Usage) {
        self.told = told.clone();
        if told.input > 0 {
            // It need not be counted, and may be large.
            self.request = Bytes::new();
        }
    }

    /// Takes note of what is answered.
    pub(crate) fn hear(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::TextDelta { text, .. } | StreamEvent::ReasoningDelta { text, .. } => self.add(text),
            StreamEvent::ToolCallStart { name, .. } => self.add(name),
            StreamEvent::ToolCallDelta { arguments, .. } => self.add(arguments),
            _ => {}
        }
    }

    /// Takes note of a whole answer.
    pub(crate) fn hear_all(&mut self, response: &Response) {
        self.add(&response.reasoning());
        self.add(&response.text());
        for call in response.tool_calls() {
            self.add(&call.name);
            self.add(&call.raw_arguments);
        }
    }

    fn add(&mut self, text: &str) {
        if self.answer.len() + text.len() <= MOST {
            self.answer.push_str(text);
        }
    }

    /// Whether it takes a while to say how much it is.
    pub(crate) fn is_long(&self) -> bool {
        self.request.len() + self.answer.len() >= LONG
    }

    /// The tokens: what the provider said, and the rest as it is counted. That takes about a tenth of a second for a
    /// megabyte.
    pub(crate) fn usage(&self) -> Usage {
        let input = if self.told.input > 0 { self.told.input } else { self.count_request() };
        let counted = if self.answer.is_empty() {
            0
        } else {
            tokens::count_text(&self.answer, &self.model, self.wire).tokens
        };
        let output = self.told.output.max(counted);
        Usage { input, output, total: input.saturating_add(output), ..self.told.clone() }
    }

    fn count_request(&self) -> u64 {
        let body: Value = serde_json::from_slice(&self.request).unwrap_or_default();
        let origin = Arc::new(Origin { wire: self.wire, provider: String::new(), model: self.model.clone() });
        // Of the path only Gemini's codec reads anything, and a model is known already.
        let incoming = Incoming { path: "/v1beta/models/any:generateContent", body: &body };
        let count = match self.wire.codec().decode_request(incoming, &origin) {
            Ok((request, _)) => tokens::count(&request, &self.model, self.wire),
            // What we cannot read went through by bytes.
            Err(_) => tokens::count_text(&String::from_utf8_lossy(&self.request), &self.model, self.wire),
        };
        count.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use junto_llm::{Content, Message, Part, SegmentId, ToolCall};

    fn asked(body: &str) -> Presumed {
        Presumed::new(Wire::Chat, "gpt-5.5", Bytes::copy_from_slice(body.as_bytes()))
    }

    #[test]
    fn the_request_and_what_was_heard_are_counted() {
        let request = r#"{"model":"gpt-5.5","messages":[{"role":"user","content":"Hello, world"}]}"#;
        let mut presumed = asked(request);
        assert_eq!(presumed.usage(), Usage::new(9, 0));
        let id = SegmentId(0);
        for text in ["Hello", ", ", "world"] {
            presumed.hear(&StreamEvent::TextDelta { id, text: text.into() });
        }
        assert_eq!(presumed.usage(), Usage::new(9, 3));
        presumed.hear(&StreamEvent::ReasoningDelta { id, text: " and more".into() });
        assert!(presumed.usage().output > 3);

        // What is said before the end is true of the request, and too little for the answer.
        presumed.hear_usage(&Usage { cache_read: Some(4), ..Usage::new(700, 1) });
        let (counted, told) = (asked(request).usage().input, presumed.usage());
        assert_ne!(counted, 700);
        assert!((told.input, told.cache_read) == (700, Some(4)) && told.output > 3, "{told:?}");
        assert_eq!(told.total, told.input + told.output);

        let mut whole = asked(request);
        let call = ToolCall::function("id", "weather", r#"{"city": "Bern"}"#);
        let mut response = Response::empty("p", "m");
        response.message = Message::assistant("Hello");
        response.message.content.push(Part::new(Content::ToolCall(call)));
        whole.hear_all(&response);
        assert!(whole.usage().output > 5, "{:?}", whole.usage());
    }

    #[test]
    fn a_request_that_only_its_provider_understands_is_counted_as_text() {
        let presumed = asked(r#"{"model":"gpt-5.5","messages":"a way to ask that is new to us"}"#);
        assert!(presumed.usage().input > 10, "{:?}", presumed.usage());
    }
}
