//! How many tokens a request can have at most.

use std::hash::{DefaultHasher, Hasher as _};
use std::io;

use serde::Serialize;

use super::tally::Count;
use crate::catalog::{ModelInfo, Reasoning};
use crate::{Content, Media, MediaSource, Message, Part, Request, ToolResult};

/// What a provider adds by itself: a prompt for the use of tools, the frame of the conversation.
const OVERHEAD: u64 = 1024;
/// The most tokens that a provider takes for one picture, at the highest resolution.
const PICTURE: u64 = 10_000;
/// The most tokens of a document or sound that the provider fetches, or that is read later: no window is
/// larger.
const UNSEEN: u64 = 1_000_000;
/// The limit of an answer that is asked for where neither request nor catalog has one, in tokens.
pub const UNKNOWN_OUTPUT: u64 = 8192;
/// An effort makes answers at least this long on models with a budget for thinking, whatever limit the
/// request has.
const THOUGHTFUL: u64 = 2048;

/// The size of a request.
pub(super) struct Size {
    /// How many messages it has.
    pub(super) messages: usize,
    /// What stands for all of it.
    pub(super) print: u64,
    /// The most tokens it can have.
    pub(super) tokens: u64,
}

impl Size {
    /// Measures a request. Every token stands for at least one byte, so the bytes are a bound. For the
    /// part of it whose tokens were counted before, that count is one too, and a much better one.
    pub(super) fn of(request: &Request, counted: Option<Count>, model: Option<&ModelInfo>) -> Self {
        let mut scale = Scale::default();
        scale.put(&(&request.tools, &request.response_format, &request.provider_options));
        let messages = request.messages.len();
        let mut known = None;
        for (index, message) in request.messages.iter().enumerate() {
            scale.message(message);
            if let Some(count) = counted
                && count.messages == index + 1
                && count.print == scale.print()
            {
                known = Some((scale.tokens, count.tokens));
            }
        }
        let bytes = scale.tokens.saturating_add(OVERHEAD);
        let tokens = match known {
            Some((before, counted)) => bytes.min(counted.saturating_add(scale.tokens - before)),
            None => bytes,
        };
        // A longer one the provider refuses, for nothing.
        let window = model.map(|model| model.context_window).filter(|window| *window > 0);
        Self { messages, print: scale.print(), tokens: window.map_or(tokens, |window| tokens.min(window)) }
    }
}

/// Weighs what is put on it, and takes its print.
#[derive(Default)]
struct Scale {
    tokens: u64,
    hasher: DefaultHasher,
}

impl Scale {
    fn print(&self) -> u64 {
        self.hasher.finish()
    }

    fn message(&mut self, message: &Message) {
        self.put(&(message.role, &message.name));
        for part in &message.content {
            self.part(part);
        }
    }

    fn part(&mut self, part: &Part) {
        match part.content() {
            Content::Image(media) => self.media(media, PICTURE),
            Content::Audio(media) | Content::Document(media) => self.media(media, size(media)),
            Content::ToolResult(ToolResult { call_id, output, is_error, images }) => {
                self.put(&(call_id, output, is_error));
                for image in images {
                    self.media(image, PICTURE);
                }
            }
            Content::Text(_)
            | Content::ToolCall(_)
            | Content::Thinking(_)
            | Content::RedactedThinking(_)
            | Content::Other(_) => self.put(part),
        }
    }

    /// Media cost what they show, not what they weigh.
    fn media(&mut self, media: &Media, tokens: u64) {
        let before = self.tokens;
        self.put(media);
        self.tokens = before.saturating_add(tokens);
    }

    fn put(&mut self, value: &impl Serialize) {
        // It fails only where serializing does, and what cannot be serialized is not sent.
        let _ = serde_json::to_writer(&mut *self, value);
    }
}

impl io::Write for Scale {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tokens = self.tokens.saturating_add(bytes.len() as u64);
        self.hasher.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The tokens of a document or sound: of the data itself there is at least a byte for each.
fn size(media: &Media) -> u64 {
    match &media.source {
        MediaSource::Bytes(data) => (data.len() as u64).max(PICTURE),
        MediaSource::Url(_) | MediaSource::Path(_) => UNSEEN,
    }
}

/// The most tokens that an answer can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// As the request says, or as the model can.
    Most(u64),
    /// As nobody says: the request must.
    Unsaid(u64),
    /// As the options for one wire say, which win over the request.
    Fixed(u64),
}

impl Output {
    pub(super) fn of(request: &Request, model: Option<&ModelInfo>) -> Self {
        if let Some(fixed) = fixed(request) {
            return Self::Fixed(fixed);
        }
        let most = model.map(|model| model.max_output).filter(|most| *most > 0);
        let Some(asked) = request.max_tokens.or(most) else { return Self::Unsaid(UNKNOWN_OUTPUT) };
        let raised = request.reasoning_effort.is_some()
            && model.is_some_and(|model| model.reasoning == Reasoning::Budget);
        Self::Most(if raised { asked.max(THOUGHTFUL) } else { asked })
    }

