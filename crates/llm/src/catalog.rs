//! What is known of models: windows, abilities, prices. A data file, not code.
//!
//! [`Catalog::builtin`] is `catalog.toml`; a user's own entries go over it with
//! [`Catalog::overlay`]. Models that no catalog knows still work: their ids are passed through, and
//! only their cost stays unknown.

mod caching;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

pub use self::caching::Caching;
use crate::{Cost, Error, LeafCall, Usage, Usd};

/// What is known of one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each says a thing of its own, as the data file spells it")]
pub struct ModelInfo {
    /// The provider's own id.
    pub id: String,
    /// The provider.
    pub provider: String,
    /// A name for people.
    pub name: String,
    /// Tokens in and out together.
    pub context_window: u64,
    /// The most tokens an answer may have.
    pub max_output: u64,
    /// The month up to which it knows the world, `2026-01`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge_cutoff: Option<String>,
    /// The day it came out, `2026-02-05`; the latest wins.
    pub released: String,
    /// Whether it is what the provider's users get who name no model. A cheaper sibling that came
    /// out later does not take its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flagship: bool,
    /// Whether it calls tools.
    #[serde(default)]
    pub tools: bool,
    /// Whether it sees pictures.
    #[serde(default)]
    pub vision: bool,
    /// How it reasons.
    #[serde(default)]
    pub reasoning: Reasoning,
    /// Whether it takes a JSON schema for its answer.
    #[serde(default)]
    pub structured_output: bool,
    /// Dollars per million tokens; absent where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Other names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

impl ModelInfo {
    /// Whether it can do this.
    pub fn can(&self, capability: Capability) -> bool {
        match capability {
            Capability::Tools => self.tools,
            Capability::Vision => self.vision,
            Capability::Reasoning => self.reasoning != Reasoning::None,
            Capability::StructuredOutput => self.structured_output,
        }
    }

    fn is_called(&self, name: &str) -> bool {
        self.id == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// Something that not every model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Calling tools.
    Tools,
    /// Seeing pictures.
    Vision,
    /// Reasoning before it answers.
    Reasoning,
    /// Answering in JSON that fits a schema.
    StructuredOutput,
}

/// How a model reasons, which decides how an effort is said on its wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    /// It does not.
    #[default]
    None,
    /// With named levels of effort (OpenAI; Anthropic's adaptive thinking; Gemini's `thinkingLevel`).
    Effort,
    /// With a budget of tokens (older Anthropic and Gemini models).
    Budget,
}

/// Dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input that was not cached.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from a cache; absent: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Input written to a cache; absent: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// What long prompts cost more; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_prompt: Option<Surcharge>,
}

/// By how much the prices rise for a request whose input is longer than a limit. They rise for
/// every token of that request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surcharge {
    /// The limit: more input tokens than this.
    pub above: u64,
    /// The factor on all input, cached or not.
    pub input: f64,
    /// The factor on output.
    pub output: f64,
}

impl Price {
    /// What this usage costs.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn cost(&self, usage: &Usage) -> Cost {
        let (dearer_in, dearer_out) = match self.long_prompt {
            Some(long) if usage.input > long.above => (long.input, long.output),
            _ => (1.0, 1.0),
        };
        let read = usage.cache_read.unwrap_or(0);
        let write = usage.cache_write.unwrap_or(0);
        let fresh = usage.input.saturating_sub(read).saturating_sub(write);
        let input = fresh as f64 * self.input
            + read as f64 * self.cache_read.unwrap_or(self.input)
            + write as f64 * self.cache_write.unwrap_or(self.input);
        let dollars = input * dearer_in + usage.output as f64 * self.output * dearer_out;
        Cost::Estimated(Usd::from_dollars(dollars / 1e6))
    }
}

