//! How full the model's context window is.

use junto_llm::{Content, Message};

/// The share of the window, in percent, above which the host is told.
const FULL: u64 = 80;

/// How many characters are taken for a token where nobody counted.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// Estimates how many tokens a conversation has: what the provider counted last, and a guess for what
/// came after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// By the provider's count; zero before there is one.
    counted: u64,
    /// Characters that nobody has counted as tokens.
    characters: u64,
}

impl Size {
    /// A message was added.
    pub(crate) fn add(&mut self, message: &Message) {
        self.characters = self.characters.saturating_add(characters(message));
    }

    /// The provider says that everything up to here has so many tokens. Zero says nothing.
    pub(crate) fn count(&mut self, tokens: u64) {
        if tokens > 0 {
            *self = Self { counted: tokens, characters: 0 };
        }
    }

    /// A conversation of about so many tokens, which nobody has counted.
    pub(crate) fn about(tokens: u64) -> Self {
        Self { counted: tokens, characters: 0 }
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.counted.saturating_add(self.characters / CHARACTERS_PER_TOKEN)
    }
}

/// Says when a window gets full: once each time the line is crossed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauge {
    above: bool,
}

impl Gauge {
    /// Takes note of how much is in a window, and gives the warning if it is due.
    pub(crate) fn note(&mut self, tokens: u64, window: u64) -> Option<String> {
        if window == 0 {
            return None;
        }
        let above = u128::from(tokens) * 100 > u128::from(window) * u128::from(FULL);
        let was_above = std::mem::replace(&mut self.above, above);
        let percent = (u128::from(tokens) * 100 + u128::from(window) / 2) / u128::from(window);
        (above && !was_above).then(|| format!("Context usage at ~{percent}% of context window"))
    }
}

/// The characters of a message that a model reads. Pictures are not counted.
pub(crate) fn characters(message: &Message) -> u64 {
    let count = |text: &str| text.chars().count();
    let of = |content: &Content| match content {
        Content::Text(text) | Content::RedactedThinking(text) => count(text),
        Content::Thinking(thinking) => count(&thinking.text),
        Content::ToolCall(call) => count(&call.name) + count(&call.raw_arguments),
        Content::ToolResult(result) => count(&result.output.to_text()),
        Content::Other(item) => count(&item.to_string()),
        Content::Image(_) | Content::Audio(_) | Content::Document(_) => 0,
    };
    message.content.iter().map(|part| of(part.content()) as u64).sum()
}

#[cfg(test)]
mod tests {
    use junto_llm::{Part, Role, ToolCall, ToolResult};

    use super::*;

    #[test]
    fn it_is_said_once_for_each_crossing() {
        let mut gauge = Gauge::default();
        let mut check = |tokens, window, percent: Option<u32>| {
            let expected = percent.map(|p| format!("Context usage at ~{p}% of context window"));
            assert_eq!(gauge.note(tokens, window), expected, "{tokens} of {window}");
        };
        check(0, 1000, None);
        check(800, 1000, None);
        check(801, 1000, Some(80));
        check(950, 1000, None);
        check(950, 2000, None);
        check(1700, 2000, Some(85));
        check(10, 0, None);
        check(100, 2000, None);
    }

    #[test]
    fn what_nobody_counted_is_guessed() {
        let mut size = Size::default();
        size.add(&Message::user("x".repeat(400)));
        assert_eq!(size.tokens(), 100);
        size.count(0);
        assert_eq!(size.tokens(), 100);
        size.count(70);
        assert_eq!(size.tokens(), 70);
        size.add(&Message::tool_results([ToolResult::text("c", "ü".repeat(40))]));
        assert_eq!(size.tokens(), 80);
        let call = ToolCall::function("c", "read", r#"{"a":"bcde"}"#);
        size.add(&Message::new(
            Role::Assistant,
            vec![Part::new(Content::ToolCall(call)), Part::text("1234")],
        ));
        assert_eq!(size.tokens(), 85);
    }
}