    pub(super) fn tokens(self) -> u64 {
        match self {
            Self::Most(tokens) | Self::Unsaid(tokens) | Self::Fixed(tokens) => tokens,
        }
    }
}

/// Where a wire's own options have the limit of an answer.
const FIXED: [&str; 6] = [
    "/anthropic/max_tokens",
    "/openai/max_output_tokens",
    "/chat/max_tokens",
    "/chat/max_completion_tokens",
    "/gemini/generationConfig/maxOutputTokens",
    "/gemini/generation_config/max_output_tokens",
];

fn fixed(request: &Request) -> Option<u64> {
    if request.provider_options.is_empty() {
        return None;
    }
    let at = |path: &&str| {
        let mut steps = path.split('/').skip(1);
        let first = request.provider_options.get(steps.next()?)?;
        steps.try_fold(first, |value, step| value.get(step))?.as_u64()
    };
    FIXED.iter().filter_map(at).max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Effort;

    fn model() -> ModelInfo {
        ModelInfo {
            context_window: 50_000,
            max_output: 9000,
            reasoning: Reasoning::Budget,
            ..ModelInfo::default()
        }
    }

    #[test]
    fn bytes_are_a_bound_and_pictures_are_not_weighed() {
        let check = |message: Message, least: u64, most: u64| {
            let size = Size::of(&Request::of([message.clone()]), None, None);
            assert!((least..most).contains(&size.tokens), "{message:?}: {}", size.tokens);
        };
        check(Message::user("x".repeat(5000)), 5000 + OVERHEAD, 5200 + OVERHEAD);
        check(Message::user("ü".repeat(5000)), 10_000 + OVERHEAD, 10_200 + OVERHEAD);
        let of = |content| Message::new(crate::Role::User, vec![Part::new(content)]);
        let large = Media::bytes(vec![0; 90_000]);
        check(of(Content::Image(large.clone())), PICTURE, PICTURE + OVERHEAD + 200);
        check(of(Content::Document(large.clone())), 90_000, 90_000 + OVERHEAD + 200);
        check(of(Content::Document(Media::url("https://a/b.pdf"))), UNSEEN, UNSEEN + OVERHEAD + 200);
        let seen = ToolResult { images: vec![large], ..ToolResult::text("c", "y".repeat(500)) };
        check(Message::tool_results([seen]), PICTURE + 500, PICTURE + 700 + OVERHEAD);
    }

    #[test]
    fn nothing_is_larger_than_the_window() {
        let request = Request::prompt("x".repeat(100_000));
        assert_eq!(Size::of(&request, None, Some(&model())).tokens, 50_000);
    }

    #[test]
    fn what_was_counted_is_not_weighed_again() {
        let mut request = Request::of([Message::system("s".repeat(8000)), Message::user("q".repeat(8000))]);
        let first = Size::of(&request, None, None);
        let count = Count { messages: first.messages, print: first.print, tokens: 4100 };
        request.messages.push(Message::assistant("a".repeat(1000)));
        request.messages.push(Message::user("r".repeat(1000)));
        let second = Size::of(&request, Some(count), None).tokens;
        assert!((6100..6300).contains(&second), "{second}");
        // Another beginning: of that nobody has counted anything.
        let mut other = request.clone();
        other.tools.push(crate::ToolSpec::foreign("t", "", json!({})));
        assert!(Size::of(&other, Some(count), None).tokens > 18_000);
        // A count that is worse than the bytes.
        let absurd = Count { tokens: 1_000_000, ..count };
        assert!(Size::of(&request, Some(absurd), None).tokens < 20_000);
    }

    #[test]
    fn the_answer_is_as_long_as_somebody_says() {
        let check = |request: Request, model: Option<&ModelInfo>, expected| {
            assert_eq!(Output::of(&request, model), expected, "{request:?}");
        };
        let ask = || Request::prompt("?");
        check(ask(), None, Output::Unsaid(UNKNOWN_OUTPUT));
        check(ask(), Some(&model()), Output::Most(9000));
        check(ask().max_tokens(100), Some(&model()), Output::Most(100));
        let thinks = Request { reasoning_effort: Some(Effort::Low), ..ask().max_tokens(100) };
        check(thinks, Some(&model()), Output::Most(THOUGHTFUL));
        let options = json!({"openai": {"max_output_tokens": 7}, "gemini": {"generationConfig": {"maxOutputTokens": 70}}});
        let provider_options = options.as_object().cloned().unwrap();
        check(Request { provider_options, ..ask().max_tokens(100) }, Some(&model()), Output::Fixed(70));
    }
}