impl Price {
    /// The most that so many tokens can cost, whatever of the input is cached, or written to a cache.
    pub fn worst(&self, input: u64, output: u64) -> Usd {
        let (input_rate, output_rate) = self.worst_rates(input);
        // Rounded up, and by one more for the sums of the other way to compute it.
        nano_usd(input, input_rate) + nano_usd(output, output_rate) + Usd(1)
    }

    /// How many tokens of output this much pays for, after the worst that the input can cost.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float-to-int cast saturates"
    )]
    pub fn output_for(&self, usd: Usd, input: u64) -> u64 {
        let (_, rate) = self.worst_rates(input);
        let left = usd - self.worst(input, 0);
        if left < Usd::ZERO {
            return 0;
        }
        if rate <= 0.0 {
            return u64::MAX;
        }
        let mut output = (left.dollars() * 1e6 / rate).floor() as u64;
        while output > 0 && self.worst(input, output) > usd {
            output -= 1;
        }
        output
    }

    /// The dearest that input and output can be.
    fn worst_rates(&self, input: u64) -> (f64, f64) {
        let dearest = [self.cache_read, self.cache_write].into_iter().flatten().fold(self.input, f64::max);
        match self.long_prompt {
            Some(long) if input > long.above => {
                (dearest * long.input.max(1.0), self.output * long.output.max(1.0))
            }
            _ => (dearest, self.output),
        }
    }
}

/// So many tokens at so many dollars per million, rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "token counts are far below 2^52, and a float-to-int cast saturates"
)]
fn nano_usd(tokens: u64, rate: f64) -> Usd {
    Usd((tokens as f64 * rate * 1e3).ceil() as i64)
}

/// A list of known models. Cheap to clone; never changes.
#[derive(Clone, Debug)]
pub struct Catalog {
    models: Arc<[ModelInfo]>,
    /// Where the models are that an id or an alias names, in the order of the file. Each call looks several
    /// times.
    names: Arc<HashMap<String, Vec<usize>>>,
    caching: Arc<[Caching]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    model: Vec<ModelInfo>,
    #[serde(default)]
    caching: Vec<Caching>,
}

static BUILTIN: LazyLock<Catalog> =
    LazyLock::new(|| Catalog::parse(include_str!("catalog.toml")).unwrap_or_else(|_| Catalog::empty()));

impl Catalog {
    /// The models this version knows.
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// A catalog that knows nothing.
    pub fn empty() -> Self {
        Self::of_parts(Vec::new(), Arc::default())
    }

    /// A catalog from TOML, one `[[model]]` per entry.
    ///
    /// # Errors
    /// `configuration`, with the line and the field.
    pub fn parse(toml: &str) -> Result<Self, Error> {
        let file: File = toml::from_str(toml).map_err(|e| {
            let line = e.span().map_or(1, |span| {
                toml.get(..span.start).unwrap_or_default().bytes().filter(|b| *b == b'\n').count() + 1
            });
            Error::configuration(format!("the model catalog, line {line}: {}", e.message()))
                .with_hint("each `[[model]]` needs id, provider, name, context_window, max_output, released")
                .with_source(e)
        })?;
        Ok(Self::of_parts(file.model, file.caching.into()))
    }

