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

/// What counts where the data file says nothing: the vocabulary alone.
static PLAIN: LazyLock<Family> = LazyLock::new(Family::default);

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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Weights {
    word: f64,
    inner: f64,
    accented: f64,
    han: f64,
    other: f64,
    digits: f64,
    marks: f64,
    space: f64,
}

impl Default for Weights {
    fn default() -> Self {
        let (word, inner, accented, han) = (1.0, 1.0, 1.0, 1.0);
        Self { word, inner, accented, han, other: 1.0, digits: 1.0, marks: 1.0, space: 1.0 }
    }
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
        named.or_else(|| FAMILIES.iter().find(|family| family.wire == Some(wire))).unwrap_or(&PLAIN)
    }

    /// How many of its tokens a piece is that has so many of `o200k_base`.
    #[expect(clippy::cast_precision_loss, reason = "the tokens of a piece are far below 2^52")]
    pub(super) fn tokens(&self, piece: &str, kind: Kind, tokens: u64) -> f64 {
        let weights = &self.weights;
        let weight = match kind {
            Kind::Word => weights.word,
            Kind::Inner => weights.inner,
            Kind::Accented => weights.accented,
            Kind::Han => weights.han,
            Kind::Other => weights.other,
            Kind::Digits if self.each_digit => return weights.digits * piece.chars().count() as f64,
            Kind::Digits => weights.digits,
            Kind::Marks => weights.marks,
            Kind::Space => weights.space,
        };
        weight * tokens as f64
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
        check("us.anthropic.claude-3-7-sonnet-20250219-v1:0", Wire::Anthropic, "claude");
        check("claude-opus-4-7", Wire::Anthropic, "claude since 4.7");
        check("anthropic/claude-opus-5-5", Wire::Chat, "claude since 4.7");
        check("gpt-4o-2024-08-06", Wire::Chat, "gpt-4o");
        check("gpt-4-turbo", Wire::Chat, "gpt-4");
        check("gpt-5.5", Wire::Responses, "gpt-5");
        check("gpt-5-mini", Wire::Responses, "small gpt-5");
        check("openai/gpt-oss-120b", Wire::Chat, "gpt-5");
        check("gemini-2.5-pro", Wire::Gemini, "gemini up to 2");
        check("gemini-3.1-pro-preview", Wire::Gemini, "gemini");
        check("Qwen/Qwen3-Coder", Wire::Chat, "qwen");
        check("my-model", Wire::Chat, "unknown");
        check("my-model", Wire::Anthropic, "claude since 4.7");
        check("my-model", Wire::Responses, "gpt-5");
        check("my-model", Wire::Gemini, "gemini");
    }
}
