//! Models that count alike: a data file, read when first asked for.

use std::sync::LazyLock;

use serde::Deserialize;

use super::media::Picture;
use super::split::Kind;
use crate::Wire;

static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    // What is compiled in is right, which a test sees to.
    toml::from_str(include_str!("families.toml")).map(|file: File| file.family).unwrap_or_default()
});

/// Whoever has none, which cannot be: each wire names one.
static NONE: LazyLock<Family> = LazyLock::new(Family::default);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    family: Vec<Family>,
}

/// How one family of models counts. `families.toml` says what the fields mean.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Family {
    pub(super) name: String,
    names: Vec<String>,
    #[serde(default)]
    wire: Option<Wire>,
    /// Whether its vocabulary is the one we have.
    #[serde(default)]
    pub(super) vocabulary: bool,
    weights: Weights,
    /// Whether every digit is a token.
    #[serde(default)]
    each_digit: bool,
    pub(super) frame: Frame,
    pub(super) schema: Schema,
    pub(super) image: Picture,
    pub(super) page: f64,
    pub(super) second: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Weights {
    word: f64,
    foreign: f64,
    inner: f64,
    accented: f64,
    cyrillic: f64,
    han: f64,
    hangul: f64,
    other: f64,
    digits: f64,
    marks: f64,
    space: f64,
}

/// What a vendor puts around what is said.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Frame {
    pub(super) base: f64,
    pub(super) message: f64,
    pub(super) tools: f64,
    pub(super) forced: f64,
    pub(super) tool: f64,
    pub(super) property: f64,
    pub(super) call: f64,
    pub(super) argument: f64,
    pub(super) result: f64,
    #[serde(default)]
    pub(super) format: Option<f64>,
    pub(super) hosted: f64,
}

/// How a tool's schema is shown to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Schema {
    /// As it is.
    #[default]
    Json,
    /// Its names, types and descriptions.
    Outline,
}

impl Family {
    /// The family of a model, by its name; else that of the wire it is asked on.
    pub(super) fn of(model: &str, wire: Wire) -> &'static Self {
        let model = model.to_ascii_lowercase();
        let named = FAMILIES.iter().find(|family| family.names.iter().any(|name| model.contains(name)));
        named.or_else(|| FAMILIES.iter().find(|family| family.wire == Some(wire))).unwrap_or(&NONE)
    }

    /// How many of its tokens a text is.
    pub(super) fn tokens(&self, text: &Tally) -> f64 {
        let weights = &self.weights;
        let word = if text.is_english() { weights.word } else { weights.foreign };
        let digits = if self.each_digit { text.figures } else { text.digits };
        [
            (text.word, word),
            (text.inner, weights.inner),
            (text.accented, weights.accented),
            (text.cyrillic, weights.cyrillic),
            (text.han, weights.han),
            (text.hangul, weights.hangul),
            (text.other, weights.other),
            (digits, weights.digits),
            (text.marks, weights.marks),
            (text.space, weights.space),
        ]
        .iter()
        .map(|(tokens, weight)| tokens * weight)
        .sum()
    }
}

/// The tokens of `o200k_base` that a text has, by kind.
#[derive(Debug, Default)]
pub(super) struct Tally {
    word: f64,
    inner: f64,
    accented: f64,
    cyrillic: f64,
    han: f64,
    hangul: f64,
    other: f64,
    digits: f64,
    marks: f64,
    space: f64,
    /// How many digits there are.
    figures: f64,
}

impl Tally {
    #[expect(clippy::cast_precision_loss, reason = "the tokens of a piece are far below 2^52")]
    pub(super) fn add(&mut self, piece: &str, kind: Kind, tokens: u64) {
        let sum = match kind {
            Kind::Word => &mut self.word,
            Kind::Inner => &mut self.inner,
            Kind::Accented => &mut self.accented,
            Kind::Cyrillic => &mut self.cyrillic,
            Kind::Han => &mut self.han,
            Kind::Hangul => &mut self.hangul,
            Kind::Other => &mut self.other,
            Kind::Marks => &mut self.marks,
            Kind::Space => &mut self.space,
            Kind::Digits => {
                self.figures += piece.chars().count() as f64;
                &mut self.digits
            }
        };
        *sum += tokens as f64;
    }

    /// Whether the words in English letters are English, as far as their neighbours tell.
    fn is_english(&self) -> bool {
        self.accented <= 0.04 * self.word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_find_their_families() {
        let check = |model: &str, wire: Wire, expected: &str| {
            assert_eq!(Family::of(model, wire).name, expected, "{model}");
        };
        check("claude-sonnet-4-5-20250929", Wire::Anthropic, "claude");
        check("claude-sonnet-4-20250514", Wire::Anthropic, "claude up to 4.1");
        check("us.anthropic.claude-3-7-sonnet-20250219-v1:0", Wire::Anthropic, "claude up to 4.1");
        check("claude-opus-4-7", Wire::Anthropic, "claude since 4.7");
        check("anthropic/claude-opus-5-5", Wire::Chat, "claude since 4.7");
        check("gpt-4o-2024-08-06", Wire::Chat, "gpt-4o");
        check("gpt-4-turbo", Wire::Chat, "gpt-4");
        check("gpt-5.5", Wire::Responses, "gpt-5");
        check("gpt-5-mini", Wire::Responses, "small gpt-5");
        check("openai/gpt-oss-120b", Wire::Chat, "gpt-5");
        check("gemini-2.0-flash", Wire::Gemini, "gemini up to 2.0");
        check("gemini-2.5-pro", Wire::Gemini, "gemini 2.5");
        check("gemini-3.1-pro-preview", Wire::Gemini, "gemini");
        check("Qwen/Qwen3-Coder", Wire::Chat, "qwen");
        check("my-model", Wire::Chat, "unknown");
        check("my-model", Wire::Anthropic, "claude since 4.7");
        check("my-model", Wire::Responses, "gpt-5");
        check("my-model", Wire::Gemini, "gemini");
    }
}