    fn of_parts(models: Vec<ModelInfo>, caching: Arc<[Caching]>) -> Self {
        let mut names: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, model) in models.iter().enumerate() {
            for name in std::iter::once(&model.id).chain(&model.aliases) {
                names.entry(name.clone()).or_default().push(place);
            }
        }
        Self { models: models.into(), names: Arc::new(names), caching }
    }

    /// The model with this id; else the one with this alias; else the one whose id this is with a
    /// date behind it (`claude-x-20250929`, `gpt-x-2026-01-01`).
    pub fn get(&self, name: &str) -> Option<&ModelInfo> {
        self.find(name, |_| true)
    }

    /// The same among one provider's models.
    pub fn of(&self, provider: &str, name: &str) -> Option<&ModelInfo> {
        self.find(name, |m| m.provider == provider)
    }

    /// The provider's model that has this for an alias.
    pub(crate) fn with_alias(&self, provider: &str, alias: &str) -> Option<&ModelInfo> {
        self.named(alias).find(|m| m.provider == provider && m.id != alias)
    }

    /// The models, or a provider's, in the order of the file.
    pub fn list(&self, provider: Option<&str>) -> Vec<&ModelInfo> {
        self.models.iter().filter(|m| provider.is_none_or(|p| m.provider == p)).collect()
    }

    /// What to ask a provider for when no model is named: of the models that can do this, the
    /// flagship that came out last, or, if none is a flagship, the model that came out last. Of
    /// several the first in the file.
    pub fn latest(&self, provider: &str, capability: Option<Capability>) -> Option<&ModelInfo> {
        let fits = |m: &&ModelInfo| m.provider == provider && capability.is_none_or(|c| m.can(c));
        // `max_by` takes the last of equals, so the list is walked backwards. Days in ISO form
        // sort as text.
        self.models.iter().rev().filter(fits).max_by_key(|m| (m.flagship, m.released.as_str()))
    }

    /// This catalog with a user's entries: an entry replaces the one of the same provider and id,
    /// in its place; the others come last. An alias of a user's entry wins over one of ours.
    pub fn overlay(&self, entries: Vec<ModelInfo>) -> Self {
        let mut models = self.models.to_vec();
        for entry in entries {
            for other in models.iter_mut().filter(|m| m.provider == entry.provider && m.id != entry.id) {
                other.aliases.retain(|alias| !entry.is_called(alias));
            }
            match models.iter_mut().find(|m| m.provider == entry.provider && m.id == entry.id) {
                Some(old) => *old = entry,
                None => models.push(entry),
            }
        }
        Self::of_parts(models, Arc::clone(&self.caching))
    }

    /// What this usage of a provider's model costs; unknown if its price is. Usage that is made of calls
    /// costs what they cost together: as they were reported, else as they are priced here.
    pub fn cost(&self, provider: &str, model: &str, usage: &Usage) -> Cost {
        if let Some(cost) = usage.calls.iter().map(|call| self.of_call(call)).reduce(|sum, cost| sum + cost) {
            return cost;
        }
        self.of(provider, model).and_then(|m| m.price).map_or(Cost::Unknown, |price| price.cost(usage))
    }

    /// This usage with a cost for each call it is made of whose price is known here and that has none.
    pub fn priced(&self, mut usage: Usage) -> Usage {
        for call in &mut usage.calls {
            call.cost = self.of_call(call);
        }
        usage
    }

    fn of_call(&self, call: &LeafCall) -> Cost {
        match call.cost {
            Cost::Unknown => self.cost(&call.provider, &call.model, &call.usage),
            known => known,
        }
    }

    fn find(&self, name: &str, among: impl Fn(&ModelInfo) -> bool) -> Option<&ModelInfo> {
        let called = |name| self.named(name).filter(|m| among(m));
        called(name)
            .find(|m| m.id == name)
            .or_else(|| called(name).next())
            .or_else(|| undated(name).and_then(|base| called(base).next()))
    }

    /// The models with this id or alias.
    fn named(&self, name: &str) -> impl Iterator<Item = &ModelInfo> {
        let places = self.names.get(name).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|place| self.models.get(*place))
    }
}

impl Default for Catalog {
    fn default() -> Self {
        Self::builtin()
    }
}

/// The name without a date at its end, if it has one.
fn undated(name: &str) -> Option<&str> {
    const SHAPES: [&str; 2] = ["-dddddddd", "-dddd-dd-dd"];
    SHAPES.iter().find_map(|shape| {
        let (base, tail) = name.split_at_checked(name.len().checked_sub(shape.len())?)?;
        let fits = tail.bytes().zip(shape.bytes()).all(|(byte, like)| match like {
            b'd' => byte.is_ascii_digit(),
            _ => byte == like,
        });
        (fits && !base.is_empty()).then_some(base)
    })
}

#[cfg(test)]
mod tests;
