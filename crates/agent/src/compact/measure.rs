//! How large a conversation is, by guess: everything is measured in characters, and one scale, taken from
//! what the provider counted last, makes tokens of them.

use junto_llm::{Content, Message, ToolSpec};

use crate::context::characters;

/// What a message and each of its parts cost beside their texts.
const FRAME: u64 = 16;
/// What a picture, sound or document costs.
const MEDIA: u64 = 6000;

/// The size of a message.
pub(super) fn size(message: &Message) -> u64 {
    let media = |content: &Content| match content {
        Content::Image(_) | Content::Audio(_) | Content::Document(_) => MEDIA,
        Content::ToolResult(result) => result.images.len() as u64 * MEDIA,
        _ => 0,
    };
    let parts: u64 = message.content.iter().map(|part| FRAME + media(part.content())).sum();
    FRAME + parts + characters(message)
}

/// The size of several.
pub(super) fn sum<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    messages.into_iter().map(size).sum()
}

/// The size of what stands before every conversation: the tools.
pub(super) fn of_tools(tools: &[ToolSpec]) -> u64 {
    serde_json::to_string(tools).map_or(0, |text| text.len() as u64)
}

/// So many tokens for so many characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    tokens: u64,
    characters: u64,
}

impl Scale {
    /// A text of so many characters has so many tokens. What no tokenizer does is not believed: more than
    /// one token for a character, or less than one for eight.
    pub(super) fn new(tokens: u64, characters: u64) -> Self {
        let characters = characters.max(1);
        Self { tokens: tokens.clamp(characters.div_ceil(8), characters), characters }
    }

    pub(super) fn tokens(self, characters: u64) -> u64 {
        let tokens = (u128::from(characters) * u128::from(self.tokens)).div_ceil(u128::from(self.characters));
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    pub(super) fn characters(self, tokens: u64) -> u64 {
        let characters = u128::from(tokens) * u128::from(self.characters) / u128::from(self.tokens.max(1));
        u64::try_from(characters).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use junto_llm::{Media, Part, Role, ToolResult};

    use super::*;

    #[test]
    fn scales() {
        let check = |scale: Scale, characters, tokens| {
            assert_eq!(scale.tokens(characters), tokens, "{scale:?}");
            assert!(scale.characters(tokens) >= characters, "{scale:?}");
        };
        check(Scale::new(1000, 4000), 400, 100);
        check(Scale::new(1000, 4000), 401, 101);
        check(Scale::new(0, 4000), 800, 100);
        check(Scale::new(9000, 4000), 800, 800);
        check(Scale::new(0, 0), 0, 0);
    }

    #[test]
    fn pictures_and_frames_count() {
        let text = Message::user("four");
        assert_eq!(size(&text), 4 + 2 * FRAME);
        let picture = Message::new(Role::User, vec![Part::image(Media::bytes(vec![0; 90_000]))]);
        assert_eq!(size(&picture), MEDIA + 2 * FRAME);
        let result = ToolResult { images: vec![Media::url("x"); 2], ..ToolResult::text("c", "seen") };
        assert_eq!(sum(&[text, Message::tool_results([result])]), 8 + 2 * MEDIA + 4 * FRAME);
    }
}
